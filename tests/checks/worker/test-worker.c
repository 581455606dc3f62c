/* SPDX-License-Identifier: Apache-2.0 */

/* The judge judged: checks that misbehave, devices that do not answer, and a worker that must survive them
 * all. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "checks/step/monotonic.h"
#include "tests/checks/selftest/raw.h"
#include "tests/checks/worker/selftest-scan.h"

#define SERVER "us0-1"
#define STEPS(...) ((const char *const[]) { __VA_ARGS__, NULL })
/* Commands: 2 s × 0.15; steps that must come to their end, on however busy a machine: 400 s × 0.15, spend 20 s, hang 6 s × 0.15. */
#define QUICKLY STEPS("--seed", "7", "--deadline-scale", "0.15")

static const char *unit_name(int chip, char name[static 32]) {
        (void) snprintf(name, 32, chip < 0 ? SERVER : SERVER "/chip%d", chip);
        return name;
}

static const ScanStep *step_on(const SelftestScan *scan, int chip, const char *step) {
        char unit[32];
        const ScanStep *found = selftest_step(scan, unit_name(chip, unit), step);

        assert_non_null(found);
        assert_true(found->ended);
        return found;
}

static void assert_step(const SelftestScan *scan, int chip, const char *step, Verdict verdict,
                        Reason reason) {
        const ScanStep *found = step_on(scan, chip, step);

        if (found->end.verdict != verdict || found->end.reason != reason)
                print_error("chip %d, %s: %s %s, %s\n", chip, step, verdict_to_string(found->end.verdict),
                            reason_to_string(found->end.reason), found->message);
        assert_int_equal(found->end.verdict, verdict);
        assert_int_equal(found->end.reason, reason);
}

/* All chips passed STEP but those of the mask. */
static void assert_others_passed(const SelftestScan *scan, const char *step, unsigned but) {
        for (int chip = 0; chip < 16; chip++)
                if (!(but & (1u << chip)))
                        assert_step(scan, chip, step, VERDICT_PASSED, REASON_NONE);
}

static void assert_finding(const SelftestScan *scan, const char *where, const char *code,
                           unsigned reproduced, unsigned runs) {
        const ScanFinding *finding = selftest_finding(scan, where, code);

        assert_non_null(finding);
        assert_int_equal(finding->reproduced, reproduced);
        assert_int_equal(finding->runs, runs);
}

static SelftestScan *scan_chips(const FakeOptions *options, const char *const *steps) {
        SelftestScan *scan = selftest_scan(options, SERVER, steps, QUICKLY);

        assert_int_equal(scan->read, 0);
        assert_true(scan->ended);
        assert_int_equal(scan->n_hardware, 17);
        assert_int_equal(scan->status, result_to_status(scan->result, false));
        return scan;
}

static void test_healthy_chips_pass(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("pass", "spend"));

        assert_others_passed(scan, "pass", 0);
        assert_others_passed(scan, "spend", 0);
        assert_int_equal(scan->result, RESULT_PASSED);
        assert_int_equal(scan->n_findings, 0);
        assert_int_equal(scan->n_measurements, 16);
        assert_int_equal(step_on(scan, 3, "spend")->end.device_nsec, 100000000);
        assert_int_equal(step_on(scan, 3, "spend")->end.seed, step_on(scan, 9, "spend")->end.seed);
        assert_true(step_on(scan, 3, "spend")->end.seed != step_on(scan, 3, "pass")->end.seed);
}

/* No verdict hangs on what parts, software and sensors tell, whatever they tell. */
static void test_nonsense_about_parts_costs_no_verdict(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) { .nonsense = true }, STEPS("pass", "spend"));

        assert_others_passed(scan, "pass", 0);
        assert_others_passed(scan, "spend", 0);
        assert_int_equal(scan->result, RESULT_PASSED);
        assert_int_equal(scan->n_findings, 0);
        assert_int_equal(scan->n_particulars, 17); /* of each chip and of the server, once: their lists are short or empty */
}

static void test_a_failure_is_retested_and_stays_with_its_chip(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("fail", "pass"));

        assert_step(scan, 3, "fail", VERDICT_FAILED, REASON_NONE);
        assert_int_equal(step_on(scan, 3, "fail")->end.runs, 2);
        assert_int_equal(step_on(scan, 3, "fail")->end.reproduced, 2);
        assert_finding(scan, SERVER "/chip3/hbm2", "hbm-cell", 2, 2);
        assert_string_equal(selftest_finding(scan, SERVER "/chip3/hbm2", "hbm-cell")->replaceable, "tray 1");
        assert_int_equal(scan->n_findings, 1);
        assert_others_passed(scan, "fail", 1 << 3);
        assert_others_passed(scan, "pass", 0);
        assert_int_equal(scan->status, STATUS_FAILED);
}

static void test_each_finding_says_how_often_it_came_again(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) {}, STEPS("flaky"));

        assert_finding(scan, SERVER "/chip3", "hbm-bank", 2, 2);
        assert_finding(scan, SERVER "/chip3", "hbm-cell", 1, 2);
        assert_finding(scan, SERVER "/chip3", "hbm-row", 1, 2);
        assert_finding(scan, SERVER "/chip5", "hbm-cell", 1, 2);
        assert_step(scan, 5, "flaky", VERDICT_FAILED, REASON_NONE); /* once is enough */
        assert_int_equal(step_on(scan, 5, "flaky")->end.reproduced, 1);
}

/* Parts of the first run said that these passed. */
static void test_what_the_retest_leaves_open_has_not_passed(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) {}, STEPS("either"));
        Verdict last[16] = {};

        assert_finding(scan, SERVER "/chip1", "collective-either-end", 1, 2);
        assert_finding(scan, SERVER "/chip9", "link-errors", 2, 2);
        for (size_t i = 0; i < scan->n_parts; i++)
                last[atoi(scan->parts[i].where + strlen(SERVER "/chip"))] = scan->parts[i].verdict;
        for (unsigned c = 0; c < 16; c++)
                assert_int_equal(last[c], c == 9 ? VERDICT_FAILED : c == 1 || c == 2 ? VERDICT_ERROR : VERDICT_PASSED);
}

