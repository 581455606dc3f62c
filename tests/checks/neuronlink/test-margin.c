/* SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/neuronlink/fabric.h"
#include "checks/neuronlink/margin.h"
#include "checks/statistics/ber.h"
#include "checks/text/cleanup.h"
#include "tests/draw.h"

/* Printed tables of the normal distribution's tail, Abramowitz and Stegun 26.2.3 and the Q scale's usual marks. */
static void test_q_is_the_tail_of_the_normal_distribution(void **state) {
        static const struct {
                double z, q;
        } table[] = {
                { 0, 0.5 }, { 1, 0.158655253931457 }, { 2, 0.0227501319481792 }, { 3, 0.00134989803163009 }, { 4.753424308822899, 1e-6 },
                { 5.997807015007687, 1e-9 }, { 7.034483825301131, 1e-12 }, { 7.941345326170997, 1e-15 },
        };

        for (size_t i = 0; i < ELEMENTS(table); i++) {
                assert_true(fabs(margin_q(table[i].z) / table[i].q - 1) < 1e-9);
                assert_true(fabs(margin_q_inverse(table[i].q) - table[i].z) < 1e-9);
        }
}

static void test_an_open_eye_is_as_good_as_said_in_its_middle(void **state) {
        assert_true(fabs(margin_ratio(1e-15, 1e-15, 0) / 1e-15 - 1) < 1e-9);
        for (int offset = 1; offset <= LINK_OFFSET_MAX; offset++) {
                assert_true(margin_ratio(1e-15, 1e-15, offset) > margin_ratio(1e-15, 1e-15, offset - 1));
                assert_true(margin_ratio(1e-15, 1e-15, offset) == margin_ratio(1e-15, 1e-15, -offset));
        }
        assert_true(margin_ratio(1e-15, 1e-15, LINK_OFFSET_MAX) < 0.25);
        assert_true(fabs(margin_ratio(1e-15, 1e-12, 0) / 1e-12 - 1) < 1e-9);
        assert_true(margin_ratio(1e-15, 1e-12, 6) > 100 * margin_ratio(1e-15, 1e-15, 6));
}

/* An eye by itself: edge and jitter of any size, told again from exact ratios. */
static void test_the_middle_is_extrapolated_exactly_where_counts_are(void **state) {
        for (double edge = 24; edge <= 33; edge += 1.5)
                for (double sigma = 3; sigma <= 5; sigma += 0.5) {
                        MarginPoint points[3];
                        double middle = 0.5 * 0.5 * erfc(edge / sigma / sqrt(2)), told;

                        for (unsigned i = 0; i < 3; i++) {
                                points[i] = (MarginPoint) { 10 + 4 * (int) i, UINT64_C(1) << 62, 0 };
                                points[i].errors = (uint64_t) (0.25 * erfc((edge - points[i].offset) / sigma / sqrt(2)) * (double) points[i].bits);
                        }
                        told = margin_extrapolate(points, 3);
                        assert_true(fabs(told / middle - 1) < 1e-3);
                }
}

static double uniform(void) {
        return (draw() + 0.5) / 4294967296.0;
}

/* Knuth's product where few are expected, rounded normal numbers (Box and Muller) where many are. */
static uint64_t draw_poisson(double mean) {
        uint64_t n = 0;

        if (mean > 100)
                return (uint64_t) fmax(0, round(mean + sqrt(mean) * sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform())));
        for (double product = uniform(); product > exp(-mean); product *= uniform())
                n++;
        return n;
}

/* With the counts of runs as short as the check's, drawn many times: within a factor of ten, three times nine out of ten. */
static void test_short_runs_tell_the_order_of_magnitude(void **state) {
        unsigned n_near = 0, n = 0;

        for (double closing = 3; closing < 8; closing += 0.5) {
                double sigma = 32 / 7.941345326170997, middle = 0.25 * erfc((32 - closing) / sigma / sqrt(2));

                for (unsigned run = 0; run < 100; run++) {
                        static const struct {
                                int offset;
                                double bits;
                        } runs[] = { { 6, 2e9 }, { 10, 1e8 }, { 12, 1e8 }, { 14, 1e8 } };
                        MarginPoint points[4];
                        double told;

                        for (unsigned i = 0; i < 4; i++) {
                                double mean = runs[i].bits * 0.25 * erfc((32 - closing - runs[i].offset) / sigma / sqrt(2));

                                points[i] = (MarginPoint) { runs[i].offset, (uint64_t) runs[i].bits, draw_poisson(mean) };
                        }
                        told = margin_extrapolate(points, 4);
                        n_near += told > middle / 3 && told < middle * 3;
                        n++;
                        assert_true(told > middle / 30 && told < middle * 30);
                }
        }
        print_message("# %u of %u within a factor of three\n", n_near, n);
        assert_true(n_near > 9 * n / 10);
}

static void test_points_that_tell_nothing_tell_nothing(void **state) {
        static const struct {
                MarginPoint points[3];
        } cases[] = {
                { { { 10, 1000000, 0 }, { 12, 1000000, 0 }, { 14, 1000000, 0 } } },
                { { { 10, 1000000, 0 }, { 12, 1000000, 0 }, { 14, 1000000, 7 } } },
                { { { 10, 1000000, 0 }, { 14, 1000000, 5 }, { 14, 1000000, 7 } } },
                { { { 10, 1000000, 900 }, { 12, 1000000, 30 }, { 14, 1000000, 7 } } },  /* better further out */
                { { { 10, 1000000, 600000 }, { 12, 1000000, 700000 }, { 14, 1000000, 1000000 } } },
                { { { 10, 0, 0 }, { 12, 0, 0 }, { 14, 0, 0 } } },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                assert_true(margin_extrapolate(cases[i].points, 3) == -1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_q_is_the_tail_of_the_normal_distribution),
                cmocka_unit_test(test_an_open_eye_is_as_good_as_said_in_its_middle),
                cmocka_unit_test(test_the_middle_is_extrapolated_exactly_where_counts_are),
                cmocka_unit_test(test_short_runs_tell_the_order_of_magnitude),
                cmocka_unit_test(test_points_that_tell_nothing_tell_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
