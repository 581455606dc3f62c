/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/record/chain.h"
#include "tests/record/faults.h"
#include "tests/record/place.h"
#include "tests/record/server.h"
#include "tests/record/small-disk.h"

#define CHIPS  2
#define RECORDS (CHIPS + 1) /* of one scan here */

static Place place;
static Server server;

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

/* 0 or the error the scan came back with. */
static int scan_once(RecordLog *log, uint64_t *ret_first) {
        RecordOutcome outcome;
        int r;

        r = record_log_scan(log, &server.scan, 1);
        if (r < 0)
                return r;
        place_wait(log, &outcome);
        r = outcome.error;
        if (r == 0) {
                assert_int_equal(outcome.n_entries, RECORDS);
                *ret_first = outcome.entries[0].index;
        } else
                assert_int_equal(outcome.n_entries, 0);
        record_outcome_done(&outcome);
        return r;
}

static void test_what_is_acknowledged_has_been_synced(void **state) {
        RecordLog *log = open_log();
        uint64_t first;

        for (unsigned i = 0; i < 20; i++) {
                assert_int_equal(scan_once(log, &first), 0);
                assert_int_equal(atomic_load(&faults.n_unsynced), 0);
        }
        (void) record_log_free(log);
}

/*
 * The n-th operation on the disk fails, for every n, and a write early, late or between: the scan comes back with an error and left nothing,
 * or it was committed; the next one works; the chain holds.
 */
static void sweep(int error, bool stays, bool after) {
        RecordLog *log = open_log();
        uint64_t size = 0, first = 0;
        unsigned n_failed = 0;

        for (int i = 0; i < 200; i++) {
                int r, n_hits;

                atomic_store(&faults.torn, i % 8);
                faults_set(i / 8 + 1, error, stays, after);
                r = scan_once(log, &first);
                n_hits = atomic_load(&faults.n_hits);
                faults_set(0, 0, false, false);
                if (r < 0) {
                        n_failed++;
                        assert_true(r == -ENOSPC || r == -EIO);
                        if (error == SQLITE_FULL)
                                assert_int_equal(r, -ENOSPC);
                } else {
                        assert_int_equal(first, size);
                        size += RECORDS;
                }
                assert_int_equal(record_log_size(log), size);
                assert_int_equal(scan_once(log, &first), 0);
                assert_int_equal(first, size);
                size += RECORDS;
                if (n_hits == 0 && i > 50)
                        break;
        }
        check_chain(log, &place);
        (void) record_log_free(log);
        assert_true(n_failed > 3);

        log = open_log();
        assert_int_equal(record_log_size(log), size);
        check_chain(log, &place);
        (void) record_log_free(log);
}

static void test_a_full_disk_commits_nothing_and_the_next_try_works(void **state) {
        sweep(SQLITE_FULL, false, false);
}

static void test_a_disk_that_stays_full_commits_nothing(void **state) {
        sweep(SQLITE_FULL, true, false);
}

static void test_an_error_of_writing_or_syncing_commits_nothing_or_all(void **state) {
        sweep(SQLITE_IOERR_FSYNC, false, false);
}

static void test_an_error_after_the_work_was_done_commits_nothing_or_all(void **state) {
        sweep(SQLITE_IOERR_FSYNC, false, true);
}

static void test_a_dead_disk_takes_nothing_and_comes_back(void **state) {
        sweep(SQLITE_IOERR_WRITE, true, false);
}

static void copy(const char *from, const char *to) {
        char command[512];

        (void) snprintf(command, sizeof(command), "cp %s %s", from, to);
        assert_int_equal(system(command), 0);
}

/* As a start would find it if the process had died now. */
static uint64_t size_after_death(void) {
        Place dead = place;
        RecordLog *log;
        uint64_t size;
        char from[128], to[128];

        (void) snprintf(dead.log, sizeof(dead.log), "%s/dead.db", place.folder);
        copy(place.log, dead.log);
        (void) snprintf(from, sizeof(from), "%s-wal", place.log);
        (void) snprintf(to, sizeof(to), "%s-wal", dead.log);
        copy(from, to);
        assert_int_equal(place_open(&dead, &log, NULL), 0);
        size = record_log_size(log);
        (void) record_log_free(log);
        assert_int_equal(unlink(dead.log), 0);
        return size;
}

