/* SPDX-License-Identifier: Apache-2.0 */

/* Somebody edits the database: the log itself stays whole, and only the tables that lead to its records say something else. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "checks/text/whole-file.h"
#include "daemon/record/log/log.h"
#include "daemon/record/statement/statement.h"
#include "daemon/record/store/store.h"
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

/* By the opening, or by a pass over all of it. */
static void assert_found(const char *sql, const char *says) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log = NULL;
        int r;

        r = place_open(&place, &log, &error);
        if (r == 0)
                r = record_log_check(log, &error);
        (void) record_log_free(log);
        if (r != (error && strstr(error, "--continue-log") ? -ENOTRECOVERABLE : -EBADMSG))
                fail_msg("%d after: %s", r, sql);
        if (!error || !strstr(error, says))
                fail_msg("after %s it says: %s", sql, error ?: "nothing");
}

static void assert_sound_log(RecordLog *log) {
        _cleanup_free_ char *error = NULL;

        if (record_log_check(log, &error) < 0)
                fail_msg("%s", error ?: "it cannot be read");
}

static void assert_sound(void) {
        RecordLog *log = open_log();

        assert_sound_log(log);
        (void) record_log_free(log);
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

/* An index of other rows than those that it says. */
#define MADE_ANEW(index, rows, of)                                                                           \
        "DROP INDEX " index "; CREATE INDEX " index " ON entry (idx) WHERE " rows "; PRAGMA writable_schema = ON;" \
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX " index " ON " of "' WHERE name = '" index "'"

/* What the tables say of records, or the records of each other. */
static const char *const rot[] = {
        "UPDATE entry SET nodes = zeroblob(length(nodes)) WHERE idx = 7",
        "UPDATE record SET keyid = 'SHA256:' || keyid WHERE idx = 7",
        "UPDATE record SET signature = zeroblob(length(signature)) WHERE idx = 7",
        "UPDATE record SET payload = CAST(replace(CAST(payload AS TEXT), 'us0-2', 'us0-3') AS BLOB) WHERE idx = 7",
        "UPDATE record SET id = zeroblob(32) WHERE idx = 7",
        "UPDATE record SET payload = (SELECT payload FROM record WHERE idx = 8) WHERE idx = 7",
        "UPDATE record SET payload = NULL, signature = NULL WHERE idx = 38",
        "UPDATE record SET payload = NULL, signature = NULL WHERE idx = 52",
        "DELETE FROM record WHERE idx = 7",
        "DELETE FROM entry WHERE idx = 7",
        "UPDATE identity SET document = replace(document, 'serial', 'serials')",
        "DELETE FROM identity",
        MADE_ANEW("archive", "idx = 7", "entry (idx) WHERE type = ''" RECORD_TYPE_ARCHIVE "''"),
};

static void test_every_edit_is_found(void **state) {
        bool goes_on = *(const bool *) *state;

        make_log(goes_on);
        copy_file(place.log, copy);
        for (size_t i = 0; i < ELEMENTS(edits); i++) {
                copy_file(copy, place.log);
                execute(edits[i]);
                assert_found(edits[i], "tables");
        }
        for (size_t i = 0; i < ELEMENTS(rot); i++) {
                copy_file(copy, place.log);
                execute(rot[i]);
                assert_found(rot[i], "");
        }
        /* And what nobody has touched is not. */
        copy_file(copy, place.log);
        assert_sound();
        execute("VACUUM; REINDEX; ANALYZE; UPDATE newest SET idx = idx");
        assert_sound();
}

/* The tables as they were when the chip had passed. */
static void test_older_tables_are_found(void **state) {
        char sql[512];
        RecordLog *log = open_log();

        scan(log, "preflight", true);
        (void) record_log_free(log);
        copy_file(place.log, copy);
        log = open_log();
        scan(log, "preflight", false);
        (void) server_start(&server, log);
        (void) record_log_free(log);
        assert_sound();
        (void) snprintf(sql, sizeof(sql), "ATTACH '%s' AS old; DELETE FROM newest; DELETE FROM unfinished;"
                                          "INSERT INTO newest SELECT * FROM old.newest; INSERT INTO unfinished SELECT * FROM old.unfinished", copy);
        execute(sql);
        assert_found("older tables", "they were changed");
}

/* An index that answers for a table need not say what stands in it. */
static void test_an_index_of_somebody_else_is_refused(void **state) {
        make_log(false);
        execute("CREATE INDEX mine ON newest (subject, idx)");
        assert_found("CREATE INDEX", "an index");
        execute("DROP INDEX mine; DROP INDEX rotation; CREATE INDEX rotation ON newest (subject, idx)");
        assert_found("CREATE INDEX", "an index");
}

static void assert_refused(const char *says) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log = NULL;

        assert_int_equal(place_open(&place, &log, &error), -EBADMSG);
        if (!error || !strstr(error, says))
                fail_msg("it says: %s", error ?: "nothing");
}

