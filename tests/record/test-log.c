/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/wait.h>

#include "tests/record/place.h"
#include "tests/record/server.h"

typedef struct Fixture {
        Place place;
        Server server;
        RecordLog *log;
} Fixture;

static int setup(void **state) {
        static Fixture fixture;

        fixture = (Fixture) {};
        place_init(&fixture.place);
        server_init(&fixture.server);
        char *error = NULL;

        if (place_open(&fixture.place, &fixture.log, &error) < 0)
                fail_msg("%s", error);
        *state = &fixture;
        return 0;
}

static int teardown(void **state) {
        Fixture *fixture = *state;

        fixture->log = record_log_free(fixture->log);
        place_done(&fixture->place);
        return 0;
}

static void reopen(Fixture *fixture) {
        fixture->log = record_log_free(fixture->log);
        assert_int_equal(place_open(&fixture->place, &fixture->log, NULL), 0);
}

static void scan_once(Fixture *fixture, uint64_t ticket, RecordOutcome *ret) {
        assert_int_equal(record_log_scan(fixture->log, &fixture->server.scan, ticket), 0);
        place_wait(fixture->log, ret);
        assert_int_equal(ret->ticket, ticket);
        assert_int_equal(ret->error, 0);
}

static void test_a_scan_comes_back_as_one_record_per_chip_and_a_roll_up(void **state) {
        Fixture *fixture = *state;
        RecordOutcome outcome;

        assert_int_equal(record_log_start(fixture->log, &fixture->server.scan.run,
                                          &fixture->server.scan.server, 1),
                         0);
        place_wait(fixture->log, &outcome);
        assert_int_equal(outcome.error, 0);
        assert_int_equal(outcome.n_entries, 1);
        assert_string_equal(outcome.entries[0].type, RECORD_TYPE_RUN_START);
        record_outcome_done(&outcome);

        scan_once(fixture, 2, &outcome);
        assert_int_equal(outcome.n_entries, SERVER_CHIPS + 1);
        for (size_t i = 0; i < outcome.n_entries; i++) {
                assert_int_equal(outcome.entries[i].index, 1 + i);
                assert_string_equal(outcome.entries[i].type,
                                    i < SERVER_CHIPS ? RECORD_TYPE_HEALTH_V2 : RECORD_TYPE_SUMMARY);
                assert_int_equal(outcome.entries[i].result,
                                 i == SERVER_BAD || i == SERVER_CHIPS ? RESULT_FAILED : RESULT_PASSED);
        }
        record_outcome_done(&outcome);
        assert_int_equal(record_log_size(fixture->log), SERVER_CHIPS + 2);
        assert_int_equal(record_log_next(fixture->log, &outcome), -EAGAIN);
}

static void test_every_exported_record_verifies_and_follows_the_one_before(void **state) {
        Fixture *fixture = *state;
        RecordKeyring *keyring = place_keyring(&fixture->place);
        char previous[RECORD_ID_HEX + 64] = "";
        RecordOutcome outcome;

        (void) server_start(&fixture->server, fixture->log);
        scan_once(fixture, 2, &outcome);
        for (uint64_t i = 0; i < record_log_size(fixture->log); i++) {
                RecordVerified verified;

                place_verify(fixture->log, keyring, i, &verified);
                assert_int_equal(verified.entry.index, i);
                if (i > 0) {
                        assert_string_equal(verified.entry.id, outcome.entries[i - 1].id);
                        assert_non_null(strstr(verified.payload, previous));
                }
                (void) snprintf(previous, sizeof(previous), "\"previous\":{\"sha256\":\"%s\"}",
                                verified.entry.id);
                record_verified_done(&verified);
        }
        record_outcome_done(&outcome);
        (void) record_keyring_free(keyring);
}