static void test_a_failure_of_all_chips_suspects_the_station(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) {}, STEPS("alike"));

        assert_finding(scan, SERVER, "suspect-station", 1, 1);
        assert_string_equal(selftest_finding(scan, SERVER, "suspect-station")->actual, "hbm-row");
        assert_int_equal(scan->n_findings, 17);
        assert_step(scan, -1, "alike", VERDICT_WARNED, REASON_NONE);
        assert_step(scan, 9, "alike", VERDICT_FAILED, REASON_NONE);

        selftest_scan_free(scan);
        scan = selftest_scan(&(FakeOptions) {}, SERVER "/chip1," SERVER "/chip3", STEPS("alike"), QUICKLY);
        assert_int_equal(scan->read, 0);
        assert_int_equal(scan->n_findings, 2); /* two chips are no station */
}

static void test_skips_and_errors_keep_their_reasons(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("skip", "error"));

        assert_step(scan, 3, "skip", VERDICT_SKIPPED, REASON_NOT_APPLICABLE);
        assert_string_equal(step_on(scan, 3, "skip")->message, "chip 3 has none");
        assert_step(scan, 3, "error", VERDICT_ERROR, REASON_DEVICE_ERROR);
        assert_string_equal(step_on(scan, 3, "error")->message, "no way to tell");
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
}

static void test_a_crash_costs_the_open_step_alone(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("pass", "crash", "spend"));

        assert_step(scan, 3, "crash", VERDICT_ERROR, REASON_WORKER_CRASHED);
        assert_others_passed(scan, "crash", 1 << 3 | 1 << 5 | 1 << 7);
        assert_others_passed(scan, "pass", 0);
        assert_others_passed(scan, "spend", 0);

        /* What was found before stands. */
        assert_step(scan, 5, "crash", VERDICT_FAILED, REASON_NONE);
        assert_finding(scan, SERVER "/chip5", "hbm-cell", 1, 1);
        assert_step(scan, 7, "crash", VERDICT_FAILED, REASON_NONE);
        assert_finding(scan, SERVER "/chip7", "hbm-cell", 2, 2);
}

static void test_a_hang_costs_its_deadline_and_no_more(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("hang", "pass"));

        assert_step(scan, 3, "hang", VERDICT_ERROR, REASON_WORKER_TIMEOUT);
        assert_others_passed(scan, "hang", 1 << 3);
        assert_others_passed(scan, "pass", 0);
        assert_true(scan->seconds >= 0.9);
        assert_true(scan->seconds < 8);
}

static void test_a_flood_is_cut_off(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("flood", "pass"));
        unsigned n = 0;

        assert_step(scan, 3, "flood", VERDICT_ERROR, REASON_PROTOCOL);
        assert_step(scan, 5, "flood", VERDICT_FAILED, REASON_NONE);
        assert_others_passed(scan, "flood", 1 << 3 | 1 << 5);
        assert_others_passed(scan, "pass", 0);

        for (size_t i = 0; i < scan->n_findings; i++)
                n += strcmp(scan->findings[i].unit, SERVER "/chip5") == 0;
        assert_in_range(n, 200, STREAM_FINDINGS_MAX);
        assert_int_equal(scan->n_measurements, 16 + 1); /* that there were more is said */
}

static void test_garbage_is_an_error_of_its_step(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("garbage", "pass"));

        assert_step(scan, 3, "garbage", VERDICT_ERROR, REASON_PROTOCOL);
        assert_step(scan, 5, "garbage", VERDICT_ERROR, REASON_PROTOCOL);
        assert_step(scan, 7, "garbage", VERDICT_ERROR, REASON_PROTOCOL);
        assert_others_passed(scan, "garbage", 1 << 3 | 1 << 5 | 1 << 7);
        assert_others_passed(scan, "pass", 0);
}

static void test_leaks_are_bounded(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("leak", "pass"));

        assert_step(scan, 3, "leak", VERDICT_ERROR, REASON_RESOURCE);
        if (MEMORY_IS_BOUNDED)
                assert_step(scan, 5, "leak", VERDICT_ERROR, REASON_RESOURCE);
        assert_others_passed(scan, "leak", 1 << 3 | 1 << 5);
        assert_others_passed(scan, "pass", 1 << 3 | 1 << 5);
}

static void test_a_check_that_contradicts_itself_never_passes(void **state) {
        static const struct {
                int chip;
                Verdict verdict;
                Reason reason;
        } cases[] = {
                { 3, VERDICT_FAILED, REASON_NONE },         /* passes in spite of a finding */
                { 5, VERDICT_ERROR, REASON_PROTOCOL },      /* passes beyond its limit */
                { 7, VERDICT_ERROR, REASON_PROTOCOL },      /* no verdict */
                { 9, VERDICT_ERROR, REASON_PROTOCOL },      /* fails without a finding */
                { 11, VERDICT_ERROR, REASON_WORKER_CRASHED }, /* leaves */
                { 13, VERDICT_ERROR, REASON_PROTOCOL },     /* skips without a reason */
                { 15, VERDICT_ERROR, REASON_PROTOCOL },     /* measures what is no number */
        };
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions){}, STEPS("lie", "pass"));
        unsigned mask = 0;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                assert_step(scan, cases[i].chip, "lie", cases[i].verdict, cases[i].reason);
                mask |= 1u << cases[i].chip;
        }
        assert_others_passed(scan, "lie", mask);
        assert_others_passed(scan, "pass", 0);
}

static void test_a_lost_server_step_counts_for_the_chips_not_yet_done(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .occupied = 1 << 4 }, STEPS("fabric"));

        assert_step(scan, -1, "fabric", VERDICT_ERROR, REASON_WORKER_CRASHED);
        assert_finding(scan, SERVER "/chip1", "link-errors", 1, 1);
        assert_int_equal(scan->n_parts, 6); /* chips 0, 1, 2, 3, 5; and 4, which was left alone */
        assert_string_equal(scan->parts[0].where, SERVER "/chip4");
        assert_int_equal(scan->parts[0].verdict, VERDICT_SKIPPED);
        assert_int_equal(scan->result, RESULT_FAILED); /* chip 1 */
}

static void test_an_occupied_chip_is_left_alone(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .occupied = 1 << 4 }, STEPS("pass", "spend"));

        assert_step(scan, 4, "spend", VERDICT_SKIPPED, REASON_OCCUPIED);
        assert_others_passed(scan, "spend", 1 << 4);
        assert_others_passed(scan, "pass", 0); /* disturbs nothing */
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
}

/* Rows in use are work, whatever the chip says of itself. */
static void test_a_chip_with_rows_in_use_is_left_alone(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .in_use = 1 << 4 }, STEPS("pass", "spend"));

        assert_step(scan, 4, "spend", VERDICT_SKIPPED, REASON_OCCUPIED);
        assert_others_passed(scan, "spend", 1 << 4);
        assert_others_passed(scan, "pass", 0);
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
}

