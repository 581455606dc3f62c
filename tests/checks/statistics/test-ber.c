/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checks/statistics/ber.h"
#include "checks/text/cleanup.h"

/* Bits × ratio needed, by confidence and errors: the usual table of bit error testing. */
static const struct {
        double confidence;
        const char *required[6];
} table[] = {
        { 0.90,     { "2.303", "3.890", "5.322", "6.681", "7.994", "9.275" } },
        { 0.95,     { "2.996", "4.744", "6.296", "7.754", "9.154", "10.513" } },
        { 0.99,     { "4.605", "6.638", "8.406", "10.045", "11.605", "13.108" } },
        { 1 - 1e-6, { "13.816", "16.688", "19.129", "21.350", "23.432", "25.413" } },
};

static void test_required_bits_agree_with_the_table_to_its_last_digit(void **state) {
        for (size_t c = 0; c < ELEMENTS(table); c++)
                for (unsigned e = 0; e < 6; e++) {
                        char text[32];

                        (void) snprintf(text, sizeof(text), "%.3f", ber_required(table[c].confidence, e));
                        assert_string_equal(text, table[c].required[e]);
                }
}

/* Independent: the tail by adding up downwards from the far end, in long double. */
static double tail_above(double nb, unsigned errors) {
        long double sum = 0;

        for (unsigned k = errors + 400; k > errors; k--)
                sum += expl((long double) k * logl(nb) - nb - lgammal(k + 1.0L));
        return (double) sum;
}

static void test_confidence_is_the_chance_of_more_errors(void **state) {
        for (double nb = 0.1; nb < 60; nb *= 1.7)
                for (unsigned e = 0; e < 40; e++)
                        assert_true(fabs(ber_confidence(nb, e) - tail_above(nb, e)) < 1e-10);
        assert_true(ber_confidence(0, 0) == 0);
        assert_true(ber_confidence(NAN, 0) == 0);
}

/* Far out, by the incomplete gamma function with 50 digits (mpmath): no sum over counts has a part in it. */
static void test_confidence_holds_for_the_smallest_and_the_largest(void **state) {
        static const struct {
                double nb;
                uint64_t errors;
                double confidence;
        } far[] = {
                { 1e-9, 0, 9.999999995000001e-10 },
                { 1e-9, 1, 4.999999996666667e-19 },
                { 0.001, 3, 4.163334721825484e-14 },
                { 0.01, 3, 4.13347182626334e-10 },
                { 30, 2, 0.9999999999549898 },
                { 1e5, 100000, 0.4991589569006599 },
                { 1e5, 101500, 1.102151865060792e-6 },
                { 1e5, 98500, 0.9999989990493314 },
                { 1e9, 1000000000, 0.499991589558261 },
                { 1e9, 1000150000, 1.051224023016396e-6 },
                { 1e12, 1000000000000, 0.4999997340384797 },
                { 1e12, 1000004000000, 3.167150949415138e-5 },
        };

        for (size_t i = 0; i < ELEMENTS(far); i++) {
                double confidence = ber_confidence(far[i].nb, far[i].errors);

                if (fabs(confidence - far[i].confidence) > 1e-9 * far[i].confidence)
                        print_message("# %g %g: %.15g, not %.15g\n", far[i].nb, (double) far[i].errors, confidence,
                                      far[i].confidence);
                assert_true(fabs(confidence - far[i].confidence) <= 1e-9 * far[i].confidence);
        }
        assert_true(ber_confidence(1e12, 0) == 1);
        assert_true(ber_confidence(1e-300, 3) == 0);
}

/* The usual table of exact bounds of a Poisson mean (Garwood 1936), of 1, 3, 8 and 100 events, at 95 and 99 %. */
static void test_bounds_agree_with_the_table(void **state) {
        static const struct {
                uint64_t errors;
                double confidence;
                const char *low, *high;
        } bounds[] = {
                { 1, 0.95, "0.0253", "5.572" }, { 3, 0.95, "0.619", "8.767" },  { 8, 0.95, "3.454", "15.763" }, { 100, 0.95, "81.36", "121.6" },
                { 1, 0.99, "0.00501", "7.43" }, { 8, 0.99, "2.571", "18.578" },
        };

        for (size_t i = 0; i < ELEMENTS(bounds); i++) {
                double low, high;

                ber_interval(1000, bounds[i].errors, bounds[i].confidence, &low, &high);
                assert_true(fabs(low * 1000 / strtod(bounds[i].low, NULL) - 1) < 2e-3);
                assert_true(fabs(high * 1000 / strtod(bounds[i].high, NULL) - 1) < 1e-3);
        }
}

static double poisson(double nb, unsigned k) {
        return exp(k * log(nb) - nb - lgamma(k + 1.0));
}

