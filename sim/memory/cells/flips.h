/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryFlips
 *
 * Changes of what is stored that nobody wrote: charge lost, neighbours' disturbance, particles. ECC still knows what was
 * written; the next write of the access ends it.
 */

#include "sim/memory/cells/memory.h"

#define MEMORY_FLIP_INVERT 2u

typedef struct MemoryFlip {
        uint32_t linear; /* of the access */
        uint8_t bit;
        uint8_t value; /* what the bit becomes: 0, 1 or MEMORY_FLIP_INVERT */
} MemoryFlip;

/* Sorts FLIPS and makes them so; what holds its value already is left alone. -ENOMEM; -ENOSPC: more than MEMORY_SPOTS_MAX. */
int memory_flips_apply(Memory *memory, MemoryFlip *flips, size_t n);
