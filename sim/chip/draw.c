/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Draws: every random number is a hash of the scenario's seed, a location, the number of that part's command and the
 * number of the draw in it. Nothing is shared, so the order in which connections are served cannot be seen in them.
 */

#include <string.h>

#include "sim/chip/chip.h"
#include "sim/chip/dice.h"

uint64_t draw_seed(const Chip *chip, const Location *at) {
        uint64_t hash = dice_mix(chip_seed(chip));
        char name[LOCATION_SERVER_NAME_MAX] = "";
        uint64_t words[LOCATION_SERVER_NAME_MAX / sizeof(uint64_t)];

        /* What lies behind the final zero is not part of the name. */
        memcpy(name, at->server, strnlen(at->server, sizeof(name) - 1));
        memcpy(words, name, sizeof(words));
        for (size_t i = 0; i < ELEMENTS(words); i++)
                hash = dice_mix(hash ^ words[i]);
        for (unsigned i = 0; i < at->n_parts; i++)
                hash = dice_mix(hash ^ ((uint64_t) at->parts[i].kind << 32 | (uint64_t) at->parts[i].index << 16 |
                                   at->parts[i].column));
        return hash;
}

uint64_t draw_from(uint64_t seed, uint64_t number, uint64_t draw) {
        return dice_mix(dice_mix(seed ^ number) ^ draw);
}

uint64_t draw_u64(const Chip *chip, const Location *at, uint64_t number, uint64_t draw) {
        return draw_from(draw_seed(chip, at), number, draw);
}

double draw_uniform(const Chip *chip, const Location *at, uint64_t number, uint64_t draw) {
        return (double) (draw_u64(chip, at, number, draw) >> 11) * 0x1p-53;
}

uint64_t draw_binomial(const Chip *chip, const Location *at, uint64_t number, uint64_t draw, uint64_t n, double p) {
        Dice dice = { p > 0 && n > 0 ? draw_u64(chip, at, number, draw) : 0 };

        return dice_binomial(&dice, n, p);
}
