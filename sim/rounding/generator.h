/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Generator
 *
 * The XORWOW generator of one lane (Marsaglia, Xorshift RNGs, 2003), seeded as checks/wire/wire.h says. In memory it is what
 * COMMAND_RNG_STATE answers.
 */

#include <stdint.h>

typedef struct Generator {
        uint32_t x[5];
        uint32_t d;
} Generator;

void generator_seed(Generator *generator, unsigned engine, unsigned lane, uint32_t seed);

static inline uint32_t generator_next(Generator *g) {
        uint32_t t = g->x[0] ^ g->x[0] >> 2;

        g->x[0] = g->x[1];
        g->x[1] = g->x[2];
        g->x[2] = g->x[3];
        g->x[3] = g->x[4];
        g->x[4] = (g->x[4] ^ g->x[4] << 4) ^ (t ^ t << 1);
        g->d += 362437;
        return g->x[4] + g->d;
}
