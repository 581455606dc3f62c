/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "checks/cleanup.h"
#include "checks/rounding/tails.h"

/* By Pascal's triangle on long doubles: another way than the terms of lgamma. */
static long double tail_by_recurrence(unsigned from, unsigned to, unsigned n, long double p) {
        long double row[257] = { 1 }, sum = 0;

        for (unsigned i = 1; i <= n; i++)
                for (unsigned k = i + 1; k-- > 0;)
                        row[k] = row[k] * (1 - p) + (k > 0 ? row[k - 1] * p : 0);
        for (unsigned k = from; k <= to; k++)
                sum += row[k];
        return sum;
}

static void test_tails_agree_with_the_recurrence(void **state) {
        static const double ps[] = { 0.25, 0.5, 0.75, 1.0 / 256 };

        for (size_t i = 0; i < ELEMENTS(ps); i++)
                for (unsigned k = 0; k <= 105; k += 7) {
                        long double low = tail_by_recurrence(0, k, 105, (long double) ps[i]);
                        long double high = tail_by_recurrence(k, 105, 105, (long double) ps[i]);

                        assert_true(fabsl(binomial_at_most(k, 105, ps[i]) - low) <= 1e-10L * low);
                        assert_true(fabsl(binomial_at_least(k, 105, ps[i]) - high) <= 1e-10L * high);
                }
}

static void test_105_of_one_side_is_rarer_than_1e_13(void **state) {
        assert_true(binomial_at_most(0, 105, 0.25) < 1e-13);
        assert_true(binomial_at_most(0, 104, 0.25) > 1e-13); /* 1.01e-13: one sample less is not enough */
        assert_true(binomial_at_least(105, 105, 0.75) < 1e-13);
}

static void test_a_p_value_is_at_most_one(void **state) {
        assert_true(binomial_p_value(1, 2, 0.5) == 1);
        assert_true(fabs(binomial_p_value(0, 10, 0.5) - 2.0 / 1024) < 1e-12);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tails_agree_with_the_recurrence),
                cmocka_unit_test(test_105_of_one_side_is_rarer_than_1e_13),
                cmocka_unit_test(test_a_p_value_is_at_most_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
