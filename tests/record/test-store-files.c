/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "daemon/record/log/log.h"
#include "tests/record/chain.h"
#include "tests/record/faults.h"
#include "tests/record/place.h"
#include "tests/record/server.h"
#include "tests/record/small-disk.h"

/* What becomes of the write-ahead log where the disk fails while it is copied into the database: nothing that was acknowledged is lost. */

#define CHIPS      2
#define RECORDS    (CHIPS + 1) /* of one scan here */

static Place place;
static Server server;

static const struct {
        int error;
        bool stays, after;
} disks[] = {
        { SQLITE_FULL,        true,  false },
        { SQLITE_FULL,        false, false },
        { SQLITE_IOERR_FSYNC, false, true  },
};

static int setup(void **state) {
        place_init(&place);
        server_init(&server);
        server.scan.n_chips = CHIPS; /* without the broken one */
        server.scan.result = RESULT_INCONCLUSIVE;
        return 0;
}

static int teardown(void **state) {
        faults_set(0, 0, false, false);
        place_done(&place);
        return 0;
}

static RecordLog *open_log(void) {
        RecordLog *log = NULL;
        char *error = NULL;
        int r;

        r = place_open(&place, &log, &error);
        if (r < 0)
                fail_msg("cannot open the log: %s (%s)", strerror(-r), error ? error : "-");
        return log;
}

static void scan(RecordLog *log) {
        assert_int_equal(record_log_scan(log, &server.scan, 1), 0);
        (void) place_take(log);
}

static int ask(sqlite3 *db, const char *sql, char *ret, size_t n_ret) {
        sqlite3_stmt *statement;
        int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        if (r == SQLITE_ROW)
                (void) snprintf(ret, n_ret, "%s", (const char *) sqlite3_column_text(statement, 0));
        (void) sqlite3_finalize(statement);
        return r;
}

/* As SQLite has it, and as the next start has it. */
static void assert_whole(uint64_t size) {
        char answer[256] = "";
        RecordLog *log;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(ask(db, "PRAGMA integrity_check", answer, sizeof(answer)), SQLITE_ROW);
        assert_string_equal(answer, "ok");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        log = open_log();
        assert_int_equal(record_log_size(log), size);
        check_chain(log, &place);
        (void) record_log_free(log);
}

/* A place of its own for each case: a page that is lost must not be written once more by what follows. */
static void begin_anew(void) {
        place_done(&place);
        place_init(&place);
}

/* All of it stands in the database. */
static void make_copied_log(void) {
        RecordLog *log = open_log();

        scan(log);
        (void) record_log_free(log);
}

/* The n-th operation of the copy that closing makes fails. Returns how often it did. */
static int close_once(int n, size_t disk) {
        RecordLog *log;
        int n_hits;

        begin_anew();
        make_copied_log();
        log = open_log();
        scan(log);
        faults_set(n, disks[disk].error, disks[disk].stays, disks[disk].after);
        (void) record_log_free(log);
        n_hits = atomic_load(&faults.n_hits);
        faults_set(0, 0, false, false);
        assert_whole(2 * RECORDS);
        return n_hits;
}

static void test_a_log_that_is_closed_on_a_failing_disk_is_whole(void **state) {
        for (size_t disk = 0; disk < ELEMENTS(disks); disk++) {
                int n = 1;

                while (close_once(n, disk) > 0)
                        n++;
                assert_true(n > 5);
        }
}

/* How many operations a commit takes, which test-writer.c lets fail. */
static int count_operations(void) {
        static const int far = 10000;
        RecordLog *log;
        int left;

        begin_anew();
        make_copied_log();
        log = open_log();
        scan(log);
        faults_set(far, SQLITE_FULL, false, false);
        scan(log);
        left = atomic_load(&faults.countdown);
        faults_set(0, 0, false, false);
        (void) record_log_free(log);
        return far - left;
}

/*
 * A log that copies after every commit, where the n-th operation behind N_COMMIT fails. READER: somebody reads an older state meanwhile, so that no more
 * is copied than that. Returns how often it failed.
 */