/* Each keeps all rows, so that nothing of what the tables say differs. */
#define REMADE(table, columns) "CREATE TABLE other " columns "; INSERT INTO other SELECT * FROM " table "; DROP TABLE " table "; ALTER TABLE other RENAME TO " table ";"

static const char *const remade[] = {
        /* Indices that these constraints make have no text of their own. */
        REMADE("newest", "(subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL,"
                         " PRIMARY KEY (subject, plan, idx), UNIQUE (subject, plan), UNIQUE (subject, idx, plan)) STRICT, WITHOUT ROWID"),
        REMADE("newest", "(subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL, PRIMARY KEY (subject, plan) ON CONFLICT IGNORE) STRICT, WITHOUT ROWID"),
        REMADE("newest", "(subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL CHECK (idx < 100), PRIMARY KEY (subject, plan)) STRICT, WITHOUT ROWID"),
        REMADE("newest", "(subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL, PRIMARY KEY (subject, plan)) STRICT"),
        REMADE("unfinished", "(idx INTEGER PRIMARY KEY, run TEXT NOT NULL, subject TEXT NOT NULL, UNIQUE (run, subject)) STRICT"),
        "ALTER TABLE unfinished ADD COLUMN more TEXT AS (run || subject) VIRTUAL",
        "CREATE TABLE more (idx INTEGER PRIMARY KEY)",
        "CREATE INDEX record_idx ON record (idx)",
        "DROP INDEX witnessed",
};

static void test_tables_that_somebody_made_anew_are_refused(void **state) {
        make_log(false);
        copy_file(place.log, copy);
        for (size_t i = 0; i < ELEMENTS(remade); i++) {
                copy_file(copy, place.log);
                execute(remade[i]);
                assert_refused("tables");
        }
        copy_file(copy, place.log);
        execute(REMADE("unfinished", "(idx INTEGER PRIMARY KEY, run TEXT NOT NULL, subject TEXT NOT NULL) STRICT"));
        assert_sound();
}

