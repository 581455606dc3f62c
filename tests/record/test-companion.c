/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "daemon/record/base64.h"
#include "daemon/record/bundle.h"
#include "daemon/record/keyring.h"
#include "tests/record/audited.h"
#include "tests/record/published.h"

#define RECORDS (SERVER_CHIPS + 2) /* a run-start, its chips, its roll-up */
#define BAD     (1 + SERVER_BAD)

typedef struct Fixture {
        Place place;
        Server server;
        RecordLog *log;
        RecordKeyring *keyring;
} Fixture;

static int setup(void **state) {
        static Fixture fixture;

        place_init(&fixture.place);
        server_init(&fixture.server);
        fixture.keyring = place_keyring(&fixture.place);
        *state = &fixture;
        return place_open(&fixture.place, &fixture.log, NULL);
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        fixture->log = record_log_free(fixture->log);
        fixture->keyring = record_keyring_free(fixture->keyring);
        place_done(&fixture->place);
        return 0;
}

static void scan(Fixture *fixture) {
        (void) server_start(&fixture->server, fixture->log);
        (void) server_scan(&fixture->server, fixture->log);
}

/* The envelope, malloc'd; NULL: refused with ERROR, in words that hold SAYS. */
static char *companion(RecordLog *log, uint64_t index, int error, const char *says) {
        RecordOutcome outcome;
        char *ret;

        assert_int_equal(record_log_companion(log, index, 70 + index % 7), 0);
        place_wait(log, &outcome);
        assert_int_equal(outcome.ticket, 70 + index % 7);
        assert_int_equal(outcome.n_entries, 0);
        if (outcome.error != error || (error < 0 && (!outcome.wrong || !strstr(outcome.wrong, says))))
                fail_msg("%d: %s", outcome.error, outcome.wrong ?: "no sentence");
        assert_true(!outcome.companion == (error < 0));
        ret = TAKE_PTR(outcome.companion);
        record_outcome_done(&outcome);
        return ret;
}