/* All of a commit is in the write-ahead log, and the disk says that it is not: told as failed, it must not come back with the next start. */
static void test_what_was_told_as_failed_does_not_come_back(void **state) {
        RecordLog *log = open_log();
        unsigned n_failed = 0;
        uint64_t size = 0, first;

        for (int n = 1; n < 40; n++) {
                int r;

                faults_set(n, SQLITE_IOERR_FSYNC, false, true);
                r = scan_once(log, &first);
                faults_set(0, 0, false, false);
                if (r == 0)
                        size += RECORDS;
                else
                        n_failed++;
                assert_int_equal(record_log_size(log), size);
                assert_int_equal(size_after_death(), size);
        }
        assert_true(n_failed > 1);
        check_chain(log, &place);
        (void) record_log_free(log);
}

static void test_a_full_file_system_is_survived(void **state) {
        unsigned n_failed = 0;
        uint64_t first, size;
        RecordLog *log;

        small_disk_init(&place, "1m");
        log = open_log();
        assert_int_equal(scan_once(log, &first), 0);

        small_disk_fill(&place);
        for (unsigned i = 0; i < 100 && n_failed < 3; i++) {
                int r;

                size = record_log_size(log);
                r = scan_once(log, &first);
                assert_true(r == 0 || r == -ENOSPC);
                n_failed += r < 0;
                assert_int_equal(record_log_size(log), r == 0 ? size + RECORDS : size);
        }
        assert_int_equal(n_failed, 3);
        small_disk_empty(&place);
        assert_int_equal(scan_once(log, &first), 0);
        check_chain(log, &place);
        (void) record_log_free(log);
        small_disk_done(&place);
}

/* Somebody else has used the index that comes next. */
static void test_a_log_that_somebody_else_writes_is_given_up(void **state) {
        RecordLog *log = open_log();
        uint64_t first = 0;
        sqlite3 *db;

        assert_int_equal(scan_once(log, &first), 0);
        assert_false(record_log_has_failed(log));
        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "INSERT INTO record (idx, id) VALUES (4, zeroblob(32))", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(scan_once(log, &first), -EIO);
        assert_true(record_log_has_failed(log));
        assert_int_equal(record_log_size(log), RECORDS);
        assert_int_equal(scan_once(log, &first), -EIO);
        (void) record_log_free(log);
}

/* Whoever asks first finds what is gone; from then on the alarm says it, and what is left is told as it is. */
static void test_a_log_that_is_given_up_still_answers(void **state) {
        RecordLog *log = open_log();
        Location chip = { .server = "us0-2" };
        RecordEntry entry;
        uint64_t first = 0;
        sqlite3 *db;

        assert_true(location_append(&chip, LOCATION_CHIP, 0) >= 0);
        assert_int_equal(scan_once(log, &first), 0);
        assert_int_equal(record_log_newest(log, &chip, NULL, &entry), 0);
        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "DELETE FROM record WHERE idx = (SELECT max(idx) FROM record)", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(record_log_newest(log, &chip, NULL, &entry), -EBADMSG);
        assert_true(record_log_has_failed(log));
        entry = (RecordEntry) {};
        assert_int_equal(record_log_newest(log, &chip, NULL, &entry), 0);
        assert_true(location_equal(&entry.subject, &chip));
        (void) record_log_free(log);
}

/* Backups and their like may cut the write-ahead log by SQLite's own rules. */
static void test_who_moves_all_into_the_database_takes_nothing_away(void **state) {
        RecordLog *log = open_log();
        uint64_t first = 0;
        struct stat st;
        char name[160];
        sqlite3 *db;

        (void) snprintf(name, sizeof(name), "%s-wal", place.log);
        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(scan_once(log, &first), 0);
                assert_int_equal(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL), SQLITE_OK);
                assert_int_equal(stat(name, &st), 0);
                assert_int_equal(st.st_size, 0);
        }
        assert_int_equal(scan_once(log, &first), 0);
        assert_int_equal(truncate(name, 0), 0);
        assert_int_equal(scan_once(log, &first), -EIO);
        assert_true(record_log_has_failed(log));
        (void) record_log_free(log);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define SHM_CHECKPOINT 121 /* the byte of its -shm that SQLite locks while it moves pages into the database */

/* Another process that does so for a while. */
static pid_t lock_checkpoints(void) {
        const struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SHM_CHECKPOINT, .l_len = 1 };
        int is_locked[2];
        char name[160], c;
        pid_t pid;

        (void) snprintf(name, sizeof(name), "%s-shm", place.log);
        assert_int_equal(pipe(is_locked), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int fd = open(name, O_RDWR | O_CLOEXEC);

                if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(is_locked[1], "", 1) != 1)
                        _exit(1);
                (void) poll(NULL, 0, 300);
                _exit(0);
        }
        assert_int_equal(close(is_locked[1]), 0);
        assert_int_equal(read(is_locked[0], &c, 1), 1);
        assert_int_equal(close(is_locked[0]), 0);
        return pid;
}

