/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Somebody edits the database while nobody has it open: the log itself stays whole, and only the tables that lead to its records say something else.
 * Each edit is tried on a log that ends with a heartbeat, which signs what they come to, and on one that went on since.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "checks/whole-file.h"
#include "daemon/record/statement/statement.h"
#include "daemon/record/store/reader.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

static Place place;
static Server server;
static char copy[128];

static RecordLog *open_log(void) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log;

        if (place_open(&place, &log, &error) < 0)
                fail_msg("%s", error ?: "no log");
        assert_null(error);
        return log;
}

static void beat(RecordLog *log) {
        assert_int_equal(record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 1), 0);
        (void) place_take(log);
}

/* Chip 3 and the server pass, or fail. */
static void make_scan(const char *plan, bool passes) {
        server_init(&server);
        server.scan.run.plan = plan;
        if (passes) {
                server.measurements[SERVER_BAD][1].value = 0;
                server.steps[SERVER_BAD][1].n_diagnoses = 0;
                server.steps[SERVER_BAD][1].verdict = VERDICT_PASSED;
                server.chips[SERVER_BAD].result = server.scan.result = RESULT_PASSED;
        }
}

static void scan(RecordLog *log, const char *plan, bool passes) {
        make_scan(plan, passes);
        (void) server_scan(&server, log);
}

/* A pass of the same plan, which no longer has the step that fails. */
static void scan_without_test(RecordLog *log, const char *plan) {
        make_scan(plan, true);
        server.steps[SERVER_BAD][1] = server.steps[SERVER_BAD][2];
        server.steps[SERVER_BAD][2] = server.steps[SERVER_BAD][5];
        server.steps[SERVER_BAD][5].name = "identity";
        server.steps[SERVER_BAD][2].n_measurements = 1;
        (void) server_scan(&server, log);
}

static bool has_failure(RecordLog *log) {
        Location chip = server_location("us0-2/chip3");
        RecordEntry entry;

        return record_log_failure(log, &chip, &entry) >= 0;
}

/* A heartbeat, a pass, another plan's, a failure, a run without an end; and a heartbeat, unless it GOES_ON. */
static void make_log(bool goes_on) {
        RecordLog *log = open_log();

        beat(log);
        scan(log, "preflight", true);
        scan(log, "production", true);
        scan(log, "preflight", false);
        server.run[35] = '9';
        (void) server_start(&server, log);
        if (!goes_on)
                beat(log);
        (void) record_log_free(log);
}

static int setup(void **state) {
        place_init(&place);
        server_init(&server);
        (void) snprintf(copy, sizeof(copy), "%s.copy", place.log);
        return 0;
}

static int teardown(void **state) {
        place_done(&place);
        return 0;
}

static void copy_file(const char *from, const char *to) {
        char *data;
        size_t n;

        assert_int_equal(whole_file_read(AT_FDCWD, from, 64 << 20, &data, &n), 0);
        assert_int_equal(whole_file_replace(AT_FDCWD, to, 0640, data, n), 0);
        free(data);
}

static void execute(const char *sql) {
        char *error = NULL;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
                fail_msg("%s: %s", sql, error);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_refused(const char *sql, const char *says) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log = NULL;
        int r;

        r = place_open(&place, &log, &error);
        if (r != -EBADMSG)
                fail_msg("opened (%d) after: %s", r, sql);
        if (!error || !strstr(error, says))
                fail_msg("after %s it says: %s", sql, error ?: "nothing");
}

