/* SPDX-License-Identifier: Apache-2.0 */

/* The golden arithmetic against the host's floating point. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "checks/systolic/exact.h"

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

static const struct {
        int exponent, fraction;
} shapes[_FORMAT_MAX] = {
        [FORMAT_FP32] = { 8, 23 },    [FORMAT_BF16] = { 8, 7 },     [FORMAT_FP16] = { 5, 10 },    [FORMAT_TF32] = { 8, 10 },
        [FORMAT_FP8_E4M3] = { 4, 3 }, [FORMAT_FP8_E5M2] = { 5, 2 }, [FORMAT_FP8_E3M4] = { 3, 4 },
};

static float decode(WireFormat format, uint32_t code) {
        int e_bits = shapes[format].exponent, f_bits = shapes[format].fraction, bias = (1 << (e_bits - 1)) - 1;
        int fraction = (int) (code % (1u << f_bits)), field = (int) (code >> f_bits) % (1 << e_bits);
        double value;

        if (field == (1 << e_bits) - 1)
                value = fraction ? (double) NAN : (double) INFINITY;
        else
                value = ldexp(fraction + (field > 0 ? 1 << f_bits : 0), (field > 0 ? field : 1) - bias - f_bits);
        return (float) (code >> (e_bits + f_bits) & 1 ? -value : value);
}

static void test_every_number_of_every_format_is_what_it_is(void **state) {
        for (WireFormat format = 0; format < _FORMAT_MAX; format++) {
                unsigned width = 1 + (unsigned) (shapes[format].exponent + shapes[format].fraction), shift = format == FORMAT_TF32 ? 13 : 0;
                uint64_t step = format == FORMAT_FP32 ? 4093 : 1;

                for (uint64_t code = 0; code < UINT64_C(1) << width; code += step) {
                        uint32_t image = (uint32_t) code << shift;
                        float value = decode(format, (uint32_t) code);
                        int exponent;

                        assert_int_equal(exact_widen(format, image), to_bits(value));
                        if (width < 32 - shift && width < 32)
                                assert_int_equal(exact_widen(format, image | (shift ? 0x1abc : 0xab00u << (width > 8 ? 8 : 0))), to_bits(value));
                        if (!isfinite(value) || !(fabsf(value) > 0))
                                continue;
                        (void) frexp((double) value, &exponent);
                        assert_int_equal(exact_image(format, value < 0, (uint32_t) ldexp(fabs((double) value), 24 - exponent), exponent - 24), image);
                }
        }
}

static float flushed(float value) {
        return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

/* A product of two binary32 fits in binary64, so the host rounds it once. */
static void test_whole_words_multiply_and_flush_as_on_the_host(void **state) {
        for (unsigned i = 0; i < 2000000; i++) {
                uint64_t r = draw();
                uint32_t a = (uint32_t) r, b = (uint32_t) (r >> 32);
                float x, y;

                if (i % 2) /* products around the smallest normal number */
                        b = (b & 0x807fffff) | ((127 + 1 - (a >> 23 & 0xff) + (b >> 23) % 40 - 20) & 0xff) << 23;
                if (i % 4 == 3)
                        a &= 0x80ffffff;
                x = to_float(a), y = to_float(b);
                assert_int_equal(exact_multiply(a, b, false), to_bits((float) ((double) x * (double) y)));
                assert_int_equal(exact_multiply(a, b, true), to_bits(flushed((float) ((double) flushed(x) * (double) flushed(y)))));
                assert_int_equal(exact_add(a, b, true), to_bits(flushed(flushed(x) + flushed(y))));
        }
}

static void test_a_lane_reads_its_own_byte(void **state) {
        const ExactMode mode = { .w = FORMAT_FP8_E4M3, .x = FORMAT_FP8_E5M2 };

        for (unsigned i = 0; i < 65536; i++) {
                uint32_t w = i & 0xff, x = i >> 8;
                uint32_t expected = to_bits(decode(FORMAT_FP8_E4M3, w) * decode(FORMAT_FP8_E5M2, x));

                assert_int_equal(exact_product(&mode, 0x5a00 | w, 0x3c00 | x, 0), expected);
                assert_int_equal(exact_product(&mode, w << 8 | 0x5a, x << 8 | 0x3c, 1), expected);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sums_are_those_of_the_host),
                cmocka_unit_test(test_products_are_those_of_the_host),
                cmocka_unit_test(test_rounding_is_to_nearest_even_down_to_nothing),
                cmocka_unit_test(test_every_number_of_every_format_is_what_it_is),
                cmocka_unit_test(test_whole_words_multiply_and_flush_as_on_the_host),
                cmocka_unit_test(test_a_lane_reads_its_own_byte),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
