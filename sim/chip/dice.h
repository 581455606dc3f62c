/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Dice: random numbers one after another, all of them following from the first state. draw_u64() gives one to begin with. */

#include <stdint.h>

typedef struct Dice {
        uint64_t state;
} Dice;

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): every bit of the input reaches every bit of the output. */
static inline uint64_t dice_mix(uint64_t x) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

uint64_t dice_below(Dice *dice, uint64_t n); /* 0 … n - 1 */
double dice_uniform(Dice *dice);             /* [0, 1) */
double dice_normal(Dice *dice);              /* mean 0, variance 1 */

/* How many trials fail before one succeeds that does with probability P; UINT64_MAX for P 0 and where it takes longer still. */
uint64_t dice_gap(Dice *dice, double p);

/* How many of N independent trials succeed with probability P: exact for small N × P, else normal. */
uint64_t dice_binomial(Dice *dice, uint64_t n, double p);