/* The chip was free when the scan began. */
static void test_a_chip_that_a_job_takes_is_left_alone_from_then_on(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .taken = 1 << 4 }, STEPS("pass", "spend", "fabric"));

        assert_step(scan, 4, "pass", VERDICT_PASSED, REASON_NONE);
        assert_step(scan, 4, "spend", VERDICT_SKIPPED, REASON_OCCUPIED);
        assert_string_equal(step_on(scan, 4, "spend")->message, "a job began during the scan");
        assert_others_passed(scan, "spend", 1 << 4);
        assert_int_equal(scan->n_parts, 6); /* the step on the server leaves it out, too */
        assert_string_equal(scan->parts[0].where, SERVER "/chip4");
        assert_int_equal(scan->parts[0].verdict, VERDICT_SKIPPED);
}

/* What a job may have been is withdrawn, measurements too; another chip that is broken fails as ever. */
static void test_what_a_job_may_have_been_is_not_told(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .begun = 1 << 4, .begun_with = 1 }, STEPS("disturbed"));

        assert_step(scan, 4, "disturbed", VERDICT_SKIPPED, REASON_OCCUPIED);
        assert_string_equal(step_on(scan, 4, "disturbed")->message, "a job began during the scan");
        assert_int_equal(step_on(scan, 4, "disturbed")->end.device_nsec, 1000); /* what it took is told */
        assert_null(selftest_finding(scan, SERVER "/chip4", "hbm-cell"));
        assert_finding(scan, SERVER "/chip3", "hbm-cell", 2, 2);
        assert_others_passed(scan, "disturbed", 1 << 4 | 1 << 3);
        assert_int_equal(scan->n_findings, 1);
        assert_int_equal(scan->n_measurements, 15); /* of chip 3 and those that passed */
        assert_int_equal(scan->result, RESULT_FAILED); /* chip 3 */
}

static void test_what_a_check_says_of_a_job_itself_is_told(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .begun = 1 << 6, .begun_with = 1 }, STEPS("disturbed"));

        assert_step(scan, 6, "disturbed", VERDICT_SKIPPED, REASON_OCCUPIED);
        assert_string_equal(step_on(scan, 6, "disturbed")->message, "a job took rows");
        assert_int_equal(scan->n_measurements, 16);
}

/* A child that is dead cannot ask any more, so the worker does. */
static void test_what_a_lost_run_has_met_may_be_a_job_s(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .begun = 1 << 4, .begun_with = 1 }, STEPS("lost"));

        assert_step(scan, 4, "lost", VERDICT_ERROR, REASON_WORKER_CRASHED);
        assert_null(selftest_finding(scan, SERVER "/chip4", "hbm-cell"));
        assert_step(scan, 3, "lost", VERDICT_FAILED, REASON_NONE);
        assert_finding(scan, SERVER "/chip3", "hbm-cell", 1, 1);
        assert_others_passed(scan, "lost", 1 << 4 | 1 << 3);
        assert_int_equal(scan->n_findings, 1);
}

/* It may carry a job by now, and then what was met is the job's: no failure, no pass, and no job either. */
static void test_what_was_met_on_a_chip_that_does_not_tell_is_no_failure(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *nowhere = scan_chips(&(FakeOptions) { .secretive = 1 << 4 }, STEPS("disturbed")),
                                                    *elsewhere = scan_chips(&(FakeOptions) { .reticent = 1 << 4 }, STEPS("disturbed")),
                                                    *taken = scan_chips(&(FakeOptions) { .reticent = 1 << 4, .begun = 1 << 4, .begun_with = 1 },
                                                                        STEPS("disturbed"));

        assert_step(nowhere, 4, "disturbed", VERDICT_ERROR, REASON_DEVICE_ERROR);
        assert_string_equal(step_on(nowhere, 4, "disturbed")->message, "the chip does not tell whether it carries work");
        assert_null(selftest_finding(nowhere, SERVER "/chip4", "hbm-cell"));
        assert_int_equal(nowhere->n_measurements, 15);
        assert_finding(nowhere, SERVER "/chip3", "hbm-cell", 2, 2);
        assert_others_passed(nowhere, "disturbed", 1 << 4 | 1 << 3);

        /* Over the worker's own connection it says that it is free. */
        assert_step(elsewhere, 4, "disturbed", VERDICT_FAILED, REASON_NONE);
        assert_finding(elsewhere, SERVER "/chip4", "hbm-cell", 1, 2); /* before the retest it is asked over the other one */

        assert_step(taken, 4, "disturbed", VERDICT_ERROR, REASON_DEVICE_ERROR);
        assert_null(selftest_finding(taken, SERVER "/chip4", "hbm-cell"));
}

/* That it hangs or makes no sense is told all the same, and nothing beside it. */
static void test_a_chip_that_breaks_off_behind_a_finding_fails_of_that_alone(void **state) {
        static const struct {
                FakeFault fault;
                const char *code;
        } cases[] = { { FAKE_HANG_LATER, "device-hang" }, { FAKE_GARBLED_LATER, "device-garbled" } };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(selftest_scan_freep) SelftestScan *scan =
                                scan_chips(&(FakeOptions) { .fault = cases[i].fault, .chip = 4, .secretive = 1 << 4 }, STEPS("disturbed"));

                assert_step(scan, 4, "disturbed", VERDICT_FAILED, REASON_NONE);
                assert_non_null(selftest_finding(scan, SERVER "/chip4", cases[i].code));
                assert_null(selftest_finding(scan, SERVER "/chip4", "hbm-cell"));
                assert_finding(scan, SERVER "/chip3", "hbm-cell", 2, 2);
                assert_int_equal(scan->n_findings, 2);
                assert_others_passed(scan, "disturbed", 1 << 4 | 1 << 3);
        }
}

/* The chip that a job had before the step was left out of it, and is no reason to doubt what it met at others. */
static void test_a_lost_step_on_a_server_stands_beside_a_job_that_it_left_alone(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *before =
                        scan_chips(&(FakeOptions) { .begun = 1 << 4, .begun_with = 1 }, STEPS("spend", "fabric")),
                                                    *meanwhile = scan_chips(&(FakeOptions) { .begun = 1 << 2, .begun_with = 1 }, STEPS("fabric"));

        assert_step(before, -1, "fabric", VERDICT_ERROR, REASON_WORKER_CRASHED);
        assert_finding(before, SERVER "/chip1", "link-errors", 1, 1);
        assert_step(meanwhile, -1, "fabric", VERDICT_ERROR, REASON_WORKER_CRASHED);
        assert_null(selftest_finding(meanwhile, SERVER "/chip1", "link-errors"));
        assert_int_equal(meanwhile->n_parts, 0);
}

