/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <sys/eventfd.h>

#include "daemon/record/log.h"
#include "tests/record/chain.h"
#include "tests/record/faults.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

#define CHIPS   2
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

static RecordLog *open_log(size_t queue_max) {
        RecordLogOptions options = place_options(&place, place.key);
        RecordLog *log = NULL;

        options.checkpoint_sec = 0.002;
        options.queue_max = queue_max;
        assert_int_equal(record_log_open(&options, &log, NULL), 0);
        return log;
}

/* How often it was told that the records are kept; then they are committed behind SIZE others. */
static unsigned heal_and_take(RecordLog *log, uint64_t ticket, uint64_t size) {
        RecordOutcome outcome;
        unsigned n_kept = 0;

        for (;;) {
                place_wait(log, &outcome);
                assert_int_equal(outcome.ticket, ticket);
                if (!outcome.is_kept)
                        break;
                assert_true(outcome.error == -ENOSPC || outcome.error == -EIO);
                assert_int_equal(outcome.n_entries, 0);
                n_kept++;
                faults_set(0, 0, false, false);
        }
        faults_set(0, 0, false, false);
        assert_int_equal(outcome.error, 0);
        assert_int_equal(outcome.n_entries, RECORDS);
        assert_int_equal(outcome.entries[0].index, size);
        record_outcome_done(&outcome);
        assert_int_equal(record_log_size(log), size + RECORDS);
        return n_kept;
}

/* The n-th operation on the disk fails, for every n, and all that follow until that is told: once there is room the records are there, once. */
static void sweep(int error, bool stays, bool after) {
        RecordLog *log = open_log(0);
        uint64_t size = record_log_size(log);
        unsigned n_kept = 0;

        for (int i = 0; i < 120; i++) {
                atomic_store(&faults.torn, i % 8);
                faults_set(i / 4 + 1, error, stays, after);
                assert_int_equal(record_log_scan_kept(log, &server.scan, (uint64_t) i + 1), 0);
                n_kept += heal_and_take(log, (uint64_t) i + 1, size);
                size += RECORDS;
        }
        assert_true(n_kept > 3);
        check_chain(log, &place);
        (void) record_log_free(log);
}

static void test_once_there_is_room_it_is_committed_once(void **state) {
        sweep(SQLITE_FULL, false, false);
        sweep(SQLITE_FULL, true, false);
}

static void test_once_the_disk_writes_again_it_is_committed_once(void **state) {
        sweep(SQLITE_IOERR_FSYNC, false, false);
        sweep(SQLITE_IOERR_FSYNC, true, false);
        sweep(SQLITE_IOERR_WRITE, true, false);
}

/* All of the commit was done, and neither that nor what became of it could be told for a while. */
static void test_a_commit_in_doubt_is_not_made_twice(void **state) {
        sweep(SQLITE_IOERR_FSYNC, false, true);
        sweep(SQLITE_IOERR_FSYNC, true, true);
}

/* By hand, since SQLite shows no commit that it has called failed while another connection is open. */
static void test_what_a_commit_in_doubt_has_taken_is_told(void **state) {
        RecordLog log = { .event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .done_end = &log.done, .n_groups = 2 };
        DraftGroup *groups[2];
        RecordOutcome outcome;

        assert_int_equal(pthread_mutex_init(&log.mutex, NULL), 0);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(draft_nothing(&groups[i]), 0);
                groups[i]->ticket = i + 1;
                groups[i]->error = -EIO;
                groups[i]->is_kept = true;
        }
        groups[0]->is_doubted = true;
        groups[0]->next = groups[1];
        log.kept = groups[0];
        writer_settle_kept(&log, true);
        assert_ptr_equal(log.kept, groups[1]);
        place_wait(&log, &outcome);
        assert_int_equal(outcome.ticket, 1);
        assert_int_equal(outcome.error, 0);
        assert_false(outcome.is_kept);
        record_outcome_done(&outcome);
        assert_int_equal(record_log_next(&log, &outcome), -EAGAIN);

        groups[1]->is_doubted = true;
        writer_settle_kept(&log, false);
        assert_ptr_equal(log.kept, groups[1]);
        assert_false(groups[1]->is_doubted);
        assert_null(draft_group_free(groups[1]));
        assert_int_equal(close(log.event_fd), 0);
        (void) pthread_mutex_destroy(&log.mutex);
}

/* What is behind it in the queue is not held up, and says at once that it failed. */
static void test_others_fail_at_once(void **state) {
        RecordLog *log = open_log(0);
        RecordOutcome outcome;

        faults_set(1, SQLITE_FULL, true, false);
        assert_int_equal(record_log_scan_kept(log, &server.scan, 1), 0);
        place_wait(log, &outcome);
        assert_true(outcome.is_kept);
        record_outcome_done(&outcome);
        assert_int_equal(record_log_scan(log, &server.scan, 2), 0);
        place_wait(log, &outcome);
        assert_int_equal(outcome.ticket, 2);
        assert_int_equal(outcome.error, -ENOSPC);
        assert_false(outcome.is_kept);
        record_outcome_done(&outcome);
        faults_set(0, 0, false, false);
        assert_int_equal(heal_and_take(log, 1, 0), 0);
        (void) record_log_free(log);
}

/* A log that is closed tries once more, and what it could not commit is not there the next time. */
static void test_closing_tries_once_more(void **state) {
        for (unsigned has_room = 0; has_room < 2; has_room++) {
                RecordLog *log = open_log(0);
                RecordOutcome outcome;

                faults_set(1, SQLITE_FULL, true, false);
                assert_int_equal(record_log_scan_kept(log, &server.scan, 1), 0);
                place_wait(log, &outcome);
                assert_true(outcome.is_kept);
                record_outcome_done(&outcome);
                if (has_room)
                        faults_set(0, 0, false, false);
                (void) record_log_free(log);
                faults_set(0, 0, false, false);
                log = open_log(0);
                assert_int_equal(record_log_size(log), has_room * RECORDS);
                (void) record_log_free(log);
        }
}

/* What waits has its place in the queue, so there is never more of it than that takes. */
static void test_what_is_kept_is_bounded(void **state) {
        RecordLog *log = open_log(4);
        RecordOutcome outcome;

        faults_set(1, SQLITE_FULL, true, false);
        for (unsigned i = 1; i <= 4; i++) {
                assert_int_equal(record_log_scan_kept(log, &server.scan, i), 0);
                place_wait(log, &outcome);
                assert_true(outcome.is_kept);
                record_outcome_done(&outcome);
        }
        assert_int_equal(record_log_scan_kept(log, &server.scan, 5), -EAGAIN);
        faults_set(0, 0, false, false);
        for (unsigned i = 0; i < 4; i++) {
                place_wait(log, &outcome);
                assert_int_equal(outcome.error, 0);
                record_outcome_done(&outcome);
        }
        assert_int_equal(record_log_size(log), 4 * RECORDS);
        (void) record_log_free(log);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_once_there_is_room_it_is_committed_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_once_the_disk_writes_again_it_is_committed_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_commit_in_doubt_is_not_made_twice, setup, teardown),
                cmocka_unit_test(test_what_a_commit_in_doubt_has_taken_is_told),
                cmocka_unit_test_setup_teardown(test_others_fail_at_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_closing_tries_once_more, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_kept_is_bounded, setup, teardown),
        };

        faults_install();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
