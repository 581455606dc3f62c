/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "tests/record/faults.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

#define KEYS 4

typedef struct Fixture {
        Place place;
        Server server;
        RecordLog *log;
        char keys[KEYS][128]; /* the first one made the log */
        char *pems[KEYS];
        char ids[KEYS][64];
} Fixture;

static const RecordAlgorithm algorithms[KEYS] = { RECORD_ED25519, RECORD_ECDSA_P256, RECORD_ED25519, RECORD_ED25519 };

static int setup(void **state) {
        static Fixture fixture;

        fixture = (Fixture) {};
        place_init(&fixture.place);
        server_init(&fixture.server);
        for (unsigned i = 0; i < KEYS; i++) {
                RecordKey *key;

                (void) snprintf(fixture.keys[i], sizeof(fixture.keys[i]), "%s/%u.key", fixture.place.folder, i);
                assert_int_equal(record_key_generate(fixture.keys[i], algorithms[i]), 0);
                assert_int_equal(record_key_load(fixture.keys[i], &key), 0);
                fixture.pems[i] = strdup(record_key_public_pem(key));
                (void) snprintf(fixture.ids[i], sizeof(fixture.ids[i]), "%s", record_key_id(key));
                (void) record_key_free(key);
        }
        *state = &fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        fixture->log = record_log_free(fixture->log);
        for (unsigned i = 0; i < KEYS; i++)
                free(fixture->pems[i]);
        place_done(&fixture->place);
        return 0;
}

static void open_with(Fixture *fixture, unsigned key) {
        char *error = NULL;

        fixture->log = record_log_free(fixture->log);
        if (place_open_as(&fixture->place, PLACE_ORIGIN, fixture->keys[key], &fixture->log, &error) < 0)
                fail_msg("%s", error);
        free(error);
}

static void refuse_with(Fixture *fixture, unsigned key, const char *why) {
        char *error = NULL;

        fixture->log = record_log_free(fixture->log);
        assert_int_equal(place_open_as(&fixture->place, PLACE_ORIGIN, fixture->keys[key], &fixture->log, &error), -EBADMSG);
        assert_null(fixture->log);
        assert_non_null(error);
        if (!strstr(error, why))
                fail_msg("%s: %s expected", error, why);
        free(error);
}

static int outcome_of(Fixture *fixture, uint64_t ticket, uint64_t *ret_index) {
        RecordOutcome outcome;
        int r;

        place_wait(fixture->log, &outcome);
        assert_int_equal(outcome.ticket, ticket);
        r = outcome.error;
        if (r == 0 && ret_index)
                *ret_index = outcome.entries[outcome.n_entries - 1].index;
        record_outcome_done(&outcome);
        return r;
}

static void scan(Fixture *fixture) {
        assert_int_equal(record_log_scan(fixture->log, &fixture->server.scan, 1), 0);
        assert_int_equal(outcome_of(fixture, 1, NULL), 0);
}

static uint64_t rotate(Fixture *fixture, unsigned key) {
        uint64_t index;

        assert_int_equal(record_log_rotate(fixture->log, fixture->pems[key], 2), 0);
        assert_int_equal(outcome_of(fixture, 2, &index), 0);
        return index;
}

