/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/rounding/convert.h"

const Target rounding_targets[_FORMAT_MAX] = {
        [FORMAT_BF16]     = { 8, 7,  2, 0  },
        [FORMAT_FP16]     = { 5, 10, 2, 0  },
        [FORMAT_TF32]     = { 8, 10, 4, 13 },
        [FORMAT_FP8_E4M3] = { 4, 3,  1, 0  },
        [FORMAT_FP8_E5M2] = { 5, 2,  1, 0  },
        [FORMAT_FP8_E3M4] = { 3, 4,  1, 0  },
};
