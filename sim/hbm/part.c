/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/part.h"

#include <stddef.h>

#define WORD_12_HIGH "12-high-16gb"
#define WORD_8_HIGH  "8-high-24gb"

const HbmPart hbm_parts[_HBM_PART_MAX] = {
        [HBM_PART_12_HIGH_16GB] = { WORD_12_HIGH, "12-high 16 Gb", "16 2 3 4 4 16384 32", 512 },
        [HBM_PART_8_HIGH_24GB]  = { WORD_8_HIGH, "8-high 24 Gb", "16 2 2 4 4 24576 32", 768 },
};

const char *const hbm_part_words[] = {
        [HBM_PART_12_HIGH_16GB] = WORD_12_HIGH,
        [HBM_PART_8_HIGH_24GB]  = WORD_8_HIGH,
        NULL,
};
