/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Draws: every random number is a hash of the scenario's seed, a location, the number of that part's command and the
 * number of the draw in it. Nothing is shared, so the order in which connections are served cannot be seen in them.
 */

#include <math.h>
#include <string.h>

#include "sim/chip.h"

#define EXACT_MAX 256.0 /* successes expected, up to which every gap is drawn */

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t x) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

static uint64_t location_hash(uint64_t hash, const Location *at) {
        char name[LOCATION_SERVER_NAME_MAX] = "";
        uint64_t words[LOCATION_SERVER_NAME_MAX / sizeof(uint64_t)];

        /* What lies behind the final zero is not part of the name. */
        memcpy(name, at->server, strnlen(at->server, sizeof(name) - 1));
        memcpy(words, name, sizeof(words));
        for (size_t i = 0; i < ELEMENTS(words); i++)
                hash = mix(hash ^ words[i]);
        for (unsigned i = 0; i < at->n_parts; i++)
                hash = mix(hash ^ ((uint64_t) at->parts[i].kind << 32 | (uint64_t) at->parts[i].index << 16 |
                                   at->parts[i].column));
        return hash;
}

uint64_t draw_u64(const Chip *chip, const Location *at, uint64_t number, uint64_t draw) {
        return mix(mix(location_hash(mix(chip_seed(chip)), at) ^ number) ^ draw);
}

static double uniform(uint64_t bits) {
        return (double) (bits >> 11) * 0x1p-53;
}

double draw_uniform(const Chip *chip, const Location *at, uint64_t number, uint64_t draw) {
        return uniform(draw_u64(chip, at, number, draw));
}

/* Counts successes by the gaps between them, which are geometric: exact, and its cost is n × p. */
static uint64_t count_gaps(uint64_t state, uint64_t n, double p) {
        double scale = log1p(-p), left = (double) n;
        uint64_t successes = 0;

        for (;;) {
                double gap = floor(log1p(-uniform(state = mix(state))) / scale) + 1;

                if (!(gap <= left) || successes == n)
                        return successes;
                left -= gap;
                successes++;
        }
}

static uint64_t approximate(uint64_t state, uint64_t n, double p) {
        double u = uniform(mix(state)), v = uniform(mix(mix(state)));
        double normal = sqrt(-2 * log1p(-u)) * cos(6.283185307179586 * v);
        double value = rint((double) n * p + normal * sqrt((double) n * p * (1 - p)));

        if (value <= 0)
                return 0;
        return value >= (double) n ? n : (uint64_t) value;
}

uint64_t draw_binomial(const Chip *chip, const Location *at, uint64_t number, uint64_t draw, uint64_t n, double p) {
        uint64_t state;

        if (!(p > 0) || n == 0)
                return 0;
        if (p >= 1)
                return n;
        if (p > 0.5)
                return n - draw_binomial(chip, at, number, draw, n, 1 - p);

        state = draw_u64(chip, at, number, draw);
        return (double) n * p <= EXACT_MAX ? count_gaps(state, n, p) : approximate(state, n, p);
}