/* Another connection moves all into the database. The write-ahead log is empty then, or one that nobody reads. */
static void move_all(const char *how) {
        sqlite3 *db;

        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, how, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void copy_over(const char *from, const char *to, bool ends) {
        char command[512];

        (void) snprintf(command, sizeof(command), "dd status=none conv=%s if=%s of=%s", ends ? "fsync" : "notrunc", from, to);
        assert_int_equal(system(command), 0);
}

/* The file stays the one that is open, and what is in it is older than what was acknowledged. */
static void test_a_log_that_an_old_copy_is_written_over_is_given_up(void **state) {
        static const char *const moves[] = { "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(PASSIVE)" };

        for (size_t i = 0; i < 2 * ELEMENTS(moves); i++) {
                RecordLog *log = open_log();
                uint64_t first = 0;
                char old[160];

                (void) snprintf(old, sizeof(old), "%s.old", place.log);
                assert_int_equal(scan_once(log, &first), 0);
                move_all(moves[0]);
                copy_over(place.log, old, true);
                assert_int_equal(scan_once(log, &first), 0);
                move_all(moves[i / 2]);
                copy_over(old, place.log, i % 2);
                assert_int_equal(scan_once(log, &first), -EIO);
                assert_true(record_log_has_failed(log));
                assert_int_equal(record_log_size(log), 2 * RECORDS);
                (void) record_log_free(log);
                teardown(state);
                setup(state);
        }
}

/* The tables of an old copy lead to sound records: before anything else is written only the last record tells it apart. */
static void test_nobody_is_answered_from_an_old_copy(void **state) {
        static const char *const moves[] = { "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(PASSIVE)" };

        for (size_t i = 0; i < 2 * ELEMENTS(moves) * 4; i++) {
                RecordLog *log = open_log();
                Location chip = server.chips[0].subject.where;
                struct pollfd told = { .fd = record_log_fd(log), .events = POLLIN };
                uint64_t first = 0, cursor = 0;
                RecordEntry entry;
                char old[160];
                int r = 0;

                (void) snprintf(old, sizeof(old), "%s.old", place.log);
                assert_int_equal(scan_once(log, &first), 0);
                move_all(moves[0]);
                copy_over(place.log, old, true);
                assert_int_equal(scan_once(log, &first), 0);
                assert_int_equal(record_log_newest(log, &chip, NULL, &entry), 0);
                assert_in_range(entry.index, RECORDS, 2 * RECORDS);
                move_all(moves[i / 2 % 2]);
                copy_over(old, place.log, i % 2);
                if (i / 4 == 0)
                        r = record_log_newest(log, &chip, NULL, &entry);
                if (i / 4 == 1)
                        r = record_log_whole_before(log, &chip, "preflight", UINT64_MAX, &entry);
                if (i / 4 == 2)
                        r = record_log_failure(log, &chip, &entry);
                if (i / 4 == 3)
                        r = record_log_next_verdict(log, &cursor, &entry);
                assert_int_equal(r, -EBADMSG);
                assert_true(record_log_has_failed(log));
                assert_int_equal(poll(&told, 1, 0), 1);
                (void) record_log_free(log);
                teardown(state);
                setup(state);
        }
}

static int64_t newest_checkpoint(void) {
        sqlite3_stmt *statement;
        int64_t size;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT max(size) FROM checkpoint", -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        size = sqlite3_column_int64(statement, 0);
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        return size;
}

/* Nor is a checkpoint signed of records that are not there: the last one is due when the log closes. */
static void test_no_checkpoint_is_signed_behind_an_old_copy(void **state) {
        RecordLogOptions options = place_options(&place, place.key);
        uint64_t first = 0;
        RecordLog *log;
        char old[160];

        options.log_key = place_key(&place, "log.key", RECORD_ED25519);
        options.checkpoint_sec = 3600;
        (void) snprintf(old, sizeof(old), "%s.old", place.log);
        assert_int_equal(record_log_open(&options, &log, NULL), 0);
        assert_int_equal(scan_once(log, &first), 0);
        for (unsigned i = 0; i < 5000 && newest_checkpoint() != RECORDS; i++)
                (void) poll(NULL, 0, 1);
        move_all("PRAGMA wal_checkpoint(TRUNCATE)");
        copy_over(place.log, old, true);
        assert_int_equal(scan_once(log, &first), 0);
        move_all("PRAGMA wal_checkpoint(TRUNCATE)");
        copy_over(old, place.log, false);
        (void) record_log_free(log);
        assert_int_equal(newest_checkpoint(), RECORDS);
}

/* A backup that has cut the log, and is not through. */
static void test_who_moves_all_into_the_database_is_waited_for(void **state) {
        RecordLog *log = open_log();
        uint64_t first = 0;
        sqlite3 *db;
        int status;
        pid_t pid;

        assert_int_equal(scan_once(log, &first), 0);
        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL), SQLITE_OK);
        pid = lock_checkpoints();
        assert_int_equal(scan_once(log, &first), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        check_chain(log, &place);
        (void) record_log_free(log);
}

