/* SPDX-License-Identifier: Apache-2.0 */

/* The golden arithmetic against the host's floating point, and the golden outputs against a plain array on
 * it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "checks/systolic/exact.h"
#include "checks/systolic/patterns.h"

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t draw(void) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return seed;
}

static float to_float(uint32_t bits) {
        float value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

static uint32_t to_bits(float value) {
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        return isnan(value) ? EXACT_NAN : bits;
}

static void test_sums_are_those_of_the_host(void **state) {
        for (unsigned i = 0; i < 2000000; i++) {
                uint64_t r = draw();
                uint32_t a = (uint32_t) r, b = (uint32_t) (r >> 32);

                switch (i % 4) {
                case 0:
                        break;
                case 1:
                        b = (b & 0x807fffff) | (((a >> 23) + (b >> 23) % 90 - 45) & 0xff) << 23;
                        break; /* overlapping */
                case 2:
                        a &= 0x81ffffff, b &= 0x83ffffff;
                        break; /* subnormal */
                default:
                        b = a ^ 0x80000000 ^ (b & 7);
                        break; /* cancelling */
                }
                assert_int_equal(exact_add(a, b, false), to_bits(to_float(a) + to_float(b)));
        }
}

static void test_products_are_those_of_the_host(void **state) {
        for (unsigned i = 0; i < 2000000; i++) {
                uint64_t r = draw();
                uint16_t a = (uint16_t) r, b = (uint16_t) (r >> 16);

                if (i % 2)
                        a &= 0xa0ff, b &= 0x9fff; /* around the smallest */
                assert_int_equal(exact_multiply((uint32_t) a << 16, (uint32_t) b << 16, false),
                                 to_bits(to_float((uint32_t) a << 16) * to_float((uint32_t) b << 16)));
        }
}

static void test_rounding_is_to_nearest_even_down_to_nothing(void **state) {
        assert_int_equal(exact_round(false, 0, 5), 0);
        assert_int_equal(exact_round(true, 0, 5), 0x80000000);
        assert_int_equal(exact_round(false, 1, -149), 1);
        assert_int_equal(exact_round(false, 1, -150), 0);
        assert_int_equal(exact_round(false, 3, -150), 2);
        assert_int_equal(exact_round(true, 5, -150), 0x80000002);
        assert_int_equal(exact_round(false, UINT64_C(1) << 63, -213), 0);
        assert_int_equal(exact_round(false, 1, -400), 0);
        assert_int_equal(exact_round(false, UINT64_MAX, -213), 1);
        assert_int_equal(exact_round(false, 0x1ffffff, 103), 0x7f800000);
        assert_int_equal(exact_round(false, 0xffffff, 104), 0x7f7fffff);
        assert_int_equal(exact_round(false, 1, 128), 0x7f800000);
}

static void test_golden_outputs_are_those_of_a_plain_array(void **state) {
        for (unsigned i = 0; i < PATTERNS; i++) {
                const Pattern *pattern = pattern_at(i);

                for (unsigned column = 0; column < PE_COLUMNS; column += 7)
                        for (unsigned n = 0; n < pattern->moving; n++) {
                                float sum = 0;

                                for (unsigned row = 0; row < PE_ROWS; row++) {
                                        uint32_t w = pattern_weight(pattern, row, column);
                                        uint32_t x = pattern_activation(pattern, row, n);

                                        sum += to_float(w << 16) * to_float(x << 16);
                                }
                                assert_int_equal(pattern->golden[column * pattern->moving + n],
                                                 to_bits(sum));
                        }
        }
}

static void test_no_two_neighbouring_patterns_share_an_answer(void **state) {
        for (unsigned i = 0; i < PATTERNS; i++) {
                const Pattern *pattern = pattern_at(i), *next = pattern_at((i + 1) % PATTERNS);

                for (unsigned at = 0; pattern->moving == next->moving && at < PE_COLUMNS * PE_ROWS; at++)
                        assert_int_not_equal(pattern->golden[at], next->golden[at]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sums_are_those_of_the_host),
                cmocka_unit_test(test_products_are_those_of_the_host),
                cmocka_unit_test(test_rounding_is_to_nearest_even_down_to_nothing),
                cmocka_unit_test(test_golden_outputs_are_those_of_a_plain_array),
                cmocka_unit_test(test_no_two_neighbouring_patterns_share_an_answer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
