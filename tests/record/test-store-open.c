/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>

#include "daemon/record/tree.h"
#include "tests/record/faults.h"
#include "tests/record/payload.h"

/* Logs that an older assayd made. */

#define RECORDS 18
#define NODES   34

static sqlite3 *open_log(void) {
        sqlite3 *db;

        assert_int_equal(sqlite3_open(payloads.place.log, &db), SQLITE_OK);
        return db;
}

static void execute(sqlite3 *db, const char *sql) {
        char *error = NULL;

        if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
                fail_msg("%s: %s", sql, error);
}

/* Brings the log back to the tables of version 1, which bore no number. */
static void make_version_1(void) {
        sqlite3 *db = open_log();
        char sql[256];

        execute(db, "BEGIN; CREATE TABLE old (idx INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, leaf BLOB NOT NULL,"
                    " envelope BLOB NOT NULL) STRICT");
        for (unsigned i = 0; i < RECORDS; i++) {
                (void) snprintf(sql, sizeof(sql), "INSERT INTO old SELECT idx, id, hash, envelope FROM record, hash WHERE idx = %u AND pos = %llu", i,
                                (unsigned long long) tree_position(0, i));
                execute(db, sql);
        }
        execute(db, "DROP TABLE record; ALTER TABLE old RENAME TO record; DROP TABLE hash; DROP TABLE checkpoint; DROP INDEX rotation; PRAGMA user_version=0; COMMIT");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void read_nodes(TreeHash nodes[static NODES]) {
        sqlite3_stmt *statement;
        sqlite3 *db = open_log();

        assert_int_equal(sqlite3_prepare_v2(db, "SELECT pos, hash FROM hash ORDER BY pos", -1, &statement, NULL), SQLITE_OK);
        for (unsigned i = 0; i < NODES; i++) {
                assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
                assert_int_equal(sqlite3_column_int64(statement, 0), i);
                assert_int_equal(sqlite3_column_bytes(statement, 1), sizeof(TreeHash));
                memcpy(&nodes[i], sqlite3_column_blob(statement, 1), sizeof(TreeHash));
        }
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
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

static void test_an_older_log_gets_its_tree(void **state) {
        TreeHash before[NODES], after[NODES];

        read_nodes(before);
        make_version_1();
        assert_opens();
        read_nodes(after);
        assert_memory_equal(before, after, sizeof(before));
        assert_opens();
}

static void test_an_older_log_with_a_gap_is_refused_and_left_as_it_is(void **state) {
        _cleanup_free_ char *error = NULL;
        sqlite3 *db;
        RecordLog *log;

        make_version_1();
        db = open_log();
        execute(db, "DELETE FROM record WHERE idx = 5");
        assert_int_equal(place_open(&payloads.place, &log, &error), -EBADMSG);
        assert_non_null(strstr(error, "gap"));
        execute(db, "SELECT leaf FROM record");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
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
        TreeHash before[NODES], after[NODES];
        unsigned n_failed = 0;

        read_nodes(before);
        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (int n = 1; n < 1000; n++) {
                        RecordLog *log;
                        int r;

                        make_version_1();
                        faults_set(n, errors[e], true, false);
                        r = place_open(&payloads.place, &log, NULL);
                        faults_set(0, 0, false, false);
                        if (r == 0) {
                                (void) record_log_free(log);
                                break;
                        }
                        n_failed++;
                        assert_opens();
                        read_nodes(after);
                        assert_memory_equal(before, after, sizeof(before));
                }
        assert_in_range(n_failed, 9, 2000);
}

int main(void) {
        faults_install();

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_an_older_log_gets_its_tree, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_an_older_log_with_a_gap_is_refused_and_left_as_it_is, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_newer_log_is_refused, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_disk_that_fails_loses_nothing, payloads_setup, payloads_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