static int copy_once(int n_commit, int n, size_t disk, bool with_reader) {
        sqlite3 *reader = NULL;
        char answer[32];
        RecordLog *log;
        int n_hits;

        begin_anew();
        make_copied_log();
        log = open_log();
        scan(log);
        if (with_reader) {
                assert_int_equal(sqlite3_open(place.log, &reader), SQLITE_OK);
                assert_int_equal(sqlite3_exec(reader, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
                assert_int_equal(ask(reader, "SELECT count(*) FROM record", answer, sizeof(answer)), SQLITE_ROW);
        }
        (void) sqlite3_wal_autocheckpoint(log->store->db, 1); /* its thread waits */
        faults_set(n_commit + n, disks[disk].error, disks[disk].stays, disks[disk].after);
        scan(log);
        n_hits = atomic_load(&faults.n_hits);
        faults_set(0, 0, false, false);

        check_chain(log, &place); /* it runs on, and answers */
        assert_int_equal(sqlite3_close(reader), SQLITE_OK);
        scan(log);
        (void) record_log_free(log);
        assert_whole(4 * RECORDS);
        return n_hits;
}

/* So many operations at least: a page of each record, and a sync of what they are copied from. */
static void copy_always(bool with_reader) {
        int n_commit = count_operations();

        assert_true(n_commit > 2 * RECORDS); /* pages and their headers */
        for (size_t disk = 0; disk < ELEMENTS(disks); disk++) {
                int n = 1;

                while (copy_once(n_commit, n, disk, with_reader) > 0)
                        n++;
                assert_true(n > RECORDS);
        }
}

static void test_a_log_that_is_copied_on_a_failing_disk_is_whole(void **state) {
        copy_always(false);
}

static void test_a_log_that_is_copied_in_part_on_a_failing_disk_is_whole(void **state) {
        copy_always(true);
}

/* All of it stands in the database but a scan, then the disk fills up, and the log is closed and opened. Room is all that it takes. */
static void test_a_log_that_is_closed_on_a_full_file_system_is_whole(void **state) {
        char *error = NULL;
        RecordLog *log;
        uint64_t size;
        int r;

        small_disk_init(&place, "2m");
        make_copied_log();
        log = open_log();
        scan(log);
        size = record_log_size(log);
        small_disk_fill(&place);
        (void) record_log_free(log);
        log = NULL;
        r = place_open(&place, &log, &error);
        assert_true(r == 0 || r == -ENOSPC);
        (void) record_log_free(log);
        free(error);
        small_disk_empty(&place);
        assert_whole(size);
        small_disk_done(&place);
}

static void assert_refused(const char *why) {
        RecordLog *log = NULL;
        char *error = NULL;

        assert_int_equal(place_open(&place, &log, &error), -EPERM);
        assert_non_null(error);
        if (!strstr(error, why))
                fail_msg("refused for another reason: %s", error);
        free(error);
}

/* A user who may write the database, or put another in its place, writes history: nothing is signed there. */
static void test_a_log_that_others_may_write_is_refused(void **state) {
        static const mode_t folders[] = { 0777, 0770, 01777 }, files[] = { 0666, 0660 };
        char moved[128];

        (void) record_log_free(open_log());
        for (size_t i = 0; i < ELEMENTS(folders); i++) {
                assert_int_equal(chmod(place.folder, folders[i]), 0);
                assert_refused("may be written by others");
        }
        assert_int_equal(chmod(place.folder, 0755), 0);
        for (size_t i = 0; i < ELEMENTS(files); i++) {
                assert_int_equal(chmod(place.log, files[i]), 0);
                assert_refused("may be written by others");
        }
        assert_int_equal(chmod(place.log, 0644), 0);
        (void) record_log_free(open_log());

        (void) snprintf(moved, sizeof(moved), "%.63s/moved.db", place.folder);
        assert_int_equal(rename(place.log, moved), 0);
        assert_int_equal(symlink(moved, place.log), 0);
        assert_refused("is no file of its own");
        assert_int_equal(unlink(place.log), 0);
        assert_int_equal(rename(moved, place.log), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(place.log, 65534, (gid_t) -1), 0);
                assert_refused("is another user's");
                assert_int_equal(chown(place.log, 0, (gid_t) -1), 0);
        }
        (void) record_log_free(open_log());
}

/* SQLite would wait for it, for ever: whoever does is ended by the alarm. */
static void test_a_pipe_beside_the_log_is_refused(void **state) {
        static const char *const suffixes[] = { "-journal", "-wal", "-shm" };

        (void) record_log_free(open_log());
        for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
                _cleanup_free_ char *wrong = NULL;
                char path[128], *origin;

                (void) snprintf(path, sizeof(path), "%s%s", place.log, suffixes[i]);
                assert_int_equal(mkfifo(path, 0600), 0);
                (void) alarm(20);
                assert_refused("is no file of its own");
                assert_int_equal(record_log_read_origin(place.log, &origin, &wrong), -EPERM);
                (void) alarm(0);
                assert_int_equal(unlink(path), 0);
        }
        (void) record_log_free(open_log());
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_log_that_others_may_write_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_pipe_beside_the_log_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_is_closed_on_a_failing_disk_is_whole, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_is_copied_on_a_failing_disk_is_whole, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_is_copied_in_part_on_a_failing_disk_is_whole, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_is_closed_on_a_full_file_system_is_whole, setup, teardown),
        };

        faults_install();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
