/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/daemon/trial.h"
#include "tests/record/place.h"

/* A sanitizer keeps what was freed for a while: then memory says nothing. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_FREED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_FREED 1
#endif
#endif
#ifndef KEEPS_FREED
#define KEEPS_FREED 0
#endif

#define LIMITS "{workers: 2, reconnects: 2, step_sec: 3, silence_sec: 1.5}"

typedef struct Case {
        const char *behaviour;
        Result result; /* of the server */
        const char *chip;
        Result chip_result;
        const char *reason; /* in the chip's record; NULL: any */
} Case;

static const Case cases[] = {
        { "pass",           RESULT_PASSED,       "us0-0/chip0",  RESULT_PASSED,       NULL             },
        { "mute",           RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "worker-crashed" },
        { "deaf",           RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "worker-timeout" },
        { "garbage",        RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "protocol"       },
        { "wrong-number",   RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "protocol"       },
        { "silence",        RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "worker-timeout" },
        { "endless",        RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "worker-timeout" },
        { "flood-line",     RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "protocol"       },
        { "nothing-tested", RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "protocol"       },
        { "refuse",         RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "device-error"   },
        /* three workers: each costs the step it had open, the rest was never tested */
        { "die",            RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "worker-crashed" },
        { "die",            RESULT_INCONCLUSIVE, "us0-0/chip9",  RESULT_INCONCLUSIVE, "worker-crashed" },
        /* one lost step, and a fresh worker for all others */
        { "die-once",       RESULT_INCONCLUSIVE, "us0-0/chip0",  RESULT_INCONCLUSIVE, "worker-crashed" },
        { "die-once",       RESULT_INCONCLUSIVE, "us0-0/chip1",  RESULT_PASSED,       NULL             },
        { "half-line",      RESULT_INCONCLUSIVE, "us0-0/chip1",  RESULT_PASSED,       NULL             },
        { "stuck",          RESULT_INCONCLUSIVE, "us0-0/chip3",  RESULT_INCONCLUSIVE, "worker-timeout" },
        { "stuck",          RESULT_INCONCLUSIVE, "us0-0/chip15", RESULT_PASSED,       NULL             },
        /* it concludes `passed` from a finding that says otherwise */
        { "lie",            RESULT_FAILED,       "us0-0/chip1",  RESULT_FAILED,       NULL             },
        { "lie",            RESULT_FAILED,       "us0-0/chip2",  RESULT_PASSED,       NULL             },
};

static void judge_chip(Trial *trial, const Case *expected) {
        RecordVerified verified = {};
        Location where;

        assert_int_equal(location_parse(expected->chip, &where, NULL, NULL), 0);
        assert_int_equal(place_newest_verified(trial->manager->log, &where, "quick", &verified), 0);
        if (verified.entry.result != expected->chip_result)
                fail_msg("%s: %s is %s", expected->behaviour, expected->chip, result_to_string(verified.entry.result));
        if (expected->reason && !memmem(verified.payload, verified.n_payload, expected->reason, strlen(expected->reason)))
                fail_msg("%s: no '%s' in the record of %s:\n%.*s", expected->behaviour, expected->reason,
                         expected->chip, (int) verified.n_payload, verified.payload);
        record_verified_done(&verified);
}

static void test_a_worker_gets_the_verdict_it_deserves(void **state) {
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char targets[128];
                Trial trial;
                Scan *scan;

                (void) snprintf(targets, sizeof(targets), "[{device: 'sim:%s', servers: [us0-0]}]", cases[i].behaviour);
                assert_int_equal(trial_new(targets, LIMITS, &trial), 0);
                scan = trial_scan(&trial, 1000, "us0-0");
                assert_non_null(scan);
                if (!trial_wait(&trial, scan, 60))
                        fail_msg("%s does not end", cases[i].behaviour);
                if (scan->result != cases[i].result)
                        fail_msg("%s is %s", cases[i].behaviour, result_to_string(scan->result));
                assert_int_equal(scan->n_records, 1 + 16 + 1);
                judge_chip(&trial, &cases[i]);
                trial_done(&trial);
        }
}

static void test_a_worker_is_told_the_topology_of_its_servers(void **state) {
        static const char text[] = "topology: t\nrings: [[a, b, c, d]]\nservers: [e]\n";

        for (unsigned with = 0; with < 2; with++) {
                char *error = NULL;
                Trial trial;
                Scan *scan;

                assert_int_equal(trial_new("[{device: 'sim:with-topology', servers: [b, e]}]", LIMITS, &trial), 0);
                if (with)
                        assert_int_equal(topology_parse("t", text, strlen(text), &((Config *) trial.manager->config)->topology, &error), 0);
                scan = trial_scan(&trial, 1000, "b");
                assert_non_null(scan);
                assert_true(trial_wait(&trial, scan, 60));
                assert_int_equal(scan->result, with ? RESULT_PASSED : RESULT_INCONCLUSIVE);
                trial_done(&trial);
        }
}