/* The bad chip's pass is record 4 and its failure 38; 51 is the failure of the server. */
static const char *const edits[] = {
        "UPDATE newest SET idx = 4 WHERE subject = 'us0-2/chip3' AND plan = 'preflight'",
        "UPDATE newest SET idx = 38 - 17 WHERE idx = 38",
        "UPDATE newest SET plan = 'infleet' WHERE subject = 'us0-2/chip3' AND plan = 'preflight'",
        "UPDATE newest SET subject = 'us0-3/chip3' WHERE subject = 'us0-2/chip3' AND plan = 'preflight'",
        "UPDATE newest SET idx = 1000000 WHERE subject = 'us0-2/chip3' AND plan = 'preflight'",
        "DELETE FROM newest WHERE subject = 'us0-2/chip3' AND plan = 'preflight'",
        "DELETE FROM newest WHERE plan LIKE '%/failed/%'",
        "DELETE FROM newest WHERE plan LIKE '%/regions'",
        "DELETE FROM newest",
        "INSERT INTO newest VALUES ('us0-2/chip3', 'quick', 21)",
        "INSERT INTO newest VALUES ('us0-2/chip3', 'quick', 1000000)",
        "INSERT INTO newest VALUES ('us0-2/chip4', 'preflight/failed/preflight/systolic/us0-2/chip4', 39)",
        "UPDATE entry SET result = 'PASSED' WHERE idx = 38",
        "UPDATE entry SET result = 'FAILED' WHERE idx = 21",
        "UPDATE entry SET subject = 'us0-2/chip4' WHERE idx = 38",
        "UPDATE entry SET plan = 'infleet' WHERE idx = 38",
        "UPDATE entry SET type = '" RECORD_TYPE_RUN_START "' WHERE idx = 38",
        "UPDATE entry SET run = '01934a6e-5e00-7000-8000-00000000000a' WHERE idx = 38",
        "UPDATE entry SET finished = finished + 1000000 WHERE idx = 38",
        "UPDATE entry SET result = 'nonsense' WHERE idx = 38",
        ("UPDATE newest SET idx = 4 WHERE subject = 'us0-2/chip3' AND plan = 'preflight'; DELETE FROM newest WHERE plan LIKE '%/failed/%';"
         " UPDATE entry SET result = 'PASSED', finished = (SELECT finished FROM entry WHERE idx = 38) WHERE idx = 4"),
        "DELETE FROM unfinished",
        "INSERT INTO unfinished SELECT 1, run, subject FROM entry WHERE idx = 1",
        "UPDATE unfinished SET run = '01934a6e-5e00-7000-8000-00000000000a'",
        "UPDATE unfinished SET idx = idx - 1",
};

/* What the next opening would begin with goes with it. */
static const char *const kept[] = {
        "",
        "DELETE FROM held_newest; INSERT INTO held_newest SELECT * FROM newest; DELETE FROM held_unfinished; INSERT INTO held_unfinished SELECT * FROM unfinished",
        "DELETE FROM held_newest; DELETE FROM held_unfinished",
};

static void test_every_edit_is_found(void **state) {
        bool goes_on = *(const bool *) *state;

        make_log(goes_on);
        copy_file(place.log, copy);
        for (size_t i = 0; i < ELEMENTS(edits); i++)
                for (size_t k = 0; k < ELEMENTS(kept); k++) {
                        copy_file(copy, place.log);
                        execute(edits[i]);
                        execute(kept[k]);
                        assert_refused(edits[i], "changed");
                }
        /* And what nobody has touched is not. */
        copy_file(copy, place.log);
        (void) record_log_free(open_log());
        execute("VACUUM; REINDEX; ANALYZE; UPDATE newest SET idx = idx");
        (void) record_log_free(open_log());
}

/* The tables as they were at an earlier heartbeat, when the chip had passed, and the later ones out of the way. */
static void test_older_tables_are_found(void **state) {
        static const char put_back[] = "DELETE FROM newest; DELETE FROM unfinished; DELETE FROM held_newest; DELETE FROM held_unfinished;"
                                       "INSERT INTO newest SELECT * FROM old.newest; INSERT INTO unfinished SELECT * FROM old.unfinished;"
                                       "INSERT INTO held_newest SELECT * FROM old.held_newest; INSERT INTO held_unfinished SELECT * FROM old.held_unfinished;";
        static const char *const ways[] = {
                "",
                "UPDATE entry SET type = '" RECORD_TYPE_RUN_START "' WHERE idx > 18 AND type = '" RECORD_TYPE_HEARTBEAT "'",
                "UPDATE record SET payload = NULL, signature = NULL WHERE idx > 18 AND idx < (SELECT max(idx) FROM record)",
                "UPDATE entry SET type = '" RECORD_TYPE_RUN_START "' WHERE type = '" RECORD_TYPE_HEARTBEAT "'",
        };
        char now[160], sql[1024];
        RecordLog *log = open_log();

        beat(log);
        scan(log, "preflight", true);
        beat(log); /* record 18 */
        (void) record_log_free(log);
        copy_file(place.log, copy);
        log = open_log();
        scan(log, "preflight", false);
        beat(log);
        (void) server_start(&server, log);
        (void) record_log_free(log);
        (void) snprintf(now, sizeof(now), "%s.now", place.log);
        copy_file(place.log, now);
        for (size_t i = 0; i < ELEMENTS(ways); i++) {
                copy_file(now, place.log);
                (void) snprintf(sql, sizeof(sql), "ATTACH '%s' AS old; %s%s", copy, put_back, ways[i]);
                execute(sql);
                assert_refused(ways[i], "");
        }
}

