/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recover
 *
 * The random words that an engine really draws, where no hypothesis explains its answers: each word is found by bisection, the same
 * seed again and again, on all lanes at once. A word is known in its upper 24 bits, and in as many more as it has leading ones.
 */

#include "checks/rounding/session.h"

#define RECOVERED_WORDS SCRATCH_COUNT

typedef struct Recovered {
        uint32_t seed;
        uint64_t low[ENGINE_LANES][RECOVERED_WORDS];  /* the word is so large or larger … */
        uint64_t high[ENGINE_LANES][RECOVERED_WORDS]; /* … and smaller than this */
} Recovered;

int recover_words(Session *session, unsigned core, WireEngine engine, uint32_t seed, Recovered *ret);

/*
 * Tells in TEXT what the words of LANE are: bits that stick, that give another bit than they should or the and or or of two, one word
 * again and again, a sequence that repeats, or more of them those of another lane than chance gives. False where they are nothing of
 * it. *ret_other: the lane they are shared with, ENGINE_LANES where it is none.
 */
bool recovered_explain(const Recovered *recovered, WireEngine engine, unsigned lane, char *text, size_t size, unsigned *ret_other);
