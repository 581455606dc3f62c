/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a sound rounding unit answers, worked out on values: the two neighbours of a number in the target format, and where
 * between them it lies. (The unit itself works on bits; nothing here follows its way.)
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

/* The published generator of one lane. */
typedef struct GoldenLane {
        uint32_t x[5];
        uint32_t weyl;
} GoldenLane;

void golden_lane_seed(GoldenLane *lane, WireEngine engine, unsigned number, uint32_t seed);
uint32_t golden_lane_next(GoldenLane *lane);

/* The pattern of VALUE rounded to nearest, ties to even. */
uint32_t golden_nearest(WireFormat format, float value);

/* The value of a pattern without its sign; infinity for the pattern above the largest finite one. */
double golden_value(WireFormat format, uint32_t pattern);
uint32_t golden_infinity(WireFormat format); /* its pattern; all patterns below are finite, in ascending order */
uint32_t golden_sign(WireFormat format);     /* the sign bit */
/* How far the next pattern is from this one, for the largest finite one as far as from the one before: a power of two. */
double golden_step(WireFormat format, uint32_t pattern);
int golden_step_exponent(WireFormat format, uint32_t pattern);

uint32_t golden_fraction_mask(WireFormat format);

/* A pattern as the unit writes it, and element I of what it wrote. */
uint32_t golden_image(WireFormat format, uint32_t pattern);
void golden_store(WireFormat format, uint32_t image, void *out, size_t i);
uint32_t golden_load(WireFormat format, const void *out, size_t i);
