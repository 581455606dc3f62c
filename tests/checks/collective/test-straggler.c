/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ranks that take longer than their siblings: by hand, and among many sets of sound ranks, of which next to none may be called so. As a campaign:
 * STRAGGLER_CASES=N sets of each spread.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "checks/collective/collective.h"

#define STRAGGLER 1.1

static uint64_t state = 1;

static double uniform(void) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        return ((double) (state >> 11) + 0.5) * 0x1p-53;
}

/* By Box and Muller. */
static double normal(void) {
        return sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

static void test_median_and_limit_are_those_of_the_textbook(void **unused) {
        /* Median 1.01, distances from it 0.01 0.03 0 0.01 0.99: their median is 0.01. */
        const double odd[] = { 1.00, 0.98, 1.01, 1.02, 2.00 };
        /* Median 10, all but one at it: half of the distances are 0, and the ratio alone limits. */
        const double same[] = { 10, 10, 10, 10, 10, 17 };
        /* Median (2 + 3) / 2, distances 1.5 0.5 0.5 1.5 2.5 1.5: their median is 1.5. */
        const double wide[] = { 1, 2, 3, 4, 5, 1 };
        Siblings siblings;

        siblings = siblings_of(odd, 5, STRAGGLER);
        assert_true(fabs(siblings.median - 1.01) < 1e-12);
        assert_true(fabs(siblings.limit - 1.01 * STRAGGLER) < 1e-12); /* 6 x 1.4826 x 0.01 is less than a tenth of it */
        siblings = siblings_of(same, 6, STRAGGLER);
        assert_true(siblings.median == 10 && fabs(siblings.limit - 11) < 1e-12);
        siblings = siblings_of(wide, 6, STRAGGLER);
        assert_true(fabs(siblings.median - 2.5) < 1e-12 && fabs(siblings.limit - (2.5 + 6 * 1.4826 * 1.5)) < 1e-12);
}

static void test_too_few_siblings_say_nothing(void **unused) {
        assert_true(siblings_of((const double[]) { 1, 1, 1, 9 }, 4, STRAGGLER).limit == INFINITY);
}

/* Nearly half of them may be slow, and are no measure of the others. */
static void test_stragglers_hide_no_straggler(void **unused) {
        double values[16];
        Siblings siblings;

        for (unsigned i = 0; i < 16; i++)
                values[i] = i < 7 ? 1.45 + i : 1 + 0.001 * i;
        siblings = siblings_of(values, 16, STRAGGLER);
        for (unsigned i = 0; i < 16; i++)
                assert_true(i < 7 ? values[i] > siblings.limit : values[i] <= siblings.limit);
}

/* Ranks called stragglers, of all in sets of N that differ by a normal deviation. */
static double alarms(double deviation, unsigned n, unsigned n_sets) {
        unsigned n_alarms = 0;

        for (unsigned s = 0; s < n_sets; s++) {
                double values[64];
                Siblings siblings;

                for (unsigned i = 0; i < n; i++)
                        values[i] = 1 + deviation * normal();
                siblings = siblings_of(values, n, STRAGGLER);
                for (unsigned i = 0; i < n; i++)
                        n_alarms += values[i] > siblings.limit;
        }
        print_message("# sound ranks that differ by %.3f, %u together: %.2g of them called stragglers\n", deviation, n,
                      n_alarms / ((double) n * n_sets));
        return n_alarms / ((double) n * n_sets);
}

static void test_sound_ranks_are_no_stragglers(void **unused) {
        unsigned n_sets = (unsigned) atoi(getenv("STRAGGLER_CASES") ?: "20000");

        assert_true(alarms(0.01, 16, n_sets) == 0);
        assert_true(alarms(0.01, 64, n_sets / 4) == 0);
        assert_true(alarms(0.02, 16, n_sets) <= 1e-5);
        /* Where they differ by more than anybody promises, still few of them. */
        assert_true(alarms(0.05, 16, n_sets) <= 1e-3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_median_and_limit_are_those_of_the_textbook),
                cmocka_unit_test(test_too_few_siblings_say_nothing),
                cmocka_unit_test(test_stragglers_hide_no_straggler),
                cmocka_unit_test(test_sound_ranks_are_no_stragglers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
