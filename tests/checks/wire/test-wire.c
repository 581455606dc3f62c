/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/text/cleanup.h"
#include "checks/wire/wire.h"

static void test_formats_are_whole_words(void **state) {
        static const struct {
                const char *text;
                unsigned formats;
        } cases[] = {
                { "", 0 },
                { "bf16", 1u << FORMAT_BF16 },
                { "bf16 fp8_e5m2", 1u << FORMAT_BF16 | 1u << FORMAT_FP8_E5M2 },
                { "fp8_e5m2,bf16", 1u << FORMAT_BF16 | 1u << FORMAT_FP8_E5M2 },
                { " ,, fp32  fp32 ", 1u << FORMAT_FP32 },
                { "bf1 bf160 xbf16 BF16 fp8_e5m2_fp16", 0 },
                { "int8 tf32", 1u << FORMAT_TF32 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                if (wire_formats_of(cases[i].text) != cases[i].formats)
                        fail_msg("\"%s\": 0x%x", cases[i].text, wire_formats_of(cases[i].text));
}

static void test_names_of_formats_are_read_again(void **state) {
        char text[WIRE_FORMATS_TEXT];

        for (unsigned formats = 0; formats < 1u << _FORMAT_MAX; formats++)
                assert_int_equal(wire_formats_of(wire_formats_to_text(formats, text)), formats);
        assert_string_equal(wire_formats_to_text(1u << FORMAT_BF16 | 1u << FORMAT_FP16, text), "bf16, fp16");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_formats_are_whole_words),
                cmocka_unit_test(test_names_of_formats_are_read_again),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
