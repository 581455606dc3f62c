/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/store/store.h"
#include "tests/record/archiving.h"

#define RECORDS ARCHIVING_RECORDS
#define OLD     ARCHIVING_OLD
#define NEW     ARCHIVING_NEW

static Archiving archiving;

static int setup(void **state) {
        archiving_init(&archiving);
        return 0;
}

static int teardown(void **state) {
        archiving_done(&archiving);
        return 0;
}

/* The log is closed: what of the archive from FIRST on may go. */
static RegionSet droppable(uint64_t first, uint64_t before_usec) {
        _cleanup_free_ char *wrong = NULL;
        Store *store = NULL;
        RegionSet set;

        assert_int_equal(store_open(archiving.published.place.log, PLACE_ORIGIN, &store, &wrong), 0);
        assert_int_equal(store_droppable(store, first, before_usec, &set), 0);
        (void) store_close(store);
        return set;
}

/* What failed stays: a chip of each scan, and so its server; and the newest of each part. */
static void test_what_nothing_refers_to_may_go(void **state) {
        RegionSet set;

        archiving_scan(&archiving, OLD);
        archiving_scan(&archiving, OLD);
        archiving_close(&archiving);
        set = droppable(0, OLD);
        assert_int_equal(region_set_count(&set), 0);
        set = droppable(0, OLD + 1);
        for (unsigned i = 0; i < 2 * RECORDS; i++)
                assert_int_equal(region_set_has(&set, i), i < RECORDS && i != SERVER_BAD && i != RECORDS - 1);
        set = droppable(RECORD_ARCHIVE_RECORDS, NEW);
        assert_int_equal(region_set_count(&set), 0);
}

/* A failure under one plan, regions under another: what stands stays, however old. */
static void test_what_is_referred_to_stays(void **state) {
        Location chip = server_location("us0-2/chip0"), bad = server_location("us0-2/chip3");
        Published *published = &archiving.published;
        RecordVerified verified;
        RecordEntry entry;
        RegionSet set;

        published_append(published, archiving.log, 1); /* a run that does not end */
        archiving_scan(&archiving, OLD);
        published->server.run[35] = '7'; /* another run */
        (void) server_start(&published->server, archiving.log);
        published->server.steps[0][0].regions = NULL;
        archiving_scan(&archiving, OLD);
        assert_int_equal(record_log_regions_verified(archiving.log, &chip, "preflight", &verified), 0);
        assert_int_equal(verified.entry.index, 1);
        record_verified_done(&verified);
        assert_int_equal(record_log_failure(archiving.log, &bad, &entry), 0);
        archiving_close(&archiving);
        set = droppable(0, NEW);
        assert_false(region_set_has(&set, 1)); /* regions of chip 0 */
        assert_true(region_set_has(&set, 2));
        assert_true(region_set_has(&set, RECORDS + 1)); /* the start of a run that ended */
        assert_false(region_set_has(&set, (unsigned) entry.index));
}

static void test_a_run_without_its_end_stays(void **state) {
        RegionSet set;

        archiving.published.server.scan.run.started_usec = OLD;
        published_append(&archiving.published, archiving.log, 3);
        archiving_close(&archiving);
        set = droppable(0, NEW);
        assert_int_equal(region_set_count(&set), 0);
}

/* So does what tells of an archive, and whatever later assayds may have to say of the log. */
static void test_what_tells_of_the_log_stays(void **state) {
        static const char *const types[] = { RECORD_TYPE_ROTATION, RECORD_TYPE_ARCHIVE, "urn:assay:attestation:later:v1" };
        RegionSet set;
        char sql[160];

        archiving_scan(&archiving, OLD);
        archiving_scan(&archiving, OLD);
        archiving_close(&archiving);
        for (size_t i = 0; i < ELEMENTS(types); i++) {
                (void) snprintf(sql, sizeof(sql), "UPDATE entry SET type = '%s' WHERE idx = 5", types[i]);
                archiving_execute(&archiving, sql);
                set = droppable(0, NEW);
                assert_false(region_set_has(&set, 5));
                assert_int_equal(region_set_has(&set, 6), i > 0); /* which a new key has signed */
                assert_int_equal(region_set_count(&set), i > 0 ? RECORDS - 3 : RECORDS - 4);
        }
}

/* Each hole, in order, whatever mark stands there. */
static void test_holes_are_found(void **state) {
        static const uint64_t holes[] = { 2, 5, 6, 7, 9, 10 };
        _cleanup_free_ char *wrong = NULL;
        uint64_t index = 0;
        Store *store = NULL;
        RegionSet set;

        archiving_scan(&archiving, OLD);
        archiving_close(&archiving);
        archiving_execute(&archiving, "UPDATE record SET payload = NULL WHERE idx = 2; UPDATE record SET signature = NULL WHERE idx = 5;"
                                      "UPDATE record SET keyid = NULL WHERE idx = 7; UPDATE record SET payload = NULL, keyid = '' WHERE idx = 6;"
                                      "UPDATE record SET payload = NULL, keyid = NULL, signature = NULL WHERE idx IN (9, 10)");
        assert_int_equal(store_open(archiving.published.place.log, PLACE_ORIGIN, &store, &wrong), 0);
        for (size_t i = 0; i < ELEMENTS(holes); i++) {
                assert_int_equal(store_next_hole(store, index, &index), 0);
                assert_int_equal(index++, holes[i]);
        }
        assert_int_equal(store_next_hole(store, index, &index), -ENOENT);
        (void) store_close(store);
        /* An archive that has something already is never made again: its file has what the log has no more. */
        set = droppable(0, NEW);
        assert_int_equal(region_set_count(&set), 0);
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
        uint64_t first = record_log_size(archiving.log);
        sqlite3 *db;
        char sql[512];

        for (size_t i = 0; i == 0 || beats->hours[i] != 0; i++)
                archiving_beat(&archiving);
        assert_int_equal(sqlite3_open(archiving.published.place.log, &db), SQLITE_OK);
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

/* Two days are kept; the last heartbeat is now. Before how many of them has the log gone on for so long? */
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
                _cleanup_free_ char *wrong = NULL;
                Store *store = NULL;
                uint64_t end;

                beat(&cases[i]);
                archiving_close(&archiving);
                assert_int_equal(store_open(archiving.published.place.log, PLACE_ORIGIN, &store, &wrong), 0);
                assert_int_equal(store_lived(store, UINT64_C(2) * 86400 * 1000000, &end), 0);
                (void) store_close(store);
                if (end != cases[i].gone)
                        fail_msg("case %zu: %u are old", i, (unsigned) end);
                (void) teardown(state);
                assert_int_equal(setup(state), 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_what_nothing_refers_to_may_go, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_referred_to_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_run_without_its_end_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_tells_of_the_log_stays, setup, teardown),
                cmocka_unit_test_setup_teardown(test_holes_are_found, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_old_by_the_clock_alone_stays, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
