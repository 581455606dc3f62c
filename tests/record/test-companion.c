/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/keys/keyring.h"
#include "daemon/record/verify/bundle.h"
#include "tests/record/audited.h"

#define BAD (1 + SERVER_BAD)

/* The text of a file of those that earlier assayds have signed, malloc'd. */
static char *old_file(const char *name, const char *suffix) {
        char path[256], *text = calloc(1, 8192);
        FILE *file;

        (void) snprintf(path, sizeof(path), "%.200s/%s%s", getenv("RECORD_COMPANIONS"), name, suffix);
        file = fopen(path, "re");
        if (!file || fread(text, 1, 8191, file) == 0)
                fail_msg("%s: %m", path);
        (void) fclose(file);
        return text;
}

/* What is signed, by jansson alone: nothing of the library. */
static json_t *statement_in(const char *envelope) {
        json_t *object = json_loads(envelope, JSON_REJECT_DUPLICATES, NULL), *statement;
        const char *payload = json_string_value(json_object_get(object, "payload"));
        uint8_t *bytes = malloc(strlen(payload));
        size_t n;

        assert_string_equal(json_string_value(json_object_get(object, "payloadType")), "application/vnd.in-toto+json");
        assert_int_equal(json_array_size(json_object_get(object, "signatures")), 1);
        assert_int_equal(base64_decode(payload, strlen(payload), bytes, &n), 0);
        statement = json_loadb((const char *) bytes, n, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(statement);
        free(bytes);
        json_decref(object);
        return statement;
}

static RecordTrust judge(const RecordKeyring *keyring, const char *envelope, RecordVerified *ret) {
        RecordTrust trust;

        assert_int_equal(record_verify(keyring, envelope, strlen(envelope), &trust, ret), 0);
        return trust;
}

/* The IDs are what sha256sum made of the records that they were signed beside. */
static void test_those_of_earlier_assayds_are_told_for_ever(void **state) {
        static const struct {
                const char *key;
                unsigned index;
                const char *id;
        } olds[] = {
                { "ed25519",    1,   "c850743c1ba4bf247b4c29b3cfe9bf9059797ac69c2a69f0dbd1c1b3391115da" },
                { "ed25519",    BAD, "e7ec078e757643cfb0d439b7fc01b540546484ff51d20f07ff2814276cfa01a5" },
                { "ed25519",    17,  "da3d852f3186916a8e58f1daf1338c8de30a1b9d7f796385fa4d943cf3281756" },
                { "ecdsa-p256", 1,   "0c39336416e258ac684f1c36c60176ffa7d6cacb185e378d8fd6c16a9ee52a53" },
                { "ecdsa-p256", BAD, "0f3ac0061e5ed8cca09516aaf16a8809248060cc1882d6b2e98490807ca25a02" },
                { "ecdsa-p256", 17,  "b7ecf0ab776972bd73182bf21ed54fb58c4245f7b3c58fa046080de02f04af3b" },
        };

        for (size_t i = 0; i < ELEMENTS(olds); i++) {
                _cleanup_free_ char *pem = old_file(olds[i].key, ".pub"), *lines = old_file(olds[i].key, ".jsonl");
                RecordKeyring *keyring;
                RecordVerified told;
                char *envelope = lines, text[192];

                for (size_t line = i % 3; line > 0; line--)
                        envelope = strchr(envelope, '\n') + 1;
                *strchr(envelope, '\n') = '\0';
                assert_int_equal(record_keyring_parse(pem, strlen(pem), &keyring), 0);
                assert_int_equal(judge(keyring, envelope, &told), RECORD_COMPANION);
                assert_int_equal(told.entry.index, olds[i].index);
                assert_string_equal(told.entry.id, olds[i].id);
                assert_string_equal(told.origin, PLACE_ORIGIN);
                assert_int_equal(told.entry.result, RESULT_INCONCLUSIVE);
                assert_true(!told.payload && !told.producer && !told.key_id[0] && !told.entry.type[0]);
                (void) snprintf(text, sizeof(text), "it is no record but the companion of one: verify record %u of " PLACE_ORIGIN ", %s", olds[i].index,
                                olds[i].id);
                assert_string_equal(told.reason, text);
                record_verified_done(&told);
                assert_int_equal(judge(payloads.keyring, envelope, &told), RECORD_UNKNOWN_KEY);
                record_verified_done(&told);
                (void) record_keyring_free(keyring);
        }
}

/* The second of them, with up to two changes, signed by the key of payloads; malloc'd. */
static char *changed(const char *const *changes) {
        _cleanup_free_ char *lines = old_file("ed25519", ".jsonl");
        char *envelope = strchr(lines, '\n') + 1, *text;
        SignedLine twin;
        json_t *statement;

        *strchr(envelope, '\n') = '\0';
        statement = statement_in(envelope);
        for (; changes && changes[0]; changes += 2)
                payload_set(statement, changes[0], changes[1]);
        text = json_dumps(statement, JSON_COMPACT);
        assert_int_equal(sign_line(payloads.key, text, strlen(text), &twin), 0);
        envelope = strndup(twin.envelope.text, twin.envelope.n);
        signed_line_done(&twin);
        json_decref(statement);
        free(text);
        return envelope;
}

static void test_what_names_no_record_is_refused(void **state) {
        static const char *const twins[][3] = {
                { "predicate.configuration", "[]", NULL },
                { "predicate.configuration", NULL, NULL },
                { "predicate.configuration.2", NULL, NULL },
                { "predicate.configuration.2.name", "\"urn:assay:attestation:heartbeat:v1\"", NULL },
                { "predicate.configuration.2.digest.sha256", "\"00\"", NULL },
                { "predicate.configuration.2.annotations", NULL, NULL },
                { "predicate.configuration.2.annotations.index", "-1", NULL },
                { "predicate.configuration.2.annotations.index", "4.0", NULL },
                { "predicate.configuration.2.annotations.index", "\"4\"", NULL },
                { "predicate.configuration.2.annotations.origin", "\"\"", NULL },
                { "predicate.configuration.2.annotations.origin", "4", NULL },
                { "predicate", "[]", NULL },
        };

        for (size_t i = 0; i < ELEMENTS(twins); i++) {
                _cleanup_free_ char *twin = changed(twins[i]);
                RecordVerified verified;

                if (judge(payloads.keyring, twin, &verified) != RECORD_REFUSED)
                        fail_msg("%s is taken", twins[i][0]);
                assert_non_null(strstr(verified.reason, "of no record"));
                assert_true(verified.entry.index == 0 && !verified.entry.id[0] && !verified.origin[0]);
                record_verified_done(&verified);
        }
}

static void test_a_key_speaks_for_its_log_up_to_its_end(void **state) {
        _cleanup_free_ char *envelope = changed(NULL);
        KeyringKey *key = &payloads.keyring->keys[0];
        const struct {
                const char *origin;
                uint64_t from, until;
                RecordTrust trust;
        } cases[] = {
                { "", 0, UINT64_MAX, RECORD_COMPANION },
                { PLACE_ORIGIN, 0, BAD, RECORD_COMPANION },
                { PLACE_ORIGIN, BAD + 1, UINT64_MAX, RECORD_COMPANION }, /* another key has signed the record */
                { PLACE_ORIGIN, 0, BAD - 1, RECORD_REFUSED },
                { PLACE_ORIGIN "/2", 0, UINT64_MAX, RECORD_REFUSED },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordVerified verified;

                (void) strcpy(key->origin, cases[i].origin);
                key->from_index = cases[i].from;
                key->until_index = cases[i].until;
                assert_int_equal(judge(payloads.keyring, envelope, &verified), cases[i].trust);
                record_verified_done(&verified);
        }
        key->origin[0] = '\0';
        key->from_index = 0;
        key->until_index = UINT64_MAX;
}

/* Every byte of the payload and of the signature, each in another way. */
static void test_a_tampered_twin_is_refused(void **state) {
        _cleanup_free_ char *envelope = changed(NULL);
        size_t n = strlen(envelope);
        unsigned n_told = 0;

        for (size_t i = 0; i < n; i++) {
                RecordVerified verified;
                RecordTrust trust;

                envelope[i] ^= 1;
                trust = judge(payloads.keyring, envelope, &verified);
                envelope[i] ^= 1;
                record_verified_done(&verified);
                n_told += trust == RECORD_COMPANION;
                if (trust != RECORD_REFUSED && (trust != RECORD_COMPANION || i < (size_t) (strstr(envelope, "\"keyid\"") - envelope)))
                        fail_msg("byte %zu: %d", i, (int) trust);
        }
        assert_true(n_told < 60); /* the keyid is a hint, and nobody signs it */
}

/* Nor does a folder of tiles hold it in place of its record. */
static void expect_no_tile(const char *envelope) {
        char path[160], vkey[256];
        RecordTiles *tiles;
        const char *wrong;
        Trial trial;

        (void) snprintf(path, sizeof(path), "%s/tiles", payloads.place.folder);
        (void) snprintf(vkey, sizeof(vkey), "%.*s", (int) strcspn(log_line + 4, "\n"), log_line + 4);
        trial_init(&trial);
        ledger_scan(&trial.ledger, false);
        trial_sign(&trial);
        assert_int_equal(record_tiles_open(path, vkey, trial.checkpoint.text, trial.checkpoint.n, payloads.keyring, &tiles, &wrong), 0);
        assert_int_equal(record_tiles_tree(tiles, trial.ledger.leaves, LEDGER_SCAN * sizeof(TreeHash), &wrong), 0);
        for (unsigned i = 0; i < 2; i++)
                assert_int_equal(record_tiles_add(tiles, trial.ledger.lines[i], strlen(trial.ledger.lines[i]), &wrong), 0);
        assert_int_equal(record_tiles_add(tiles, envelope, strlen(envelope), &wrong), -EBADMSG);
        (void) record_tiles_free(tiles);
        trial_done(&trial);
}

/* What is done with records is not done with it. */
static void test_nothing_takes_it_for_a_record(void **state) {
        _cleanup_free_ char *envelope = changed(NULL), *bundle = NULL;
        _cleanup_(record_state_freep) RecordState *remembered = NULL;
        char path[160];
        RecordPolicy policy = { .keyring = payloads.keyring };
        RecordVerified verified;
        RecordTrust trust;
        Trial trial;

        (void) snprintf(path, sizeof(path), "%s/state", payloads.place.folder);
        assert_int_equal(record_state_open(path, &remembered), 0);
        policy.state = remembered;
        assert_int_equal(record_verify_with_policy(&policy, envelope, strlen(envelope), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_COMPANION);
        record_verified_done(&verified);
        assert_int_equal(record_state_accept(remembered), 0);
        assert_int_equal(record_verify_with_policy(&policy, payloads.envelope, strlen(payloads.envelope), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_VERIFIED); /* no index was accepted by it */
        record_verified_done(&verified);

        /* In a bundle, without a proof and with one of its record. */
        assert_true(asprintf(&bundle, "{\"mediaType\":\"" BUNDLE_TYPE "\",\"verificationMaterial\":{\"publicKey\":{\"hint\":\"\"}},\"dsseEnvelope\":%s}",
                             envelope) > 0);
        assert_int_equal(record_verify_with_policy(&(RecordPolicy) { .keyring = payloads.keyring }, bundle, strlen(bundle), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_COMPANION);
        record_verified_done(&verified);

        /* In place of its record, and beside it. */
        for (unsigned i = 0; i < 2; i++) {
                trial_init(&trial);
                ledger_scan(&trial.ledger, false);
                trial_sign(&trial);
                if (i == 0) {
                        assert_int_equal(trial_run(&trial), RESULT_PASSED);
                        free(trial.ledger.lines[2]);
                        trial.ledger.lines[2] = strdup(envelope);
                } else {
                        trial.ledger.lines[LEDGER_SCAN] = strdup(envelope);
                        trial.ledger.size++;
                }
                assert_int_equal(trial_run(&trial), RESULT_FAILED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_REFUSED], 1);
                assert_int_equal(finding(&trial, RECORD_AUDIT_REFUSED)->first, i == 0 ? 2 : LEDGER_SCAN);
                trial_done(&trial);
        }
        expect_no_tile(envelope);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_those_of_earlier_assayds_are_told_for_ever),
                cmocka_unit_test(test_what_names_no_record_is_refused),
                cmocka_unit_test(test_a_key_speaks_for_its_log_up_to_its_end),
                cmocka_unit_test(test_a_tampered_twin_is_refused),
                cmocka_unit_test(test_nothing_takes_it_for_a_record),
        };

        return cmocka_run_group_tests(tests, audited_setup, audited_teardown);
}
