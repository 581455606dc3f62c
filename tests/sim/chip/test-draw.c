/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "sim/chip/chip.h"

#define TRIALS 20000

typedef struct Place {
        Hall *hall;
        Chip *chip;
        Location at;
} Place;

static Place place(uint64_t seed) {
        Place p = {};

        assert_int_equal(hall_new(seed, 60, true, 1, &p.hall), 0);
        p.chip = server_chip(hall_server(p.hall, "us0-1"), 3);
        chip_location(p.chip, &p.at);
        return p;
}

static void every_argument_counts_and_nothing_else(void **state) {
        Place a = place(1), b = place(2);
        Location core = a.at, padded = a.at;

        (void) location_append(&core, LOCATION_CORE, 0);
        padded.server[20] = 'x'; /* behind the final zero */
        assert_int_equal(draw_u64(a.chip, &a.at, 5, 7), draw_u64(a.chip, &padded, 5, 7));
        assert_int_not_equal(draw_u64(a.chip, &a.at, 5, 7), draw_u64(b.chip, &a.at, 5, 7));
        assert_int_not_equal(draw_u64(a.chip, &a.at, 5, 7), draw_u64(a.chip, &core, 5, 7));
        assert_int_not_equal(draw_u64(a.chip, &a.at, 5, 7), draw_u64(a.chip, &a.at, 6, 7));
        assert_int_not_equal(draw_u64(a.chip, &a.at, 5, 7), draw_u64(a.chip, &a.at, 7, 5));
        (void) hall_free(a.hall);
        (void) hall_free(b.hall);
}

/* Mean and variance within five standard errors, where draws are exact and where they are approximated. */
static void binomial_draws_have_the_moments_of_the_distribution(void **state) {
        static const struct {
                uint64_t n;
                double p;
        } cases[] = { { 1, 0.3 }, { 40, 0.5 }, { 1000, 0.01 }, { 1000000000000u, 1e-12 }, { 100000, 0.9999 }, { 1u << 20, 0.25 },
                      { 40, 0.9 } };
        Place p = place(3);

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                double mean = (double) cases[i].n * cases[i].p, variance = mean * (1 - cases[i].p), sum = 0, squares = 0;

                for (unsigned trial = 0; trial < TRIALS; trial++) {
                        uint64_t value = draw_binomial(p.chip, &p.at, trial, i, cases[i].n, cases[i].p);

                        assert_true(value <= cases[i].n);
                        sum += (double) value - mean;
                        squares += ((double) value - mean) * ((double) value - mean);
                }
                assert_true(fabs(sum / TRIALS) < 5 * sqrt(variance / TRIALS));
                /* The kurtosis of the rare ones makes their variance noisier. */
                assert_true(fabs(squares / TRIALS - variance) < 5 * sqrt((2 * variance * variance + variance) / TRIALS));
        }
        (void) hall_free(p.hall);
}

static void binomial_draws_keep_to_the_edges(void **state) {
        Place p = place(4);

        assert_int_equal(draw_binomial(p.chip, &p.at, 0, 0, 0, 0.5), 0);
        assert_int_equal(draw_binomial(p.chip, &p.at, 0, 0, 10, 0), 0);
        assert_int_equal(draw_binomial(p.chip, &p.at, 0, 0, 10, 1), 10);
        assert_int_equal(draw_binomial(p.chip, &p.at, 0, 0, 10, (double) NAN), 0);
        (void) hall_free(p.hall);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_argument_counts_and_nothing_else),
                cmocka_unit_test(binomial_draws_have_the_moments_of_the_distribution),
                cmocka_unit_test(binomial_draws_keep_to_the_edges),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
