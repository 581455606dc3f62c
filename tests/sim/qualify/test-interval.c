/* SPDX-License-Identifier: Apache-2.0 */

/* Against published tables of Clopper-Pearson intervals and the closed forms at both ends. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "checks/text/cleanup.h"
#include "sim/qualify/interval.h"

static void test_published_values(void **state) {
        static const struct {
                unsigned k, n;
                double low, high;
        } table[] = {
                { 5, 10, 0.18709, 0.81291 }, { 0, 10, 0, 0.30850 },      { 10, 10, 0.69150, 1 },
                { 3, 20, 0.03207, 0.37893 }, { 1, 100, 0.00025, 0.05446 }, { 50, 100, 0.39832, 0.60168 },
        };

        for (size_t i = 0; i < ELEMENTS(table); i++) {
                Interval interval = interval_exact(table[i].k, table[i].n, 0.95);

                assert_true(fabs((interval.low) - (table[i].low)) <= 5.1e-6);
                assert_true(fabs((interval.high) - (table[i].high)) <= 5.1e-6);
        }
}

static void test_the_ends_have_closed_forms(void **state) {
        for (unsigned n = 1; n < 10000; n *= 3) {
                assert_true(fabs(interval_exact(0, n, 0.95).high - (1 - pow(0.025, 1.0 / n))) <= 1e-9);
                assert_true(fabs(interval_exact(n, n, 0.95).low - pow(0.025, 1.0 / n)) <= 1e-9);
        }
}

static void test_nothing_was_tried(void **state) {
        Interval interval = interval_exact(0, 0, 0.95);

        assert_true(fabs((interval.low) - (0)) <= 0);
        assert_true(fabs((interval.high) - (1)) <= 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_published_values),
                cmocka_unit_test(test_the_ends_have_closed_forms),
                cmocka_unit_test(test_nothing_was_tried),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