static void await_scrub(RecordLog *log) {
        const struct timespec moment = { .tv_nsec = 1000000 };
        RecordScrub scrub = {};

        for (unsigned i = 0; i < 20000 && scrub.whole_usec == 0 && !record_log_has_failed(log); i++) {
                record_log_scrubbed(log, &scrub);
                (void) nanosleep(&moment, NULL);
        }
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

/* It is read again when the daemon starts. What is found stops it, and the next ones, until it is mended. */
static void test_what_was_found_is_remembered(void **state) {
        _cleanup_free_ char *remark = NULL;
        RecordScrub scrub;
        RecordLog *log;

        make_log(false);
        copy_file(place.log, copy);
        execute(edits[0]);
        log = open_log();
        assert_null(record_log_wrong(log));
        assert_int_equal(record_log_scrub(log), 0);
        await_scrub(log);
        assert_true(record_log_has_failed(log));
        assert_non_null(strstr(record_log_wrong(log), "us0-2/chip3 (preflight, record 4)"));
        assert_int_equal(beat_error(log), -EIO);
        record_log_scrubbed(log, &scrub);
        assert_int_equal(scrub.error, 0); /* it was read, and found */
        (void) record_log_free(log);
        for (unsigned i = 0; i < 2; i++) {
                assert_refused("us0-2/chip3 (preflight, record 4)");
                assert_refused("backup");
        }

        copy_file(copy, place.log);
        assert_int_equal(place_open(&place, &log, &remark), 0);
        assert_non_null(strstr(remark, "has been mended"));
        assert_int_equal(record_log_scrub(log), 0);
        await_scrub(log);
        record_log_scrubbed(log, &scrub);
        assert_true(scrub.whole_usec > 0 && !record_log_has_failed(log));
        assert_int_equal(scrub.n_pruned + scrub.n_unruled, 0);
        (void) record_log_free(log);
        (void) record_log_free(open_log());
}

/* Of names that somebody made up no more is told than a line has, so that the next start can read it, and nothing that a terminal obeys. */
static void test_what_was_found_is_one_short_line(void **state) {
        _cleanup_free_ char *remark = NULL;
        RecordLog *log;

        make_log(false);
        copy_file(place.log, copy);
        execute("INSERT INTO newest SELECT 'a' || char(10, 27, 155) || hex(zeroblob(500000)), plan, idx FROM newest LIMIT 1");
        log = open_log();
        assert_int_equal(record_log_scrub(log), 0);
        await_scrub(log);
        assert_non_null(strstr(record_log_wrong(log), "what its tables say of a"));
        assert_true(strlen(record_log_wrong(log)) < 4096);
        for (const char *c = record_log_wrong(log); *c; c++)
                assert_in_range(*c, ' ', '~');
        (void) record_log_free(log);
        assert_refused("what its tables say of a");

        copy_file(copy, place.log);
        assert_int_equal(place_open(&place, &log, &remark), 0);
        assert_non_null(strstr(remark, "has been mended"));
        (void) record_log_free(log);
}

/* What is edited while the log runs is looked for as soon as a heartbeat is signed. */
static void test_what_is_edited_under_a_running_log_is_found(void **state) {
        RecordLog *log;

        make_log(false);
        log = open_log();
        assert_int_equal(record_log_scrub(log), 0);
        await_scrub(log);
        execute("UPDATE newest SET idx = idx; PRAGMA wal_checkpoint(TRUNCATE)");
        assert_int_equal(beat_error(log), 0);
        (void) poll(NULL, 0, 100);
        assert_false(record_log_has_failed(log));
        execute(edits[0]);
        assert_int_equal(beat_error(log), 0);
        for (unsigned i = 0; i < 2000 && !record_log_has_failed(log); i++)
                (void) poll(NULL, 0, 10);
        assert_true(record_log_has_failed(log));
        assert_int_equal(beat_error(log), -EIO);
        (void) record_log_free(log);
        assert_refused("they were changed");
}

/* Records come in while a pass is under way, and each is checked in its place. */
static void test_a_log_that_grows_is_sound(void **state) {
        _cleanup_free_ char *wrong = NULL;
        RecordScrub scrub;
        RecordLog *log;

        make_log(false);
        log = open_log();
        assert_int_equal(record_log_scrub(log), 0);
        for (unsigned i = 0; i < 20; i++)
                scan(log, i % 2 ? "preflight" : "production", i % 3);
        await_scrub(log);
        record_log_scrubbed(log, &scrub);
        assert_true(scrub.whole_usec > 0 && scrub.error == 0);
        assert_int_equal(record_log_check(log, &wrong), 0);
        (void) record_log_free(log);
}

/* The tables of version 9, which held copies of both. By other rules they said other things: these are written anew, and remarked upon. */
static void test_tables_of_an_older_assayd_are_derived_anew(void **state) {
        RecordLog *log;

        make_log(true);
        copy_file(place.log, copy);
        for (size_t i = 0; i < ELEMENTS(edits); i++) {
                _cleanup_free_ char *remark = NULL;

                copy_file(copy, place.log);
                execute("CREATE TABLE held_newest (subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL, PRIMARY KEY (subject, plan)) STRICT, WITHOUT ROWID;"
                        "CREATE TABLE held_unfinished (idx INTEGER PRIMARY KEY, run TEXT NOT NULL, subject TEXT NOT NULL) STRICT;"
                        "CREATE INDEX record_idx ON record (idx); DROP INDEX archive; DROP INDEX decision; DROP INDEX hole; PRAGMA user_version = 9");
                execute(edits[i]);
                assert_int_equal(place_open(&place, &log, &remark), 0);
                assert_non_null(strstr(remark, "older assayd"));
                (void) record_log_free(log);
                assert_sound();
        }
}

/* Record 0: signed by the log's own key, and no heartbeat as the schema of now has it. */
static void begin_unruled(void) {
        RecordLogOptions options = place_options(&place, place.key);
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        _cleanup_printer_ Printer payload = {};
        static const uint8_t none[DIGEST_BYTES];
        TreeHash nodes[TREE_LEVELS];
        Frontier tree = {};
        Station station;
        Signed record;
        bool unknown;
        Store *store;
        char *wrong;
        int n;

        (void) record_log_free(open_log()); /* makes the tables */
        assert_int_equal(station_init(&station, &options), 0);
        assert_int_equal(draft_heartbeat(&station, RECORD_HEARTBEAT_START, &group), 0);
        assert_int_equal(store_open(place.log, PLACE_ORIGIN, &store, &wrong), 0);
        statement_print(&payload, group, 0, 0, none, NULL);
        memcpy(memmem(payload.text, payload.n, "\"start\"", 7), "\"begin\"", 7);
        assert_int_equal(envelope_sign(options.key, payload.text, payload.n, &record), 0);
        n = frontier_append(&tree, &record.leaf, nodes);
        assert_int_equal(store_append(store, &(Head) {}, &(StoreRow) { .entry = &group->drafts[0].entry, .record = &record, .nodes = nodes, .n_nodes = (unsigned) n }, 1, &unknown), 0);
        (void) store_close(store);
        signed_done(&record);
        station_done(&station);
        (void) record_key_free(options.key);
}

/* Rules change; what is whole stays so, is told, and stops nobody. */
static void test_a_rule_that_changes_stops_no_log(void **state) {
        _cleanup_free_ char *wrong = NULL, *envelope = NULL;
        RecordVerified verified;
        RecordTrust trust;
        RecordScrub scrub;
        RecordKeyring *keyring = place_keyring(&place);
        RecordLog *log;

        begin_unruled();
        log = open_log();
        envelope = place_envelope(log, 0);
        assert_int_equal(record_verify(keyring, envelope, strlen(envelope), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_REFUSED);
        record_verified_done(&verified);
        (void) record_keyring_free(keyring);
        scan(log, "preflight", true);
        if (record_log_check(log, &wrong) < 0)
                fail_msg("%s", wrong ?: "");
        record_log_scrubbed(log, &scrub);
        assert_int_equal(scrub.n_unruled, 1);
        (void) record_log_free(log);
        (void) record_log_free(open_log());
        execute("UPDATE record SET signature = zeroblob(64) WHERE idx = 0");
        assert_found("UPDATE record", "record 0");
}

/* Chip 5 has a record that no rule of today can read in the second scan, behind a failure of chip 3. */
static void make_unread_log(void) {
        static const char from[] = "\"stage\":\"PREFLIGHT\"", to[] = "\"stage\":\"PREFLIGHX\"";
        RecordLog *log = open_log();
        DraftGroup *group;
        char *at;

        scan(log, "preflight", false);
        make_scan("preflight", true);
        assert_int_equal(draft_scan(&log->station, &server.scan, &group), 0);
        at = memmem(group->drafts[5].tail.text, group->drafts[5].tail.n, from, strlen(from));
        assert_non_null(at);
        memcpy(at, to, strlen(to));
        assert_int_equal(queue_put(log, group, 2), 0);
        (void) place_take(log);
        scan(log, "production", false);
        server.run[35] = '9';
        (void) server_start(&server, log);
        (void) record_log_free(log);
}

/* It leaves open what hangs on what it says, and nothing else: 20 is the pass of chip 3, 22 the unread record, 37 the newest failure. */
static void test_an_unread_record_hides_no_edit(void **state) {
        static const char *const others[] = {
                "UPDATE newest SET idx = 3 WHERE subject = 'us0-2/chip3' AND plan = 'preflight'",
                "UPDATE newest SET plan = 'infleet' WHERE subject = 'us0-2/chip3' AND plan = 'production'",
                "DELETE FROM newest WHERE subject = 'us0-2/chip3' AND plan LIKE '%/failed/%'",
                "DELETE FROM newest WHERE subject = 'us0-2/chip6' AND plan = 'preflight/whole'",
                "INSERT INTO newest VALUES ('us0-2/chip6', 'preflight/failed/preflight/systolic/us0-2/chip6', 6)",
                "INSERT INTO newest VALUES ('us0-2/chip6', '/unread', 6)",
                "INSERT INTO newest VALUES ('us0-2/chip5', '/unread', 22)",
                "UPDATE newest SET idx = 5 WHERE subject = 'us0-2/chip5' AND plan = 'preflight'",
                "DELETE FROM unfinished",
                "UPDATE record SET payload = NULL, signature = NULL WHERE idx = 3; UPDATE record SET keyid = NULL WHERE idx = 3",
        };
        RecordScrub scrub;
        RecordLog *log;

        make_unread_log();
        copy_file(place.log, copy);
        for (size_t i = 0; i < ELEMENTS(others); i++) {
                copy_file(copy, place.log);
                execute(others[i]);
                assert_found(others[i], i + 1 < ELEMENTS(others) ? "tables" : "");
        }
        copy_file(copy, place.log);
        log = open_log();
        assert_sound_log(log);
        record_log_scrubbed(log, &scrub);
        assert_int_equal(scrub.n_unruled, 1);
        (void) record_log_free(log);
        execute("DELETE FROM newest WHERE subject = 'us0-2/chip5' AND plan = 'preflight/whole'");
        assert_sound();
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
                assert_sound_log(log);
                (void) record_log_free(log);
        }
}

int main(void) {
        static bool ends = false, goes_on = true;

        /* What a disk loses is another test's doing: it needs not be one. */
        if (access("/dev/shm", W_OK) == 0)
                (void) setenv("TMPDIR", "/dev/shm", 0);

        const struct CMUnitTest tests[] = {
                { "every edit is found, behind a heartbeat", test_every_edit_is_found, setup, teardown, &ends },
                { "every edit is found, of what came since", test_every_edit_is_found, setup, teardown, &goes_on },
                cmocka_unit_test_setup_teardown(test_older_tables_are_found, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_index_of_somebody_else_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_tables_that_somebody_made_anew_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_was_found_is_remembered, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_was_found_is_one_short_line, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_edited_under_a_running_log_is_found, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_grows_is_sound, setup, teardown),
                cmocka_unit_test_setup_teardown(test_tables_of_an_older_assayd_are_derived_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_rule_that_changes_stops_no_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_unread_record_hides_no_edit, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_change_of_keys_changes_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