/* An index that answers for a table need not say what stands in it. */
static void test_an_index_of_somebody_else_is_refused(void **state) {
        make_log(false);
        execute("CREATE INDEX mine ON newest (subject, idx)");
        assert_refused("CREATE INDEX", "an index");
        execute("DROP INDEX mine; DROP INDEX rotation; CREATE INDEX rotation ON newest (subject, idx)");
        assert_refused("CREATE INDEX", "an index");
}

/* Envelopes that an opening needs are never pruned, so none is missing. */
static void test_an_envelope_that_is_missing_is_found(void **state) {
        make_log(true);
        execute("UPDATE record SET payload = NULL, signature = NULL WHERE idx = 40");
        assert_refused("UPDATE record", "record 40");
}

static int beat_error(RecordLog *log) {
        RecordOutcome outcome;
        int r;

        r = record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 1);
        if (r < 0)
                return r;
        place_wait(log, &outcome);
        r = outcome.error;
        record_outcome_done(&outcome);
        return r;
}

/* What is edited while the log runs is not signed: the next heartbeat finds it. */
static void test_what_is_edited_under_a_running_log_is_not_signed(void **state) {
        RecordLog *log;

        make_log(false);
        log = open_log();
        execute("UPDATE newest SET idx = idx; PRAGMA wal_checkpoint(TRUNCATE)");
        assert_int_equal(beat_error(log), 0);
        execute(edits[0]);
        assert_int_equal(beat_error(log), -EIO);
        assert_true(record_log_has_failed(log));
        assert_int_equal(beat_error(log), -EIO);
        (void) record_log_free(log);
        assert_refused(edits[0], "changed");
}

/* A heartbeat as they were before they said something of the tables, the first record of a log; or before there were rows of whole scans. */
static void begin_as_older(bool has_tables, StoreForm form) {
        RecordLogOptions options = place_options(&place, place.key);
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        _cleanup_printer_ Printer payload = {};
        static const uint8_t none[DIGEST_BYTES];
        TreeHash nodes[TREE_LEVELS];
        Frontier tree = {};
        Station station;
        Signed record;
        StoreRow row;
        bool unknown;
        Store *store;
        char *wrong;
        int n;

        (void) record_log_free(open_log()); /* makes the tables */
        assert_int_equal(station_init(&station, &options), 0);
        assert_int_equal(draft_heartbeat(&station, RECORD_HEARTBEAT_START, &group), 0);
        assert_int_equal(store_open(place.log, PLACE_ORIGIN, &store, &wrong), 0);
        group->drafts[0].has_tables = has_tables;
        assert_int_equal(store_tables_digest(store, form, group->drafts[0].tables.digest), 0);
        statement_print(&payload, group, 0, 0, none, NULL);
        assert_int_equal(envelope_sign(options.key, payload.text, payload.n, &record), 0);
        n = frontier_append(&tree, &record.leaf, nodes);
        row = (StoreRow) { .entry = &group->drafts[0].entry, .record = &record, .nodes = nodes, .n_nodes = (unsigned) n };
        assert_int_equal(store_append(store, &row, 1, &unknown), 0);
        (void) store_close(store);
        signed_done(&record);
        station_done(&station);
        (void) record_key_free(options.key);
}

static RecordLog *open_older(void) {
        _cleanup_free_ char *remark = NULL;
        RecordLog *log;

        assert_int_equal(place_open(&place, &log, &remark), 0);
        assert_non_null(remark);
        assert_non_null(strstr(remark, "older assayd"));
        return log;
}

