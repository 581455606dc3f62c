/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/record/payload.h"

static RecordTrust verify(const char *envelope, size_t n, RecordVerified *ret) {
        RecordTrust trust;

        assert_int_equal(record_verify(payloads.keyring, envelope, n, &trust, ret), 0);
        assert_non_null(ret->reason);
        if (trust != RECORD_VERIFIED) {
                assert_null(ret->payload);
                assert_int_equal(ret->n_payload, 0);
                assert_string_equal(ret->entry.id, "");
                assert_string_equal(ret->key_id, "");
        }
        return trust;
}

static void expect(const char *envelope, RecordTrust trust, const char *reason) {
        RecordVerified verified;

        assert_int_equal(verify(envelope, strlen(envelope), &verified), trust);
        if (reason && !strstr(verified.reason, reason))
                fail_msg("\"%s\" does not say \"%s\"", verified.reason, reason);
        record_verified_done(&verified);
}

/* The envelope with FROM, which must be there, replaced by TO. */
static char *edited(const char *from, const char *to) {
        const char *at = strstr(payloads.envelope, from);
        char *text;

        assert_non_null(at);
        assert_true(asprintf(&text, "%.*s%s%s", (int) (at - payloads.envelope), payloads.envelope, to, at + strlen(from)) > 0);
        return text;
}

static void expect_edited(const char *from, const char *to, RecordTrust trust, const char *reason) {
        char *text = edited(from, to);

        expect(text, trust, reason);
        free(text);
}

static void test_a_record_says_what_was_signed(void **state) {
        RecordVerified verified;

        assert_int_equal(verify(payloads.envelope, strlen(payloads.envelope), &verified), RECORD_VERIFIED);
        assert_string_equal(verified.payload, payloads.signed_bad);
        assert_int_equal(verified.n_payload, strlen(payloads.signed_bad));
        assert_string_equal(verified.key_id, record_key_id(payloads.key));
        assert_string_equal(verified.origin, PLACE_ORIGIN);
        assert_string_equal(verified.entry.plan, "preflight");
        assert_string_equal(verified.entry.run, payloads.server.run);
        assert_string_equal(verified.entry.type, RECORD_TYPE_HEALTH_V2);
        assert_int_equal(verified.entry.result, RESULT_FAILED);
        assert_int_equal(verified.entry.finished_usec, 1795252449500000);
        record_verified_done(&verified);
}

static void test_every_flipped_bit_is_refused_or_changes_nothing_signed(void **state) {
        size_t n = strlen(payloads.envelope_start), n_verified = 0, n_unknown = 0;
        char *text = strdup(payloads.envelope_start); /* the shortest: there are eight signatures to check per byte */

        for (size_t bit = 0; bit < 8 * n; bit++) {
                RecordVerified verified;

                text[bit / 8] ^= (char) (1 << bit % 8);
                switch (verify(text, n, &verified)) {
                case RECORD_VERIFIED:
                        n_verified++;
                        assert_string_equal(verified.payload, payloads.start);
                        assert_string_equal(verified.key_id, record_key_id(payloads.key));
                        break;
                case RECORD_UNKNOWN_KEY:
                        n_unknown++;
                        break;
                case RECORD_REFUSED:
                case RECORD_CANNOT_TELL:
                case _RECORD_TRUST_MAX:
                        break;
                }
                record_verified_done(&verified);
                text[bit / 8] ^= (char) (1 << bit % 8);
        }
        free(text);
        /* Only the key ID is unsigned: 50 characters and its name. */
        assert_true(n_verified > 100 && n_verified < 8 * 64);
        assert_int_equal(n_unknown, 0);
}

static void test_the_carrier_may_be_written_otherwise(void **state) {
        char key_id[80];

        (void) snprintf(key_id, sizeof(key_id), "\"keyid\":\"%s\",", record_key_id(payloads.key));
        expect_edited(key_id, "", RECORD_VERIFIED, NULL);
        expect_edited(key_id, "\"keyid\":\"\",", RECORD_VERIFIED, NULL);
        expect_edited(key_id, "\"keyid\":\"SHA256:somebodyelse\",", RECORD_VERIFIED, NULL);
        expect_edited(key_id, "\"extra\":[{}],", RECORD_VERIFIED, NULL);
        expect_edited("{\"payload\"", " {\n \"more\":null,\"payload\"", RECORD_VERIFIED, NULL);
}