/* A run at the end of which the chip was free is none of a job's. */
static void test_what_failed_before_a_job_began_stands(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .begun = 1 << 4, .begun_with = 2 }, STEPS("disturbed"));

        assert_step(scan, 4, "disturbed", VERDICT_FAILED, REASON_NONE);
        assert_finding(scan, SERVER "/chip4", "hbm-cell", 1, 1);
        assert_int_equal(step_on(scan, 4, "disturbed")->end.runs, 1);
        assert_finding(scan, SERVER "/chip3", "hbm-cell", 2, 2);
}

/* Jobs that come and go keep no scan for ever. */
static void test_jobs_that_come_and_go_leave_a_chip_untested(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .begun = 1 << 4, .begun_with = 1, .leaves = true }, STEPS("disturbed"));

        assert_step(scan, 4, "disturbed", VERDICT_SKIPPED, REASON_OCCUPIED);
        assert_null(selftest_finding(scan, SERVER "/chip4", "hbm-cell"));
        assert_step(scan, 3, "disturbed", VERDICT_FAILED, REASON_NONE);
}

/* The links between the others are tested without it, and nothing that led to it is told. */
static void test_a_step_on_a_server_is_made_again_without_the_chip_that_a_job_takes(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .begun = 1 << 4, .begun_with = 1 }, STEPS("mesh"));
        unsigned n_failed = 0, n_skipped = 0;

        assert_step(scan, -1, "mesh", VERDICT_FAILED, REASON_NONE);
        assert_finding(scan, SERVER "/chip7", "link-errors", 2, 2);
        assert_int_equal(scan->n_findings, 1);
        assert_int_equal(scan->n_parts, 16);
        assert_int_equal(scan->n_measurements, 15);
        for (size_t i = 0; i < scan->n_parts; i++) {
                n_failed += scan->parts[i].verdict == VERDICT_FAILED;
                n_skipped += scan->parts[i].verdict == VERDICT_SKIPPED && strcmp(scan->parts[i].where, SERVER "/chip4") == 0;
        }
        assert_int_equal(n_failed, 1);
        assert_int_equal(n_skipped, 1);
}

/* No chip of the server is touched, nor is any blamed, and the scan says why. */
static void test_a_server_that_another_scan_has_is_left_alone(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .claimed = 1 << 4 }, STEPS("pass", "fail", "fabric"));

        for (int chip = 0; chip < 4; chip++)
                assert_step(scan, chip, "pass", VERDICT_SKIPPED, REASON_CLAIMED);
        assert_step(scan, 1, "fail", VERDICT_SKIPPED, REASON_CLAIMED);
        assert_string_equal(step_on(scan, 1, "fail")->message, "another scan has this server");
        assert_step(scan, -1, "fabric", VERDICT_SKIPPED, REASON_CLAIMED);
        assert_int_equal(scan->n_findings, 0);
        assert_int_equal(scan->n_parts, 0);
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
        assert_true(scan->seconds > 40 * 0.007); /* the deadline of 2 s, times 0.15 */
}

/* Two scans of different chips go on side by side. */
static void test_a_claim_of_another_chip_concerns_nobody(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        selftest_scan(&(FakeOptions) { .claimed = 1 << 4 }, SERVER "/chip3," SERVER "/chip5", STEPS("pass", "spend"), QUICKLY);

        assert_step(scan, 3, "spend", VERDICT_PASSED, REASON_NONE);
        assert_step(scan, 5, "spend", VERDICT_PASSED, REASON_NONE);
}

/* A worker that was killed may not be gone yet as far as the device knows. */
static void test_a_claim_that_is_refused_for_a_while_costs_nothing(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .claimed = 1 << 4 | 1 << 2, .n_refusals = 39 }, STEPS("pass", "spend"));

        assert_others_passed(scan, "spend", 0);
        assert_int_equal(scan->result, RESULT_PASSED);
}

/* That it refuses everything is no claim of somebody else's. */
static void test_a_chip_that_refuses_all_is_no_claimed_one(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .fault = FAKE_REFUSES_ALL, .chip = 2 }, STEPS("pass", "spend"));

        assert_others_passed(scan, "spend", 1 << 2);
        assert_step(scan, 2, "pass", VERDICT_ERROR, REASON_DEVICE_ERROR);
}