static void refused(RecordLog *log, uint64_t index, int error, const char *says) {
        assert_null(companion(log, index, error, says));
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

static void expect_text(const json_t *object, const char *key, const char *text) {
        assert_string_equal(json_string_value(json_object_get(object, key)) ?: "nothing", text);
}

/* No member but those that the predicate's specification has. */
static void expect_predicate(const json_t *predicate) {
        static const char *const known[] = { "result", "configuration", "url", "passedTests", "warnedTests", "failedTests" };
        const char *key;
        json_t *value;

        json_object_foreach((json_t *) predicate, key, value) {
                bool found = false;

                for (size_t i = 0; i < ELEMENTS(known); i++)
                        found = found || strcmp(known[i], key) == 0;
                if (!found)
                        fail_msg("test-result has no %s", key);
        }
}

static void expect_companion(Fixture *fixture, uint64_t index, const char *result, const char *told_result) {
        _cleanup_free_ char *line = place_envelope(fixture->log, index), *envelope = companion(fixture->log, index, 0, NULL);
        json_t *record = statement_in(line), *statement = statement_in(envelope), *configuration, *own, *named, *annotations;
        const json_t *predicate = json_object_get(statement, "predicate"), *told = json_object_get(record, "predicate");
        RecordVerified of, verified;
        char text[64];

        assert_int_equal(judge(fixture->keyring, line, &of), RECORD_VERIFIED);
        assert_int_equal(judge(fixture->keyring, envelope, &verified), RECORD_COMPANION);
        assert_int_equal(verified.entry.index, index);
        assert_string_equal(verified.entry.id, of.entry.id);
        assert_string_equal(verified.origin, PLACE_ORIGIN);
        assert_int_equal(verified.entry.result, RESULT_INCONCLUSIVE);
        assert_true(!verified.payload && !verified.producer && !verified.key_id[0] && !verified.entry.type[0]);
        (void) snprintf(text, sizeof(text), "verify record %u of " PLACE_ORIGIN, (unsigned) index);
        assert_non_null(strstr(verified.reason, text));
        assert_non_null(strstr(verified.reason, of.entry.id));

        expect_text(statement, "_type", "https://in-toto.io/Statement/v1");
        expect_text(statement, "predicateType", "https://in-toto.io/attestation/test-result/v0.1");
        assert_int_equal(json_object_size(statement), 4);
        assert_true(json_equal(json_object_get(statement, "subject"), json_object_get(record, "subject")));
        expect_predicate(predicate);
        expect_text(predicate, "result", result);
        for (unsigned i = 0; i < 3; i++) {
                static const char *const lists[] = { "passedTests", "warnedTests", "failedTests" };

                assert_true(json_object_get(predicate, lists[i]) == json_object_get(told, lists[i]) ||
                            json_equal(json_object_get(predicate, lists[i]), json_object_get(told, lists[i])));
        }
        configuration = json_object_get(predicate, "configuration");
        own = json_object_get(told, "configuration");
        assert_int_equal(json_array_size(configuration), json_array_size(own) + 1);
        for (size_t i = 0; i < json_array_size(own); i++)
                assert_true(json_equal(json_array_get(configuration, i), json_array_get(own, i)));
        named = json_array_get(configuration, json_array_size(own));
        annotations = json_object_get(named, "annotations");
        expect_text(named, "name", of.entry.type);
        expect_text(json_object_get(named, "digest"), "sha256", of.entry.id);
        expect_text(annotations, "origin", PLACE_ORIGIN);
        expect_text(annotations, "result", told_result);
        expect_text(annotations, "finishedOn", "2026-11-21T09:14:09.500Z");
        expect_text(annotations, "challenge", "c2F5IHNvbWV0aGluZw==");
        assert_int_equal(json_integer_value(json_object_get(annotations, "index")), index);
        assert_int_equal(json_object_size(named), 3);
        assert_int_equal(json_object_size(annotations), 5);

        record_verified_done(&of);
        record_verified_done(&verified);
        json_decref(record);
        json_decref(statement);
}

static void test_a_companion_says_what_its_record_says(void **state) {
        Fixture *fixture = *state;
        Server *server = &fixture->server;

        scan(fixture);
        expect_companion(fixture, 1, "PASSED", "PASSED");
        expect_companion(fixture, BAD, "FAILED", "FAILED");
        expect_companion(fixture, RECORDS - 1, "FAILED", "FAILED");

        /* What nobody knows has not passed, and is told. */
        server->steps[1][0].verdict = VERDICT_ERROR;
        server->steps[1][0].reason = REASON_WORKER_CRASHED;
        server->steps[2][5].verdict = VERDICT_WARNED;
        server->chips[1].result = RESULT_INCONCLUSIVE;
        server->chips[2].result = RESULT_WARNED;
        scan(fixture);
        expect_companion(fixture, RECORDS + 2, "FAILED", "INCONCLUSIVE");
        expect_companion(fixture, RECORDS + 3, "WARNED", "WARNED");

        /* Where nobody asked for a challenge none is told. */
        server->scan.run.challenge = NULL;
        scan(fixture);
        _cleanup_free_ char *envelope = companion(fixture->log, 2 * RECORDS + 1, 0, NULL);
        json_t *statement = statement_in(envelope);
        const json_t *configuration = json_object_get(json_object_get(statement, "predicate"), "configuration");

        assert_null(json_object_get(json_object_get(json_array_get(configuration, json_array_size(configuration) - 1), "annotations"), "challenge"));
        json_decref(statement);
}

/* The log is as it was: no index is taken, no checkpoint follows, and what comes next follows what came last. */
static void test_a_companion_takes_no_place_in_the_log(void **state) {
        Published published;
        uint64_t size;
        RecordLog *log;

        published_init(&published);
        assert_int_equal(published_open(&published, &log, NULL), 0);
        published_append(&published, log, 2);
        published_wait(log, 2);
        refused(log, 1, -EINVAL, "no verdict");
        (void) server_scan(&published.server, log);
        size = record_log_size(log);
        published_wait(log, size);
        for (uint64_t i = 2; i < size; i++)
                free(companion(log, i, 0, NULL));
        (void) usleep(50000);
        assert_int_equal(record_log_size(log), size);
        published_wait(log, size);
        published_append(&published, log, 1);
        assert_int_equal(record_log_size(log), size + 1);
        (void) record_log_free(log);
        assert_int_equal(published_open(&published, &log, NULL), 0); /* which looks at all of it */
        (void) record_log_free(log);
        published_done(&published);
}

static void execute(Fixture *fixture, const char *sql) {
        char *message = NULL;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(fixture->place.log, &db), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
                fail_msg("%s", message);
        (void) sqlite3_close(db);
}

static void test_only_what_verifies_and_is_a_verdict_has_one(void **state) {
        Fixture *fixture = *state;
        RecordOutcome outcome;

        refused(fixture->log, 0, -ERANGE, "no such record");
        scan(fixture);
        assert_int_equal(record_log_heartbeat(fixture->log, RECORD_HEARTBEAT_INTERVAL, 3), 0);
        (void) place_take(fixture->log);
        refused(fixture->log, 0, -EINVAL, "no verdict");
        refused(fixture->log, RECORDS, -EINVAL, "no verdict");
        refused(fixture->log, RECORDS + 1, -ERANGE, "no such record");
        refused(fixture->log, UINT64_MAX, -ERANGE, "no such record");

        /* Somebody wrote into the table: another's record in its place, one bit of it, nothing. */
        execute(fixture, "UPDATE record SET (signature, payload) = (SELECT signature, payload FROM record WHERE idx = 1) WHERE idx = 2");
        execute(fixture, "UPDATE record SET payload = CAST(replace(payload, 'A', 'B') AS BLOB) WHERE idx = 3");
        execute(fixture, "DELETE FROM record WHERE idx = 5");
        refused(fixture->log, 2, -EBADMSG, "does not verify");
        refused(fixture->log, 3, -EBADMSG, "does not verify");
        refused(fixture->log, 5, -EBADMSG, "does not verify");
        execute(fixture, "UPDATE record SET payload = NULL WHERE idx = 4");
        refused(fixture->log, 4, -ENODATA, "pruned");
        free(companion(fixture->log, 6, 0, NULL));

        /* And then it has failed: what waits is refused as well as what comes. */
        execute(fixture, "INSERT INTO record (idx, id) VALUES (18 + 1, zeroblob(32))");
        assert_int_equal(record_log_heartbeat(fixture->log, RECORD_HEARTBEAT_INTERVAL, 3), 0);
        place_wait(fixture->log, &outcome);
        assert_int_equal(outcome.error, -EIO);
        record_outcome_done(&outcome);
        assert_true(record_log_has_failed(fixture->log));
        assert_int_equal(record_log_companion(fixture->log, 6, 4), -EIO);
}

/* An older key's records too, by the key that signs now; and a key that named its successor signs nothing. */
static void test_the_newest_key_signs_alone(void **state) {
        Fixture *fixture = *state;
        RecordVerified verified;
        RecordKeyring *both;
        RecordKey *next;
        char path[128], *pem, *pems, *envelope;

        (void) snprintf(path, sizeof(path), "%s/next.key", fixture->place.folder);
        next = place_key(&fixture->place, "next.key", RECORD_ECDSA_P256);
        pem = strdup(record_key_public_pem(next));
        scan(fixture);
        assert_int_equal(record_log_rotate(fixture->log, pem, 3), 0);
        assert_int_equal(record_log_companion(fixture->log, BAD, 4), 0); /* behind it in the queue */
        (void) place_take(fixture->log);
        for (unsigned i = 0; i < 2; i++) {
                RecordOutcome outcome;

                place_wait(fixture->log, &outcome);
                assert_int_equal(outcome.error, -EKEYEXPIRED);
                assert_non_null(strstr(outcome.wrong, "successor"));
                assert_null(outcome.companion);
                record_outcome_done(&outcome);
                if (i == 0)
                        assert_int_equal(record_log_companion(fixture->log, BAD, 4), 0);
        }
        fixture->log = record_log_free(fixture->log);
        assert_int_equal(place_open_as(&fixture->place, PLACE_ORIGIN, path, &fixture->log, NULL), 0);
        envelope = companion(fixture->log, BAD, 0, NULL);
        assert_non_null(strstr(envelope, record_key_id(next)));
        assert_int_equal(judge(fixture->keyring, envelope, &verified), RECORD_UNKNOWN_KEY); /* the old one alone */
        record_verified_done(&verified);
        assert_int_equal(record_log_public_keys(fixture->log, &pems), 0);
        assert_int_equal(record_keyring_parse(pems, strlen(pems), &both), 0);
        assert_int_equal(judge(both, envelope, &verified), RECORD_COMPANION);
        record_verified_done(&verified);

        (void) record_keyring_free(both);
        (void) record_key_free(next);
        free(envelope);
        free(pems);
        free(pem);
}

/* Between records, in the order they were asked for; and a log that closes leaves none behind. */
static void test_companions_stand_in_the_queue(void **state) {
        Fixture *fixture = *state;

        scan(fixture);
        for (unsigned i = 0; i < 60; i++) {
                assert_int_equal(record_log_companion(fixture->log, 1 + i % SERVER_CHIPS, 100 + 2 * i), 0);
                assert_int_equal(record_log_heartbeat(fixture->log, RECORD_HEARTBEAT_INTERVAL, 101 + 2 * i), 0);
        }
        for (unsigned i = 0; i < 120; i++) {
                RecordOutcome outcome;

                place_wait(fixture->log, &outcome);
                assert_int_equal(outcome.ticket, 100 + i);
                assert_int_equal(outcome.error, 0);
                assert_true(!outcome.companion == (i % 2 == 1));
                record_outcome_done(&outcome);
        }
        for (unsigned i = 0; i < 60; i++)
                assert_int_equal(record_log_companion(fixture->log, 1, i), 0);
        fixture->log = record_log_free(fixture->log);
}

/* ---- to readers ---- */

/* A companion of payloads.bad, with up to two changes, signed by the right key; malloc'd. */
static char *changed(const char *const *changes) {
        RecordLog *log;
        SignedLine twin;
        char *envelope, *text;
        json_t *statement;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        envelope = companion(log, BAD, 0, NULL);
        (void) record_log_free(log);
        statement = statement_in(envelope);
        free(envelope);
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
                cmocka_unit_test_setup_teardown(test_a_companion_says_what_its_record_says, setup, teardown),
                cmocka_unit_test(test_a_companion_takes_no_place_in_the_log),
                cmocka_unit_test_setup_teardown(test_only_what_verifies_and_is_a_verdict_has_one, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_newest_key_signs_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(test_companions_stand_in_the_queue, setup, teardown),
                cmocka_unit_test(test_what_names_no_record_is_refused),
                cmocka_unit_test(test_a_key_speaks_for_its_log_up_to_its_end),
                cmocka_unit_test(test_a_tampered_twin_is_refused),
                cmocka_unit_test(test_nothing_takes_it_for_a_record),
        };

        return cmocka_run_group_tests(tests, audited_setup, audited_teardown);
}