/* It says that somebody was there, and nothing of how anything stands. */
static void test_a_heartbeat_is_a_record_and_no_verdict(void **state) {
        static const char *const causes[] = { "\"cause\":\"start\"", "\"cause\":\"interval\"" };
        Fixture *fixture = *state;
        RecordKeyring *keyring = place_keyring(&fixture->place);
        Location server = server_location("us0-2");
        RecordOutcome outcome;
        RecordEntry entry;
        uint64_t cursor = 0;

        for (RecordHeartbeat cause = 0; cause < _RECORD_HEARTBEAT_MAX; cause++) {
                RecordVerified verified;

                assert_int_equal(record_log_heartbeat(fixture->log, cause, 7), 0);
                place_wait(fixture->log, &outcome);
                assert_int_equal(outcome.error, 0);
                assert_int_equal(outcome.n_entries, 1);
                assert_false(record_is_verdict(&outcome.entries[0]));
                assert_string_equal(record_word(&outcome.entries[0]), "heartbeat");
                place_verify(fixture->log, keyring, outcome.entries[0].index, &verified);
                assert_string_equal(verified.entry.type, RECORD_TYPE_HEARTBEAT);
                assert_int_equal(verified.entry.finished_usec / 1000, outcome.entries[0].finished_usec / 1000);
                assert_non_null(strstr(verified.payload, causes[cause]));
                record_verified_done(&verified);
                record_outcome_done(&outcome);
        }
        assert_int_equal(record_log_newest(fixture->log, &(Location) {}, NULL, &entry), -ENOENT);
        assert_int_equal(record_log_unfinished(fixture->log, &cursor, &entry), -ENOENT);

        (void) server_scan(&fixture->server, fixture->log);
        assert_int_equal(record_log_heartbeat(fixture->log, RECORD_HEARTBEAT_INTERVAL, 7), 0);
        (void) place_take(fixture->log);
        assert_int_equal(record_log_newest(fixture->log, &server, NULL, &entry), 0);
        assert_string_equal(entry.type, RECORD_TYPE_SUMMARY);
        reopen(fixture);
        assert_int_equal(record_log_size(fixture->log), SERVER_CHIPS + 4);
        (void) record_keyring_free(keyring);
}

/* Records without regions do not stand in the way of the newest that has some. */
static void test_the_newest_regions_of_a_chip_are_found(void **state) {
        Fixture *fixture = *state;
        Location chip = server_location("us0-2/chip0"), other = server_location("us0-2/chip1");
        RecordVerified verified;
        RecordOutcome outcome;
        RecordEntry entry;

        assert_int_equal(record_log_regions_verified(fixture->log, &chip, "preflight", &verified), -ENOENT);
        scan_once(fixture, 1, &outcome);
        record_outcome_done(&outcome);
        fixture->server.regions.position = 7;
        scan_once(fixture, 2, &outcome);
        record_outcome_done(&outcome);
        fixture->server.steps[0][0].regions = NULL;
        scan_once(fixture, 3, &outcome);
        record_outcome_done(&outcome);

        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(record_log_regions_verified(fixture->log, &chip, "preflight", &verified), 0);
                assert_int_equal(verified.entry.index, 17);
                assert_non_null(strstr(verified.payload, "\"position\":7"));
                assert_int_equal(verified.stage, STAGE_PREFLIGHT);
                record_verified_done(&verified);
                assert_int_equal(record_log_regions_verified(fixture->log, &chip, "burnin", &verified), -ENOENT);
                assert_int_equal(record_log_regions_verified(fixture->log, &other, "preflight", &verified), -ENOENT);
                assert_int_equal(record_log_newest(fixture->log, &chip, "preflight", &entry), 0);
                assert_int_equal(entry.index, 34);
                assert_int_equal(record_log_newest(fixture->log, &chip, NULL, &entry), 0);
                assert_int_equal(entry.index, 34);
                reopen(fixture);
        }
}

static void test_the_newest_record_of_a_part_is_the_one_with_the_highest_index(void **state) {
        Fixture *fixture = *state;
        Location chip = server_location("us0-2/chip3"), server = server_location("us0-2"),
                 other = server_location("us0-3/chip3");
        RecordVerified verified;
        RecordOutcome outcome;
        RecordEntry entry;

        assert_int_equal(record_log_newest(fixture->log, &chip, NULL, &entry), -ENOENT);
        scan_once(fixture, 1, &outcome);
        record_outcome_done(&outcome);
        fixture->server.scan.run.plan = "production";
        scan_once(fixture, 2, &outcome);
        record_outcome_done(&outcome);
        reopen(fixture);

        assert_int_equal(record_log_newest(fixture->log, &chip, NULL, &entry), 0);
        assert_int_equal(entry.index, SERVER_CHIPS + 1 + SERVER_BAD);
        assert_string_equal(entry.plan, "production");
        assert_int_equal(entry.result, RESULT_FAILED);
        assert_true(location_equal(&entry.subject, &chip));
        assert_int_equal(record_log_newest(fixture->log, &chip, "preflight", &entry), 0);
        assert_int_equal(entry.index, SERVER_BAD);
        assert_int_equal(record_log_newest(fixture->log, &server, "preflight", &entry), 0);
        assert_int_equal(entry.index, SERVER_CHIPS);
        assert_string_equal(entry.type, RECORD_TYPE_SUMMARY);
        assert_int_equal(record_log_newest(fixture->log, &chip, "burnin", &entry), -ENOENT);
        assert_int_equal(record_log_newest(fixture->log, &other, NULL, &entry), -ENOENT);

        assert_int_equal(place_newest_verified(fixture->log, &chip, "preflight", &verified), 0);
        assert_string_equal(verified.reason, "us0-2/chip3 systolic: systolic-pe at core5/pe17.93");
        assert_int_equal(verified.entry.finished_usec, 1795252449500000);
        record_verified_done(&verified);
}

