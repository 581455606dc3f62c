/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

typedef enum SystolicSet {
        SYSTOLIC_STRUCTURE, /* every bit of every register, in both directions; each format and mode once */
        SYSTOLIC_ALL,       /* every format and mode by itself, all tiles, all pairs of short operands */
} SystolicSet;

typedef struct SystolicParameters {
        int patterns;     /* SystolicSet */
        unsigned formats; /* a bit for each WireFormat */
        uint64_t repeats; /* rounds of the structure, the first one being that of the set */
} SystolicParameters;
