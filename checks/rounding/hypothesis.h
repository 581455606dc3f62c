/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hypothesis
 *
 * What may be wrong with a lane, as far as its answers follow from it: each is worked out on values and compared with what the lane
 * answered. A pass is one command, so a fault that comes and goes between commands leaves whole passes sound. A hypothesis stands
 * where each pass that is not sound is as it says.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/rounding/view.h"

typedef enum Cause {
        CAUSE_NONE,
        CAUSE_NEAREST,      /* stochastic rounding rounds to nearest */
        CAUSE_STOCHASTIC,   /* rounding to nearest is stochastic */
        CAUSE_STUCK_BIT,    /* of the random word */
        CAUSE_TIED_BITS,
        CAUSE_SWAPPED_BITS,
        CAUSE_FEW_BITS,     /* of the random word are used, from the top */
        CAUSE_WIDTH,        /* the word is added in a field of another width */
        CAUSE_FORMAT_WIDTH, /* … that of another format */
        CAUSE_SIGN,         /* negative numbers round the other way */
        CAUSE_LOCKED,       /* the same word again and again */
        CAUSE_CYCLE,        /* the words begin anew after so many */
        CAUSE_OTHER_LANE,   /* the stream is that of another lane */
        CAUSE_UNSEEDED,     /* a seed or a reset has no effect */
        CAUSE_RESULT_STUCK, /* a bit of what is written */
        CAUSE_CARRY_LOST,   /* into the exponent */
        CAUSE_FLUSHED,      /* subnormal results are zero */
        CAUSE_CONVERSION,   /* wrong where nothing is random, in no way of the above */
        CAUSE_BIAS,         /* counts that no sound lane gives, cause unknown */
        CAUSE_TWINS,        /* the stream is none that is known, and that of another lane */
        CAUSE_GENERATOR,    /* not the stream of the seeded generator, cause unknown */
        _CAUSE_MAX,
} Cause;

/* When a generator should have got its state and went on as it was. */
typedef enum Occasion {
        OCCASION_SEED,
        OCCASION_RESET,
        OCCASION_FIRST, /* seed after a reset */
} Occasion;

typedef struct Hypothesis {
        Cause cause;
        unsigned bit, other; /* bits; bit 32 … of FEW_BITS: how many; OTHER_LANE: the lane */
        unsigned value;      /* stuck at; tied: 1 or, 0 and; UNSEEDED: Occasion */
        int delta;           /* WIDTH: bits more than there should be */
        WireFormat format;   /* FORMAT_WIDTH */
        unsigned lag;        /* OTHER_LANE: words ahead of it */
        unsigned words;      /* CYCLE */
        unsigned n_alike;    /* others that explain the same as well */
} Hypothesis;

/* Whether the answers of PASS are as H says, its generator giving WORDS. Not for causes that give no words of their own
 * (LOCKED, STOCHASTIC, UNSEEDED and those after FLUSHED). */
bool hypothesis_explains(const Hypothesis *h, const View *view, unsigned pass, const uint32_t *words);
/* Whether the answer numbered I of all, in PASS, is: to begin with one that is wrong ends most hypotheses at once. */
bool hypothesis_explains_one(const Hypothesis *h, const View *view, unsigned pass, unsigned i, uint32_t word);
