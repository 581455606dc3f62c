/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "daemon/names.h"
#include "tests/daemon/trial.h"

#define SERVERS "us0-0, us0-1, us0-2, us0-3, us1-0, us1-1, us1-2, us1-3"

static bool all_finished(void *userdata) {
        const Manager *manager = userdata;
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (!scan_is_finished(scan))
                        return false;

        return true;
}

static bool all_queued(void *userdata) {
        const Manager *manager = userdata;
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (scan->state != SCAN_QUEUED)
                        return false;

        return true;
}

/* Nobody works until all starts of runs are signed, however long that takes. */
static void run_queued(Trial *trial, unsigned workers) {
        assert_true(trial_run(trial, all_queued, trial->manager, 60));
        trial->manager->n_workers = workers;
        manager_schedule(trial->manager);
}

/* One asks for six servers at once, later another for two: they take turns, nobody waits for all of the other's. */
static void test_requesters_take_turns(void **state) {
        static const char *const of_first[] = { "us0-0", "us0-1", "us0-2", "us0-3", "us1-0", "us1-1" };
        static const char *const of_second[] = { "us1-2", "us1-3" };
        Scan *first[ELEMENTS(of_first)], *second[ELEMENTS(of_second)];
        Trial trial;

        assert_int_equal(trial_new("[{device: sim:slow, servers: [" SERVERS "]}]", "{workers: 1}", &trial), 0);
        trial.manager->n_workers = 0;
        for (size_t i = 0; i < ELEMENTS(of_first); i++)
                assert_non_null(first[i] = trial_scan(&trial, 1000, of_first[i]));
        for (size_t i = 0; i < ELEMENTS(of_second); i++)
                assert_non_null(second[i] = trial_scan(&trial, 1001, of_second[i]));
        run_queued(&trial, 1);
        assert_true(trial_run(&trial, all_finished, trial.manager, 60));

        assert_int_equal(first[0]->served, 1);
        assert_int_equal(second[0]->served, 2);
        assert_int_equal(first[1]->served, 3);
        assert_int_equal(second[1]->served, 4);
        assert_int_equal(first[5]->served, 8);
        trial_done(&trial);
}

static void test_never_more_workers_than_allowed_and_one_per_server(void **state) {
        Trial trial;
        Scan *a, *b, *c;
        size_t most = 0;

        assert_int_equal(trial_new("[{device: sim:slow, servers: [" SERVERS "]}]", "{workers: 2}", &trial), 0);
        a = trial_scan(&trial, 1000, "us0");
        b = trial_scan(&trial, 1000, "us0-1");
        c = trial_scan(&trial, 1000, "us0-1/chip3");
        while (!all_finished(trial.manager)) {
                size_t n = 0;

                assert_true(sd_event_run(trial.event, 1000000) >= 0);
                for (size_t i = 0; i < a->n_jobs; i++)
                        n += a->jobs[i]->state == JOB_RUNNING;
                n += b->jobs[0]->state == JOB_RUNNING;
                n += c->jobs[0]->state == JOB_RUNNING;
                assert_true(n <= 2);
                assert_false(b->jobs[0]->state == JOB_RUNNING && a->jobs[1]->state == JOB_RUNNING);
                assert_false(b->jobs[0]->state == JOB_RUNNING && c->jobs[0]->state == JOB_RUNNING);
                most = n > most ? n : most;
        }
        assert_int_equal(most, 2);
        assert_int_equal(a->n_jobs, 4);
        trial_done(&trial);
}

static bool is_running(void *userdata) {
        const Scan *scan = userdata;

        return scan->state == SCAN_RUNNING;
}

static void test_a_cancel_starts_nothing_that_it_would_have_to_cancel(void **state) {
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new("[{device: sim:slow, servers: [" SERVERS "]}]", "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0");
        assert_int_equal(scan->n_jobs, 4);
        assert_true(trial_run(&trial, is_running, scan, 60));
        assert_int_equal(trial.manager->turn, 1);
        scan_cancel(scan);
        assert_int_equal(trial.manager->turn, 1);
        assert_true(trial_wait(&trial, scan, 60));
        assert_int_equal(trial.manager->n_running, 0);
        trial_done(&trial);
}

static void test_the_oldest_finished_scans_are_forgotten(void **state) {
        Trial trial;

        assert_int_equal(trial_new("[{device: sim:mute, servers: [us0-0]}]", "{workers: 1, reconnects: 0}", &trial), 0);
        for (unsigned i = 0; i < ASSAY_SCANS_KEPT + 5; i++) {
                Scan *scan = trial_scan(&trial, 1000, "us0-0/chip0");

                assert_true(trial_wait(&trial, scan, 60));
        }

        manager_evict(trial.manager);
        assert_null(manager_find_scan(trial.manager, 5));
        assert_non_null(manager_find_scan(trial.manager, 6));
        assert_non_null(manager_find_scan(trial.manager, ASSAY_SCANS_KEPT + 5));
        trial_done(&trial);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_requesters_take_turns),
                cmocka_unit_test(test_never_more_workers_than_allowed_and_one_per_server),
                cmocka_unit_test(test_a_cancel_starts_nothing_that_it_would_have_to_cancel),
                cmocka_unit_test(test_the_oldest_finished_scans_are_forgotten),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
