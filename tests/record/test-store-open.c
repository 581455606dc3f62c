/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <sys/wait.h>

#include "tests/record/faults.h"
#include "tests/record/payload.h"
#include "tests/record/power.h"

/* Logs that an older assayd made. */

#define RECORDS 18

/* The text of an envelope, of which newer tables have the parts. */
static void line(sqlite3_context *context, int n, sqlite3_value **values) {
        _cleanup_printer_ Printer text = {};

        if (sqlite3_value_type(values[0]) != SQLITE_NULL)
                return sqlite3_result_value(context, values[0]);
        envelope_print(&text, (const char *) sqlite3_value_text(values[1]), sqlite3_value_blob(values[3]), (size_t) sqlite3_value_bytes(values[3]),
                       sqlite3_value_blob(values[2]), (size_t) sqlite3_value_bytes(values[2]));
        sqlite3_result_blob(context, text.text, (int) text.n, SQLITE_TRANSIENT);
}

static sqlite3 *open_database(const char *path) {
        sqlite3 *db;

        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_create_function(db, "line", 4, SQLITE_UTF8, NULL, line, NULL, NULL), SQLITE_OK);
        return db;
}

static sqlite3 *open_log(void) {
        return open_database(payloads.place.log);
}

static void execute(sqlite3 *db, const char *sql) {
        char *error = NULL;

        if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
                fail_msg("%s: %s", sql, error);
}

/*
 * The tables of each version stood so: its own texts, so that nothing is taken from what brings them up. These assayds made `record` and later `entry`
 * under another name: SQLite writes a name that was changed in quotes.
 */
#define COMMON                                                                                                \
        "CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), origin TEXT NOT NULL) STRICT;"            \
        "CREATE TABLE entry (idx INTEGER PRIMARY KEY, type TEXT NOT NULL, subject TEXT NOT NULL, result TEXT NOT NULL,"   \
        " plan TEXT NOT NULL, run TEXT NOT NULL, finished INTEGER NOT NULL) STRICT;"                          \
        "CREATE TABLE newest (subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL,"               \
        " PRIMARY KEY (subject, plan)) STRICT, WITHOUT ROWID;"                                                \
        "CREATE TABLE unfinished (idx INTEGER PRIMARY KEY, run TEXT NOT NULL, subject TEXT NOT NULL) STRICT;" \
        "CREATE TABLE identity (digest BLOB PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID;"      \
        "INSERT INTO log SELECT one, origin FROM new.log;"                                                    \
        "INSERT INTO entry SELECT idx, type, subject, result, plan, run, finished FROM new.entry;"            \
        "INSERT INTO newest SELECT subject, plan, idx FROM new.newest;"                                       \
        "INSERT INTO unfinished SELECT idx, run, subject FROM new.unfinished;"                                \
        "INSERT INTO identity SELECT digest, document FROM new.identity;"
#define HASHES                                                                                                \
        "CREATE TABLE hash (pos INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;"                             \
        "INSERT INTO hash SELECT row_number() OVER (ORDER BY idx, at) - 1, substr(nodes, 32 * at + 1, 32)"    \
        " FROM new.entry JOIN (SELECT 0 AS at UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) ON 32 * at < length(nodes);"   \
        ENVELOPES
#define ENVELOPES                                                                                             \
        "CREATE TABLE kept (idx INTEGER PRIMARY KEY, id BLOB NOT NULL, envelope BLOB) STRICT;"                \
        "CREATE INDEX record_idx ON kept (idx); ALTER TABLE kept RENAME TO record;"                           \
        "INSERT INTO record SELECT idx, id, line(envelope, keyid, signature, payload) FROM new.record;"
#define WITNESSED                                                                                             \
        "CREATE TABLE checkpoint (size INTEGER PRIMARY KEY, note BLOB NOT NULL, at INTEGER NOT NULL, witnesses INTEGER NOT NULL DEFAULT 0) STRICT;" \
        "CREATE INDEX witnessed ON checkpoint (witnesses, size);"

static const char *const versions[] = {
        /* bore no number */
        COMMON
        "CREATE TABLE record (idx INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, leaf BLOB NOT NULL, envelope BLOB NOT NULL) STRICT;"
        "INSERT INTO record SELECT idx, id, substr(nodes, 1, 32), line(envelope, keyid, signature, payload) FROM new.record JOIN new.entry USING (idx);",
        COMMON HASHES
        "CREATE TABLE checkpoint (size INTEGER PRIMARY KEY, note BLOB NOT NULL, at INTEGER NOT NULL) STRICT;"
        "PRAGMA user_version=2;",
        COMMON HASHES WITNESSED
        "PRAGMA user_version=3;",
        COMMON HASHES WITNESSED
        "CREATE INDEX rotation ON entry (idx) WHERE type = 'urn:assay:attestation:key-rotation:v1';"
        "PRAGMA user_version=4;",
        COMMON ENVELOPES WITNESSED
        "DROP TABLE entry;"
        "CREATE TABLE whole (idx INTEGER PRIMARY KEY, type TEXT NOT NULL, subject TEXT NOT NULL, result TEXT NOT NULL,"
        " plan TEXT NOT NULL, run TEXT NOT NULL, finished INTEGER NOT NULL, nodes BLOB NOT NULL) STRICT;"
        "INSERT INTO whole SELECT * FROM new.entry; ALTER TABLE whole RENAME TO entry;"
        "CREATE INDEX rotation ON entry (idx) WHERE type = 'urn:assay:attestation:key-rotation:v1';"
        "PRAGMA user_version=5;",
};