/* Nothing vouches for what stands there, until the first heartbeat does; from then on there is no way back. */
static void test_a_log_of_an_older_assayd_is_believed_once(void **state) {
        RecordLog *log;

        begin_as_older(false, STORE_FORM_WITHOUT_WHOLE);
        log = open_older();
        scan(log, "preflight", true);
        (void) record_log_free(log);
        copy_file(place.log, copy);

        execute("UPDATE entry SET result = 'FAILED' WHERE idx = 4");
        assert_refused("UPDATE entry", "changed");
        copy_file(copy, place.log);
        log = open_older();
        beat(log);
        scan(log, "preflight", false);
        beat(log);
        (void) record_log_free(log);
        (void) record_log_free(open_log());

        execute(edits[5]);
        execute("UPDATE entry SET type = '" RECORD_TYPE_RUN_START "' WHERE idx > 0 AND type = '" RECORD_TYPE_HEARTBEAT "'");
        assert_refused("UPDATE entry", "changed");
}

#define NO_WHOLE "DELETE FROM newest WHERE plan LIKE '%/whole'"

/* The newest of a part and plan that was asked for all; UINT64_MAX: the tables know none. */
static uint64_t whole(RecordLog *log, const char *subject) {
        Location where = server_location(subject);
        RecordEntry entry;

        return record_log_whole_before(log, &where, "preflight", UINT64_MAX, &entry) < 0 ? UINT64_MAX : entry.index;
}

/* They knew no rows of whole scans, and signed the tables without. These are as good as before, and from the next heartbeat on rows are missed. */
static void test_a_log_from_before_rows_of_whole_scans_goes_on(void **state) {
        uint64_t newest;
        RecordLog *log;

        begin_as_older(true, STORE_FORM_WITHOUT_WHOLE);
        log = open_log();
        scan(log, "preflight", false);
        (void) record_log_free(log);
        execute(NO_WHOLE);
        for (size_t i = 0; i < 5; i++) { /* also what it knew must be what it was */
                copy_file(place.log, copy);
                execute(edits[i]);
                execute("UPDATE newest SET idx = idx - 1 WHERE subject = 'us0-2/chip3'");
                assert_refused(edits[i], "changed");
                copy_file(copy, place.log);
        }

        log = open_log();
        newest = whole(log, "us0-2");
        assert_int_equal(newest, 17);
        (void) record_log_free(log); /* a daemon that died before its first heartbeat */
        log = open_log();
        scan(log, "preflight", false);
        (void) record_log_free(log);
        log = open_log();
        beat(log);
        (void) record_log_free(log);
        copy_file(place.log, copy);
        execute(NO_WHOLE);
        assert_refused(NO_WHOLE, "changed");
        copy_file(copy, place.log);

        log = open_log();
        scan(log, "preflight", true);
        newest = whole(log, "us0-2");
        server.scan.n_chips = 2;
        server.scan.result = RESULT_INCONCLUSIVE;
        (void) server_scan(&server, log);
        assert_int_equal(whole(log, "us0-2"), newest + 3);
        (void) record_log_free(log);
        execute("UPDATE newest SET idx = 17 WHERE subject = 'us0-2' AND plan = 'preflight/whole'");
        assert_refused("UPDATE newest", "changed");
}

/* They took failures away that plans without the failing step had passed: what they did is worked out as they did it, and not done any more. */
static void test_a_log_from_before_tests_were_asked_for_goes_on(void **state) {
        RecordLog *log;

        begin_as_older(true, STORE_FORM_ALL);
        log = open_log();
        scan(log, "preflight", false);
        scan_without_test(log, "preflight");
        assert_false(has_failure(log));
        (void) record_log_free(log);
        log = open_log();
        beat(log);
        scan(log, "preflight", false);
        scan_without_test(log, "preflight");
        assert_true(has_failure(log));
        (void) record_log_free(log);
        log = open_log();
        assert_true(has_failure(log));
        (void) record_log_free(log);
        execute("UPDATE newest SET plan = replace(plan, ',systolic,', ',rounding,') WHERE plan LIKE '%/failed/%'");
        assert_refused("UPDATE newest", "changed");
}

/*
 * Chip 3 fails and passes, the pass by a plan of other contents; and what is counted of the failing step: a failure has proven no row, and what does not
 * repair proves none.
 */
