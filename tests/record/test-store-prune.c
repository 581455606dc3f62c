/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/store/store.h"
#include "tests/record/faults.h"
#include "tests/record/published.h"

#define RECORDS (SERVER_CHIPS + 1)
#define OLD     UINT64_C(1000000000000000)
#define NEW     UINT64_C(1700000000000000)

static Published published;
static RecordLog *record_log;

#define PRUNED (RECORDS - 2) /* what failed stays: the chip, and the roll-up of its server */

static int setup(void **state) {
        published_init(&published);
        return published_open(&published, &record_log, NULL);
}

static int teardown(void **state) {
        faults_set(0, 0, false, false);
        record_log = record_log_free(record_log);
        published_done(&published);
        return 0;
}

static void scan(uint64_t finished_usec) {
        RecordRun *run = &published.server.scan.run;

        run->finished_usec = finished_usec;
        run->started_usec = finished_usec - 1000000;
        (void) server_scan(&published.server, record_log);
}

/* What came before it is not needed any more to work the tables out. */
static void heartbeat(void) {
        assert_int_equal(record_log_heartbeat(record_log, RECORD_HEARTBEAT_INTERVAL, 1), 0);
        (void) place_take(record_log);
}

static int prune_lived(uint64_t before_usec, uint64_t lived_usec, uint64_t *ret_n) {
        RecordOutcome outcome;
        int r;

        assert_int_equal(record_log_prune(record_log, before_usec, lived_usec, 5), 0);
        place_wait(record_log, &outcome);
        assert_int_equal(outcome.ticket, 5);
        assert_int_equal(outcome.n_entries, 0);
        *ret_n = outcome.n_pruned;
        r = outcome.error;
        record_outcome_done(&outcome);
        return r;
}

static int prune(uint64_t before_usec, uint64_t *ret_n) {
        return prune_lived(before_usec, 0, ret_n);
}

static bool is_pruned(uint64_t index) {
        _cleanup_free_ char *line = place_envelope(record_log, index);
        char wanted[64];

        if (strstr(line, "\"payload\""))
                return false;
        (void) snprintf(wanted, sizeof(wanted), "{\"pruned\":{\"index\":%u,\"sha256\":\"", (unsigned) index);
        if (strncmp(line, wanted, strlen(wanted)) != 0 || strlen(line) != strlen(wanted) + 64 + 3)
                fail_msg("%s", line);
        return true;
}

static unsigned count_pruned(void) {
        unsigned n = 0;

        for (uint64_t i = 0; i < record_log_size(record_log); i++)
                n += is_pruned(i);
        return n;
}

