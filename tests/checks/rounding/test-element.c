/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Elements against the definition in checks/wire/wire.h, worked out on the bits of binary32: which word rounds which number up. Elements
 * themselves are made and judged on values.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "checks/rounding/cases.h"
#include "checks/rounding/element.h"
#include "checks/rounding/golden.h"
#include "checks/text/cleanup.h"
#include "tests/draw.h"

static const WireFormat formats[] = { FORMAT_BF16, FORMAT_FP16, FORMAT_TF32, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };
static const int exponent_bits[_FORMAT_MAX] = { 0, 8, 5, 8, 4, 5, 3 }, fraction_bits[_FORMAT_MAX] = { 0, 7, 10, 10, 3, 2, 4 };

/* Whether WORD rounds the magnitude of the finite number BITS up; *ret_kept is its pattern rounded down. */
static bool goes_up(WireFormat format, uint32_t bits, uint32_t word, uint64_t *ret_kept) {
        int lowest = 2 - (1 << (exponent_bits[format] - 1)), field = (int) (bits >> 23 & 0xff), exponent = field ? field - 127 : -126;
        uint64_t significand = (bits & 0x7fffff) | (field ? 0x800000u : 0);
        int d = 23 - fraction_bits[format] + (exponent < lowest ? lowest - exponent : 0);
        uint64_t fraction = d < 64 ? significand & ((1ull << d) - 1) : significand;

        *ret_kept = (d < 64 ? significand >> d : 0) + (exponent >= lowest ? (uint64_t) (exponent - lowest) << fraction_bits[format] : 0);
        if (d <= 32)
                return fraction + ((uint64_t) word >> (32 - d)) >= 1ull << d;
        return (d < 64 ? fraction >> (d - 32) : 0) + word >= 1ull << 32;
}

static uint32_t plain_answer(WireFormat format, uint32_t bits, uint32_t word) {
        uint32_t infinity = golden_infinity(format);
        uint64_t kept;
        bool up = goes_up(format, bits, word, &kept);

        return (kept + up < infinity ? (uint32_t) kept + up : infinity) | (bits >> 31 ? golden_sign(format) : 0);
}

static float number_of(uint32_t bits) {
        float number;

        memcpy(&number, &bits, sizeof(number));
        return number;
}

static void test_answers_follow_the_definition(void **unused) {
        for (size_t f = 0; f < ELEMENTS(formats); f++)
                for (unsigned i = 0; i < 200000; i++) {
                        float near = (float) (golden_value(formats[f], draw() % golden_infinity(formats[f])) * (1 + ldexp(draw() & 0xffffff, -26)));
                        uint32_t bits = draw(), word = draw();
                        Element e;

                        if (i % 4 != 0)
                                memcpy(&bits, &near, sizeof(bits));
                        if ((bits >> 23 & 0xff) == 0xff)
                                continue;
                        e = element_of(formats[f], number_of(bits));
                        assert_int_equal(e.bits, bits);
                        assert_int_equal(element_answer(formats[f], &e, word), plain_answer(formats[f], bits, word));
                        assert_int_equal(element_nearest(formats[f], &e), golden_nearest(formats[f], number_of(bits)));
                }
}

/* What is made for a word is rounded up by it and not by the one before, or not by it and by the next: as far as bits reach. */
static void test_an_element_pins_the_word_it_is_made_for(void **unused) {
        for (size_t f = 0; f < ELEMENTS(formats); f++)
                for (unsigned i = 0; i < 100000; i++) {
                        WireFormat format = formats[f];
                        uint32_t word = i < 64 ? (i % 2 ? ~0u << i / 2 : ~(~0u << i / 2)) : draw(), low = 1 + draw() % (golden_infinity(format) - 1);
                        bool below = format != FORMAT_BF16 && format != FORMAT_TF32 && i % 2;
                        Element up = below ? element_below_all(format, word, true, i & 4) : element_at_word(format, low, word, true, i & 4);
                        Element down = below ? element_below_all(format, word, false, i & 4) : element_at_word(format, low, word, false, i & 4);
                        unsigned n_bits = up.d < 32 ? up.d : 32;
                        uint64_t least = element_threshold(&up), over = element_threshold(&down);

                        assert_int_equal(plain_answer(format, up.bits, word), element_answer(format, &up, word));
                        assert_int_equal(plain_answer(format, down.bits, word), element_answer(format, &down, word));
                        assert_true(over > word);
                        if (word >> (32 - n_bits) == 0)
                                continue; /* nothing below a whole step rounds up on 0 */
                        assert_true(least <= word);
                        assert_true(over - least <= 2ull << (32 - n_bits));
                        if (below)
                                assert_true(n_bits >= 24);
                }
}

static void test_exact_numbers_stay_what_they_are(void **unused) {
        for (size_t f = 0; f < ELEMENTS(formats); f++)
                for (uint32_t low = 0; low < golden_infinity(formats[f]); low++) {
                        Element e = element_exact(formats[f], low, low & 1);

                        assert_int_equal(element_answer(formats[f], &e, UINT32_MAX) & ~golden_sign(formats[f]), low);
                        assert_true((double) number_of(e.bits) == (low & 1 ? -1 : 1) * golden_value(formats[f], low));
                }
}

/* Every number of an 8-bit format has its surroundings among the cases, of both signs. */
static void test_cases_surround_every_number_of_8_bits(void **unused) {
        static Element cases[CASES_MAX];

        for (size_t f = 3; f < ELEMENTS(formats); f++) {
                unsigned n = cases_make(formats[f], true, cases), n_nan = 0;

                for (uint32_t low = 0; low < golden_infinity(formats[f]); low++) {
                        double value = golden_value(formats[f], low), step = golden_step(formats[f], low);
                        unsigned seen[2] = {};

                        for (unsigned i = 0; i < n; i++) {
                                double at = (fabs((double) number_of(cases[i].bits)) - value) / step;

                                if (at >= 0 && at < 1)
                                        seen[cases[i].negative] |= at <= 0 ? 1u : at == 0.25 ? 2u : at == 0.75 ? 4u : at == 0.5 ? 8u :
                                                                   at > 0.49 && at < 0.5 ? 16u : at > 0.5 && at < 0.51 ? 32u : 0;
                        }
                        assert_int_equal(seen[0], 63);
                        assert_int_equal(seen[1], 63);
                }
                for (unsigned i = 0; i < n; i++)
                        n_nan += isnan(number_of(cases[i].bits));
                assert_true(n_nan >= 14);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers_follow_the_definition),
                cmocka_unit_test(test_an_element_pins_the_word_it_is_made_for),
                cmocka_unit_test(test_exact_numbers_stay_what_they_are),
                cmocka_unit_test(test_cases_surround_every_number_of_8_bits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