static void scan_counting(RecordLog *log, bool passes) {
        static const char other[] = "1011223344556677889900112233445566778899001122334455667788990011";
        static const char *const counts[] = { "outputs_compared", "rows_proven", NULL };
        Location chip = server_location("us0-2/chip3");
        RecordMeasurement counted[] = { { "outputs_compared", 4096, "{output}", LIMIT_NONE, 0, chip }, { "rows_proven", 0, "{row}", LIMIT_NONE, 0, chip } };

        make_scan("preflight", passes);
        server.steps[SERVER_BAD][1].counts = counts;
        server.steps[SERVER_BAD][1].measurements = counted;
        server.steps[SERVER_BAD][1].n_measurements = passes ? 1 : 2;
        if (passes)
                server.scan.run.plan_sha256 = other;
        (void) server_scan(&server, log);
}

/* What an assayd that asked for every count would have left: the failures that stood in the copy, behind what has passed since. */
static void put_failures_back(void) {
        char sql[256];

        (void) snprintf(sql, sizeof(sql), "ATTACH '%s' AS old; INSERT INTO newest SELECT * FROM old.newest WHERE plan LIKE '%%/failed/%%'", copy);
        execute(sql);
}

/* They kept failures of which a count of nothing was missed: what they left is worked out as they did it, and from the next heartbeat on it is cleared. */
static void test_a_log_from_before_nothing_was_needed_goes_on(void **state) {
        RecordLog *log;
        char now[160];

        begin_as_older(true, STORE_FORM_EVERY_COUNT);
        log = open_log();
        scan_counting(log, false);
        assert_true(has_failure(log));
        (void) record_log_free(log);
        copy_file(place.log, copy);
        log = open_log();
        scan_counting(log, true);
        assert_false(has_failure(log));
        (void) record_log_free(log);
        (void) record_log_free(open_log()); /* by the rules of now it is as it should be */
        put_failures_back();

        log = open_log();
        assert_true(has_failure(log));
        scan_counting(log, true); /* behind no heartbeat yet */
        assert_true(has_failure(log));
        (void) record_log_free(log);
        log = open_log();
        assert_true(has_failure(log));
        (void) record_log_free(log);
        (void) snprintf(now, sizeof(now), "%s.now", place.log);
        copy_file(place.log, now);
        for (size_t i = 0; i < 5; i++) { /* and what is neither is refused as before */
                copy_file(now, place.log);
                execute(edits[i]);
                execute("UPDATE newest SET idx = idx - 1 WHERE subject = 'us0-2/chip3'");
                assert_refused(edits[i], "changed");
        }
        copy_file(now, place.log);

        log = open_log();
        beat(log);
        scan_counting(log, true);
        assert_false(has_failure(log));
        (void) record_log_free(log);
        (void) record_log_free(open_log());
}

/* The key that signed the heartbeat need not be the one that signs now. */
static void test_a_change_of_keys_changes_nothing(void **state) {
        RecordKey *next = place_key(&place, "next.key", RECORD_ECDSA_P256);
        _cleanup_free_ char *pem = strdup(record_key_public_pem(next));
        char path[128];
        RecordLog *log;

        (void) record_key_free(next);
        (void) snprintf(path, sizeof(path), "%s/next.key", place.folder);
        make_log(false);
        log = open_log();
        scan(log, "preflight", false);
        assert_int_equal(record_log_rotate(log, pem, 1), 0);
        (void) place_take(log);
        (void) record_log_free(log);
        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(place_open_as(&place, PLACE_ORIGIN, path, &log, NULL), 0);
                if (i == 1)
                        beat(log);
                scan(log, "preflight", i == 1);
                (void) record_log_free(log);
        }
}

int main(void) {
        static bool ends = false, goes_on = true;
        const struct CMUnitTest tests[] = {
                { "every edit is found, behind a heartbeat", test_every_edit_is_found, setup, teardown, &ends },
                { "every edit is found, of what came since", test_every_edit_is_found, setup, teardown, &goes_on },
                cmocka_unit_test_setup_teardown(test_older_tables_are_found, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_index_of_somebody_else_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_envelope_that_is_missing_is_found, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_edited_under_a_running_log_is_not_signed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_of_an_older_assayd_is_believed_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_from_before_rows_of_whole_scans_goes_on, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_from_before_tests_were_asked_for_goes_on, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_from_before_nothing_was_needed_goes_on, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_change_of_keys_changes_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
