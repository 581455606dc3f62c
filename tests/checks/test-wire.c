/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/cleanup.h"
#include "checks/wire.h"

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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_formats_are_whole_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