static void execute(Fixture *fixture, const char *sql) {
        char *message = NULL;
        sqlite3 *db;

        fixture->log = record_log_free(fixture->log);
        assert_int_equal(sqlite3_open(fixture->place.log, &db), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
                fail_msg("%s", message);
        (void) sqlite3_close(db);
}

static void test_a_key_that_named_the_next_signs_nothing_more(void **state) {
        Fixture *fixture = *state;
        uint64_t size;

        open_with(fixture, 0);
        scan(fixture);
        assert_int_equal(record_log_rotate(fixture->log, fixture->pems[1], 2), 0);
        assert_int_equal(record_log_scan(fixture->log, &fixture->server.scan, 3), 0);
        assert_int_equal(record_log_rotate(fixture->log, fixture->pems[2], 4), 0);
        assert_int_equal(outcome_of(fixture, 2, &size), 0);
        assert_int_equal(outcome_of(fixture, 3, NULL), -EKEYEXPIRED);
        assert_int_equal(outcome_of(fixture, 4, NULL), -EKEYEXPIRED);
        assert_int_equal(record_log_heartbeat(fixture->log, RECORD_HEARTBEAT_INTERVAL, 5), 0);
        assert_int_equal(outcome_of(fixture, 5, NULL), -EKEYEXPIRED);
        assert_int_equal(record_log_size(fixture->log), size + 1);

        /* It says what to do where the key was not put in its place, and takes no third one. */
        refuse_with(fixture, 0, "assayctl keys rotate --finish ");
        refuse_with(fixture, 0, fixture->ids[1]);
        refuse_with(fixture, 2, "since record ");
        open_with(fixture, 1);
        assert_string_equal(record_log_key_id(fixture->log), fixture->ids[1]);
        scan(fixture);
        refuse_with(fixture, 0, "assayctl keys rotate --finish ");
        refuse_with(fixture, 2, "since record ");
}

static void test_a_log_verifies_what_each_of_its_keys_signed(void **state) {
        Fixture *fixture = *state;
        RecordKeyring *keyring;
        char *pems, *expected;
        uint64_t indices[2];

        open_with(fixture, 0);
        scan(fixture);
        indices[0] = rotate(fixture, 1);
        open_with(fixture, 1);
        scan(fixture);
        indices[1] = rotate(fixture, 2);
        open_with(fixture, 2);
        scan(fixture);
        open_with(fixture, 2);
        assert_true(indices[0] == SERVER_CHIPS + 1 && indices[1] == 2 * (SERVER_CHIPS + 2) - 1);

        assert_int_equal(record_log_public_keys(fixture->log, &pems), 0);
        assert_true(asprintf(&expected, "%s%s%s", fixture->pems[2], fixture->pems[1], fixture->pems[0]) > 0);
        assert_string_equal(pems, expected);
        assert_int_equal(record_keyring_parse(pems, strlen(pems), &keyring), 0);
        for (uint64_t i = 0; i < record_log_size(fixture->log); i++) {
                unsigned key = i <= indices[0] ? 0 : i <= indices[1] ? 1 : 2;
                RecordVerified verified;

                place_verify(fixture->log, keyring, i, &verified);
                assert_string_equal(verified.key_id, fixture->ids[key]);
                if (i == indices[0]) {
                        assert_string_equal(verified.entry.type, RECORD_TYPE_ROTATION);
                        assert_string_equal(record_word(&verified.entry), "key changed");
                        assert_non_null(strstr(verified.reason, fixture->ids[1]));
                        assert_true(verified.entry.finished_usec > 0);
                }
                record_verified_done(&verified);
        }
        (void) record_keyring_free(keyring);
        free(pems);
        free(expected);
}

static void test_a_key_comes_once(void **state) {
        Fixture *fixture = *state;

        open_with(fixture, 0);
        assert_int_equal(record_log_rotate(fixture->log, fixture->pems[0], 1), -EEXIST);
        assert_int_equal(record_log_rotate(fixture->log, "", 1), -EINVAL);
        assert_int_equal(record_log_rotate(fixture->log, "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n", 1), -EINVAL);
        (void) rotate(fixture, 1);
        open_with(fixture, 1);
        assert_int_equal(record_log_rotate(fixture->log, fixture->pems[0], 1), -EEXIST);
        (void) rotate(fixture, 2);
        open_with(fixture, 2);
}

/* No log is opened whose checkpoints are signed with the key of its records. */
static void test_the_key_of_the_checkpoints_is_no_successor(void **state) {
        Fixture *fixture = *state;
        RecordLogOptions options = {
                .path = fixture->place.log, .origin = PLACE_ORIGIN, .producer = PLACE_PRODUCER, .version = "0.1.0",
                .log_key = place_key(&fixture->place, "log.key", RECORD_ED25519),
        };
        _cleanup_free_ char *pem = strdup(record_key_public_pem(options.log_key));

        assert_int_equal(record_key_load(fixture->keys[0], &options.key), 0);
        assert_int_equal(record_log_open(&options, &fixture->log, NULL), 0);
        assert_int_equal(record_log_rotate(fixture->log, pem, 1), -EEXIST);
        assert_int_equal(record_log_rotate(fixture->log, fixture->pems[1], 1), 0);
}

static void test_a_table_that_hides_a_rotation_gives_the_log_to_nobody(void **state) {
        Fixture *fixture = *state;

        open_with(fixture, 0);
        scan(fixture);
        (void) rotate(fixture, 1);
        execute(fixture, "UPDATE entry SET type = 'urn:assay:attestation:heartbeat:v1' WHERE type LIKE '%key-rotation%'");
        refuse_with(fixture, 0, "ends this key");
        refuse_with(fixture, 2, "another key");
        execute(fixture, "UPDATE entry SET type = 'urn:assay:attestation:key-rotation:v1' WHERE idx = 3");
        refuse_with(fixture, 1, "record 3, by which the key was changed, cannot be believed");
}

static void test_a_rotation_that_was_taken_away_gives_the_log_to_nobody(void **state) {
        Fixture *fixture = *state;

        open_with(fixture, 0);
        scan(fixture);
        (void) rotate(fixture, 1);
        open_with(fixture, 1);
        scan(fixture);
        execute(fixture, "UPDATE record SET payload = NULL WHERE idx = (SELECT idx FROM entry WHERE type LIKE '%key-rotation%')");
        refuse_with(fixture, 1, "by which the key was changed, cannot be believed");
}

/* Somebody who can write the database makes another log with a key of his own, which ends with our key too. */
static void test_no_other_key_can_be_put_before_ours(void **state) {
        Fixture *fixture = *state, other = *fixture;
        char sql[512];

        (void) snprintf(other.place.log, sizeof(other.place.log), "%.80s/other.db", other.place.folder);
        open_with(fixture, 0);
        scan(fixture);
        (void) rotate(fixture, 1);
        open_with(fixture, 1);
        open_with(&other, 3);
        scan(&other);
        (void) rotate(&other, 1);
        other.log = record_log_free(other.log);

        scan(fixture);
        (void) snprintf(sql, sizeof(sql),
                        "ATTACH '%s' AS other; UPDATE record SET (id, keyid, signature, payload) = (SELECT id, keyid, signature, payload FROM other.record WHERE idx = %d) WHERE idx = %d",
                        other.place.log, SERVER_CHIPS + 1, SERVER_CHIPS + 1);
        execute(fixture, sql);
        refuse_with(fixture, 1, "by which the key was changed, cannot be believed"); /* another leaf stands in the tree */
}

/* Whatever fails in a change of keys: it is in the log and told so, or the old key goes on. */
static void test_a_change_that_was_not_committed_is_none(void **state) {
        static const struct {
                int error;
                bool after; /* it is on the disk all the same */
        } faulty[] = { { SQLITE_FULL }, { SQLITE_IOERR_WRITE }, { SQLITE_IOERR_FSYNC }, { SQLITE_IOERR_FSYNC, true } };
        Fixture *fixture = *state;
        unsigned n_failed = 0, n_changed = 0;

        open_with(fixture, 0);
        for (size_t e = 0; e < ELEMENTS(faulty); e++)
                for (int n = 1; n < 20; n++) {
                        unsigned key = n_changed % 2, next = 1 - key;
                        int first, second, r;

                        faults_set(n, faulty[e].error, false, faulty[e].after);
                        assert_int_equal(record_log_rotate(fixture->log, fixture->pems[next], 2), 0);
                        assert_int_equal(record_log_heartbeat(fixture->log, RECORD_HEARTBEAT_INTERVAL, 3), 0);
                        first = outcome_of(fixture, 2, NULL);
                        second = outcome_of(fixture, 3, NULL);
                        faults_set(0, 0, false, false);
                        if (first < 0) {
                                n_failed++;
                                assert_true(second == 0 || second == first);
                                scan(fixture);
                                open_with(fixture, key);
                                continue;
                        }
                        assert_int_equal(second, -EKEYEXPIRED);
                        assert_int_equal(record_log_heartbeat(fixture->log, RECORD_HEARTBEAT_INTERVAL, 4), 0);
                        assert_int_equal(outcome_of(fixture, 4, NULL), -EKEYEXPIRED);
                        refuse_with(fixture, key, "--finish");
                        open_with(fixture, next);

                        /* No key comes back, so the log begins anew. */
                        fixture->log = record_log_free(fixture->log);
                        r = unlink(fixture->place.log);
                        assert_int_equal(r, 0);
                        n_changed++;
                        open_with(fixture, n_changed % 2);
                }
        print_message("# %u failed, %u changed\n", n_failed, n_changed);
        assert_true(n_failed > 5 && n_changed > 5);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_key_that_named_the_next_signs_nothing_more, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_verifies_what_each_of_its_keys_signed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_key_comes_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_key_of_the_checkpoints_is_no_successor, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_table_that_hides_a_rotation_gives_the_log_to_nobody, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_rotation_that_was_taken_away_gives_the_log_to_nobody, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_change_that_was_not_committed_is_none, setup, teardown),
                cmocka_unit_test_setup_teardown(test_no_other_key_can_be_put_before_ours, setup, teardown),
        };

        faults_install();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
