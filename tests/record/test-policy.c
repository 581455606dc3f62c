/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/keys/keyring.h"
#include "tests/record/payload.h"

#define INDEX    (1 + SERVER_BAD)
#define FINISHED UINT64_C(1795252449500000)
#define HOUR     (UINT64_C(3600) * 1000000)

/* The failed chip, or, where a record must be able to age, the sound one. */
static void expect(const RecordPolicy *policy, bool sound, RecordTrust trust, const char *reason) {
        RecordVerified verified;
        RecordTrust found;
        SignedLine record;

        assert_int_equal(sign_line(payloads.key, sound ? payloads.health : payloads.bad,
                                       strlen(sound ? payloads.health : payloads.bad), &record), 0);
        assert_int_equal(record_verify_with_policy(policy, record.envelope.text, record.envelope.n, &found, &verified), 0);
        if (found != trust || (reason && !strstr(verified.reason, reason)))
                fail_msg("%d: \"%s\" does not say \"%s\"", (int) found, verified.reason, reason ?: "");
        if (trust != RECORD_VERIFIED) {
                assert_null(verified.payload);
                assert_null(verified.producer);
        } else
                assert_string_equal(verified.producer, PLACE_PRODUCER);
        record_verified_done(&verified);
        signed_line_done(&record);
}

static void test_a_key_signs_for_its_producer_in_its_log(void **state) {
        KeyringKey *key = &payloads.keyring->keys[0];
        RecordPolicy policy = { .keyring = payloads.keyring };

        expect(&policy, false, RECORD_VERIFIED, NULL);
        (void) strcpy(key->producer, PLACE_PRODUCER);
        (void) strcpy(key->origin, PLACE_ORIGIN);
        expect(&policy, false, RECORD_VERIFIED, NULL);
        (void) strcpy(key->origin, PLACE_ORIGIN "/2027");
        expect(&policy, false, RECORD_REFUSED, "may not sign in log " PLACE_ORIGIN);
        key->origin[0] = '\0';
        (void) strcpy(key->producer, PLACE_PRODUCER "8");
        expect(&policy, false, RECORD_REFUSED, "not that of producer " PLACE_PRODUCER);
        key->producer[0] = '\0';
}

static void test_a_key_signs_between_its_first_and_last_index(void **state) {
        static const struct {
                uint64_t from, until;
                RecordTrust trust;
                const char *reason;
        } cases[] = {
                { INDEX, INDEX, RECORD_VERIFIED, NULL },
                { 0, INDEX - 1, RECORD_REFUSED, "revoked before index 4" },
                { INDEX + 1, UINT64_MAX, RECORD_REFUSED, "not yet in use at index 4" },
        };
        KeyringKey *key = &payloads.keyring->keys[0];

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                key->from_index = cases[i].from;
                key->until_index = cases[i].until;
                expect(&(RecordPolicy) { .keyring = payloads.keyring }, false, cases[i].trust, cases[i].reason);
        }
        key->from_index = 0;
        key->until_index = UINT64_MAX;
}

