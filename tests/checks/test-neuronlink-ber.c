/* SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "checks/cleanup.h"
#include "checks/neuronlink/ber.h"

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

static void test_allowed_errors_are_the_most_that_still_prove(void **state) {
        assert_int_equal(ber_allowed(4.604, 0.99), -1);
        assert_int_equal(ber_allowed(4.606, 0.99), 0);
        assert_int_equal(ber_allowed(9.3, 0.99), 2);
        assert_int_equal(ber_allowed(10, 0.99), 2);
        assert_int_equal(ber_allowed(10.05, 0.99), 3);
        assert_int_equal(ber_allowed(0, 0.99), -1);
        for (double nb = 1; nb < 3000; nb *= 1.3) {
                int allowed = ber_allowed(nb, 0.95);

                assert_true(allowed < 0 || ber_confidence(nb, (unsigned) allowed) >= 0.95 - 1e-9);
                assert_true(ber_confidence(nb, (unsigned) (allowed + 1)) < 0.95 + 1e-9);
        }
}

static double poisson(double nb, unsigned k) {
        return exp(k * log(nb) - nb - lgamma(k + 1.0));
}

/* Independent: the counts of one lane, pass by pass, and what is left of each. */
static double failing_share(double nb, const int *allowed, const int *certain, unsigned n_passes) {
        double left[64] = { 1 }, failed = 0;

        for (unsigned n = 1; n <= n_passes; n++) {
                double next[64] = {};

                for (unsigned from = 0; from < 64; from++)
                        for (unsigned k = 0; from + k < 64; k++)
                                next[from + k] += left[from] * poisson(nb, k);
                for (unsigned k = 0; k < 64; k++) {
                        bool passes = (int) k <= allowed[n], fails = (int) k >= certain[n] || (n == n_passes && !passes);

                        failed += fails ? next[k] : 0;
                        left[k] = passes || fails ? 0 : next[k];
                }
        }
        return failed;
}

static void test_false_alarms_are_bounded(void **state) {
        for (double nb = 1e-5; nb < 0.6; nb *= 3) {
                int allowed[5] = { 0 }, certain[5] = { 0 };
                double exact, bound;

                for (unsigned n = 1; n <= 4; n++) {
                        allowed[n] = ber_allowed(n * 5, 0.99);
                        certain[n] = (int) ber_certain(n * nb, 1e-6);
                        if (certain[n] <= allowed[n])
                                certain[n] = allowed[n] + 1;
                }
                exact = failing_share(nb, allowed, certain, 4);
                bound = ber_false_alarm(nb, allowed, certain, 4);
                assert_true(exact <= bound * (1 + 1e-9) && bound <= 5 * exact + 1e-30);
        }
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
                cmocka_unit_test(test_allowed_errors_are_the_most_that_still_prove),
                cmocka_unit_test(test_certain_errors_are_the_fewest_that_chance_does_not_make),
                cmocka_unit_test(test_false_alarms_are_bounded),
                cmocka_unit_test(test_the_rule_for_a_fleet),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
