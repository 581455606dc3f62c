/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From the answers of one engine to what is wrong with which lane. */

#include <stdbool.h>
#include <stdint.h>

#include "checks/rounding/script.h"

/* One engine's answers, copied out of the window. */
typedef struct Answers {
        uint16_t coin[ENGINE_LANES][COIN_COUNT];
        uint8_t threshold[2][ENGINE_LANES][WORDS_COUNT];
} Answers;

typedef enum LaneCause {
        LANE_SOUND,
        LANE_NEAREST,   /* stochastic rounding rounds to nearest */
        LANE_STUCK_BIT, /* one bit of the random word is stuck */
        LANE_CLONED,    /* the stream is that of another lane */
        LANE_BIASED,    /* counts that no sound lane gives, cause unknown */
        LANE_OTHER,     /* not the stream of the seeded generator, cause unknown */
        _LANE_CAUSE_MAX,
} LaneCause;

typedef struct LaneDiagnosis {
        LaneCause cause;
        unsigned bit, value;   /* LANE_STUCK_BIT */
        unsigned other;        /* LANE_CLONED */
        unsigned ups[2];       /* of COIN_EACH at a quarter and at three quarters */
        double p_value;        /* the smaller of the two */
        unsigned n_mismatches; /* elements that differ from the seeded generator's */
        unsigned first;        /* the first of them in the coin pass, COIN_COUNT if none */
} LaneDiagnosis;

/* The exact p-value of the coin alone: needs no knowledge of the generator. */
double lane_p_value(const Answers *answers, unsigned lane, unsigned ups[2]);

void lane_diagnose(const Script *script, const Answers *answers, unsigned lane, double alpha, LaneDiagnosis *ret);
