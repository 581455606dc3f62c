/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From what the lanes of one engine answered to what is wrong with them. */

#include "checks/rounding/hypothesis.h"

/* What the generators of an engine were before anybody seeded them, as it says itself. */
typedef struct States {
        GoldenLane lanes[ENGINE_LANES];
} States;

typedef struct LaneDiagnosis {
        Hypothesis why;
        bool intermittent;         /* some answers that it explains otherwise were sound */
        unsigned ups[COIN_PLACES]; /* of budget.each */
        unsigned place;            /* of the least likely of them */
        double p_value;            /* of that one */
        unsigned n_mismatches, n_conversions;
        WireFormat format;         /* the first wrong answer: of which conversion … */
        uint32_t in, expected, actual; /* … of what, and what came */
        char words[160];           /* what the random words are, where they had to be recovered (recover.h) */
} LaneDiagnosis;

/* VIEW: one lane with a wrong answer. BEFORE may be NULL. */
void lane_diagnose(const View *view, const States *before, LaneDiagnosis *ret);