static void test_the_budget_of_a_unit_ends_its_steps(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = selftest_scan(
                        &(FakeOptions){}, SERVER, STEPS("spend", "pass"), STEPS("--budget", "0.05"));

        assert_int_equal(scan->read, 0);
        assert_others_passed(scan, "spend", 0);
        assert_step(scan, 0, "pass", VERDICT_SKIPPED, REASON_BUDGET);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

/* Whatever an earlier step takes, a later one keeps what it cannot do without. */
static void test_a_step_keeps_its_share_of_the_budget(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        selftest_scan(&(FakeOptions){}, SERVER, STEPS("greedy", "thrifty"), STEPS("--budget", "2"));

        assert_int_equal(scan->read, 0);
        assert_int_equal(selftest_step(scan, SERVER, "greedy")->end.verdict, VERDICT_PASSED);
        assert_int_equal(selftest_step(scan, SERVER, "greedy")->end.device_nsec, 1750000000);
        assert_int_equal(selftest_step(scan, SERVER, "thrifty")->end.verdict, VERDICT_PASSED);
        assert_int_equal(scan->result, RESULT_PASSED);
}

/* Where there is not enough for all, what comes first has what it needs. */
static void test_a_share_is_not_kept_from_an_earlier_step_that_needs_it(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = selftest_scan(
                        &(FakeOptions){}, SERVER, STEPS("thrifty", "thrifty\n    name: again"), STEPS("--budget", "0.4"));

        assert_int_equal(scan->read, 0);
        assert_int_equal(selftest_step(scan, SERVER, "thrifty")->end.verdict, VERDICT_PASSED);
        assert_int_equal(selftest_step(scan, SERVER, "again")->end.verdict, VERDICT_SKIPPED);
        assert_int_equal(selftest_step(scan, SERVER, "again")->end.reason, REASON_BUDGET);
}

static void test_steps_that_were_not_asked_for_are_told(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = selftest_scan(
                        &(FakeOptions){}, SERVER "/chip5", STEPS("spend", "pass"), STEPS("--steps", "pass"));

        assert_int_equal(scan->read, 0);
        assert_step(scan, 5, "spend", VERDICT_SKIPPED, REASON_NOT_REQUESTED);
        assert_step(scan, 5, "pass", VERDICT_PASSED, REASON_NONE);
        assert_int_equal(scan->n_steps, 2);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

/* ---- devices that do not answer ---- */

static void test_silence_of_one_chip_is_its_fault(void **state) {
        static const FakeFault faults[] = { FAKE_HANG, FAKE_HANG_PARTLY, FAKE_HANG_FROM_START };

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(
                                &(FakeOptions){ .fault = faults[i], .chip = 6 }, STEPS("pass", "spend"));

                assert_step(scan, 6, "pass", VERDICT_FAILED, REASON_NONE);
                assert_finding(scan, SERVER "/chip6", "device-hang", 1, 1);
                assert_step(scan, 6, "spend", VERDICT_SKIPPED, REASON_PREREQUISITE);
                assert_others_passed(scan, "pass", 1 << 6);
                assert_others_passed(scan, "spend", 1 << 6);
                assert_int_equal(scan->n_findings, 1);
                assert_int_equal(scan->status, STATUS_FAILED);
        }
}

static void test_silence_of_the_only_chip_asked_for_is_its_fault_too(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        selftest_scan(&(FakeOptions){ .fault = FAKE_HANG, .chip = 6 }, SERVER "/chip6",
                                      STEPS("pass"), QUICKLY);

        assert_int_equal(scan->read, 0);
        assert_finding(scan, SERVER "/chip6", "device-hang", 1, 1);
}

/* It is asked ten times more, and so are the others: silent once more is a hang, and once alone is no verdict and no pass. */
static void test_silence_while_it_tells_what_it_is_is_asked_again(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *at_times = scan_chips(&(FakeOptions) { .fault = FAKE_SILENT_AT_TIMES, .chip = 6 },
                                                                           STEPS("pass", "spend")),
                                                    *once = scan_chips(&(FakeOptions) { .fault = FAKE_SILENT_ONCE, .chip = 6 },
                                                                       STEPS("pass", "spend")),
                                                    *alone = selftest_scan(&(FakeOptions) { .fault = FAKE_SILENT_ALONE, .chip = 6 },
                                                                           SERVER "/chip6", STEPS("pass", "spend"), QUICKLY);

        assert_step(at_times, 6, "pass", VERDICT_FAILED, REASON_NONE);
        assert_finding(at_times, SERVER "/chip6", "device-hang", 1, 1);
        assert_others_passed(at_times, "spend", 1 << 6);
        assert_int_equal(at_times->n_findings, 1);

        assert_step(once, 6, "pass", VERDICT_ERROR, REASON_DEVICE_TIMEOUT);
        assert_others_passed(once, "spend", 1 << 6);
        assert_int_equal(once->n_findings, 0);

        assert_step(alone, 6, "pass", VERDICT_ERROR, REASON_DEVICE_TIMEOUT);
        assert_int_equal(alone->n_findings, 0);
}

static Verdict part_of(const SelftestScan *scan, const char *step, unsigned chip) {
        Verdict verdict = _VERDICT_INVALID;
        char where[32];

        (void) unit_name((int) chip, where);
        for (size_t i = 0; i < scan->n_parts; i++)
                if (strcmp(scan->parts[i].step, step) == 0 && strcmp(scan->parts[i].where, where) == 0) {
                        assert_int_equal(verdict, _VERDICT_INVALID); /* each once */
                        verdict = scan->parts[i].verdict;
                }
        return verdict;
}

/* It is told as in a step of its own, whoever stood beside it is not, and the steps that come go on without it. */
static void test_a_chip_that_falls_silent_in_a_step_on_a_server_hangs(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) { .fault = FAKE_HANG_LATER, .chip = 4 },
                                                                       STEPS("quiet", "mesh"));

        assert_step(scan, -1, "quiet", VERDICT_FAILED, REASON_NONE);
        assert_finding(scan, SERVER "/chip4", "device-hang", 1, 1);
        assert_null(selftest_finding(scan, SERVER "/chip5", "link-errors"));
        assert_finding(scan, SERVER "/chip7", "link-errors", 2, 2); /* of mesh, without chip 4 */
        assert_int_equal(scan->n_findings, 2);
        for (unsigned chip = 0; chip < 16; chip++) {
                assert_int_equal(part_of(scan, "quiet", chip), chip == 4 ? VERDICT_ERROR : VERDICT_PASSED);
                assert_int_equal(part_of(scan, "mesh", chip), chip == 4 ? VERDICT_ERROR : chip == 7 ? VERDICT_FAILED : VERDICT_PASSED);
        }
        assert_int_equal(scan->status, STATUS_FAILED);
}

/* Whether it hangs nobody can say, and a run in which it answers does not clear it; what the one before made of others is not told. */
static void test_a_chip_that_is_silent_once_in_a_step_on_a_server_is_not_judged(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) { .fault = FAKE_SILENT_LATER, .chip = 4 }, STEPS("quiet"));

        assert_step(scan, -1, "quiet", VERDICT_ERROR, REASON_DEVICE_ERROR);
        assert_int_equal(scan->n_findings, 0);
        for (unsigned chip = 0; chip < 16; chip++)
                assert_int_equal(part_of(scan, "quiet", chip), chip == 4 ? VERDICT_ERROR : VERDICT_PASSED);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

/* One that answers whenever it is asked behind a run hangs if it is silent in two. Whoever is broken beside it is found without it. */
static void test_a_chip_that_is_silent_in_two_runs_of_a_step_hangs(void **state) {
        static const char *const steps[][2] = { { "quiet", NULL }, { "mesh", NULL } };

        for (size_t i = 0; i < ELEMENTS(steps); i++) {
                _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) { .fault = FAKE_SILENT_AT_WORK, .chip = 4 }, steps[i]);

                assert_step(scan, -1, steps[i][0], VERDICT_FAILED, REASON_NONE);
                assert_finding(scan, SERVER "/chip4", "device-hang", 1, i == 0 ? 1 : 2);
                assert_int_equal(scan->n_findings, 1 + i);
                if (i == 1)
                        assert_finding(scan, SERVER "/chip7", "link-errors", 2, 2);
                for (unsigned chip = 0; chip < 16; chip++)
                        assert_int_equal(part_of(scan, steps[i][0], chip), chip == 4 ? VERDICT_ERROR : i == 1 && chip == 7 ? VERDICT_FAILED : VERDICT_PASSED);
                assert_int_equal(scan->status, STATUS_FAILED);
        }
}

