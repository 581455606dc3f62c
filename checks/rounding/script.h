/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Script
 *
 * What one engine is asked to convert, and what a sound one answers. Passes, each one command:
 *
 *     coin      bf16, a quarter or three quarters of the way up, of both signs: decided by counting, which needs no knowledge of
 *               the generator (budget.h)
 *     sweep     each element lies just so that the word which the published generator will draw rounds it up, or just not. Two
 *               passes from one seed, with up and not up exchanged, pin every word. Each of them alone shows a wrong word, so
 *               that a fault that comes and goes has many chances. Among the elements are numbers that the format has, carries
 *               into the exponent, subnormals, infinities and NaN
 *     stream    the same without reseeding, below the smallest number of a format, where more than the upper 24 bits decide: all
 *               32 bits of the word, and cycles as long as the stream
 *     reset     sweeps again: what a reset leaves, and what the first seed makes of it
 *     nearest   ties, carries, subnormals, overflow, signed zero, infinities, NaN (cases.h)
 *
 * Made once for all chips: nothing in it depends on what a device says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/rounding/budget.h"
#include "checks/rounding/element.h"
#include "checks/rounding/golden.h"
#include "checks/rounding/parameters.h"

#define SCRIPT_PASSES_MAX 256u
#define PASS_COUNT_MAX    2304u /* elements of a lane in one pass */

typedef enum PassMethod {
        PASS_COIN,
        PASS_SWEEP,
        PASS_STREAM,
        PASS_NEAREST,
        _PASS_METHOD_MAX,
} PassMethod;

typedef struct Pass {
        PassMethod method;
        WireFormat format;
        uint32_t seed;   /* the stream it draws from; it is set before the pass unless `after` or `reset` */
        bool reset;      /* the core is, before the pass: as if seeded with 0 */
        unsigned after;  /* words drawn from this stream by the passes before */
        unsigned count;  /* elements of each lane */
        bool exchanged;  /* sweep: the second of two */
        unsigned first;  /* nearest: index of the first case; coin: of the first element */
} Pass;

typedef struct Script {
        unsigned number; /* no two have the same */
        WireEngine engine;
        const RoundingParameters *parameters;
        Budget budget;
        unsigned n_passes, n_coins; /* the coins come first */
        Pass passes[SCRIPT_PASSES_MAX];
        uint32_t *in[SCRIPT_PASSES_MAX]; /* [ENGINE_LANES][count] binary32 */
        uint8_t *out[SCRIPT_PASSES_MAX]; /* as the unit writes it */
        bool in_is_shared[SCRIPT_PASSES_MAX]; /* the same for all engines */
} Script;

/* The script of ENGINE: made once for the same parameters and kept, so make it before forking. NULL without memory. */
const Script *script_get(WireEngine engine, const RoundingParameters *parameters);

size_t script_in_bytes(const Script *script, unsigned pass);
size_t script_out_bytes(const Script *script, unsigned pass);
static inline bool pass_is_stochastic(const Pass *pass) {
        return pass->method != PASS_NEAREST;
}
/* Conversions of all passes on one engine. */
uint64_t script_conversions(const Script *script);

/* How many of budget.each coins of a sound LANE go up at PLACE. */
unsigned script_sound_ups(const Script *script, unsigned lane, unsigned place);

/* What LANE is given in PASS, with the words that its generator should draw for it (not in PASS_NEAREST). */
void script_lane(const Script *script, unsigned pass, unsigned lane, Element elements[static PASS_COUNT_MAX],
                 uint32_t words[static PASS_COUNT_MAX]);
/* The words COUNT of the stream of LANE and SEED from the one numbered AFTER on. */
void script_words(WireEngine engine, unsigned lane, uint32_t seed, unsigned after, unsigned count, uint32_t *ret);
