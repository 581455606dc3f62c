/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lane
 *
 * A lane that is not, or may no longer be, as the others of its engine: its own generator, and how it answers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sim/rounding/faults.h"
#include "sim/rounding/generator.h"
#include "sim/rounding/memo.h"

typedef struct Lane {
        bool strays; /* its generator is not where a sound one is */
        Generator now;
        Generator start; /* as last seeded */
        uint64_t drawn;  /* words since */
} Lane;

/* RNG_SEED with SEED; with 0 what a reset does. */
void lane_seed(Lane *lane, const LaneEffects *effects, unsigned engine, unsigned number, uint32_t seed, Seeding seeding);

/* IN and OUT of this lane. */
void lane_convert(Lane *lane, const LaneEffects *effects, const Conversion *conversion, const uint8_t *in, uint8_t *out);
