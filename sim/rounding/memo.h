/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rounding memo
 *
 * What sound engines answer. Engines of many cores and chips see the same seeds and the same numbers, so each answer is worked
 * out once in a thread and copied from then on.
 */

#include <stddef.h>
#include <stdint.h>

#include "sim/rounding/convert.h"
#include "sim/rounding/generator.h"

typedef struct Conversion {
        const Target *target;
        WireConvert command; /* reserved bits zero */
        size_t n_in, n_out;  /* bytes of all lanes */
} Conversion;

/* Converts IN to OUT as a sound engine does and moves LANES[ENGINE_LANES] on. */
void rounding_convert(const Conversion *conversion, Generator *lanes, const uint8_t *in, uint8_t *out);

/* Seeds LANES[ENGINE_LANES] of ENGINE as a sound engine does. */
void rounding_seed(unsigned engine, uint32_t seed, Generator *lanes);