#define COUNTS 120u

/* Independent: the counts of one lane, look by look, and what is left of each. */
static void shares(const BerLooks *looks, double ratio, double *ret_passing, double *ret_failing) {
        double left[COUNTS] = { 1 };

        *ret_passing = *ret_failing = 0;
        for (unsigned n = 0; n < looks->n; n++) {
                double nb = (double) (looks->bits[n] - (n > 0 ? looks->bits[n - 1] : 0)) * ratio, next[COUNTS] = {};

                for (unsigned k = 0; k < COUNTS; k++) {
                        double chance = poisson(nb, k);

                        for (unsigned from = 0; from + k < COUNTS; from++)
                                next[from + k] += left[from] * chance;
                }
                for (unsigned k = 0; k < COUNTS; k++) {
                        BerOutcome outcome = ber_judge(looks, n, looks->bits[n], k, k);

                        *ret_passing += outcome == BER_PASSES ? next[k] : 0;
                        *ret_failing += outcome == BER_FAILS ? next[k] : 0;
                        left[k] = outcome == BER_UNDECIDED ? next[k] : 0;
                }
        }
}

static const struct {
        double bits, limit, confidence;
} plans[] = {
        { 95e9, 5e-11, 0.99 },    { 4.8e12, 1e-12, 0.99 }, { 3.1e12, 1e-12, 0.95 },
        { 14e6, 1e-6, 1 - 1e-6 }, { 1e8, 1e-8, 0.5 },      { 8e9, 1e-9, 0.999 },
};

/* All looks together: a lane at the limit passes as rarely as promised, and most of what is allowed for is used. */
static void test_a_lane_at_the_limit_passes_as_rarely_as_promised(void **state) {
        for (size_t i = 0; i < ELEMENTS(plans); i++) {
                double passing, failing;
                BerLooks looks;

                assert_int_equal(ber_plan(&looks, (uint64_t) plans[i].bits, plans[i].limit, plans[i].confidence, 1e-15, 1e-12), 0);
                shares(&looks, plans[i].limit, &passing, &failing);
                print_message("# plan %zu: %.3g of %.3g pass at the limit\n", i, passing, 1 - plans[i].confidence);
                assert_true(passing <= (1 - plans[i].confidence) * (1 + 1e-9));
                assert_true(passing > 0.5 * (1 - plans[i].confidence));
                assert_true(passing <= looks.missed * (1 + 1e-9) && looks.missed <= 1 - plans[i].confidence + 1e-15);
                assert_true(i > 1 || fabs(passing + failing - 1) < 1e-9); /* in shipped plans the last look decides */
        }
}

static void test_a_good_lane_fails_as_rarely_as_promised(void **state) {
        for (size_t i = 0; i < ELEMENTS(plans); i++) {
                double passing, failing;
                BerLooks looks;

                assert_int_equal(ber_plan(&looks, (uint64_t) plans[i].bits, plans[i].limit, plans[i].confidence, 1e-15, 1e-12), 0);
                shares(&looks, 1e-15, &passing, &failing);
                assert_true(failing <= looks.false_alarm * (1 + 1e-6));
                assert_true(looks.false_alarm <= 1e-12); /* 64 million lanes: one in 15,000 sweeps */
        }
}

/* A lane passes with nothing wrong at the second look, whose bits the caller chose, and gross faults fail at the first. */
static void test_looks_come_as_early_as_counts_allow(void **state) {
        BerLooks looks;

        assert_int_equal(ber_plan(&looks, 95000000000, 5e-11, 0.99, 1e-15, 1e-12), 0);
        assert_int_equal(looks.bits[0], 500000000);
        assert_int_equal(looks.fails[0], 2);
        assert_int_equal(looks.passes[0], -1);
        assert_int_equal(looks.bits[1], 95000000000);
        assert_int_equal(looks.passes[1], 0);
        assert_int_equal(looks.fails[1], 3);
        assert_int_equal(ber_judge(&looks, 0, looks.bits[0], 1, 1), BER_UNDECIDED);
        assert_int_equal(ber_judge(&looks, 0, looks.bits[0], 2, 2), BER_FAILS);
        assert_int_equal(ber_judge(&looks, 1, looks.bits[1], 0, 0), BER_PASSES);
        assert_int_equal(ber_judge(&looks, 1, looks.bits[1], 1, 1), BER_UNDECIDED);

        assert_int_equal(ber_plan(&looks, 92000000000, 5e-11, 0.99, 1e-15, 1e-12), -ERANGE); /* 4.6 of 4.605 */
        assert_int_equal(ber_plan(&looks, 400000000000, 5e-11, 0.99, 1e-15, 1e-12), -ERANGE);
}