/* A tray that was exchanged: the place is the same. */
static void test_a_record_is_of_the_chip_and_not_of_its_place(void **state) {
        Fixture *fixture = *state;
        RecordSubject chip = fixture->server.chips[2].subject, host = fixture->server.scan.server;
        RecordOutcome outcome;

        scan_once(fixture, 1, &outcome);
        record_outcome_done(&outcome);
        assert_int_equal(record_log_is_of(fixture->log, 2, &chip, &host), 1);
        assert_int_equal(record_log_is_of(fixture->log, 4, &chip, &host), 0);
        chip.serial = "0123456789abc099";
        assert_int_equal(record_log_is_of(fixture->log, 2, &chip, &host), 0);
        chip.serial = ""; /* then by where it sits, which no record before has said */
        assert_int_equal(record_log_is_of(fixture->log, 2, &chip, &host), 0);
        assert_int_equal(record_log_is_of(fixture->log, SERVER_CHIPS + 1, &chip, &host), -EBADMSG);
}

/* What is told of earlier ones is in the record, and in its line. */
static void test_a_record_refers_to_earlier_ones(void **state) {
        Fixture *fixture = *state;
        RecordVerified verified;
        RecordOutcome outcome;

        scan_once(fixture, 1, &outcome);
        record_outcome_done(&outcome);
        fixture->server.chips[2].earlier = (RecordEarlier) { true, 16 };
        fixture->server.chips[2].standing = (RecordEarlier) { true, 2 };
        scan_once(fixture, 2, &outcome);
        record_outcome_done(&outcome);
        assert_int_equal(place_newest_verified(fixture->log, &fixture->server.chips[2].subject.where, NULL, &verified), 0);
        assert_non_null(strstr(verified.payload, "\"earlier\":16,\"standing\":2,"));
        assert_non_null(strstr(verified.reason, ", after the failure in record 2"));
        record_verified_done(&verified);
}

static void test_a_run_without_its_end_is_found_again(void **state) {
        Fixture *fixture = *state;
        RecordOutcome outcome;
        uint64_t cursor = 0;
        RecordEntry entry;

        for (unsigned i = 1; i <= 3; i++) {
                fixture->server.run[35] = (char) ('0' + i);
                assert_int_equal(record_log_start(fixture->log, &fixture->server.scan.run,
                                                  &fixture->server.scan.server, i),
                                 0);
                place_wait(fixture->log, &outcome);
                record_outcome_done(&outcome);
        }
        fixture->server.run[35] = '2';
        scan_once(fixture, 4, &outcome);
        record_outcome_done(&outcome);
        reopen(fixture);

        assert_int_equal(record_log_unfinished(fixture->log, &cursor, &entry), 0);
        assert_int_equal(entry.index, 0);
        assert_string_equal(entry.run, "01934a6e-5e00-7000-8000-000000000001");
        assert_int_equal(record_log_unfinished(fixture->log, &cursor, &entry), 0);
        assert_int_equal(entry.index, 2);
        assert_int_equal(record_log_unfinished(fixture->log, &cursor, &entry), -ENOENT);
}

static void test_a_range_beyond_the_end_is_refused(void **state) {
        Fixture *fixture = *state;
        RecordOutcome outcome;
        FILE *file = tmpfile();

        assert_int_equal(record_log_export(fixture->log, 0, 1, fileno(file)), -ERANGE);
        scan_once(fixture, 1, &outcome);
        record_outcome_done(&outcome);
        assert_int_equal(record_log_export(fixture->log, 0, UINT64_MAX, fileno(file)), SERVER_CHIPS + 1);
        assert_int_equal(record_log_export(fixture->log, 10, 3, fileno(file)), 3);
        assert_int_equal(record_log_export(fixture->log, 10, 0, fileno(file)), 0);
        assert_int_equal(record_log_export(fixture->log, SERVER_CHIPS + 1, 1, fileno(file)), -ERANGE);
        (void) fclose(file);
}