/* Brings the log back to the tables of versions[OLD]. */
static void make_version(size_t old) {
        char path[128], attach[160];
        sqlite3 *db;

        (void) snprintf(path, sizeof(path), "%s-old", payloads.place.log);
        (void) snprintf(attach, sizeof(attach), "ATTACH '%s' AS new", payloads.place.log);
        db = open_database(path);
        execute(db, "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA application_id=0x61737379");
        execute(db, attach);
        execute(db, "BEGIN");
        execute(db, versions[old]);
        execute(db, "COMMIT; DETACH new");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(rename(path, payloads.place.log), 0);
}

/* All that a log says, and what its tables are. */
static char *read_all(void) {
        static const char sql[] =
                        "SELECT (SELECT group_concat(quote(idx) || quote(type) || quote(subject) || quote(result) || quote(plan) || quote(run) ||"
                        " quote(finished) || quote(nodes), '\n') FROM (SELECT * FROM entry ORDER BY idx)) || '\n' ||"
                        " (SELECT group_concat(quote(idx) || quote(id) || line(envelope, keyid, signature, payload), '\n') FROM (SELECT * FROM record ORDER BY idx)) || '\n' ||"
                        " (SELECT group_concat(subject || ' ' || plan || ' ' || idx, '\n') FROM (SELECT * FROM newest ORDER BY subject, plan)) || '\n' ||"
                        " (SELECT group_concat(type || ' ' || name || ' ' || tbl_name, '\n') FROM (SELECT * FROM sqlite_schema ORDER BY name))";
        sqlite3_stmt *statement;
        sqlite3 *db = open_log();
        char *all;

        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        all = strdup((const char *) sqlite3_column_text(statement, 0));
        assert_non_null(all);
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        return all;
}

static void assert_all_is(const char *expected) {
        _cleanup_free_ char *all = read_all();

        assert_string_equal(all, expected);
}

static void assert_opens(void) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log;
        int r;

        r = place_open(&payloads.place, &log, &error);
        if (r < 0)
                fail_msg("%d: %s", r, error ?: "");
        assert_int_equal(record_log_size(log), RECORDS);
        (void) record_log_free(log);
}

static void test_an_older_log_says_what_it_said(void **state) {
        _cleanup_free_ char *before = read_all();

        for (size_t old = 0; old < ELEMENTS(versions); old++) {
                make_version(old);
                assert_opens();
                assert_all_is(before);
                assert_opens();
        }
}

/* Every envelope of FIRST … LAST-1, which verifies. */
static void assert_all_verify(RecordLog *log, uint64_t first, uint64_t last) {
        for (uint64_t i = first; i < last; i++) {
                RecordVerified verified;

                place_verify(log, payloads.keyring, i, &verified);
                assert_int_equal(verified.entry.index, i);
                record_verified_done(&verified);
        }
}

/* Records of both forms stand in one log, and go out of it alike. */
static void test_an_older_log_goes_on(void **state) {
        for (size_t old = 0; old < ELEMENTS(versions); old++) {
                _cleanup_free_ char *line = NULL;
                RecordLog *log;
                uint64_t size;

                make_version(old);
                assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
                line = place_envelope(log, 1 + SERVER_BAD);
                assert_string_equal(line, payloads.envelope);
                (void) server_scan(&payloads.server, log);
                size = record_log_size(log);
                assert_all_verify(log, 0, size);

                assert_int_equal(record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 0), 0);
                (void) place_take(log);
                assert_all_verify(log, size - SERVER_CHIPS - 1, size);
                (void) record_log_free(log);
                payloads_teardown(NULL);
                payloads_setup(NULL);
        }
}

/* Somebody takes an envelope away. */
static void take_away(const char *sql) {
        sqlite3 *db = open_log();

        execute(db, sql);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* An assayd that knew of no archives may have pruned it, and no mark proves that: see test-log-decide.c. */
static void test_what_an_older_assayd_pruned_is_asked_about(void **state) {
        static const char *const versions_of_none[] = { "PRAGMA user_version=10;", "UPDATE record SET keyid = '' WHERE idx = 2;" };
        RecordLog *log;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        assert_int_equal(record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 0), 0);
        (void) place_take(log);
        (void) record_log_free(log);
        take_away("DROP INDEX archive; DROP INDEX decision; DROP INDEX hole; UPDATE record SET keyid = NULL, signature = NULL, payload = NULL WHERE idx = 2");
        for (unsigned k = 0; k < ELEMENTS(versions_of_none); k++) {
                _cleanup_free_ char *error = NULL;

                take_away(versions_of_none[k]);
                assert_int_equal(place_open(&payloads.place, &log, &error), -ENOTRECOVERABLE);
                assert_non_null(strstr(error, "record 2 has no envelope"));
                assert_non_null(strstr(error, "--continue-log"));
        }
}

