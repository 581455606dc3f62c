/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/statement-judge.h"
#include "daemon/record/statement/key-rotation.h"

/* RFC 8032 section 7.1, test 1, and RFC 6979 section A.2.5; the fingerprints are ssh-keygen's. */
#define ED25519 "\"keyid\":\"SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8\",\"algorithm\":\"ed25519\"," \
                "\"spki\":\"MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\""
#define P256    "\"keyid\":\"SHA256:hfuNWmjIYvsBGZ6dpCLTTAEa5LxbZABRHHVoynAxFlo\",\"algorithm\":\"ecdsa-p256\"," \
                "\"spki\":\"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==\""
#define P256_SHA256_REST "a7a78cca4a0f420d9bc62bb669c3c2759e39f723d3ae10dcbe0f0815a07ecd4"
#define P256_SHA256 "5" P256_SHA256_REST
#define GOOD    "{" P256 ",\"replaces\":{" ED25519 "}}"

static json_t *read_text(const char *text) {
        const char *wrong;
        json_t *value;

        assert_int_equal(json_read(text, strlen(text), &value, &wrong), 0);
        return value;
}

static void test_what_is_printed_is_read(void **state) {
        _cleanup_printer_ Printer printer = {};
        json_t *value = read_text(GOOD);
        KeyRotation rotation;

        assert_int_equal(key_rotation_parse(value, &rotation), 0);
        assert_int_equal(rotation.old.algorithm, RECORD_ED25519);
        assert_int_equal(rotation.new.algorithm, RECORD_ECDSA_P256);
        printer_open(&printer, '{');
        key_rotation_print(&printer, &rotation.old, &rotation.new);
        printer_close(&printer, '}');
        assert_int_equal(printer.n, strlen(GOOD));
        assert_memory_equal(printer.text, GOOD, printer.n);
        key_rotation_done(&rotation);
        json_decref(value);
}

static bool judge_of(const char *sha256, json_t *predicate, Judgement *judgement) {
        json_t *statement = json_pack("{s:O, s:[{s:{s:s}}]}", "predicate", predicate, "subject", "digest", "sha256", sha256);
        Health health;

        assert_int_equal(statement_judge(statement, RECORD_TYPE_ROTATION, &health, judgement), 0);
        json_decref(statement);
        return !judgement->wrong[0];
}

static bool judge(json_t *predicate, Judgement *judgement) {
        return judge_of(P256_SHA256, predicate, judgement);
}

static void test_keys_that_are_not_what_they_are_called_are_refused(void **state) {
        static const char *const bad[] = {
                "{}",
                "{" P256 "}",
                "{" P256 ",\"replaces\":{}}",
                "{" P256 ",\"replaces\":[{" ED25519 "}]}",
                "{" P256 ",\"replaces\":{\"keyid\":\"SHA256:hfuNWmjIYvsBGZ6dpCLTTAEa5LxbZABRHHVoynAxFlo\",\"algorithm\":\"ed25519\","
                "\"spki\":\"MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"}}",
                "{" P256 ",\"replaces\":{\"keyid\":\"SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8\",\"algorithm\":\"ecdsa-p256\","
                "\"spki\":\"MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"}}",
                "{" P256 ",\"replaces\":{\"keyid\":\"SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8\",\"algorithm\":\"ed25519\","
                "\"spki\":\"MCowBQYDK2VwAyEA11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"}}",
        };
        Judgement judgement;
        KeyRotation rotation;

        for (size_t i = 0; i < ELEMENTS(bad); i++) {
                json_t *value = read_text(bad[i]);

                assert_int_equal(key_rotation_parse(value, &rotation), -EBADMSG);
                assert_int_equal(json_object_set_new(value, "log", json_pack("{s:i}", "index", 1)), 0);
                assert_int_equal(json_object_set_new(value, "previous", json_object()), 0);
                assert_false(judge(value, &judgement));
                assert_non_null(strstr(judgement.wrong, "a key is not"));
                json_decref(value);
        }
}

static void test_a_key_does_not_follow_itself(void **state) {
        json_t *value = read_text("{\"log\":{\"index\":0}," P256 ",\"replaces\":{" P256 "}}"), *good = read_text("{\"log\":{\"index\":0}," P256 ",\"replaces\":{" ED25519 "}}");
        Judgement judgement;

        assert_false(judge(value, &judgement));
        assert_string_equal(judgement.wrong, "the key replaces itself");
        assert_true(judge(good, &judgement));
        /* The one before it, one that differs in a digit, and none. */
        assert_false(judge_of("06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9", good, &judgement));
        assert_string_equal(judgement.wrong, "the subject is not the new key");
        assert_false(judge_of("4" P256_SHA256_REST, good, &judgement));
        assert_string_equal(judgement.wrong, "the subject is not the new key");
        assert_false(judge_of("", good, &judgement));
        assert_string_equal(judgement.wrong, "the subject is not the new key");
        json_decref(value);
        json_decref(good);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_printed_is_read),
                cmocka_unit_test(test_keys_that_are_not_what_they_are_called_are_refused),
                cmocka_unit_test(test_a_key_does_not_follow_itself),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