static void test_what_nothing_refers_to_goes_and_is_still_proven(void **state) {
        Location chip = server_location("us0-2/chip3");
        RecordVerified verified;
        RecordScrub scrub;
        RecordEntry entry;
        char *wrong;
        uint64_t n;

        scan(OLD);
        scan(OLD);
        heartbeat();
        published_wait(record_log, 2 * RECORDS + 1);
        assert_int_equal(prune(OLD, &n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(prune(NEW, &n), 0);
        assert_int_equal(n, PRUNED);
        assert_int_equal(count_pruned(), PRUNED);
        assert_true(is_pruned(0));
        assert_false(is_pruned(SERVER_BAD));
        assert_false(is_pruned(RECORDS));
        assert_int_equal(prune(NEW, &n), 0);
        assert_int_equal(n, 0);

        for (uint64_t i = 0; i < 2 * RECORDS; i++) {
                char *proof;
                size_t size;

                assert_int_equal(record_log_proof(record_log, i, &proof, &size), 0);
                free(proof);
        }
        assert_int_equal(place_newest_verified(record_log, &chip, "preflight", &verified), 0);
        assert_int_equal(verified.entry.index, RECORDS + SERVER_BAD);
        entry = verified.entry;
        record_verified_done(&verified);
        entry.index = SERVER_BAD;
        assert_int_equal(record_log_verified(record_log, &chip, &entry, &verified), 0);
        record_verified_done(&verified);
        entry.subject = published.server.chips[0].subject.where;
        entry.index = 0;
        assert_int_equal(record_log_verified(record_log, &entry.subject, &entry, &verified), -ENODATA);

        record_log = record_log_free(record_log);
        assert_int_equal(published_open(&published, &record_log, NULL), 0);
        assert_int_equal(record_log_size(record_log), 2 * RECORDS + 1);
        assert_int_equal(count_pruned(), PRUNED);

        /* What is left of them is whole, and the tables follow from it. */
        scan(OLD);
        assert_int_equal(prune(NEW, &n), 0);
        assert_int_equal(n, PRUNED);
        if (record_log_check(record_log, &wrong) < 0)
                fail_msg("%s", wrong);
        record_log_scrubbed(record_log, &scrub);
        assert_int_equal(scrub.n_pruned, 2 * PRUNED);
}

/* A failure under one plan, regions under another: what stands stays, however old. */
static void test_what_is_referred_to_stays(void **state) {
        Location chip = server_location("us0-2/chip0"), bad = server_location("us0-2/chip3");
        RecordVerified verified;
        RecordEntry entry;
        uint64_t n;

        published_append(&published, record_log, 1); /* a run that does not end */
        scan(OLD);
        published.server.run[35] = '7'; /* another run */
        (void) server_start(&published.server, record_log);
        published.server.steps[0][0].regions = NULL;
        scan(OLD);
        heartbeat();
        assert_int_equal(prune(NEW, &n), 0);
        assert_false(is_pruned(1)); /* regions of chip 0 */
        assert_true(is_pruned(2));
        assert_true(is_pruned(RECORDS + 1)); /* the start of a run that ended */
        assert_int_equal(record_log_regions_verified(record_log, &chip, "preflight", &verified), 0);
        assert_int_equal(verified.entry.index, 1);
        record_verified_done(&verified);
        assert_int_equal(record_log_failure(record_log, &bad, &entry), 0);
        assert_false(is_pruned(entry.index));
}

static void test_a_run_without_its_end_stays(void **state) {
        uint64_t n, cursor = 0;
        RecordEntry entry;

        published.server.scan.run.started_usec = OLD;
        published_append(&published, record_log, 3);
        heartbeat();
        assert_int_equal(prune(NEW, &n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(record_log_unfinished(record_log, &cursor, &entry), 0);
        assert_false(is_pruned(entry.index));
}

static void test_a_change_of_keys_and_what_follows_it_stay(void **state) {
        sqlite3 *db;
        uint64_t n;

        scan(OLD);
        scan(OLD);
        record_log = record_log_free(record_log);
        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "UPDATE entry SET type = '" RECORD_TYPE_ROTATION "' WHERE idx = 4", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);

        {
                Store *store = NULL;
                bool unknown;
                char *wrong = NULL;

                assert_int_equal(store_open(published.place.log, PLACE_ORIGIN, &store, &wrong), 0);
                assert_int_equal(store_prune(store, 0, 2 * RECORDS - 1, NEW, &n, &unknown), 0);
                (void) store_close(store);
        }
        assert_int_equal(n, PRUNED - 2);
}

#define BEATS_MAX 12

/* When they were, in hours by the clock, the last of a list is 0; and where they tell it since when the machine was up, and in which boot. */
typedef struct Beats {
        double hours[BEATS_MAX], uptime[BEATS_MAX];
        const char *boots; /* a letter each; NULL: they do not tell */
        unsigned gone;     /* of them, which are the records */
        bool is_true;      /* what they tell stays as it was signed */
} Beats;

/* All are signed before the first is edited: no heartbeat is signed on top of what somebody else wrote. */
static void beat(const Beats *beats) {
        uint64_t first = record_log_size(record_log);
        sqlite3 *db;
        char sql[512];

        for (size_t i = 0; i == 0 || beats->hours[i] != 0; i++)
                heartbeat();
        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
        for (size_t i = 0; i == 0 || beats->hours[i] != 0; i++) {
                unsigned index = (unsigned) (first + i);

                (void) snprintf(sql, sizeof(sql),
                                "UPDATE entry SET finished = %.0f WHERE idx = %u; UPDATE record SET payload = CAST('{\"predicate\":{\"producer\":"
                                "{\"bootId\":\"%c\"},\"clock\":{\"monotonicNs\":\"%.0f\"}}}' AS BLOB) WHERE idx = %u",
                                (double) OLD + beats->hours[i] * 3600e6, index, beats->boots ? beats->boots[i] : ' ',
                                beats->boots ? beats->uptime[i] * 3600e9 : 0, index);
                if (beats->is_true)
                        *strchr(sql, ';') = '\0';
                assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Two days are kept; the last heartbeat is now. How many go of the records that are written before each heartbeat? */
static void test_what_is_old_by_the_clock_alone_stays(void **state) {
        static const Beats cases[] = {
                { { 1, 13, 25, 37, 49, 61, 73 }, .gone = 3 },         /* as it should be */
                { { 1, 2, 3, 4, 5, 6 }, .gone = 0 },                  /* not old enough */
                { { 1, 2, 3, 4, 87600, 87601 }, .gone = 0 },          /* ten years ahead: a day */
                { { 1, 2, 3, 87600, 87601, 87602, 87603 }, .gone = 0 },
                { { 1, 2, 87600, 3, 87600, 4, 5 }, .gone = 2 },       /* twice, and put back: a day each time */
                { { 1, 2, 3, -8760, -8759, 4, 5, 6 }, .gone = 0 },    /* back, and in time again */
                { { 1, 2, 800, 810, 820, 840, 847 }, .gone = 2 },     /* a month without power is a day */
                /* The machine tells how long it was up. */
                { { 1, 13, 25, 37, 49, 61, 73 }, { 2, 14, 26, 38, 50, 62, 74 }, "aaaaaaa", 3 },
                { { 1, 25, 49, 73, 97, 121 }, { 1, 2, 3, 4, 5, 6 }, "aaaaaa", 0 },         /* a day ahead each hour */
                { { 1, 2, 87600, 3, 87600, 4, 5 }, { 1, 2, 3, 4, 5, 6, 7 }, "aaaaaaa", 0 },
                { { 1, 25, 49, 73, 97, 121 }, { 1, 2, 1, 2, 1, 2 }, "aabbcc", 2 },         /* and is started again: a day each time */
                { { 1, 2, 3, 4, 5, 6 }, { 1, 100, 200, 300, 400, 500 }, "aaaaaa", 0 },     /* a clock that is slow */
                { { 1, 800, 801, 802, 830 }, { 1, 800, 801, 802, 830 }, "aaaaa", 1 },      /* a month in which it was up, and assayd was not, is a day */
                { { 1, 25, 49, 73, 97, 121 }, { 6, 5, 4, 3, 2, 1 }, "aaaaaa", 0 },         /* which no machine says */
                { { 1, 25, 49, 73, 97, 121 }, .is_true = true, .gone = 0 },                /* all of them in this second */
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                uint64_t n;

                beat(&cases[i]);
                assert_int_equal(prune_lived(UINT64_MAX / 2, UINT64_C(2) * 86400 * 1000000, &n), 0);
                if (n != cases[i].gone)
                        fail_msg("case %zu: %u are gone", i, (unsigned) n);
                (void) teardown(state);
                assert_int_equal(setup(state), 0);
        }
}

static void test_a_failing_disk_drops_all_of_a_step_or_nothing(void **state) {
        static const int errors[] = { SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC };
        unsigned n_failed = 0;
        uint64_t n;

        scan(OLD);
        scan(OLD);
        heartbeat();
        published_wait(record_log, 2 * RECORDS + 1);
        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (int i = 1; i < 100; i++) {
                        unsigned before = count_pruned();
                        int r;

                        faults_set(i, errors[e], true, false);
                        r = prune(NEW, &n);
                        faults_set(0, 0, false, false);
                        if (r == 0)
                                break;
                        n_failed++;
                        assert_true(count_pruned() == before || count_pruned() == PRUNED);
                        if (count_pruned() == PRUNED)
                                break;
                }
        assert_in_range(n_failed, 1, 200);
        assert_int_equal(prune(NEW, &n), 0);
        assert_int_equal(count_pruned(), PRUNED);
        scan(NEW);
        assert_int_equal(record_log_size(record_log), 3 * RECORDS + 1);
}

int main(void) {
        faults_install();

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_what_nothing_refers_to_goes_and_is_still_proven, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_referred_to_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_run_without_its_end_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_change_of_keys_and_what_follows_it_stay, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_old_by_the_clock_alone_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failing_disk_drops_all_of_a_step_or_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