/* Another one in each run: then it ends without a verdict. */
static void test_chips_that_are_silent_in_turn_blame_nobody(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions) { .fault = FAKE_SILENT_IN_TURN, .chip = 4 }, STEPS("quiet"));

        assert_step(scan, -1, "quiet", VERDICT_ERROR, REASON_DEVICE_ERROR);
        assert_int_equal(scan->n_findings, 0);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

/* Nobody can say whether it is the chip or all that it shares. */
static void test_silence_of_a_chip_without_neighbours_is_nobody_s_fault(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        selftest_scan(&(FakeOptions){ .fault = FAKE_HANG_ALONE, .chip = 6 }, SERVER "/chip6",
                                      STEPS("pass", "spend"), QUICKLY);

        assert_int_equal(scan->read, 0);
        assert_step(scan, 6, "pass", VERDICT_ERROR, REASON_DEVICE_TIMEOUT);
        assert_step(scan, 6, "spend", VERDICT_SKIPPED, REASON_PREREQUISITE);
        assert_int_equal(scan->n_findings, 0);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

/* By the deadline of 0.3 s: one and a half, three, and three times two of them. */
static const FakeOptions stalls[] = {
        { .chip = 6, .n_stalls = 1, .stall_msec = 450 },
        { .chip = 6, .n_stalls = 1, .stall_msec = 900 },
        { .chip = 6, .n_stalls = 3, .stall_msec = 600 },
};

static void test_a_server_that_stands_still_loses_nothing(void **state) {
        for (size_t i = 0; i < ELEMENTS(stalls); i++) {
                _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&stalls[i], STEPS("pass", "spend"));

                assert_others_passed(scan, "pass", 0);
                assert_others_passed(scan, "spend", 0);
                assert_int_equal(scan->n_findings, 0);
                assert_int_equal(scan->status, STATUS_PASSED);
        }
}

static void test_a_chip_that_hangs_is_found_behind_a_stall(void **state) {
        for (size_t i = 0; i < ELEMENTS(stalls); i++) {
                FakeOptions options = stalls[i];

                options.fault = FAKE_HANG_PARTLY;
                _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&options, STEPS("pass", "spend"));

                assert_step(scan, 6, "pass", VERDICT_FAILED, REASON_NONE);
                assert_finding(scan, SERVER "/chip6", "device-hang", 1, 1);
                assert_others_passed(scan, "pass", 1 << 6);
                assert_others_passed(scan, "spend", 1 << 6);
                assert_int_equal(scan->n_findings, 1);
        }
}

/* The children ask in an order that nobody fixes, and none is answered, whichever of them is the first. */
static void test_silence_of_all_is_nobody_s_fault(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .fault = FAKE_HANG_ALL, .chip = 15 }, STEPS("pass", "spend"));

        for (int chip = 0; chip < 16; chip++) {
                assert_step(scan, chip, "pass", VERDICT_ERROR, REASON_DEVICE_TIMEOUT);
                assert_step(scan, chip, "spend", VERDICT_SKIPPED, REASON_PREREQUISITE);
        }
        assert_int_equal(scan->n_findings, 0);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

static void test_garbled_answers_of_one_chip_are_its_fault(void **state) {
        static const FakeFault faults[] = { FAKE_WRONG_SEQUENCE, FAKE_SHORT_ANSWER, FAKE_TOO_MANY_BYTES };

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(
                                &(FakeOptions){ .fault = faults[i], .chip = 6 }, STEPS("pass", "skip"));

                assert_step(scan, 6, "pass", VERDICT_FAILED, REASON_NONE);
                assert_finding(scan, SERVER "/chip6", "device-garbled", 2, 2);
                assert_step(scan, 6, "skip", VERDICT_PASSED,
                            REASON_NONE); /* asks nothing: a fresh child went on */
                assert_others_passed(scan, "pass", 1 << 6);
        }
}

/* It is neither missing nor in service. */
static void test_a_chip_that_answers_and_says_nothing_makes_no_sense(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *one = scan_chips(
                        &(FakeOptions) { .fault = FAKE_SAYS_NOTHING, .chip = 6 }, STEPS("pass", "spend"));
        _cleanup_(selftest_scan_freep) SelftestScan *all = scan_chips(
                        &(FakeOptions) { .fault = FAKE_SAYS_NOTHING_ALL }, STEPS("pass", "spend"));

        assert_step(one, 6, "pass", VERDICT_FAILED, REASON_NONE);
        assert_finding(one, SERVER "/chip6", "device-garbled", 1, 1);
        assert_step(one, 6, "spend", VERDICT_SKIPPED, REASON_PREREQUISITE);
        assert_string_equal(step_on(one, 6, "spend")->message, "the device gives answers that no device may give");
        assert_others_passed(one, "spend", 1 << 6);
        assert_int_equal(one->n_findings, 1);

        assert_step(all, 6, "pass", VERDICT_ERROR, REASON_PROTOCOL);
        assert_int_equal(all->n_findings, 0);
        assert_int_equal(all->status, STATUS_CANNOT_TELL);
}

