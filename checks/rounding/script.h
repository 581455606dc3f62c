/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The script of one engine: what goes in, what a sound engine answers, and what an engine with one stuck bit of its random
 * word answers. Three stochastic passes and one pass to nearest for each format:
 *
 *     coin      bf16, each element a quarter or three quarters of the way up: decided by counting (exact binomial
 *               tails), which needs no knowledge of the generator
 *     above     fp8_e5m2, each element just far enough up that the predicted random word rounds it up
 *     below     the same seed again, one unit less: rounds down. Together they read out every bit of every word used
 *     nearest   ties, carries, subnormals, overflow, signed zero, infinities, NaN
 *
 * Sample size of the coin: all of 105 up (or down) at a quarter has probability 0.75^105 = 7.6e-14.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/wire.h"

#define COIN_EACH    105u              /* elements at each of the two places */
#define COIN_COUNT   (2 * COIN_EACH)
#define WORDS_COUNT  64u               /* random words read out of each lane */
#define NEAREST_COUNT 120u
#define NEAREST_FORMATS 5u
#define THRESHOLD_SEED(seed) ((uint32_t) (seed) ^ 0x5bd1e995u) /* the passes above and below see another stream than the coin */

typedef enum Pass {
        PASS_COIN,
        PASS_ABOVE,
        PASS_BELOW,
        _PASS_MAX,
} Pass;

typedef struct Script {
        uint32_t seed;
        WireEngine engine;
        uint32_t words[_PASS_MAX][ENGINE_LANES][COIN_COUNT]; /* the random words a pass draws; ABOVE and BELOW the same */
        float in_coin[ENGINE_LANES][COIN_COUNT];             /* the same for all engines */
        float in_threshold[2][ENGINE_LANES][WORDS_COUNT];    /* above, below */
        uint16_t out_coin[ENGINE_LANES][COIN_COUNT];
        uint8_t out_threshold[2][ENGINE_LANES][WORDS_COUNT];
} Script;

/* The script of ENGINE for SEED: made once and kept, so make it before forking. NULL without memory. */
const Script *script_get(WireEngine engine, uint32_t seed);

/* The nearest pass of a format; the same row for every lane. */
typedef struct NearestScript {
        WireFormat format;
        float in[ENGINE_LANES][NEAREST_COUNT];
        uint32_t expected[NEAREST_COUNT];
        uint8_t out[ENGINE_LANES * NEAREST_COUNT * 2]; /* as the unit writes it */
} NearestScript;

/* INDEX 0 … NEAREST_FORMATS-1; the first two are bf16 and fp8_e5m2. */
const NearestScript *script_nearest(unsigned index);

/* Elements of a pass per lane. */
unsigned script_count(Pass pass);

/*
 * What lane LANE answers to element I of PASS when its random word is (word | set) & ~clear, or when it rounds to nearest
 * instead.
 */
uint32_t script_predict(const Script *script, Pass pass, unsigned lane, unsigned i, uint32_t set, uint32_t clear);
uint32_t script_predict_nearest(const Script *script, Pass pass, unsigned lane, unsigned i);
