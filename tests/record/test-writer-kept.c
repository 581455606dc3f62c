/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <sys/eventfd.h>

#include "daemon/record/log/log.h"
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

/* A writer without its thread and without readers: SQLite shows no commit that it has called failed while another connection is open. */
static void writer_init(RecordLog *log) {
        RecordLogOptions options = place_options(&place, place.key);

        *log = (RecordLog) { .path = place.log, .key = options.key, .event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) };
        assert_int_equal(pthread_mutex_init(&log->mutex, NULL), 0);
        assert_int_equal(station_init(&log->station, &options), 0);
        assert_int_equal(store_open(log->path, PLACE_ORIGIN, &log->store, NULL), 0);
        assert_int_equal(store_head(log->store, &log->head), 0);
}

static void writer_done(RecordLog *log) {
        log->store = store_close(log->store);
        station_done(&log->station);
        (void) record_key_free(log->key);
        assert_int_equal(close(log->event_fd), 0);
        (void) pthread_mutex_destroy(&log->mutex);
}

/* As the thread does with a scan that was queued. */
static void write_scan(RecordLog *log, uint64_t ticket) {
        DraftGroup *group;

        assert_int_equal(draft_scan(&log->station, &server.scan, &group), 0);
        group->is_kept = true;
        group->ticket = ticket;
        log->n_groups++;
        writer_write(log, group, group->n_drafts);
        writer_deliver(log, writer_keep(log, group));
}

/* What was told of committed scans, in the order of their tickets from 1 on. Each is told once. Returns how many were told as kept. */
static unsigned take_told(RecordLog *log, uint64_t first[], size_t n) {
        RecordOutcome outcome;
        unsigned n_kept = 0;

        while (record_log_next(log, &outcome) == 0) {
                assert_in_range(outcome.ticket, 1, n);
                n_kept += outcome.is_kept;
                if (!outcome.is_kept) {
                        assert_int_equal(outcome.error, 0);
                        assert_int_equal(outcome.n_entries, RECORDS);
                        assert_int_equal(first[outcome.ticket - 1], UINT64_MAX);
                        first[outcome.ticket - 1] = outcome.entries[0].index;
                }
                record_outcome_done(&outcome);
        }
        return n_kept;
}

/*
 * The second scan's commit fails at the N-th operation, which is done and never told, and the log cannot be opened again until a third was to be written.
 * Returns whether the second was committed after all.
 */
static bool commit_in_doubt(int n) {
        uint64_t first[] = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
        bool is_in_doubt, was_committed;
        RecordLog log, *read;

        place_done(&place);
        place_init(&place);
        writer_init(&log);
        write_scan(&log, 1);
        faults_set(n, SQLITE_IOERR_FSYNC, true, true);
        log.path = (char *) "/nonexistent/records.db";
        write_scan(&log, 2);
        faults_set(0, 0, false, false);
        is_in_doubt = !log.store;
        write_scan(&log, 3);
        if (is_in_doubt)
                assert_int_equal(take_told(&log, first, 3), 2);
        log.path = place.log;
        writer_try_kept(&log, true);
        assert_null(log.kept);
        (void) take_told(&log, first, 3);
        was_committed = is_in_doubt && first[1] < first[2];
        writer_done(&log);

        /* Nobody was told of records that are not there, nor of the same ones twice. */
        assert_int_equal(place_open(&place, &read, NULL), 0);
        assert_int_equal(record_log_size(read), 3 * RECORDS);
        check_chain(read, &place);
        (void) record_log_free(read);
        assert_int_equal(first[0], 0);
        assert_int_equal(first[1] + first[2], 3 * RECORDS);
        assert_int_not_equal(first[1], first[2]);
        return was_committed;
}

static void test_what_a_commit_in_doubt_has_taken_is_told(void **state) {
        unsigned n_committed = 0;

        for (int n = 1; n < 24; n++)
                n_committed += commit_in_doubt(n);
        assert_true(n_committed > 0);
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
                cmocka_unit_test_setup_teardown(test_what_a_commit_in_doubt_has_taken_is_told, setup, teardown),
                cmocka_unit_test_setup_teardown(test_others_fail_at_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_closing_tries_once_more, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_kept_is_bounded, setup, teardown),
        };

        faults_install();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
