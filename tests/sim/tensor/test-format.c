/* SPDX-License-Identifier: Apache-2.0 */

/* One multiplier and one adder of a processing element against the host's floats: all pairs of fp8, many of all others. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/format.h"
#include "tests/draw.h"
#include "tests/sim/plain-format.h"

static const WireFormat fp8[] = { FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };

static void assert_product(PeMode mode, uint32_t w, uint32_t x, unsigned lane) {
        unsigned shift = mode.double_row ? 8 * lane : 0;
        uint32_t expected = plain_multiply(mode.ftz, mode.weights, w >> shift, mode.activations, x >> shift);
        uint32_t product = pe_multiply(mode, w, x, lane);

        if (product != expected)
                fail_msg("%s %08x × %s %08x, lane %u%s%s: %08x, by floats %08x", wire_format_words[mode.weights], w,
                         wire_format_words[mode.activations], x, lane, mode.double_row ? ", double row" : "", mode.ftz ? ", ftz" : "",
                         product, expected);
}

static void test_all_pairs_of_fp8(void **state) {
        for (unsigned i = 0; i < ELEMENTS(fp8) * ELEMENTS(fp8) * 2; i++) {
                PeMode mode = { .weights = fp8[i / 2 % 3], .activations = fp8[i / 6], .ftz = i % 2 };

                for (uint32_t pair = 0; pair < 65536; pair++)
                        assert_product(mode, pair >> 8, pair & 0xff, 0);
        }
}

/* The other number of each register must not matter. */
static void test_all_pairs_of_fp8_in_both_lanes(void **state) {
        for (unsigned i = 0; i < ELEMENTS(fp8) * 2; i++) {
                PeMode mode = { .weights = fp8[i % 3], .activations = fp8[i % 3], .ftz = i / 3, .double_row = true };

                for (uint32_t pair = 0; pair < 65536; pair++) {
                        uint32_t w = pair >> 8 | (~pair & 0xff) << 8, x = (pair & 0xff) | (pair * 7 & 0xff) << 8;

                        assert_product(mode, w, x, 0);
                        assert_product(mode, w, x, 1);
                }
        }
}

/* Anything; or an exponent from where it matters, in the place that 8-bit exponents have. */
static uint32_t draw_image(WireFormat format) {
        static const uint32_t fields[] = { 0, 0, 1, 2, 0x3f, 0x40, 0x41, 0x7f, 0xbf, 0xfe, 0xff, 0x28, 0x33, 0x4b };
        uint32_t x = draw();

        if (draw() % 2)
                return x;
        x = (x & 0x807fffff) | fields[draw() % ELEMENTS(fields)] << 23;
        if (draw() % 4 == 0)
                x &= 0xff800000;
        return format == FORMAT_BF16 ? x >> 16 | x << 16 : x;
}

static void test_random_products_of_all_pairs_of_formats(void **state) {
        for (unsigned i = 0; i < _FORMAT_MAX * _FORMAT_MAX * 2; i++) {
                PeMode mode = { .weights = i / 2 % _FORMAT_MAX, .activations = (uint8_t) (i / 2 / _FORMAT_MAX), .ftz = i % 2 };

                for (unsigned n = 0; n < 40000; n++)
                        assert_product(mode, draw_image(mode.weights), draw_image(mode.activations), 0);
        }
}

static void test_rounding_of_any_integer(void **state) {
        for (unsigned i = 0; i < 400000; i++) {
                uint64_t significand = ((uint64_t) draw() << 32 | draw()) >> draw() % 64;
                int32_t scale = (int32_t) (draw() % 340) - 220;
                bool negative = draw() % 2;
                uint32_t expected, rounded;
                long double exact;

                if (draw() % 3 == 0)
                        significand &= ~UINT64_C(0) << draw() % 64; /* ties */
                exact = ldexpl((long double) significand, scale);
                expected = plain_bits((float) (negative ? -exact : exact));
                rounded = float_round(negative, significand, scale);
                if (rounded != expected)
                        fail_msg("%llu × 2^%d: %08x, by floats %08x", (unsigned long long) significand, scale, rounded, expected);
        }
}

static void test_random_sums(void **state) {
        for (unsigned i = 0; i < 1000000; i++) {
                PeMode mode = { .ftz = i % 2 };
                uint32_t a = draw_image(FORMAT_FP32), b = draw() % 3 ? draw_image(FORMAT_FP32) : a ^ (draw() & 0x81000003);
                uint32_t expected = plain_add(mode.ftz, a, b), sum = pe_add(mode, a, b);

                if (sum != expected)
                        fail_msg("%08x + %08x%s: %08x, by floats %08x", a, b, mode.ftz ? ", ftz" : "", sum, expected);
        }
}

static void test_a_double_row_adds_its_products_first(void **state) {
        PeMode mode = { .weights = FORMAT_FP8_E5M2, .activations = FORMAT_FP8_E5M2, .double_row = true };

        /* 2^15 × 2^9 − 2^15 × 2^9 + 2^-14: the other way round nothing but zero would be left */
        assert_int_equal(pe_step(mode, 0x38800000, 0xf878, 0x6060), 0x38800000);
        mode.double_row = false;
        assert_int_equal(pe_step(mode, 0x38800000, 0xf878, 0x6060), 0x4b800000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_pairs_of_fp8),
                cmocka_unit_test(test_all_pairs_of_fp8_in_both_lanes),
                cmocka_unit_test(test_random_products_of_all_pairs_of_formats),
                cmocka_unit_test(test_rounding_of_any_integer),
                cmocka_unit_test(test_random_sums),
                cmocka_unit_test(test_a_double_row_adds_its_products_first),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