static void test_garbled_answers_of_all_are_nobody_s_fault(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        scan_chips(&(FakeOptions) { .fault = FAKE_GARBLED_ALL, .chip = 15 }, STEPS("pass"));

        assert_int_equal(scan->n_findings, 0);
        for (int chip = 0; chip < 16; chip++)
                assert_step(scan, chip, "pass", VERDICT_ERROR, REASON_PROTOCOL);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

static void test_a_server_that_leaves_in_mid_scan_leaves_it_inconclusive(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(
                        &(FakeOptions){ .fault = FAKE_GONE, .chip = 15 }, STEPS("pass", "spend", "fabric"));

        assert_step(scan, 15, "pass", VERDICT_ERROR, REASON_DEVICE_UNREACHABLE);
        assert_step(scan, 15, "spend", VERDICT_ERROR, REASON_DEVICE_UNREACHABLE);
        assert_step(scan, -1, "fabric", VERDICT_ERROR, REASON_DEVICE_UNREACHABLE);
        assert_string_equal(step_on(scan, 15, "pass")->message, "the server went away during the scan");
        assert_string_equal(step_on(scan, 15, "spend")->message, "the server went away during the scan");
        assert_string_equal(step_on(scan, -1, "fabric")->message, "the server went away during the scan");
        assert_int_equal(scan->n_findings, 0);
        assert_int_equal(scan->status, STATUS_CANNOT_TELL);
}

/* What it found may be a job's, and there is nobody to ask: because the server left, not because the chip keeps it to itself. */
static void test_a_server_that_leaves_before_it_tells_of_jobs_has_left(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan = scan_chips(&(FakeOptions){ .fault = FAKE_GONE_LATER, .chip = 4 }, STEPS("disturbed"));

        assert_step(scan, 4, "disturbed", VERDICT_ERROR, REASON_DEVICE_UNREACHABLE);
        assert_string_equal(step_on(scan, 4, "disturbed")->message, "the server went away during the scan");
        assert_null(selftest_finding(scan, SERVER "/chip4", "hbm-cell"));
}

static void test_without_a_server_the_stream_says_so(void **state) {
        _cleanup_(selftest_scan_freep) SelftestScan *scan =
                        selftest_scan(&(FakeOptions){}, "us0-9", STEPS("pass"), NULL);

        assert_int_equal(scan->read, 0);
        assert_int_equal(scan->n_errors, 1);
        assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
        assert_int_equal(scan->status, STATUS_UNREACHABLE);
}

/* ---- over a connection ---- */

typedef struct Connected {
        pid_t server, worker;
        int fd;
} Connected;

/* Starts a worker on a socketpair and sends it HEADER (a format for the device and the bytes of the plan)
 * and the plan. */
static Connected connect_worker(const FakeOptions *server, const char *header, const char *const *steps) {
        Connected connected;
        FakeOptions options = *server;
        char socket_path[128], plan[128], text[2048], request[4096];
        FILE *file;
        size_t n, n_header;
        int fds[2];

        (void) snprintf(socket_path, sizeof(socket_path), "%s/socket", selftest_folder());
        (void) snprintf(plan, sizeof(plan), "%s/selftest.yaml", selftest_folder());
        selftest_write_plan(plan, steps, "");
        file = fopen(plan, "re");
        assert_non_null(file);
        n = fread(text, 1, sizeof(text), file);
        fclose(file);

        options.path = socket_path;
        connected.server = fake_server_start(&options);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        connected.worker = fork();
        if (connected.worker == 0) {
                (void) dup2(fds[1], STDIN_FILENO);
                (void) dup2(fds[1], STDOUT_FILENO);
                (void) execl(selftest_worker(), selftest_worker(), (char *) NULL);
                _exit(126);
        }
        close(fds[1]);
        connected.fd = fds[0];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        n_header = (size_t) snprintf(request, sizeof(request), header, socket_path, n);
#pragma GCC diagnostic pop
        assert_true(n_header + n <= sizeof(request));
        memcpy(request + n_header, text, n);
        /* At once: a worker that refuses the header may be gone before a second write. */
        assert_int_equal(write(connected.fd, request, n_header + n), n_header + n);
        return connected;
}

static int leave(Connected *connected) {
        int status = 0;

        close(connected->fd);
        assert_int_equal(waitpid(connected->worker, &status, 0), connected->worker);
        fake_server_stop(connected->server);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_a_request_comes_over_the_connection(void **state) {
        Connected connected = connect_worker(
                        &(FakeOptions) {},
                        "{\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"selftest.yaml\","
                        "\"plan_bytes\":%zu,\"deadline_scale\":1,\"budget_sec\":5.5}\n",
                        STEPS("pass"));
        _cleanup_(selftest_scan_freep) SelftestScan *scan = calloc(1, sizeof(*scan));

        selftest_read(scan, connected.fd, 0);
        assert_int_equal(scan->read, 0);
        assert_int_equal(scan->n_run_starts, 1);
        assert_others_passed(scan, "pass", 0);
        assert_int_equal(leave(&connected), STATUS_PASSED);
}

static void test_a_broken_scan_goes_on_where_it_was(void **state) {
        Connected connected = connect_worker(
                        &(FakeOptions) {},
                        "{\"seed\":5,\"device\":\"sim:%s#us0-1/chip3,us0-1/chip4\",\"plan_file\":"
                        "\"selftest.yaml\",\"plan_bytes\":%zu,\"first_sequence\":4711,\"done\":["
                        "\"us0-1/chip3:pass\",\"us0-1/chip4:spend\"]}\n",
                        STEPS("pass", "spend"));
        _cleanup_(selftest_scan_freep) SelftestScan *scan = calloc(1, sizeof(*scan));

        selftest_read(scan, connected.fd, 4711);
        assert_int_equal(scan->read, 0);
        assert_int_equal(scan->n_run_starts, 0);
        assert_int_equal(scan->n_steps, 2);
        assert_step(scan, 3, "spend", VERDICT_PASSED, REASON_NONE);
        assert_step(scan, 4, "pass", VERDICT_PASSED, REASON_NONE);
        assert_int_equal(scan->result, RESULT_PASSED);
        assert_int_equal(leave(&connected), STATUS_PASSED);
}

static void test_a_bad_request_is_refused_with_a_stream(void **state) {
        static const char *const headers[] = {
                "no JSON\n%.0s%.0zu",
                "{\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"p\",\"plan_bytes\":%zu,\"more\":1}\n",
                "{\"seed\":-5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"p\",\"plan_bytes\":%zu}\n",
                "{\"seed\":5,\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"p\",\"plan_bytes\":%zu}\n",
                "{\"seed\":5,\"device\":\"sim:%s\",\"plan_file\":\"p\",\"plan_bytes\":%zu}\n",
                "{\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_bytes\":%zu}\n",
                "{\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"p\",\"plan_bytes\":9000%zu}\n",
                "{\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"p\",\"plan_bytes\":%zu,\"done\":[7]}\n",
        };

        for (size_t i = 0; i < ELEMENTS(headers); i++) {
                Connected connected = connect_worker(&(FakeOptions) {}, headers[i], STEPS("pass"));
                _cleanup_(selftest_scan_freep) SelftestScan *scan = calloc(1, sizeof(*scan));

                selftest_read(scan, connected.fd, 0);
                assert_int_equal(scan->read, 0);
                assert_int_equal(scan->n_errors, 1);
                assert_int_equal(scan->result, RESULT_INCONCLUSIVE);
                assert_int_equal(leave(&connected), STATUS_USAGE);
        }
}

/* The worker and the children that it has by now. */
static void send_all(pid_t worker, int number) {
        char path[64];
        FILE *file;
        int child;

        (void) snprintf(path, sizeof(path), "/proc/%d/task/%d/children", worker, worker);
        file = fopen(path, "re");
        assert_non_null(file);
        assert_int_equal(kill(worker, number), 0);
        while (fscanf(file, "%d", &child) == 1)
                (void) kill(child, number);
        fclose(file);
}

/* A step may take 2 s here, which pass while its child and who watches over it are stopped. */
static void test_time_in_which_the_worker_stood_still_does_not_count(void **state) {
        Connected connected = connect_worker(
                        &(FakeOptions) { .chip = 6, .n_stalls = 1, .stall_msec = 600 },
                        "{\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"selftest.yaml\","
                        "\"plan_bytes\":%zu,\"deadline_scale\":0.1}\n",
                        STEPS("spend"));
        _cleanup_(selftest_scan_freep) SelftestScan *scan = calloc(1, sizeof(*scan));

        (void) usleep(300000); /* its children wait for the server */
        send_all(connected.worker, SIGSTOP);
        (void) usleep(2500000);
        send_all(connected.worker, SIGCONT);
        selftest_read(scan, connected.fd, 0);
        assert_int_equal(scan->read, 0);
        assert_others_passed(scan, "spend", 0);
        assert_int_equal(leave(&connected), STATUS_PASSED);
}

static void test_closing_the_connection_cancels(void **state) {
        Connected connected = connect_worker(
                        &(FakeOptions) {},
                        "{\"seed\":5,\"device\":\"sim:%s#us0-1\",\"plan_file\":\"selftest.yaml\","
                        "\"plan_bytes\":%zu}\n",
                        STEPS("hang"));
        uint64_t start = monotonic_usec();
        char bytes[512];

        assert_true(read(connected.fd, bytes, sizeof(bytes)) > 0); /* it is at work */
        assert_int_equal(leave(&connected), STATUS_CANNOT_TELL);
        assert_true(monotonic_usec() - start < 3000000); /* and waited for no deadline */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_healthy_chips_pass),
                cmocka_unit_test(test_nonsense_about_parts_costs_no_verdict),
                cmocka_unit_test(test_a_failure_is_retested_and_stays_with_its_chip),
                cmocka_unit_test(test_each_finding_says_how_often_it_came_again),
                cmocka_unit_test(test_what_the_retest_leaves_open_has_not_passed),
                cmocka_unit_test(test_a_failure_of_all_chips_suspects_the_station),
                cmocka_unit_test(test_skips_and_errors_keep_their_reasons),
                cmocka_unit_test(test_a_crash_costs_the_open_step_alone),
                cmocka_unit_test(test_a_hang_costs_its_deadline_and_no_more),
                cmocka_unit_test(test_a_flood_is_cut_off),
                cmocka_unit_test(test_garbage_is_an_error_of_its_step),
                cmocka_unit_test(test_leaks_are_bounded),
                cmocka_unit_test(test_a_check_that_contradicts_itself_never_passes),
                cmocka_unit_test(test_a_lost_server_step_counts_for_the_chips_not_yet_done),
                cmocka_unit_test(test_an_occupied_chip_is_left_alone),
                cmocka_unit_test(test_a_chip_with_rows_in_use_is_left_alone),
                cmocka_unit_test(test_a_chip_that_a_job_takes_is_left_alone_from_then_on),
                cmocka_unit_test(test_what_a_job_may_have_been_is_not_told),
                cmocka_unit_test(test_what_a_check_says_of_a_job_itself_is_told),
                cmocka_unit_test(test_what_a_lost_run_has_met_may_be_a_job_s),
                cmocka_unit_test(test_what_was_met_on_a_chip_that_does_not_tell_is_no_failure),
                cmocka_unit_test(test_a_chip_that_breaks_off_behind_a_finding_fails_of_that_alone),
                cmocka_unit_test(test_a_lost_step_on_a_server_stands_beside_a_job_that_it_left_alone),
                cmocka_unit_test(test_what_failed_before_a_job_began_stands),
                cmocka_unit_test(test_jobs_that_come_and_go_leave_a_chip_untested),
                cmocka_unit_test(test_a_step_on_a_server_is_made_again_without_the_chip_that_a_job_takes),
                cmocka_unit_test(test_a_server_that_another_scan_has_is_left_alone),
                cmocka_unit_test(test_a_claim_of_another_chip_concerns_nobody),
                cmocka_unit_test(test_a_claim_that_is_refused_for_a_while_costs_nothing),
                cmocka_unit_test(test_a_chip_that_refuses_all_is_no_claimed_one),
                cmocka_unit_test(test_the_budget_of_a_unit_ends_its_steps),
                cmocka_unit_test(test_a_step_keeps_its_share_of_the_budget),
                cmocka_unit_test(test_a_share_is_not_kept_from_an_earlier_step_that_needs_it),
                cmocka_unit_test(test_steps_that_were_not_asked_for_are_told),
                cmocka_unit_test(test_silence_of_one_chip_is_its_fault),
                cmocka_unit_test(test_silence_of_the_only_chip_asked_for_is_its_fault_too),
                cmocka_unit_test(test_silence_of_a_chip_without_neighbours_is_nobody_s_fault),
                cmocka_unit_test(test_silence_while_it_tells_what_it_is_is_asked_again),
                cmocka_unit_test(test_a_server_that_stands_still_loses_nothing),
                cmocka_unit_test(test_a_chip_that_falls_silent_in_a_step_on_a_server_hangs),
                cmocka_unit_test(test_a_chip_that_is_silent_in_two_runs_of_a_step_hangs),
                cmocka_unit_test(test_chips_that_are_silent_in_turn_blame_nobody),
                cmocka_unit_test(test_a_chip_that_is_silent_once_in_a_step_on_a_server_is_not_judged),
                cmocka_unit_test(test_a_chip_that_hangs_is_found_behind_a_stall),
                cmocka_unit_test(test_silence_of_all_is_nobody_s_fault),
                cmocka_unit_test(test_garbled_answers_of_one_chip_are_its_fault),
                cmocka_unit_test(test_a_chip_that_answers_and_says_nothing_makes_no_sense),
                cmocka_unit_test(test_garbled_answers_of_all_are_nobody_s_fault),
                cmocka_unit_test(test_a_server_that_leaves_in_mid_scan_leaves_it_inconclusive),
                cmocka_unit_test(test_a_server_that_leaves_before_it_tells_of_jobs_has_left),
                cmocka_unit_test(test_without_a_server_the_stream_says_so),
                cmocka_unit_test(test_a_request_comes_over_the_connection),
                cmocka_unit_test(test_a_broken_scan_goes_on_where_it_was),
                cmocka_unit_test(test_a_bad_request_is_refused_with_a_stream),
                cmocka_unit_test(test_time_in_which_the_worker_stood_still_does_not_count),
                cmocka_unit_test(test_closing_the_connection_cancels),
        };

        (void) signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
