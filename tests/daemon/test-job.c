/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/job-file.h"
#include "daemon/names.h"
#include "daemon/status.h"
#include "daemon/unrecorded.h"
#include "tests/daemon/trial.h"

#define LIMITS  "{workers: 1, reconnects: 0}"
#define TARGETS "[{device: sim:die, servers: [us0-0]}, {device: sim:pass, servers: [us0-1]}]"

/* In place of the log's own: what it is asked to keep it refuses N times. */
static struct {
        int error;
        unsigned n;
} refusals;

int __real_record_log_scan_kept(RecordLog *log, const RecordScan *scan, uint64_t ticket);
int __wrap_record_log_scan_kept(RecordLog *log, const RecordScan *scan, uint64_t ticket);

int __wrap_record_log_scan_kept(RecordLog *log, const RecordScan *scan, uint64_t ticket) {
        if (refusals.n == 0)
                return __real_record_log_scan_kept(log, scan, ticket);
        refusals.n--;
        return refusals.error;
}

static bool is_refused(void *userdata) {
        return ((const Scan *) userdata)->jobs[0]->servers[0].is_unrecorded;
}

/* Why nothing is known of PART; "" where that is not so. */
static const char *hidden_by(const Trial *trial, const char *part) {
        static char reason[UNRECORDED_REASON_MAX];
        Location where;

        assert_int_equal(location_parse(part, &where, NULL, NULL), 0);
        return unrecorded_hides(trial->manager, &where, reason) ? reason : "";
}

/* Nothing else happens to the log meanwhile that would have the daemon look at the scan again. */
static void test_what_there_was_no_memory_for_is_tried_again(void **state) {
        Location where = { .server = "us0-0" };
        RecordEntry entry;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, LIMITS, &trial), 0);
        refusals.error = -ENOMEM;
        refusals.n = 2;
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_run(&trial, is_refused, scan, 60));
        assert_int_equal(scan->state, SCAN_SIGNING);
        assert_string_equal(hidden_by(&trial, "us0-0/chip3"), "the newest scan could not be recorded: Cannot allocate memory. It is tried again");
        assert_string_equal(hidden_by(&trial, "us0-1"), "");

        assert_true(trial_wait(&trial, scan, 60));
        assert_int_equal(refusals.n, 0);
        assert_string_equal(hidden_by(&trial, "us0-0/chip3"), "");
        assert_int_equal(record_log_newest(trial.manager->log, &where, "quick", &entry), 0);
        assert_int_equal(entry.result, RESULT_INCONCLUSIVE);
        assert_int_equal(record_log_size(trial.manager->log), 18); /* once */
        trial_done(&trial);
}

/* What this process will not record is told as that, and as long as it lives, however many scans follow. */
static void test_what_is_never_recorded_is_not_forgotten(void **state) {
        static const char outlook[] = "the newest scan could not be recorded: Input/output error. The next start of assayd tries again";
        char status[256];
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, LIMITS, &trial), 0);
        refusals.error = -EIO;
        refusals.n = 1;
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_wait(&trial, scan, 60));
        assert_string_equal(hidden_by(&trial, "us0-0"), outlook);
        status_text(trial.manager, status, sizeof(status));
        assert_string_equal(status, "1 scan could not be recorded: Input/output error. The next start of assayd tries again");
        for (unsigned i = 0; i < ASSAY_SCANS_KEPT + 2; i++)
                assert_true(trial_wait(&trial, trial_scan(&trial, 1000, "us0-1/chip0"), 60));
        assert_string_equal(hidden_by(&trial, "us0-0"), outlook);
        assert_ptr_equal(manager_find_scan(trial.manager, 1), scan);
        assert_null(manager_find_scan(trial.manager, 2)); /* the oldest of the others is */
        trial_done(&trial);
}

