/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/rounding/generator.h"

#include <string.h>

static uint64_t splitmix64(uint64_t *state) {
        uint64_t x = *state += 0x9e3779b97f4a7c15u;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

void generator_seed(Generator *generator, unsigned engine, unsigned lane, uint32_t seed) {
        uint64_t state = (uint64_t) seed ^ (uint64_t) lane << 32 ^ (uint64_t) engine << 48;
        uint32_t words[6];

        for (unsigned i = 0; i < 3; i++) {
                uint64_t word = splitmix64(&state);

                words[2 * i] = (uint32_t) word;
                words[2 * i + 1] = (uint32_t) (word >> 32);
        }

        memcpy(generator->x, words, sizeof(generator->x));
        generator->d = words[5];
        if ((words[0] | words[1] | words[2] | words[3] | words[4]) == 0)
                generator->x[4] = 1;
}