static void test_another_thing_than_was_asked_for_is_refused(void **state) {
        static const struct {
                RecordPolicy policy;
                const char *reason; /* NULL: it is what was asked for */
        } cases[] = {
                { { .plan = "preflight" }, NULL },
                { { .plan = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" }, NULL },
                { { .plan = "production" }, "another plan: preflight" },
                { { .plan = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeefe" }, "another plan" },
                { { .plan = "" }, "another plan" },
                { { .challenge = "c2F5IHNvbWV0aGluZw==" }, NULL },
                { { .challenge = "c2F5IHNvbWV0aGluZy4=" }, "another challenge" },
                { { .challenge = "c2F5IHNvbWV0aGluZw" }, "another challenge" },
                { { .challenge = "" }, "another challenge" },
                { { .subject = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" }, "another subject: urn:dev:ops:" },
                { { .subject = "" }, "another subject" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordPolicy policy = cases[i].policy;

                policy.keyring = payloads.keyring;
                expect(&policy, false, cases[i].reason ? RECORD_REFUSED : RECORD_VERIFIED, cases[i].reason);
        }
}

/* The document as reference and inventory write it, hashed by `printf … | sha256sum`. */
static void test_a_subject_is_known_by_the_digest_of_its_document(void **state) {
        RecordPolicy policy = { .keyring = payloads.keyring,
                                .subject = "26f39bfbbba6805e725327c3094c387c400e90d4be189130a0aee3580117ab87" };

        expect(&policy, false, RECORD_VERIFIED, NULL);
        expect(&policy, true, RECORD_REFUSED, "another subject");
        policy.subject = "0123456789abc003";
        expect(&policy, false, RECORD_VERIFIED, NULL);
        expect(&policy, true, RECORD_REFUSED, "another subject");
        policy.subject = "3";
        expect(&policy, false, RECORD_REFUSED, "another subject");
}

/* A chip that says its serial is the digest of another chip's document; it has the longest serial there is. */
static void test_a_serial_is_no_digest(void **state) {
        static const char wanted[] = "26f39bfbbba6805e725327c3094c387c400e90d4be189130a0aee3580117ab87";
        RecordPolicy policy = { .keyring = payloads.keyring, .subject = wanted };
        json_t *root = json_loads(payloads.health, 0, NULL);
        char document[256], digest[RECORD_ID_HEX], value[256];
        RecordVerified verified;
        RecordTrust trust;
        SignedLine record;
        char *text;
        int n;

        n = snprintf(document, sizeof(document), "assay-identity/v1\nkind: accelerator\nmanufacturer: Amazon\nproduct: Trainium2\nserial: %s\n", wanted);
        assert_int_equal(record_digest(document, (size_t) n, digest), 0);
        (void) snprintf(value, sizeof(value), "\"urn:dev:ops:32473-Trainium2-%s\"", wanted);
        payload_set(root, "subject.0.uri", value);
        (void) snprintf(value, sizeof(value), "\"%s\"", digest);
        payload_set(root, "subject.0.digest.sha256", value);
        text = json_dumps(root, JSON_COMPACT);
        assert_int_equal(sign_line(payloads.key, text, strlen(text), &record), 0);
        for (unsigned i = 0; i < 2; i++) {
                policy.subject = i == 0 ? wanted : digest;
                assert_int_equal(record_verify_with_policy(&policy, record.envelope.text, record.envelope.n, &trust, &verified), 0);
                assert_int_equal(trust, i == 0 ? RECORD_REFUSED : RECORD_VERIFIED);
                record_verified_done(&verified);
        }
        signed_line_done(&record);
        free(text);
        json_decref(root);
}

/* Whoever holds a key may not call one chip by another's serial. */
static void test_a_serial_must_be_that_of_the_digest(void **state) {
        const char *const changes[] = { "subject.0.uri", "\"urn:dev:ops:32473-Trainium2-0123456789abc009\"", NULL };
        json_t *root = json_loads(payloads.bad, 0, NULL);
        RecordPolicy policy = { .keyring = payloads.keyring, .subject = "0123456789abc009" };
        RecordVerified verified;
        RecordTrust trust;
        SignedLine record;
        char *text;

        payload_set(root, changes[0], changes[1]);
        text = json_dumps(root, JSON_COMPACT);
        assert_int_equal(sign_line(payloads.key, text, strlen(text), &record), 0);
        assert_int_equal(record_verify_with_policy(&policy, record.envelope.text, record.envelope.n, &trust, &verified), 0);
        assert_int_equal(trust, RECORD_REFUSED);
        assert_non_null(strstr(verified.reason, "the digest is not that of"));
        record_verified_done(&verified);
        signed_line_done(&record);
        free(text);
        json_decref(root);
}

static void test_a_run_without_a_challenge_answers_none(void **state) {
        const char *const changes[] = { "predicate.run.challenge", NULL, NULL };
        json_t *root = json_loads(payloads.health, 0, NULL);
        RecordPolicy policy = { .keyring = payloads.keyring, .challenge = "c2F5IHNvbWV0aGluZw==" };
        RecordVerified verified;
        RecordTrust trust;
        SignedLine record;
        char *text;

        payload_set(root, changes[0], changes[1]);
        text = json_dumps(root, JSON_COMPACT);
        assert_int_equal(sign_line(payloads.key, text, strlen(text), &record), 0);
        assert_int_equal(record_verify_with_policy(&policy, record.envelope.text, record.envelope.n, &trust, &verified), 0);
        assert_int_equal(trust, RECORD_REFUSED);
        assert_string_equal(verified.reason, "it answers no challenge");
        record_verified_done(&verified);
        signed_line_done(&record);
        free(text);
        json_decref(root);
}

static void test_what_is_old_cannot_be_told_unless_it_failed(void **state) {
        RecordPolicy policy = { .keyring = payloads.keyring, .max_age_usec = HOUR };

        policy.now_usec = FINISHED + HOUR;
        expect(&policy, true, RECORD_VERIFIED, NULL);
        policy.now_usec = FINISHED + HOUR + 1;
        expect(&policy, true, RECORD_CANNOT_TELL, "too old, by what it says of its end");
        expect(&policy, false, RECORD_VERIFIED, NULL);
        policy.now_usec = FINISHED - RECORD_AHEAD_USEC;
        expect(&policy, true, RECORD_VERIFIED, NULL);
        policy.now_usec = FINISHED - RECORD_AHEAD_USEC - 1;
        expect(&policy, true, RECORD_CANNOT_TELL, "its clock is ahead");
}

static void test_a_keyring_that_has_expired_tells_nothing_but_refusals(void **state) {
        RecordPolicy policy = { .keyring = payloads.keyring, .now_usec = FINISHED };

        payloads.keyring->expires_usec = FINISHED;
        expect(&policy, true, RECORD_CANNOT_TELL, "the keyring has expired");
        expect(&policy, false, RECORD_CANNOT_TELL, "the keyring has expired");
        policy.plan = "production";
        expect(&policy, true, RECORD_REFUSED, "another plan");
        payloads.keyring->expires_usec = FINISHED + 1;
        policy.plan = NULL;
        expect(&policy, true, RECORD_VERIFIED, NULL);
        payloads.keyring->expires_usec = UINT64_MAX;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_key_signs_for_its_producer_in_its_log),
                cmocka_unit_test(test_a_key_signs_between_its_first_and_last_index),
                cmocka_unit_test(test_another_thing_than_was_asked_for_is_refused),
                cmocka_unit_test(test_a_subject_is_known_by_the_digest_of_its_document),
                cmocka_unit_test(test_a_serial_is_no_digest),
                cmocka_unit_test(test_a_serial_must_be_that_of_the_digest),
                cmocka_unit_test(test_a_run_without_a_challenge_answers_none),
                cmocka_unit_test(test_what_is_old_cannot_be_told_unless_it_failed),
                cmocka_unit_test(test_a_keyring_that_has_expired_tells_nothing_but_refusals),
        };

        return cmocka_run_group_tests(tests, payloads_setup, payloads_teardown);
}