/* What a key has handed over only the next one signs, with which the log is opened anew. */
static void test_what_waits_for_another_key_is_told_as_that(void **state) {
        char path[128];
        RecordKey *key;
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, LIMITS, &trial), 0);
        (void) snprintf(path, sizeof(path), "%s/next", trial.folder);
        assert_int_equal(record_key_generate(path, RECORD_ED25519), 0);
        assert_int_equal(record_key_load(path, &key), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        while (scan->state == SCAN_STARTING)
                assert_true(sd_event_run(trial.event, UINT64_MAX) >= 0);
        assert_int_equal(record_log_rotate(trial.manager->log, record_key_public_pem(key), manager_next_ticket(trial.manager)), 0);
        assert_true(trial_run(&trial, is_refused, scan, 60));
        assert_string_equal(hidden_by(&trial, "us0-0"), "the newest scan could not be recorded: Key has expired. The next start of assayd tries again");
        (void) record_key_free(key);
        trial_done(&trial);
}

/* By its file the next daemon knows of it at once: where that cannot be renamed, somebody has to know. */
static void test_a_file_that_cannot_be_renamed_is_told(void **state) {
        char path[256], command[512];
        int told = dup(STDERR_FILENO);
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new(TARGETS, LIMITS, &trial), 0);
        refusals.error = -ENOMEM;
        refusals.n = 1;
        scan = trial_scan(&trial, 1000, "us0-0");
        (void) snprintf(path, sizeof(path), "%s/evidence/%s%s", trial.folder, scan->jobs[0]->servers[0].run, JOB_FILE_UNRECORDED);
        assert_int_equal(mkdir(path, 0700), 0);
        (void) snprintf(path, sizeof(path), "%s/told", trial.folder);
        assert_non_null(freopen(path, "w", stderr));
        assert_true(trial_run(&trial, is_refused, scan, 60));
        (void) fflush(stderr);
        assert_true(dup2(told, STDERR_FILENO) >= 0);
        (void) close(told);
        (void) snprintf(command, sizeof(command), "grep -q 'Failed to rename .*what passed before may count until' %s", path);
        assert_int_equal(system(command), 0);
        trial_done(&trial);
}

static bool is_running(void *userdata) {
        return ((const Scan *) userdata)->jobs[0]->state == JOB_RUNNING;
}

static bool none_is_hidden(void *userdata) {
        return !*hidden_by(userdata, "us0-0");
}

/* A run that was interrupted, of which only its beginning is left: its end is tried again, too. */
static void test_the_end_of_a_lost_run_is_tried_again(void **state) {
        static const char targets[] = "[{device: sim:slow, servers: [us0-0]}]";
        Location where = { .server = "us0-0" };
        char command[256];
        RecordEntry entry;
        Trial trial;

        assert_int_equal(trial_new(targets, LIMITS, &trial), 0);
        assert_true(trial_run(&trial, is_running, trial_scan(&trial, 1000, "us0-0"), 60));
        (void) snprintf(command, sizeof(command), "rm %s/evidence/*%s", trial.folder, JOB_FILE_SUFFIX);
        assert_int_equal(system(command), 0);
        refusals.error = -ENOMEM;
        refusals.n = 1;
        assert_int_equal(trial_restart(&trial, targets, LIMITS), 0);
        assert_int_equal(refusals.n, 0);
        assert_string_equal(hidden_by(&trial, "us0-0"), "the newest scan was interrupted, which is not recorded yet");

        assert_int_equal(record_log_heartbeat(trial.manager->log, RECORD_HEARTBEAT_INTERVAL, manager_next_ticket(trial.manager)), 0);
        assert_true(trial_run(&trial, none_is_hidden, &trial, 60));
        assert_int_equal(record_log_newest(trial.manager->log, &where, "quick", &entry), 0);
        assert_int_equal(entry.result, RESULT_INCONCLUSIVE);
        trial_done(&trial);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_there_was_no_memory_for_is_tried_again),
                cmocka_unit_test(test_what_is_never_recorded_is_not_forgotten),
                cmocka_unit_test(test_what_waits_for_another_key_is_told_as_that),
                cmocka_unit_test(test_a_file_that_cannot_be_renamed_is_told),
                cmocka_unit_test(test_the_end_of_a_lost_run_is_tried_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
