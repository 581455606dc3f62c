/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/neuronlink/prbs.h"
#include "checks/text/cleanup.h"

/* The polynomials by their exponents below the highest, from the recommendation. */
static const struct {
        unsigned degree;
        unsigned exponents[4];
} by_the_book[_PRBS_MAX] = {
        [PRBS7]  = { 7,  { 6 } },
        [PRBS9]  = { 9,  { 5 } },
        [PRBS11] = { 11, { 9 } },
        [PRBS13] = { 13, { 12, 2, 1 } },
        [PRBS15] = { 15, { 14 } },
        [PRBS20] = { 20, { 3 } },
        [PRBS23] = { 23, { 18 } },
        [PRBS31] = { 31, { 28 } },
};

static void test_each_bit_is_the_sum_of_those_that_the_polynomial_names(void **state) {
        for (unsigned p = 0; p < _PRBS_MAX; p++) {
                uint8_t bits[4096] = {};
                uint32_t s = 1;

                for (unsigned i = 0; i < sizeof(bits); i++)
                        bits[i] = (uint8_t) prbs_next((WirePrbs) p, &s);
                for (unsigned i = by_the_book[p].degree; i < sizeof(bits); i++) {
                        unsigned sum = bits[i - by_the_book[p].degree];

                        for (unsigned e = 0; by_the_book[p].exponents[e] > 0; e++)
                                sum ^= bits[i - by_the_book[p].exponents[e]];
                        assert_int_equal(bits[i], sum);
                }
        }
}

static void test_every_state_but_zero_comes_once_in_a_period(void **state) {
        static const unsigned periods[] = { 127, 511, 2047, 8191, 32767, 1048575, 8388607 };

        for (unsigned p = PRBS7; p <= PRBS23; p++) {
                uint32_t s = 1, ones = 0;
                unsigned n = 0;

                do {
                        ones += prbs_next((WirePrbs) p, &s);
                        n++;
                } while (s != 1 && n <= periods[p]);
                assert_int_equal(n, periods[p]);
                assert_int_equal(ones, (periods[p] + 1) / 2);
        }
}

static void test_prbs7_starts_as_printed_everywhere(void **state) {
        /* From all ones, x^7 + x^6 + 1: the first 32 bits worked out by hand on paper. */
        static const char expected[] = "00000010000011000010100011110010";
        uint32_t s = 0x7f;

        for (unsigned i = 0; expected[i]; i++)
                assert_int_equal(prbs_next(PRBS7, &s), expected[i] - '0');
}

static void test_a_jump_ends_where_single_steps_do(void **state) {
        for (unsigned p = 0; p < _PRBS_MAX; p++) {
                uint32_t start = prbs_seed((WirePrbs) p, 4711, 3), s = start;

                for (unsigned n = 0; n < 3000; n++) {
                        assert_int_equal(prbs_jump((WirePrbs) p, start, n), s);
                        (void) prbs_next((WirePrbs) p, &s);
                }
        }
}

static void test_the_period_of_prbs31_is_prime_to_nothing_smaller(void **state) {
        uint64_t period = (UINT64_C(1) << 31) - 1; /* a prime: one jump that comes back proves it, if one step does not */

        assert_int_equal(prbs_jump(PRBS31, 12345, period), 12345);
        assert_int_not_equal(prbs_jump(PRBS31, 12345, 1), 12345);
        assert_int_equal(prbs_jump(PRBS31, 12345, 1000 * period + 5), prbs_jump(PRBS31, 12345, 5));
        assert_int_equal(prbs_jump(PRBS31, prbs_jump(PRBS31, 99, UINT64_C(1) << 40), 77),
                         prbs_jump(PRBS31, 99, (UINT64_C(1) << 40) + 77));
}

static void test_a_state_tells_lane_and_skew(void **state) {
        static const int skews[] = { 0, 1, -1, 17, -4096, PRBS_SKEW_MAX, -PRBS_SKEW_MAX };

        for (size_t i = 0; i < sizeof(skews) / sizeof(skews[0]); i++)
                for (unsigned lane = 0; lane < 32; lane += 5) {
                        uint64_t period = (UINT64_C(1) << 31) - 1;
                        uint32_t seen = prbs_jump(PRBS31, prbs_seed(PRBS31, 5, lane), (uint64_t) ((int64_t) period - skews[i]));
                        int skew = 12345;

                        assert_int_equal(prbs_whose(PRBS31, 5, 32, (lane + 5 * (unsigned) (i % 2)) % 32, seen, &skew), (int) lane);
                        assert_int_equal(skew, skews[i]);
                }
}

/* Where all lanes send one short sequence, a lane that is late is not taken for another. */
static void test_a_late_lane_of_a_short_sequence_stays_itself(void **state) {
        for (unsigned lane = 0; lane < 32; lane++)
                for (int late = 1; late < 20; late++) {
                        uint32_t seen = prbs_jump(PRBS15, prbs_seed(PRBS15, 9, lane), (uint64_t) (32767 - late));
                        int skew = 12345, whose = prbs_whose(PRBS15, 9, 32, lane, seen, &skew);

                        assert_true(whose == (int) lane ? skew == late : skew == 0);
                        assert_true(whose == (int) lane || prbs_seed(PRBS15, 9, (unsigned) whose) == seen);
                }
}

static void test_a_state_of_nobody_is_told(void **state) {
        int skew;

        assert_int_equal(prbs_whose(PRBS31, 5, 16, 7, 0, &skew), -1);
        assert_int_equal(prbs_whose(PRBS31, 5, 16, 7, prbs_seed(PRBS31, 6000, 3), &skew), -1);
}

static void test_lanes_start_differently_and_never_at_zero(void **state) {
        for (unsigned p = 0; p < _PRBS_MAX; p++)
                for (uint64_t seed = 0; seed < 2000; seed++) {
                        uint32_t s = prbs_seed((WirePrbs) p, seed, (unsigned) (seed % 32));

                        assert_true(s > 0 && (p == PRBS31 ? s < UINT32_C(1) << 31 : s >> prbs_degree((WirePrbs) p) == 0));
                }
        for (unsigned a = 0; a < 32; a++)
                for (unsigned b = 0; b < a; b++)
                        assert_int_not_equal(prbs_seed(PRBS31, 77, a), prbs_seed(PRBS31, 77, b));
        /* splitmix64(0), as published with the generator */
        assert_int_equal(prbs_seed(PRBS31, 0, 0), 0xe220a8397b1dcdafu & 0x7fffffffu);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_bit_is_the_sum_of_those_that_the_polynomial_names),
                cmocka_unit_test(test_every_state_but_zero_comes_once_in_a_period),
                cmocka_unit_test(test_prbs7_starts_as_printed_everywhere),
                cmocka_unit_test(test_a_jump_ends_where_single_steps_do),
                cmocka_unit_test(test_the_period_of_prbs31_is_prime_to_nothing_smaller),
                cmocka_unit_test(test_a_state_tells_lane_and_skew),
                cmocka_unit_test(test_a_late_lane_of_a_short_sequence_stays_itself),
                cmocka_unit_test(test_a_state_of_nobody_is_told),
                cmocka_unit_test(test_lanes_start_differently_and_never_at_zero),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
