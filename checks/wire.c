/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/wire.h"

#include <stddef.h>

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

unsigned wire_format_bytes(WireFormat format) {
        static const unsigned bytes[_FORMAT_MAX] = {
                [FORMAT_FP32] = 4, [FORMAT_BF16] = 2, [FORMAT_FP16] = 2, [FORMAT_TF32] = 4,
                [FORMAT_FP8_E4M3] = 1, [FORMAT_FP8_E5M2] = 1, [FORMAT_FP8_E3M4] = 1,
        };

        return format < _FORMAT_MAX ? bytes[format] : 0;
}