/* What was not compared proves nothing, whatever was asked for. */
static void test_a_lane_passes_by_bits_that_were_compared(void **state) {
        BerLooks looks;

        assert_int_equal(ber_plan(&looks, 95000000000, 5e-11, 0.99, 1e-15, 1e-12), 0);
        assert_int_equal(ber_judge(&looks, 1, looks.bits[1] - 1, 0, 0), BER_UNDECIDED);
        assert_int_equal(ber_judge(&looks, 4, looks.bits[1] - 1, 0, 0), BER_UNDECIDED);
        assert_int_equal(ber_judge(&looks, 2, looks.bits[1], 0, 0), BER_PASSES);
        assert_int_equal(ber_judge(&looks, 4, looks.bits[2], 1, 2), BER_UNDECIDED); /* 1 passes with so many */
        assert_int_equal(ber_judge(&looks, 4, 0, 0, 0), BER_UNDECIDED);
}

static void test_one_burst_of_a_good_lane_is_one_disturbance(void **state) {
        BerLooks looks;

        /* alone, all over, and side by side */
        assert_false(ber_is_bursty(95000000000, 1, 1));
        assert_false(ber_is_bursty(95000000000, 9, 9));
        assert_false(ber_is_bursty(95000000000, 9000, 8999));
        assert_true(ber_is_bursty(95000000000, 2, 1));
        assert_true(ber_is_bursty(95000000000, 300, 4));
        /* a bad lane has many in every block: 1 - (1 - 0.02)^256 = 99.4 % of a million */
        assert_false(ber_is_bursty(256000000, 5120000, 994000));
        assert_true(ber_is_bursty(256000000, 5120000, 500000));

        assert_int_equal(ber_least(95000000000, 300, 4), 1);
        assert_int_equal(ber_least(95000000000, 300, 5), 2);
        assert_int_equal(ber_least(95000000000, 9, 9), 9);
        assert_int_equal(ber_least(95000000000, 0, 0), 0);

        assert_int_equal(ber_plan(&looks, 95000000000, 5e-11, 0.99, 1e-15, 1e-12), 0);
        for (unsigned look = 0; look + 1 < looks.n; look++)
                assert_int_not_equal(ber_judge(&looks, look, looks.bits[look], 1, BER_BURST_BLOCKS), BER_FAILS);
        assert_int_equal(ber_judge(&looks, looks.n - 1, looks.bits[looks.n - 1], 1, BER_BURST_BLOCKS), BER_PASSES);
}

/* A fleet of 64 million receivers at 1e13 bits each: more than three errors, good lane 1e-15, and what is missed. */
static void test_the_rule_for_a_fleet(void **state) {
        char text[32];

        (void) snprintf(text, sizeof(text), "%.1e", ber_confidence(0.01, 3));
        assert_string_equal(text, "4.1e-10");
        (void) snprintf(text, sizeof(text), "%.1f", 100 * (1 - ber_confidence(10, 3)));
        assert_string_equal(text, "1.0");
        (void) snprintf(text, sizeof(text), "%.0f", 100 * (1 - ber_confidence(3, 3)));
        assert_string_equal(text, "65");
}

static void test_certain_errors_are_the_fewest_that_chance_does_not_make(void **state) {
        for (double nb = 1e-6; nb < 500; nb *= 3.7)
                for (double chance = 1e-3; chance > 1e-13; chance /= 31) {
                        unsigned k = ber_certain(nb, chance);

                        assert_true(tail_above(nb, k - 1) < chance);
                        assert_true(k == 1 || tail_above(nb, k - 2) >= chance || k - 1 <= nb);
                }
        assert_int_equal(ber_certain(9.3e-5, 1e-12), 3); /* 9.3e-5 ^ 3 / 6 = 1.3e-13 */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_required_bits_agree_with_the_table_to_its_last_digit),
                cmocka_unit_test(test_confidence_is_the_chance_of_more_errors),
                cmocka_unit_test(test_confidence_holds_for_the_smallest_and_the_largest),
                cmocka_unit_test(test_bounds_agree_with_the_table),
                cmocka_unit_test(test_certain_errors_are_the_fewest_that_chance_does_not_make),
                cmocka_unit_test(test_a_lane_at_the_limit_passes_as_rarely_as_promised),
                cmocka_unit_test(test_a_good_lane_fails_as_rarely_as_promised),
                cmocka_unit_test(test_looks_come_as_early_as_counts_allow),
                cmocka_unit_test(test_a_lane_passes_by_bits_that_were_compared),
                cmocka_unit_test(test_one_burst_of_a_good_lane_is_one_disturbance),
                cmocka_unit_test(test_the_rule_for_a_fleet),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