static void test_a_log_of_another_origin_or_key_is_refused(void **state) {
        Fixture *fixture = *state;
        RecordLog *other = NULL;
        RecordOutcome outcome;
        _cleanup_(record_key_freep) RecordKey *due = NULL, *given = NULL;
        char *error = NULL, key[128], says[320];

        scan_once(fixture, 1, &outcome);
        record_outcome_done(&outcome);
        fixture->log = record_log_free(fixture->log);

        assert_int_equal(place_open_as(&fixture->place, "fleet.example/other", fixture->place.key, &other,
                                       &error),
                         -EBADMSG);
        assert_string_equal(error, "the log's origin is " PLACE_ORIGIN ", not fleet.example/other, and a log keeps its origin: write `origin: " PLACE_ORIGIN
                                   "` into assayd.yaml again, or begin a new log (CHANGING THE ORIGIN)");
        free(error);
        (void) snprintf(key, sizeof(key), "%s/other.key", fixture->place.folder);
        assert_int_equal(record_key_generate(key, RECORD_ED25519), 0);
        assert_int_equal(place_open_as(&fixture->place, PLACE_ORIGIN, key, &other, &error), -EBADMSG);
        assert_int_equal(record_key_load(fixture->place.key, &due), 0);
        assert_int_equal(record_key_load(key, &given), 0);
        (void) snprintf(says, sizeof(says), "the last record, 16: is signed with another key, by its own account %s, and this is %s: give assayd that key",
                        record_key_id(due), record_key_id(given));
        if (!strstr(error, says))
                fail_msg("not `%s` but `%s`", says, error);
        free(error);
        assert_int_equal(place_open_as(&fixture->place, "no good", fixture->place.key, &other, &error),
                         -EINVAL);
        assert_null(other);
}

/* A process that has everything of ours until it is told to go, as a worker has before it is another program. */
/* A child that waits until it is told, by the pipe's end, and then returns what TRIES comes to. */
static pid_t child_that_waits(const Place *place, int (*tries)(const Place *place), int *ret_go) {
        int go[2];
        pid_t child;

        assert_int_equal(pipe2(go, O_CLOEXEC), 0);
        child = fork();
        if (child == 0) {
                char c;

                (void) close(go[1]);
                _exit(read(go[0], &c, 1) < 0 ? 255 : -tries(place));
        }
        assert_true(child > 0);
        (void) close(go[0]);
        *ret_go = go[1];
        return child;
}

static int end_of(pid_t child, int go) {
        int status;

        (void) close(go);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return -WEXITSTATUS(status);
}

static int try_to_open(const Place *place) {
        RecordLog *other = NULL;

        return place_open(place, &other, NULL);
}

static int try_nothing(const Place *place) {
        return 0;
}

static void test_one_process_writes(void **state) {
        Fixture *fixture = *state;
        pid_t child;
        int go;

        /* Forked while no writer runs: what another thread had locked stays so in a child, the allocator too. */
        fixture->log = record_log_free(fixture->log);
        child = child_that_waits(&fixture->place, try_to_open, &go);
        assert_int_equal(place_open(&fixture->place, &fixture->log, NULL), 0);
        assert_int_equal(end_of(child, go), -EBUSY);

        /* A child that was forked while the log was open, and lives on, holds no lock. */
        child = child_that_waits(&fixture->place, try_nothing, &go);
        reopen(fixture);
        assert_int_equal(end_of(child, go), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_scan_comes_back_as_one_record_per_chip_and_a_roll_up,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(
                                test_every_exported_record_verifies_and_follows_the_one_before, setup,
                                teardown),
                cmocka_unit_test_setup_teardown(test_a_heartbeat_is_a_record_and_no_verdict, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_newest_regions_of_a_chip_are_found, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                test_the_newest_record_of_a_part_is_the_one_with_the_highest_index, setup,
                                teardown),
                cmocka_unit_test_setup_teardown(test_a_record_is_of_the_chip_and_not_of_its_place, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_record_refers_to_earlier_ones, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_run_without_its_end_is_found_again, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_range_beyond_the_end_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_one_process_writes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_of_another_origin_or_key_is_refused, setup,
                                                teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