static void test_the_url_safe_alphabet_is_taken_too(void **state) {
        char *text = strdup(payloads.envelope);

        /* Only values of payload and sig: no other text of the envelope has '+' but the type and the key ID. */
        for (unsigned i = 0; i < 2; i++)
                for (char *p = strstr(text, i == 0 ? "\"payload\":\"" : "\"sig\":\"") + (i == 0 ? 11 : 7); *p != '"'; p++)
                        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
        expect(text, RECORD_VERIFIED, NULL);
        free(text);
}

static void test_a_bad_envelope_is_refused(void **state) {
        static const struct {
                const char *text, *reason;
        } cases[] = {
                { "", "not JSON" },
                { "{}", "payload type" },
                { "[]", "payload type" },
                { "null", "not JSON" },
                { "{\"payload\":\"QUJ", "ends too early" },
                { "{\"payload\":\"QUJD\" x", "not JSON" },
                { "{\"payload\":\"\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[]}", "exactly one" },
                { "{\"payload\":\"\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":{}}", "exactly one" },
                { "{\"payload\":\"\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[7]}", "signature" },
                { "{\"payload\":7,\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[{\"sig\":\"QUJD\"}]}", "payload" },
                { "{\"payload\":\"QUJ=\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[{\"sig\":\"QUJD\"}]}", "payload" },
                { "{\"payload\":\"QUJD\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[{\"sig\":\"QUI\"}]}", "signature" },
                { "{\"payload\":\"QUJD\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[{\"sig\":\"QUJD\",\"keyid\":7}]}", "keyid" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                expect(cases[i].text, RECORD_REFUSED, cases[i].reason);
        expect_edited("\"payloadType\":\"application/vnd.in-toto+json\"", "\"payloadType\":\"application/json\"", RECORD_REFUSED, "payload type");
        expect_edited("\"payloadType\"", "\"payload\":\"\",\"payloadType\"", RECORD_REFUSED, "twice");
        expect_edited("\"sig\":\"", "\"sig\":\" ", RECORD_REFUSED, "signature");
        expect_edited("}]}", "}]}{}", RECORD_REFUSED, "not JSON");
}

static void test_two_signatures_are_refused_even_if_both_are_good(void **state) {
        const char *signature = strstr(payloads.envelope, "[{\"keyid\"");
        char *text;

        assert_true(asprintf(&text, "%.*s%.*s,%s", (int) (signature - payloads.envelope), payloads.envelope,
                             (int) strlen(signature) - 2, signature, signature + 1) > 0);
        expect(text, RECORD_REFUSED, "exactly one");
        free(text);
}

static void test_size_and_depth_are_bounded(void **state) {
        char *text = malloc(RECORD_ENVELOPE_MAX + 2), *deep;
        size_t n = strlen(payloads.envelope);
        RecordVerified verified;
        char brackets[80] = "";

        memcpy(text, payloads.envelope, n);
        memset(text + n, ' ', RECORD_ENVELOPE_MAX + 1 - n);
        assert_int_equal(verify(text, RECORD_ENVELOPE_MAX, &verified), RECORD_VERIFIED);
        record_verified_done(&verified);
        assert_int_equal(verify(text, RECORD_ENVELOPE_MAX + 1, &verified), RECORD_REFUSED);
        assert_non_null(strstr(verified.reason, "1 MiB"));
        record_verified_done(&verified);
        free(text);

        /* The envelope itself is the first of 32. */
        for (unsigned depth = 31; depth <= 32; depth++) {
                memset(brackets, '[', depth);
                memset(brackets + depth, ']', depth);
                assert_true(asprintf(&deep, "{\"more\":%s,%s", brackets, payloads.envelope + 1) > 0);
                expect(deep, depth == 31 ? RECORD_VERIFIED : RECORD_REFUSED, depth == 31 ? NULL : "deeper");
                free(deep);
        }
}

/* Each empty object of two bytes takes two hundred in memory, and all of it is read before there is a signature. */
static void test_brackets_are_counted(void **state) {
        char *many = malloc(3 * 65536 + 1), *text;

        for (unsigned n = 65532; n <= 65533; n++) { /* the envelope has three more, and their list is one */
                for (unsigned i = 0; i < n; i++)
                        (void) memcpy(many + 3 * i, "{},", 4);
                many[3 * n - 1] = '\0';
                assert_true(asprintf(&text, "{\"more\":[%s],%s", many, payloads.envelope + 1) > 0);
                expect(text, n == 65532 ? RECORD_VERIFIED : RECORD_REFUSED, n == 65532 ? NULL : "more than 65536");
                free(text);
        }
        free(many);
}

static void test_a_key_that_is_not_in_the_keyring_is_unknown_and_not_refused(void **state) {
        RecordKeyring *keyring;
        RecordVerified verified;
        RecordTrust trust;
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/other.key", payloads.place.folder);
        assert_int_equal(record_key_generate(path, RECORD_ED25519), 0);
        (void) strcat(path, ".pub");
        assert_int_equal(record_keyring_load(path, &keyring), 0);
        assert_int_equal(record_verify(keyring, payloads.envelope, strlen(payloads.envelope), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_UNKNOWN_KEY);
        assert_null(verified.payload);
        record_verified_done(&verified);
        (void) record_keyring_free(keyring);
}

/* PAYLOAD, signed, without the name of its key: whether the keyring tells who it was. */
static RecordTrust verify_nameless(const RecordKeyring *keyring, const char *payload, char **ret_why) {
        RecordVerified verified;
        SignedLine record;
        RecordTrust trust;

        assert_int_equal(sign_line(payloads.key, payload, strlen(payload), &record), 0);
        memcpy(strstr(record.envelope.text, "SHA256:"), "NOBODY:", 7);
        assert_int_equal(record_verify(keyring, record.envelope.text, record.envelope.n, &trust, &verified), 0);
        *ret_why = TAKE_PTR(verified.reason);
        record_verified_done(&verified);
        signed_line_done(&record);
        return trust;
}

#define OTHERS 100

/* Each key reads the whole of it, so it is not for whoever sends it to say how long that takes. */
static void test_a_long_envelope_without_the_name_of_its_key_is_not_tried_with_all(void **state) {
        _cleanup_free_ char *text = calloc(OTHERS + 1, 256), *filler = malloc(700001), *json = NULL, *why = NULL, *why_not = NULL;
        json_t *root = json_loads(payloads.bad, 0, NULL);
        RecordKeyring *keyring;
        RecordVerified verified;

        for (unsigned i = 0; i < OTHERS; i++) {
                RecordKey *other;
                char name[32];

                (void) snprintf(name, sizeof(name), "other-%u.key", i);
                other = place_key(&payloads.place, name, RECORD_ED25519);
                (void) strcat(text, record_key_public_pem(other));
                (void) record_key_free(other);
        }
        (void) strcat(text, record_key_public_pem(payloads.key));
        assert_int_equal(record_keyring_parse(text, strlen(text), &keyring), 0);
        memset(filler, 'x', 700000);
        filler[700000] = '\0';
        json_object_set_new(json_object_get(root, "predicate"), "more", json_string(filler));
        json = json_dumps(root, JSON_COMPACT);

        assert_int_equal(payload_verify(&payloads, json, strlen(json), &verified), RECORD_VERIFIED);
        record_verified_done(&verified);
        assert_int_equal(verify_nameless(keyring, payloads.bad, &why), RECORD_VERIFIED);
        assert_int_equal(verify_nameless(keyring, json, &why_not), RECORD_UNKNOWN_KEY);
        assert_non_null(strstr(why_not, "too long"));
        (void) record_keyring_free(keyring);
        json_decref(root);
}

static void test_a_payload_that_is_no_record_is_refused_though_its_signature_is_good(void **state) {
        static const struct {
                const char *text, *reason;
        } cases[] = {
                { "", "not JSON" },
                { "{}", "no https://in-toto.io/Statement/v1" },
                { "{\"_type\":\"https://in-toto.io/Statement/v1\"}", "predicateType" },
                { "{\"_type\":\"https://in-toto.io/Statement/v1\",\"_type\":\"\"}", "twice" },
                { "{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicateType\":\"urn:assay:attestation:health:v3\"}", "none of ours" },
                { "{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicateType\":\"urn:assay:attestation:health:v2\"}", "subject: is missing" },
                { "{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicateType\":\"urn:assay:attestation:health:v2\",\"subject\":[{\"digest\":{\"sha256\":\"\"}}],\"predicate\":{}}", "subject[0].digest.sha256: is not what it must be" },
                { "{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicateType\":\"urn:assay:attestation:health:v1\"}", "subject: is missing" },
        };
        RecordVerified verified;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                assert_int_equal(payload_verify(&payloads, cases[i].text, strlen(cases[i].text), &verified), RECORD_REFUSED);
                assert_null(verified.payload);
                if (!strstr(verified.reason, cases[i].reason))
                        fail_msg("\"%s\" does not say \"%s\"", verified.reason, cases[i].reason);
                record_verified_done(&verified);
        }
}

static void test_a_heartbeat_is_of_the_key_that_signs_it(void **state) {
        static const char *const changes[] = { "subject.0.digest.sha256", "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"", NULL };
        RecordVerified verified;
        RecordLog *log;
        char *heartbeat;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        assert_int_equal(record_log_heartbeat(log, RECORD_HEARTBEAT_START, 1), 0);
        heartbeat = payload_of(&payloads, log, place_take(log));
        (void) record_log_free(log);

        assert_int_equal(payload_verify_changed(&payloads, heartbeat, changes + 2, &verified), RECORD_VERIFIED);
        record_verified_done(&verified);
        assert_int_equal(payload_verify_changed(&payloads, heartbeat, changes, &verified), RECORD_REFUSED);
        assert_non_null(strstr(verified.reason, "not the key that signed"));
        record_verified_done(&verified);
        free(heartbeat);
}

static void test_one_type_of_record_is_not_taken_for_another(void **state) {
        const char *const changes[] = { "predicateType", "\"" RECORD_TYPE_SUMMARY "\"", NULL };
        RecordVerified verified;

        assert_int_equal(payload_verify_changed(&payloads, payloads.health, changes, &verified), RECORD_REFUSED);
        record_verified_done(&verified);
}

/* Fields that a type does not know are let through: this one must not make a verdict of what is none. */
static void test_what_is_no_verdict_has_no_result(void **state) {
        static const char *const results[] = { "\"PASSED\"", "\"FAILED\"", "\"BOGUS\"", "7" };

        for (size_t i = 0; i < ELEMENTS(results); i++) {
                const char *const changes[] = { "predicate.result", results[i], NULL };
                RecordVerified verified;

                assert_int_equal(payload_verify_changed(&payloads, payloads.start, changes, &verified), RECORD_VERIFIED);
                assert_int_equal(verified.entry.result, RESULT_INCONCLUSIVE);
                record_verified_done(&verified);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_record_says_what_was_signed),
                cmocka_unit_test(test_every_flipped_bit_is_refused_or_changes_nothing_signed),
                cmocka_unit_test(test_the_carrier_may_be_written_otherwise),
                cmocka_unit_test(test_the_url_safe_alphabet_is_taken_too),
                cmocka_unit_test(test_a_bad_envelope_is_refused),
                cmocka_unit_test(test_two_signatures_are_refused_even_if_both_are_good),
                cmocka_unit_test(test_size_and_depth_are_bounded),
                cmocka_unit_test(test_brackets_are_counted),
                cmocka_unit_test(test_a_key_that_is_not_in_the_keyring_is_unknown_and_not_refused),
                cmocka_unit_test(test_a_long_envelope_without_the_name_of_its_key_is_not_tried_with_all),
                cmocka_unit_test(test_a_payload_that_is_no_record_is_refused_though_its_signature_is_good),
                cmocka_unit_test(test_a_heartbeat_is_of_the_key_that_signs_it),
                cmocka_unit_test(test_one_type_of_record_is_not_taken_for_another),
                cmocka_unit_test(test_what_is_no_verdict_has_no_result),
        };

        return cmocka_run_group_tests(tests, payloads_setup, payloads_teardown);
}
