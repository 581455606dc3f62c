/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/rounding/budget.h"
#include "checks/statistics/sprt.h"
#include "checks/statistics/tails.h"
#include "checks/text/cleanup.h"

static RoundingParameters parameters(double false_alarms, double bias) {
        return (RoundingParameters) { .false_alarms = false_alarms, .fleet = 400000, .bias = bias, .samples = 8192 };
}

static void test_a_sweep_has_as_many_false_alarms_as_the_plan_says(void **state) {
        static const double wanted[] = { 0.01, 1, 1e-6, 1e-200 };

        for (size_t i = 0; i < ELEMENTS(wanted); i++) {
                RoundingParameters p = parameters(wanted[i], 0.25);
                Budget budget;

                budget_make(&p, &budget);
                assert_true(fabs(budget.alpha * 8 * 3 * 128 * 4 * 400000 / wanted[i] - 1) < 1e-9);
                assert_true(fabs(budget.alpha_stage * budget.alpha_stage / budget.alpha - 1) < 1e-9);
        }
}

/* The counts are critical: these raise the alarm rarely enough, one less extreme would not. */
static void test_counts_are_critical(void **state) {
        static const double biases[] = { 0.25, 0.2, 0.125, 0.0625 };

        for (size_t i = 0; i < ELEMENTS(biases); i++) {
                RoundingParameters p = parameters(0.01, biases[i]);
                Budget b;

                budget_make(&p, &b);
                assert_true(2 * binomial_at_most(b.low, b.each, 0.25) <= b.alpha_stage);
                assert_true(2 * binomial_at_most(b.low + 1, b.each, 0.25) > b.alpha_stage);
                assert_true(2 * binomial_at_least(b.high, b.each, 0.25) <= b.alpha_stage);
                assert_true(2 * binomial_at_least(b.high - 1, b.each, 0.25) > b.alpha_stage);
                for (unsigned ups = 0; ups <= b.each; ups++) {
                        assert_int_equal(budget_is_alarm(&b, 0, ups), budget_p_value(&b, 0, ups) <= b.alpha_stage);
                        assert_int_equal(budget_is_alarm(&b, 1, ups), budget_is_alarm(&b, 2, b.each - ups));
                }
                /* A lane with this bias is overlooked once in a million, and one conversion less would not do. */
                if (biases[i] < 0.25)
                        assert_true(binomial_at_least(b.low + 1, b.each, 0.25 - biases[i]) <= BUDGET_MISSED);
                assert_int_equal(budget_samples(&p), 4 * b.each);
        }
}

static void test_what_is_always_down_takes_fifty_conversions(void **state) {
        RoundingParameters p = parameters(0.01, 0.25);
        Budget budget;

        budget_make(&p, &budget);
        assert_int_equal(budget.low, 0);
        assert_true(2 * pow(0.75, budget.each) <= budget.alpha_stage && 2 * pow(0.75, budget.each - 1) > budget.alpha_stage);
}

/* The figures of assay-run(8), worked out with fractions: sums of C(50, k) / 2^50 and of C(50, k) 3^(50 - k) / 4^50. */
static void test_counts_see_less_away_from_the_nearer_end(void **state) {
        RoundingParameters p = parameters(0.01, 0.25);
        double missed = 0;
        Budget b;

        budget_make(&p, &b);
        assert_true(b.each == 50 && b.low == 0 && b.high == 30);
        for (unsigned ups = 0; ups <= b.each; ups++)
                if (!budget_is_alarm(&b, 0, ups))
                        missed += exp(lgamma(51) - lgamma(ups + 1.0) - lgamma(51.0 - ups) - 50 * log(2));
        assert_true(fabs(missed - 0.8986806244677288) < 1e-9); /* a quarter that goes up half of the time */
        assert_true(budget_is_alarm(&b, 0, 0));                /* and one that never does */
}

static void test_a_budget_out_of_reach_is_refused_where_it_stands(void **state) {
        static const char text[] = "plan: p\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n    parameters: {bias: 0.01}\n";
        static const char fits[] = "plan: p\nstage: PREFLIGHT\nsteps:\n  - check: rounding\n    parameters: {bias: 0.1, samples: 8192}\n";
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL;

        assert_int_equal(plan_parse("p.yaml", text, strlen(text), &plan, &error), -EINVAL);
        assert_non_null(strstr(error, "p.yaml:5:17: 0.01 false alarms of 400000 chips with bias 0.01 need "));
        assert_non_null(strstr(error, "expected at most the 4096 that 'samples' allows"));
        assert_int_equal(plan_parse("p.yaml", fits, strlen(fits), &plan, NULL), 0);
}

/* ---- sequential ---- */

static double next_uniform(uint64_t *x) {
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
        return (double) (*x >> 11) * 0x1p-53;
}

static unsigned count_biased(double p, double *ret_mean) {
        uint64_t x = 88172645463325252u, total = 0;
        unsigned n = 0;

        for (unsigned trial = 0; trial < 20000; trial++) {
                Sprt sprt;

                sprt_start(&sprt, 0.25, 0.125, 0.01, 0.02);
                while (sprt.answer == SPRT_UNDECIDED)
                        (void) sprt_add(&sprt, next_uniform(&x) < p);
                n += sprt.answer == SPRT_BIASED;
                total += sprt.n;
        }
        *ret_mean = (double) total / 20000;
        return n;
}

/* Within its bounds, by more than five standard deviations of 20,000 trials; and cheaper than a count that is as good. */
static void test_the_sequential_test_keeps_its_bounds(void **state) {
        double mean, alarm = 0.01 / 0.98, missed = 0.02 / 0.99;
        unsigned n = 1;

        assert_true(count_biased(0.25, &mean) < 20000 * alarm + 5 * sqrt(20000 * alarm));
        while (binomial_at_least((uint64_t) (0.18 * n) + 1, n, 0.125) > 0.02 || binomial_at_most((uint64_t) (0.18 * n), n, 0.25) > 0.01)
                n++;
        assert_true(mean < n);
        assert_true(20000 - count_biased(0.125, &mean) < 20000 * missed + 5 * sqrt(20000 * missed));
        assert_true(mean < n);
}

static void test_what_cannot_be_ends_it_at_once(void **state) {
        Sprt sprt;

        sprt_start(&sprt, 0.25, 0, 1e-6, 1e-6); /* never up */
        assert_int_equal(sprt_add(&sprt, 0), SPRT_UNDECIDED);
        assert_int_equal(sprt_add(&sprt, 1), SPRT_SOUND);
        sprt_start(&sprt, 0.25, 0, 1e-6, 1e-6);
        for (unsigned i = 0; i < 48; i++)
                assert_int_equal(sprt_add(&sprt, 0), SPRT_UNDECIDED);
        assert_int_equal(sprt_add(&sprt, 0), SPRT_BIASED); /* 0.75^49 < 1e-6 */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_sweep_has_as_many_false_alarms_as_the_plan_says),
                cmocka_unit_test(test_counts_are_critical),
                cmocka_unit_test(test_what_is_always_down_takes_fifty_conversions),
                cmocka_unit_test(test_counts_see_less_away_from_the_nearer_end),
                cmocka_unit_test(test_a_budget_out_of_reach_is_refused_where_it_stands),
                cmocka_unit_test(test_the_sequential_test_keeps_its_bounds),
                cmocka_unit_test(test_what_cannot_be_ends_it_at_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
