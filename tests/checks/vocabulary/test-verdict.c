/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"

static void test_words_and_numbers_go_both_ways(void **state) {
#define GO_BOTH_WAYS(type, name, max)                                                                        \
        for (int i = 0; i < (int) (max); i++) {                                                              \
                const char *word = name##_to_string((type) i);                                               \
                                                                                                             \
                assert_non_null(word);                                                                       \
                assert_int_equal(name##_from_string(word), i);                                               \
        }                                                                                                    \
        assert_null(name##_to_string((type) (max)));                                                         \
        assert_null(name##_to_string((type) -EINVAL));                                                       \
        assert_int_equal(name##_from_string("nonsense"), -EINVAL);                                           \
        assert_int_equal(name##_from_string(NULL), -EINVAL)

        GO_BOTH_WAYS(Verdict, verdict, _VERDICT_MAX);
        GO_BOTH_WAYS(Reason, reason, _REASON_MAX);
        GO_BOTH_WAYS(RunOccupancy, run_occupancy, _RUN_OCCUPANCY_MAX);
        GO_BOTH_WAYS(Severity, severity, _SEVERITY_MAX);
        GO_BOTH_WAYS(Result, result, _RESULT_MAX);
        GO_BOTH_WAYS(Disturbs, disturbs, _DISTURBS_MAX);
        GO_BOTH_WAYS(Stage, stage, _STAGE_MAX);
        GO_BOTH_WAYS(LimitType, limit_type, _LIMIT_TYPE_MAX);
}

static void test_words_are_written_as_they_are_published(void **state) {
        assert_string_equal(verdict_to_string(VERDICT_SKIPPED), "skipped");
        assert_string_equal(reason_to_string(REASON_NONE), "");
        assert_string_equal(reason_to_string(REASON_WORKER_TIMEOUT), "worker-timeout");
        assert_string_equal(reason_to_string(REASON_AMBIGUOUS), "ambiguous");
        assert_string_equal(reason_to_string(REASON_CLAIMED), "claimed");
        assert_true(reason_fits(REASON_AMBIGUOUS, VERDICT_ERROR) && !reason_fits(REASON_AMBIGUOUS, VERDICT_SKIPPED));
        assert_string_equal(result_to_string(RESULT_INCONCLUSIVE), "INCONCLUSIVE");
        assert_string_equal(stage_to_string(STAGE_INFLEET), "INFLEET");
        assert_string_equal(limit_type_to_string(LIMIT_LESS_THAN_OR_EQUAL), "LESS_THAN_OR_EQUAL");
        assert_string_equal(statistic_to_string(STATISTIC_P99), "p99");
        assert_int_equal(statistic_from_string("last"), STATISTIC_LAST);
        assert_int_equal(statistic_from_string("median"), _STATISTIC_INVALID);
        assert_string_equal(severity_to_ocp(SEVERITY_FAIL), "FAIL");
        assert_string_equal(severity_to_ocp(SEVERITY_WARN), "UNKNOWN");
        assert_string_equal(severity_to_ocp(SEVERITY_INFO), "PASS");
        assert_null(severity_to_ocp(_SEVERITY_MAX));
}

static void test_only_skipped_and_error_have_a_reason_and_their_own(void **state) {
        for (Reason reason = 0; reason < _REASON_MAX; reason++) {
                bool either = reason == REASON_DEVICE_UNREACHABLE; /* a step that did not begin, or was lost */
                bool skips = reason >= REASON_NOT_APPLICABLE && reason <= REASON_PREREQUISITE;
                bool none = reason == REASON_NONE;

                assert_int_equal(reason_fits(reason, VERDICT_PASSED), none);
                assert_int_equal(reason_fits(reason, VERDICT_WARNED), none);
                assert_int_equal(reason_fits(reason, VERDICT_FAILED), none);
                assert_int_equal(reason_fits(reason, VERDICT_SKIPPED), skips || either);
                assert_int_equal(reason_fits(reason, VERDICT_ERROR), !skips && !none);
                assert_false(reason_fits(reason, _VERDICT_INVALID));
        }

        assert_false(reason_fits(_REASON_MAX, VERDICT_ERROR));
        assert_false(reason_fits(_REASON_INVALID, VERDICT_PASSED));
}

static void test_what_cannot_be_compared_is_not_within(void **state) {
        static const struct {
                LimitType type;
                double value, limit;
                bool holds;
        } cases[] = {
                { LIMIT_NONE, 1, NAN, true },
                { LIMIT_NONE, NAN, 0, false },
                { LIMIT_NONE, INFINITY, 0, false },
                { LIMIT_EQUAL, 1, 1, true },
                { LIMIT_EQUAL, 1, 1.5, false },
                { LIMIT_EQUAL, INFINITY, INFINITY, false },
                { LIMIT_LESS_THAN_OR_EQUAL, 1, 1, true },
                { LIMIT_LESS_THAN_OR_EQUAL, 1, 0.5, false },
                { LIMIT_LESS_THAN_OR_EQUAL, -INFINITY, 0, false },
                { LIMIT_LESS_THAN_OR_EQUAL, 1, INFINITY, false },
                { LIMIT_GREATER_THAN_OR_EQUAL, 1, 1, true },
                { LIMIT_GREATER_THAN_OR_EQUAL, 0.5, 1, false },
                { LIMIT_GREATER_THAN_OR_EQUAL, NAN, 1, false },
                { _LIMIT_TYPE_INVALID, 1, 1, false },
                { _LIMIT_TYPE_MAX, 1, 1, false },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                assert_int_equal(limit_holds(cases[i].type, cases[i].value, cases[i].limit), cases[i].holds);
}

static void test_a_finding_raises_a_verdict_and_never_lowers_it(void **state) {
        static const Verdict expected[_VERDICT_MAX][_SEVERITY_MAX] = {
                [VERDICT_PASSED]  = { VERDICT_PASSED, VERDICT_WARNED, VERDICT_FAILED },
                [VERDICT_WARNED]  = { VERDICT_WARNED, VERDICT_WARNED, VERDICT_FAILED },
                [VERDICT_FAILED]  = { VERDICT_FAILED, VERDICT_FAILED, VERDICT_FAILED },
                [VERDICT_SKIPPED] = { VERDICT_SKIPPED, VERDICT_SKIPPED, VERDICT_FAILED },
                [VERDICT_ERROR]   = { VERDICT_ERROR, VERDICT_ERROR, VERDICT_FAILED },
        };

        for (Verdict verdict = 0; verdict < _VERDICT_MAX; verdict++)
                for (Severity severity = 0; severity < _SEVERITY_MAX; severity++) {
                        Verdict raised = verdict;

                        verdict_raise(&raised, severity);
                        assert_int_equal(raised, expected[verdict][severity]);
                }
}

/* The sentence of the design, written out: for every pair of steps. */
static Result expected_result(const Verdict verdicts[2], const bool required[2]) {
        unsigned n_judged = 0;
        Result result = RESULT_PASSED;

        for (unsigned i = 0; i < 2; i++)
                if (verdicts[i] == VERDICT_FAILED)
                        return RESULT_FAILED;

        for (unsigned i = 0; i < 2; i++) {
                bool judged = verdicts[i] == VERDICT_PASSED || verdicts[i] == VERDICT_WARNED;

                if (!judged && required[i])
                        return RESULT_INCONCLUSIVE;
                n_judged += judged;
                if (verdicts[i] == VERDICT_WARNED)
                        result = RESULT_WARNED;
        }

        return n_judged == 0 ? RESULT_INCONCLUSIVE : result;
}

static void test_the_fold_is_what_the_design_says_in_any_order(void **state) {
        for (unsigned i = 0; i < _VERDICT_MAX * _VERDICT_MAX * 4; i++) {
                Verdict verdicts[2] = { (Verdict) (i % _VERDICT_MAX), (Verdict) (i / _VERDICT_MAX % _VERDICT_MAX) };
                bool required[2] = { (i / _VERDICT_MAX / _VERDICT_MAX & 1) != 0, (i / _VERDICT_MAX / _VERDICT_MAX & 2) != 0 };
                Fold fold = {}, other = {};

                fold_step(&fold, verdicts[0], required[0]);
                fold_step(&fold, verdicts[1], required[1]);
                fold_step(&other, verdicts[1], required[1]);
                fold_step(&other, verdicts[0], required[0]);
                assert_int_equal(fold_result(&fold), expected_result(verdicts, required));
                assert_int_equal(fold_result(&other), fold_result(&fold));
        }
}

static void test_nothing_tested_is_no_pass(void **state) {
        Fold nothing = {}, skipped = {}, nonsense = {};

        assert_int_equal(fold_result(&nothing), RESULT_INCONCLUSIVE);
        fold_step(&skipped, VERDICT_SKIPPED, false);
        assert_int_equal(fold_result(&skipped), RESULT_INCONCLUSIVE);
        fold_step(&nonsense, VERDICT_PASSED, true);
        fold_step(&nonsense, (Verdict) 77, true);
        assert_int_equal(fold_result(&nonsense), RESULT_INCONCLUSIVE);
}

static void test_a_broken_promise_of_coverage_is_no_pass(void **state) {
        static const struct {
                double reached, promised;
                Result result;
        } cases[] = {
                { 1, 1, RESULT_PASSED },
                { 2, 1, RESULT_PASSED },
                { 0.999, 1, RESULT_INCONCLUSIVE },
                { NAN, 1, RESULT_INCONCLUSIVE },
                { INFINITY, 1, RESULT_INCONCLUSIVE },
                { 1, NAN, RESULT_INCONCLUSIVE },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Fold fold = {};

                fold_step(&fold, VERDICT_PASSED, true);
                fold_coverage(&fold, cases[i].reached, cases[i].promised);
                assert_int_equal(fold_result(&fold), cases[i].result);
                fold_step(&fold, VERDICT_FAILED, false);
                assert_int_equal(fold_result(&fold), RESULT_FAILED);
        }
}

static void test_a_step_that_failed_for_another_server_fails_only_that_one(void **state) {
        const StepSaid of_another = { .begun = true, .ended = true, .verdict = VERDICT_FAILED, .failed_elsewhere = true },
                       of_both = { .begun = true, .ended = true, .verdict = VERDICT_FAILED, .failed_elsewhere = true, .found = VERDICT_FAILED },
                       of_nobody = { .begun = true, .ended = true, .verdict = VERDICT_FAILED }, untold = {},
                       part = { .has_part = true, .part = VERDICT_PASSED };

        assert_int_equal(result_of_server_step(&of_another), RESULT_PASSED);
        assert_int_equal(result_of_server_step(&of_both), RESULT_FAILED);
        assert_int_equal(result_of_server_step(&of_nobody), RESULT_FAILED);
        assert_int_equal(verdict_of_step(&untold, &of_another), VERDICT_ERROR);
        assert_int_equal(verdict_of_step(&untold, &of_both), VERDICT_FAILED);
        assert_int_equal(verdict_of_step(&untold, &of_nobody), VERDICT_FAILED);
        assert_int_equal(verdict_of_step(&part, &of_another), VERDICT_PASSED);
}

static void test_a_stage_clears_what_looks_at_no_more(void **state) {
        for (Stage by = _STAGE_INVALID; by <= _STAGE_MAX; by++)
                for (Stage what = _STAGE_INVALID; what <= _STAGE_MAX; what++) {
                        bool are_stages = by >= 0 && by < _STAGE_MAX && what >= 0 && what < _STAGE_MAX;

                        assert_int_equal(stage_clears(by, what), are_stages && stage_depth(by) > 0 && stage_depth(by) >= stage_depth(what));
                }
        assert_true(stage_clears(STAGE_PRODUCTION, STAGE_PREFLIGHT) && !stage_clears(STAGE_PREFLIGHT, STAGE_PRODUCTION));
        assert_int_equal(stage_depth(_STAGE_INVALID) + stage_depth(_STAGE_MAX), 0);
}

static void test_the_worst_result_wins(void **state) {
        static const Result order[] = { RESULT_PASSED, RESULT_WARNED, RESULT_INCONCLUSIVE, RESULT_FAILED };

        for (size_t i = 0; i < ELEMENTS(order); i++)
                for (size_t k = 0; k < ELEMENTS(order); k++)
                        assert_int_equal(result_worst(order[i], order[k]), order[i > k ? i : k]);

        assert_int_equal(result_worst(RESULT_PASSED, _RESULT_INVALID), RESULT_INCONCLUSIVE);
        assert_int_equal(result_worst(_RESULT_MAX, RESULT_FAILED), RESULT_FAILED);
}

static void test_results_have_the_exit_codes_of_every_program(void **state) {
        assert_int_equal(result_to_status(RESULT_PASSED, false), 0);
        assert_int_equal(result_to_status(RESULT_PASSED, true), 0);
        assert_int_equal(result_to_status(RESULT_WARNED, false), 0);
        assert_int_equal(result_to_status(RESULT_WARNED, true), 1);
        assert_int_equal(result_to_status(RESULT_FAILED, false), 1);
        assert_int_equal(result_to_status(RESULT_INCONCLUSIVE, false), 2);
        assert_int_equal(result_to_status(_RESULT_INVALID, false), 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words_and_numbers_go_both_ways),
                cmocka_unit_test(test_words_are_written_as_they_are_published),
                cmocka_unit_test(test_only_skipped_and_error_have_a_reason_and_their_own),
                cmocka_unit_test(test_what_cannot_be_compared_is_not_within),
                cmocka_unit_test(test_a_finding_raises_a_verdict_and_never_lowers_it),
                cmocka_unit_test(test_the_fold_is_what_the_design_says_in_any_order),
                cmocka_unit_test(test_nothing_tested_is_no_pass),
                cmocka_unit_test(test_a_broken_promise_of_coverage_is_no_pass),
                cmocka_unit_test(test_a_step_that_failed_for_another_server_fails_only_that_one),
                cmocka_unit_test(test_a_stage_clears_what_looks_at_no_more),
                cmocka_unit_test(test_the_worst_result_wins),
                cmocka_unit_test(test_results_have_the_exit_codes_of_every_program),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
