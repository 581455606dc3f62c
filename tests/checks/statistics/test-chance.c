/* SPDX-License-Identifier: Apache-2.0 */

/* Golden values: tables of the chi-square distribution, and intervals that Clopper and Pearson's formula has in closed form. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "checks/statistics/chance.h"

static void is_near(double a, double b, double relative) {
        if (fabs(a - b) > relative * fabs(b) + 1e-15)
                fail_msg("%.12g is not %.12g", a, b);
}

static void chi_square_is_as_tables_have_it(void **state) {
        is_near(chance_chi_square(3.841458820694124, 1), 0.05, 1e-9);
        is_near(chance_chi_square(23.68479130484058, 14), 0.05, 1e-9);
        is_near(chance_chi_square(135.80672317102676, 100), 0.01, 1e-9);
        is_near(chance_chi_square(2, 2), exp(-1), 1e-12); /* two degrees of freedom: exp(-x / 2) */
        is_near(chance_chi_square(80, 2), exp(-40), 1e-9);
        is_near(chance_chi_square(0, 5), 1, 0);
        is_near(chance_chi_square(3, 0), 1, 0);
}

static void an_even_spread_is_told_from_an_uneven_one(void **state) {
        const uint32_t even[] = { 20, 20, 20, 20 }, uneven[] = { 80, 0, 0, 0 }, none[] = { 0, 0 };

        is_near(chance_even(even, 4), 1, 0);
        assert_true(chance_even(uneven, 4) < 1e-40);
        is_near(chance_even(none, 2), 1, 0);
        /* 12 and 28: x = 6.4 with one degree of freedom. */
        is_near(chance_even((const uint32_t[]) { 12, 28 }, 2), erfc(sqrt(3.2)), 1e-9);
}

static void intervals_are_exact(void **state) {
        double low, high;

        /* None of n: the upper end is 1 - 0.025^(1/n); all of n is its mirror. */
        chance_interval(0, 40, &low, &high);
        is_near(low, 0, 0);
        is_near(high, 1 - pow(0.025, 1.0 / 40), 1e-9);
        chance_interval(40, 40, &low, &high);
        is_near(low, pow(0.025, 1.0 / 40), 1e-9);
        is_near(high, 1, 0);
        /* 1 of 1, and 1 of 2 by its quadratic equation: (1 - p)^2 = 0.975 and p^2 = 0.975. */
        chance_interval(1, 1, &low, &high);
        is_near(low, 0.025, 1e-9);
        chance_interval(1, 2, &low, &high);
        is_near(low, 1 - sqrt(0.975), 1e-9);
        is_near(high, sqrt(0.975), 1e-9);
        /* Johnson and Kotz: 10 of 100 is 4.90 % to 17.62 %. */
        chance_interval(10, 100, &low, &high);
        is_near(low, 0.0490, 1e-3);
        is_near(high, 0.1762, 1e-3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(chi_square_is_as_tables_have_it),
                cmocka_unit_test(an_even_spread_is_told_from_an_uneven_one),
                cmocka_unit_test(intervals_are_exact),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
