/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/dice.h"

#include <math.h>

#define EXACT_MAX 256.0 /* successes expected, up to which every gap is drawn */

static double uniform(uint64_t bits) {
        return (double) (bits >> 11) * 0x1p-53;
}

double dice_uniform(Dice *dice) {
        return uniform(dice->state = dice_mix(dice->state));
}

uint64_t dice_below(Dice *dice, uint64_t n) {
        dice->state = dice_mix(dice->state);
        return (uint64_t) ((unsigned __int128) dice->state * n >> 64);
}

double dice_normal(Dice *dice) {
        double u = dice_uniform(dice), v = dice_uniform(dice);

        return sqrt(-2 * log1p(-u)) * cos(6.283185307179586 * v);
}

uint64_t dice_gap(Dice *dice, double p) {
        double gap;

        if (!(p > 0))
                return UINT64_MAX;
        if (p >= 1)
                return 0;

        gap = floor(log1p(-dice_uniform(dice)) / log1p(-p));
        return gap < 0x1p63 ? (uint64_t) gap : UINT64_MAX;
}

/* Counts successes by the gaps between them, which are geometric: exact, and its cost is n × p. */
static uint64_t count_gaps(Dice *dice, uint64_t n, double p) {
        double scale = log1p(-p), left = (double) n;
        uint64_t successes = 0;

        for (;;) {
                double gap = floor(log1p(-dice_uniform(dice)) / scale) + 1;

                if (!(gap <= left) || successes == n)
                        return successes;
                left -= gap;
                successes++;
        }
}

uint64_t dice_binomial(Dice *dice, uint64_t n, double p) {
        double value;

        if (!(p > 0) || n == 0)
                return 0;
        if (p >= 1)
                return n;
        if (p > 0.5)
                return n - dice_binomial(dice, n, 1 - p);
        if ((double) n * p <= EXACT_MAX)
                return count_gaps(dice, n, p);

        value = rint((double) n * p + dice_normal(dice) * sqrt((double) n * p * (1 - p)));
        if (value <= 0)
                return 0;
        return value >= (double) n ? n : (uint64_t) value;
}