/* Refused, and left as it is: what SQL asks for is in the old tables alone. */
static void assert_gap(size_t old, const char *damage, const char *sql) {
        _cleanup_free_ char *error = NULL;
        sqlite3 *db;
        RecordLog *log;

        make_version(old);
        db = open_log();
        execute(db, damage);
        assert_int_equal(place_open(&payloads.place, &log, &error), -EBADMSG);
        assert_non_null(strstr(error, "gap"));
        execute(db, sql);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_an_oldest_log_with_a_gap_is_refused(void **state) {
        assert_gap(0, "DELETE FROM record WHERE idx = 5", "SELECT leaf FROM record");
}

static void test_an_older_log_without_a_hash_is_refused(void **state) {
        assert_gap(3, "DELETE FROM hash WHERE pos = 5", "SELECT hash FROM hash");
}

static void test_an_older_log_without_its_last_hashes_is_refused(void **state) {
        assert_gap(2, "DELETE FROM hash WHERE pos >= 32", "SELECT hash FROM hash");
}

static void test_an_older_log_without_an_entry_is_refused(void **state) {
        assert_gap(1, "DELETE FROM entry WHERE idx = 5", "SELECT hash FROM hash");
}

static void test_an_older_log_of_other_hashes_is_refused(void **state) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log;
        sqlite3 *db;

        make_version(3);
        db = open_log();
        execute(db, "UPDATE hash SET hash = zeroblob(32) WHERE pos = 7");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(place_open(&payloads.place, &log, &error), -EBADMSG);
        assert_non_null(strstr(error, "hashes were changed"));
}

static void test_a_newer_log_is_refused(void **state) {
        _cleanup_free_ char *error = NULL;
        sqlite3 *db = open_log();
        RecordLog *log;

        execute(db, "PRAGMA user_version=1000");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(place_open(&payloads.place, &log, &error), -EBADMSG);
        assert_non_null(strstr(error, "newer assayd"));
}

/* Whatever fails on the way, the log is the old one or the new one. */
static void test_a_disk_that_fails_loses_nothing(void **state) {
        static const int errors[] = { SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC };
        _cleanup_free_ char *before = read_all();
        unsigned n_failed = 0;

        for (size_t i = 0; i < ELEMENTS(errors) * ELEMENTS(versions); i++)
                for (int n = 1; n < 1000; n++) {
                        RecordLog *log;
                        int r;

                        make_version(i / ELEMENTS(errors));
                        faults_set(n, errors[i % ELEMENTS(errors)], true, false);
                        r = place_open(&payloads.place, &log, NULL);
                        faults_set(0, 0, false, false);
                        if (r == 0) {
                                (void) record_log_free(log);
                                break;
                        }
                        n_failed++;
                        assert_opens();
                        assert_all_is(before);
                }
        assert_in_range(n_failed, 3 * ELEMENTS(errors) * ELEMENTS(versions), 2000);
}

/* True: power failed on the way. */
static bool open_until_power_fails(unsigned dies_at, PowerLoss loss) {
        RecordLog *log;
        int status;
        pid_t pid;

        pid = fork();
        if (pid == 0) {
                power_install(dies_at, loss, dies_at);
                _exit(place_open(&payloads.place, &log, NULL) < 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        return WIFSIGNALED(status);
}

static void test_a_death_on_the_way_loses_nothing(void **state) {
        _cleanup_free_ char *before = read_all();
        unsigned n_deaths = 0;

        for (size_t i = 0; i < _POWER_MAX * ELEMENTS(versions); i++)
                for (unsigned n = 1; n < 1000; n++) {
                        make_version(i / _POWER_MAX);
                        if (!open_until_power_fails(n, (PowerLoss) (i % _POWER_MAX)))
                                break;
                        n_deaths++;
                        assert_opens();
                        assert_all_is(before);
                }
        assert_in_range(n_deaths, 3 * _POWER_MAX * ELEMENTS(versions), 2000);
}

int main(void) {
        /* What a disk loses is our own doing here: it needs not be one. */
        if (access("/dev/shm", W_OK) == 0)
                (void) setenv("TMPDIR", "/dev/shm", 0);
        faults_install();

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_an_older_log_says_what_it_said, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_older_log_goes_on, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_what_an_older_assayd_pruned_is_asked_about, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_oldest_log_with_a_gap_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_older_log_without_a_hash_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_older_log_without_its_last_hashes_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_older_log_without_an_entry_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_older_log_of_other_hashes_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_newer_log_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_disk_that_fails_loses_nothing, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_death_on_the_way_loses_nothing, payloads_setup, payloads_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