static void test_a_flood_costs_neither_memory_nor_the_next_scan(void **state) {
        Trial trial;
        uint64_t before, after;
        Scan *flood, *next;

        assert_int_equal(trial_new("[{device: sim:flood, servers: [us0-0]}, {device: sim:pass, servers: [us0-1]}]",
                                     "{workers: 1, reconnects: 1, step_sec: 60}", &trial), 0);
        before = trial_rss_kib();
        flood = trial_scan(&trial, 1000, "us0-0");
        next = trial_scan(&trial, 1000, "us0-1");
        assert_true(trial_wait(&trial, flood, 120));
        after = trial_rss_kib();
        assert_int_equal(flood->result, RESULT_INCONCLUSIVE);
        assert_true(trial_wait(&trial, next, 60));
        assert_int_equal(next->result, RESULT_PASSED);
        if (!KEEPS_FREED && after > before + 32 * 1024)
                fail_msg("grew from %llu KiB to %llu KiB", (unsigned long long) before, (unsigned long long) after);
        trial_done(&trial);
}

static void test_a_worker_that_cannot_be_started_is_inconclusive_for_want_of_it(void **state) {
        Case expected = { "no worker", RESULT_INCONCLUSIVE, "us0-0/chip0", RESULT_INCONCLUSIVE, "resource" };
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new("[{device: sim:pass, servers: [us0-0]}]", LIMITS, &trial), 0);
        trial.manager->worker.run_path = "/nonexistent/assay-run";
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_wait(&trial, scan, 60));
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
        judge_chip(&trial, &expected);
        trial_done(&trial);
}

static bool is_running(void *userdata) {
        const Scan *scan = userdata;

        return scan->state == SCAN_RUNNING;
}

static void test_a_cancelled_scan_is_signed_with_what_was_not_tested(void **state) {
        Case expected = { "slow", RESULT_INCONCLUSIVE, "us0-0/chip15", RESULT_INCONCLUSIVE, "cancelled" };
        Trial trial;
        Scan *scan, *waiting;

        assert_int_equal(trial_new("[{device: sim:slow, servers: [us0-0, us0-1]}]", "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        waiting = trial_scan(&trial, 1000, "us0-1");
        assert_true(trial_run(&trial, is_running, scan, 60));
        scan_cancel(waiting);
        scan_cancel(scan);
        assert_true(trial_wait(&trial, scan, 60));
        assert_true(trial_wait(&trial, waiting, 60));
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
        assert_int_equal(waiting->result, RESULT_INCONCLUSIVE);
        judge_chip(&trial, &expected);
        expected.chip = "us0-1/chip0";
        judge_chip(&trial, &expected);
        trial_done(&trial);
}

static void test_a_scan_cancelled_before_its_run_start_is_committed_never_runs(void **state) {
        Case expected = { "slow", RESULT_INCONCLUSIVE, "us0-0/chip15", RESULT_INCONCLUSIVE, "cancelled" };
        Trial trial;
        Scan *scan;

        assert_int_equal(trial_new("[{device: sim:slow, servers: [us0-0]}]", "{workers: 1}", &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        scan_cancel(scan); /* the event loop has not run: nothing is committed */
        assert_true(trial_wait(&trial, scan, 60));
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
        judge_chip(&trial, &expected);
        trial_done(&trial);
}

static void test_the_digest_in_the_record_is_that_of_the_evidence(void **state) {
        char digest[EVIDENCE_DIGEST_HEX], name[128];
        RecordVerified verified = {};
        Location where = { .server = "us0-0" };
        static char bytes[1 << 20];
        Trial trial;
        size_t n;
        FILE *copy;
        Scan *scan;

        assert_int_equal(trial_new("[{device: sim:half-line, servers: [us0-0]}]", LIMITS, &trial), 0);
        scan = trial_scan(&trial, 1000, "us0-0");
        assert_true(trial_wait(&trial, scan, 60));
        (void) snprintf(name, sizeof(name), "%s%s", scan->jobs[0]->servers[0].run, EVIDENCE_SUFFIX);

        copy = tmpfile();
        assert_int_equal(evidence_copy(trial.manager->config->evidence, name, fileno(copy)), 0);
        rewind(copy);
        n = fread(bytes, 1, sizeof(bytes), copy);
        fclose(copy);
        assert_true(n > 1000);
        assert_int_equal(bytes[n - 1], '\n');
        assert_int_equal(record_digest(bytes, n, digest), 0);
        assert_int_equal(place_newest_verified(trial.manager->log, &where, NULL, &verified), 0);
        assert_non_null(memmem(verified.payload, verified.n_payload, digest, strlen(digest)));
        assert_non_null(memmem(verified.payload, verified.n_payload, name, strlen(name)));
        record_verified_done(&verified);
        trial_done(&trial);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_worker_gets_the_verdict_it_deserves),
                cmocka_unit_test(test_a_worker_is_told_the_topology_of_its_servers),
                cmocka_unit_test(test_a_flood_costs_neither_memory_nor_the_next_scan),
                cmocka_unit_test(test_a_worker_that_cannot_be_started_is_inconclusive_for_want_of_it),
                cmocka_unit_test(test_a_cancelled_scan_is_signed_with_what_was_not_tested),
                cmocka_unit_test(test_a_scan_cancelled_before_its_run_start_is_committed_never_runs),
                cmocka_unit_test(test_the_digest_in_the_record_is_that_of_the_evidence),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