/* What a daemon that died has left in it was acknowledged, too. */
static void test_a_log_that_was_cut_before_the_first_record_is_given_up(void **state) {
        RecordLog *log = open_log();
        uint64_t first = 0;
        char name[160];
        sqlite3 *db;

        (void) snprintf(name, sizeof(name), "%s-wal", place.log);
        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK); /* so that nothing is moved when the log closes */
        assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM record", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(scan_once(log, &first), 0);
        (void) record_log_free(log);
        log = open_log();
        assert_int_equal(record_log_size(log), RECORDS);
        assert_int_equal(truncate(name, 4096), 0);
        assert_int_equal(scan_once(log, &first), -EIO);
        assert_true(record_log_has_failed(log));
        (void) record_log_free(log);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What is written into a file without a name is gone when the log closes: nothing of it is acknowledged. */
static void test_a_log_whose_files_are_taken_away_is_given_up(void **state) {
        static const struct {
                const char *file;
                bool is_replaced;
                off_t left;
        } cases[] = { { "", false, -1 }, { "-wal", false, -1 }, { "", true, -1 }, { "-wal", true, -1 }, { "-wal", false, 0 }, { "-wal", false, 4096 } };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char name[160], other[170];
                uint64_t first = 0;
                RecordLog *log;

                (void) snprintf(name, sizeof(name), "%s%s", place.log, cases[i].file);
                (void) snprintf(other, sizeof(other), "%s.away", name);
                log = open_log();
                assert_int_equal(scan_once(log, &first), 0);
                if (cases[i].left >= 0)
                        assert_int_equal(truncate(name, cases[i].left), 0);
                else
                        assert_int_equal(rename(name, other), 0);
                if (cases[i].is_replaced)
                        assert_int_equal(close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
                assert_int_equal(scan_once(log, &first), -EIO);
                assert_true(record_log_has_failed(log));
                assert_int_equal(record_log_size(log), RECORDS);
                (void) record_log_free(log);
                teardown(state);
                setup(state);
        }
}

static void test_a_full_queue_says_so_and_loses_nothing(void **state) {
        RecordLogOptions options = place_options(&place, place.key);
        RecordOutcome outcome;
        RecordLog *log;

        options.queue_max = 4;
        assert_int_equal(record_log_open(&options, &log, NULL), 0);
        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(record_log_scan(log, &server.scan, i), 0);
        assert_int_equal(record_log_scan(log, &server.scan, 99), -EAGAIN);
        for (unsigned i = 0; i < 4; i++) {
                place_wait(log, &outcome);
                assert_int_equal(outcome.ticket, i);
                assert_int_equal(outcome.error, 0);
                record_outcome_done(&outcome);
        }
        assert_int_equal(record_log_scan(log, &server.scan, 5), 0);
        (void) record_log_free(log); /* waits for it */

        log = open_log();
        assert_int_equal(record_log_size(log), 5 * RECORDS);
        (void) record_log_free(log);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_what_is_acknowledged_has_been_synced, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_full_disk_commits_nothing_and_the_next_try_works,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_disk_that_stays_full_commits_nothing, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_an_error_of_writing_or_syncing_commits_nothing_or_all,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_error_after_the_work_was_done_commits_nothing_or_all,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_dead_disk_takes_nothing_and_comes_back, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_what_was_told_as_failed_does_not_come_back, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_somebody_else_writes_is_given_up, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_is_given_up_still_answers, setup, teardown),
                cmocka_unit_test_setup_teardown(test_who_moves_all_into_the_database_takes_nothing_away, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_an_old_copy_is_written_over_is_given_up, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nobody_is_answered_from_an_old_copy, setup, teardown),
                cmocka_unit_test_setup_teardown(test_no_checkpoint_is_signed_behind_an_old_copy, setup, teardown),
                cmocka_unit_test_setup_teardown(test_who_moves_all_into_the_database_is_waited_for, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_was_cut_before_the_first_record_is_given_up, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_whose_files_are_taken_away_is_given_up, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_a_full_queue_says_so_and_loses_nothing, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_a_full_file_system_is_survived, setup, teardown),
        };

        faults_install();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
