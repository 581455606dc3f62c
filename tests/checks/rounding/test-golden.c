/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "checks/rounding/golden.h"
#include "checks/text/cleanup.h"

static void test_known_values_round_as_published(void **state) {
        static const struct {
                WireFormat format;
                float value;
                uint32_t pattern;
        } cases[] = {
                { FORMAT_BF16,     1.0f,                  0x3f80 },
                { FORMAT_BF16,     -1.0f,                 0xbf80 },
                { FORMAT_BF16,     0x1.01p0f,             0x3f80 }, /* tie, even below */
                { FORMAT_BF16,     0x1.03p0f,             0x3f82 }, /* tie, even above */
                { FORMAT_BF16,     0x1.fffffep127f,       0x7f80 }, /* overflows */
                { FORMAT_BF16,     0x1.fep127f,           0x7f7f }, /* the largest */
                { FORMAT_BF16,     0x1p-133f,             0x0001 },
                { FORMAT_BF16,     0x1p-134f,             0x0000 }, /* half of the smallest, to even */
                { FORMAT_FP16,     65504.0f,              0x7bff },
                { FORMAT_FP16,     65519.996f,            0x7bff },
                { FORMAT_FP16,     65520.0f,              0x7c00 }, /* half a step above the largest */
                { FORMAT_FP16,     1024.5f,               0x6400 },
                { FORMAT_FP8_E4M3, 240.0f,                0x77   }, /* IEEE style: the largest, then infinity */
                { FORMAT_FP8_E4M3, 248.0f,                0x78   },
                { FORMAT_FP8_E4M3, 448.0f,                0x78   },
                { FORMAT_FP8_E5M2, 57344.0f,              0x7b   },
                { FORMAT_FP8_E5M2, 1.125f,                0x3c   },
                { FORMAT_FP8_E3M4, 15.5f,                 0x6f   },
                { FORMAT_FP8_E3M4, 0x1p-6f,               0x01   },
                { FORMAT_BF16,     INFINITY,              0x7f80 },
                { FORMAT_BF16,     -0.0f,                 0x8000 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                assert_int_equal(golden_nearest(cases[i].format, cases[i].value), cases[i].pattern);
        assert_int_equal(golden_nearest(FORMAT_BF16, NAN) & 0x7fff, 0x7fc0);
}

static void test_every_pattern_is_its_own_nearest(void **state) {
        static const WireFormat formats[] = { FORMAT_BF16, FORMAT_FP16, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };

        for (size_t f = 0; f < ELEMENTS(formats); f++)
                for (uint32_t p = 0; p < golden_infinity(formats[f]); p++) {
                        assert_int_equal(golden_nearest(formats[f], (float) golden_value(formats[f], p)), p);
                        if (p > 0)
                                assert_true(golden_value(formats[f], p) > golden_value(formats[f], p - 1));
                }
}

/* The first words of XORWOW from the state of Marsaglia's paper (2003): x 123456789 362436069 521288629 88675123 5783321, d 6615241. */
static void test_the_generator_is_marsaglias(void **state) {
        GoldenLane lane = { .x = { 123456789, 362436069, 521288629, 88675123, 5783321 }, .weyl = 6615241 };

        assert_int_equal(golden_lane_next(&lane), 246875399u);
        assert_int_equal(golden_lane_next(&lane), 3690007200u);
        assert_int_equal(golden_lane_next(&lane), 1264581005u);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_known_values_round_as_published),
                cmocka_unit_test(test_every_pattern_is_its_own_nearest),
                cmocka_unit_test(test_the_generator_is_marsaglias),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
