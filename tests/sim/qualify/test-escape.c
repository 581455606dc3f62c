/* SPDX-License-Identifier: Apache-2.0 */

/* Estimates held against what can be worked out without a search, and against all likelihoods of a fine scale. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "checks/text/cleanup.h"
#include "sim/qualify/escape.h"
#include "tests/draw.h"

#define TRIALS 40u

static void assert_near(double a, double b) {
        if (fabs(a - b) > 1e-6 * fmax(fabs(a), fabs(b)))
                fail_msg("%.9g is not %.9g", a, b);
}

/* Where all have one p, k of N escape most likely by (1 - p)^n = k / N. */
static void test_one_share_is_a_binomial(void **state) {
        for (unsigned k = 1; k < TRIALS; k++) {
                Trial trials[TRIALS];
                Escape escape;

                for (unsigned i = 0; i < TRIALS; i++)
                        trials[i] = (Trial) { 0.2, i < k };
                escape = escape_estimate(trials, TRIALS);
                assert_near(escape.commands, log((double) k / TRIALS) / log(0.8));
                assert_true(escape.low < escape.commands && escape.high > escape.commands);
        }
}

/* None of N escaped: the likelihood of n is (1 - (1 - p)^n)^N, whose greatest is 1. All did: (1 - p)^(n N). */
static void test_where_all_are_alike_one_end_is_open(void **state) {
        Trial trials[TRIALS];
        Escape escape;

        for (unsigned i = 0; i < TRIALS; i++)
                trials[i] = (Trial) { 0.2, false };
        escape = escape_estimate(trials, TRIALS);
        assert_true(escape.high >= ESCAPE_COMMANDS_MAX);
        assert_near(escape.low, log(1 - exp(-1.92 / TRIALS)) / log(0.8));

        for (unsigned i = 0; i < TRIALS; i++)
                trials[i].escaped = true;
        escape = escape_estimate(trials, TRIALS);
        assert_true(escape.low == 0);
        assert_true(fabs(escape.high - 1.92 / TRIALS / -log(0.8)) < 1e-3 / 0.8);
}

static double likelihood(const Trial *trials, double n) {
        double product = 0;

        for (unsigned i = 0; i < TRIALS; i++) {
                double miss = pow(1 - trials[i].p, n);

                product += log(trials[i].escaped ? miss : 1 - miss);
        }
        return product;
}

static void test_no_other_number_is_more_likely(void **state) {
        for (unsigned round = 0; round < 50; round++) {
                Trial trials[TRIALS];
                Escape escape;
                double best;

                for (unsigned i = 0; i < TRIALS; i++)
                        trials[i] = (Trial) { 0.02 + draw() % 900 * 1e-3, i == 0 ? true : i == 1 ? false : draw() % 3 == 0 };
                escape = escape_estimate(trials, TRIALS);
                best = likelihood(trials, escape.commands);
                for (double n = 0.01; n < 1000; n *= 1.01) {
                        bool inside = n > escape.low * 1.001 && n < escape.high * 0.999;
                        bool outside = n < escape.low * 0.999 || n > escape.high * 1.001;

                        assert_true(likelihood(trials, n) <= best + 1e-9);
                        assert_true(!inside || likelihood(trials, n) >= best - 1.93);
                        assert_true(!outside || likelihood(trials, n) <= best - 1.91);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_share_is_a_binomial),
                cmocka_unit_test(test_where_all_are_alike_one_end_is_open),
                cmocka_unit_test(test_no_other_number_is_more_likely),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
