/* SPDX-License-Identifier: Apache-2.0 */

/* The golden arithmetic against the host's floating point. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "checks/systolic/patterns/exact.h"
#include "tests/draw.h"
#include "tests/sim/plain-format.h"

static uint64_t draw_pair(void) {
        return (uint64_t) draw() << 32 | draw();
}

static void test_sums_are_those_of_the_host(void **state) {
        for (unsigned i = 0; i < 2000000; i++) {
                uint64_t r = draw_pair();
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
                assert_int_equal(exact_add(a, b, false), plain_add(false, a, b));
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

static void test_every_number_of_every_format_is_what_it_is(void **state) {
        for (WireFormat format = 0; format < _FORMAT_MAX; format++) {
                unsigned shift = format == FORMAT_TF32 ? 13 : 0, width = 8 * wire_format_bytes(format) - shift;
                uint64_t step = format == FORMAT_FP32 ? 4093 : 1;

                for (uint64_t code = 0; code < UINT64_C(1) << width; code += step) {
                        uint32_t image = (uint32_t) code << shift;
                        float value = plain_decode(format, image);
                        int exponent;

                        assert_int_equal(exact_widen(format, image), plain_bits(value));
                        if (width < 32) /* bits that are none of its own */
                                assert_int_equal(exact_widen(format, image | (shift ? 0x1abc : 0xab00u << (width > 8 ? 8 : 0))), plain_bits(value));
                        if (!isfinite(value) || !(fabsf(value) > 0))
                                continue;
                        (void) frexp((double) value, &exponent);
                        assert_int_equal(exact_image(format, value < 0, (uint32_t) ldexp(fabs((double) value), 24 - exponent), exponent - 24), image);
                }
        }
}

static void test_whole_words_multiply_and_flush_as_on_the_host(void **state) {
        for (unsigned i = 0; i < 2000000; i++) {
                uint64_t r = draw_pair();
                uint32_t a = (uint32_t) r, b = (uint32_t) (r >> 32);

                if (i % 2) /* products around the smallest normal number */
                        b = (b & 0x807fffff) | ((127 + 1 - (a >> 23 & 0xff) + (b >> 23) % 40 - 20) & 0xff) << 23;
                if (i % 4 == 3)
                        a &= 0x80ffffff;
                assert_int_equal(exact_multiply(a, b, false), plain_multiply(false, FORMAT_FP32, a, FORMAT_FP32, b));
                assert_int_equal(exact_multiply(a, b, true), plain_multiply(true, FORMAT_FP32, a, FORMAT_FP32, b));
                assert_int_equal(exact_add(a, b, true), plain_add(true, a, b));
        }
}

static void test_a_lane_reads_its_own_byte(void **state) {
        const ExactMode mode = { .w = FORMAT_FP8_E4M3, .x = FORMAT_FP8_E5M2 };

        for (unsigned i = 0; i < 65536; i++) {
                uint32_t w = i & 0xff, x = i >> 8;
                uint32_t expected = plain_bits(plain_decode(FORMAT_FP8_E4M3, w) * plain_decode(FORMAT_FP8_E5M2, x));

                assert_int_equal(exact_product(&mode, 0x5a00 | w, 0x3c00 | x, 0), expected);
                assert_int_equal(exact_product(&mode, w << 8 | 0x5a, x << 8 | 0x3c, 1), expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sums_are_those_of_the_host),
                cmocka_unit_test(test_rounding_is_to_nearest_even_down_to_nothing),
                cmocka_unit_test(test_every_number_of_every_format_is_what_it_is),
                cmocka_unit_test(test_whole_words_multiply_and_flush_as_on_the_host),
                cmocka_unit_test(test_a_lane_reads_its_own_byte),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
