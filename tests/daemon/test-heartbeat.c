/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "daemon/heartbeat.h"
#include "tests/daemon/trial.h"
#include "tests/record/place.h"

#define TARGETS "[{device: sim:pass, servers: [us0-0]}]"

static bool has_three(void *userdata) {
        return record_log_size(userdata) >= 3;
}

/* How many of the log's records hold TEXT. */
static unsigned count(const Trial *trial, const char *cause) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        unsigned n = 0;

        assert_int_equal(record_keyring_parse(trial->manager->public_key, strlen(trial->manager->public_key), &keyring), 0);
        for (uint64_t i = 0; i < record_log_size(trial->manager->log); i++) {
                RecordVerified verified;

                place_verify(trial->manager->log, keyring, i, &verified);
                n += strstr(verified.payload, cause) != NULL;
                record_verified_done(&verified);
        }
        return n;
}

static void test_an_idle_daemon_beats_after_it_has_told_that_it_started(void **state) {
        Trial trial;

        assert_int_equal(trial_new(TARGETS, "{}", &trial), 0);
        assert_true(trial.manager->config->heartbeat_sec == 3600);
        trial.manager->config->heartbeat_sec = 0.1;
        assert_int_equal(manager_start_heartbeat(trial.manager), 0);
        assert_true(trial_run(&trial, has_three, trial.manager->log, 20));
        assert_int_equal(count(&trial, "\"cause\":\"start\""), 1);
        assert_true(count(&trial, "\"cause\":\"interval\"") >= 2);

        /* Another process, whatever became of the one before. */
        assert_int_equal(trial_restart(&trial, TARGETS, "{}"), 0);
        assert_int_equal(manager_start_heartbeat(trial.manager), 0);
        assert_true(trial_run(&trial, has_three, trial.manager->log, 20));
        trial.manager->log = record_log_free(trial.manager->log); /* waits for what is queued */
        assert_int_equal(trial_restart(&trial, TARGETS, "{}"), 0);
        assert_int_equal(count(&trial, "\"cause\":\"start\""), 2);
        trial_done(&trial);
}

/* Where a commit takes longer than it is until the next one, that waits. */
static void test_a_slow_disk_is_not_asked_twice(void **state) {
        Trial trial;

        assert_int_equal(trial_new(TARGETS, "{}", &trial), 0);
        trial.manager->config->heartbeat_sec = 0.00001;
        assert_int_equal(manager_start_heartbeat(trial.manager), 0);
        assert_true(trial_run(&trial, has_three, trial.manager->log, 20));
        assert_int_equal(count(&trial, "\"cause\":\"start\""), 1);
        trial_done(&trial);
}

static void test_a_start_that_could_not_be_committed_is_told_again(void **state) {
        RecordOutcome full = { .error = -ENOSPC }, other = { .ticket = 12345 };
        Trial trial;

        assert_int_equal(trial_new(TARGETS, "{}", &trial), 0);
        trial.manager->config->heartbeat_sec = 0.1;
        assert_int_equal(manager_start_heartbeat(trial.manager), 0);
        full.ticket = trial.manager->last_ticket;
        assert_false(heartbeat_take_outcome(trial.manager->heartbeat, &other));
        assert_true(heartbeat_take_outcome(trial.manager->heartbeat, &full));
        assert_true(trial_run(&trial, has_three, trial.manager->log, 20));
        assert_int_equal(count(&trial, "\"cause\":\"start\""), 2);
        trial_done(&trial);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_idle_daemon_beats_after_it_has_told_that_it_started),
                cmocka_unit_test(test_a_slow_disk_is_not_asked_twice),
                cmocka_unit_test(test_a_start_that_could_not_be_committed_is_told_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
