/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *const wire_format_words[_FORMAT_MAX + 1] = {
        [FORMAT_FP32]     = "fp32",
        [FORMAT_BF16]     = "bf16",
        [FORMAT_FP16]     = "fp16",
        [FORMAT_TF32]     = "tf32",
        [FORMAT_FP8_E4M3] = "fp8_e4m3",
        [FORMAT_FP8_E5M2] = "fp8_e5m2",
        [FORMAT_FP8_E3M4] = "fp8_e3m4",
        [_FORMAT_MAX]     = NULL,
};

static bool word_is(const char *word, size_t n, const char *wanted) {
        return strlen(wanted) == n && memcmp(word, wanted, n) == 0;
}

unsigned wire_formats_of(const char *text) {
        unsigned formats = 0;

        for (size_t n; *text; text += n > 0 ? n : 1) {
                n = strcspn(text, " ,");
                for (unsigned i = 0; i < _FORMAT_MAX; i++)
                        formats |= (unsigned) word_is(text, n, wire_format_words[i]) << i;
        }

        return formats;
}

const char *wire_formats_to_text(unsigned formats, char text[static WIRE_FORMATS_TEXT]) {
        size_t n = 0;

        text[0] = '\0';
        for (unsigned i = 0; i < _FORMAT_MAX; i++)
                if (formats >> i & 1)
                        n += (size_t) snprintf(text + n, WIRE_FORMATS_TEXT - n, "%s%s", n > 0 ? ", " : "", wire_format_words[i]);

        return text;
}

unsigned wire_format_bytes(WireFormat format) {
        static const unsigned bytes[_FORMAT_MAX] = {
                [FORMAT_FP32] = 4, [FORMAT_BF16] = 2, [FORMAT_FP16] = 2, [FORMAT_TF32] = 4,
                [FORMAT_FP8_E4M3] = 1, [FORMAT_FP8_E5M2] = 1, [FORMAT_FP8_E3M4] = 1,
        };

        return format < _FORMAT_MAX ? bytes[format] : 0;
}
