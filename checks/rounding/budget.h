/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Budget
 *
 * From how many false alarms a fleet can live with to critical counts. A lane is counted at four places: a quarter and three
 * quarters of the way up, of both signs. It is called biased only where two independent counts say so, each at the square root of
 * the probability allowed for one place of one lane: the second one, with a fresh seed, is hardly ever needed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/rounding/parameters.h"
#include "checks/wire/wire.h"

#define COIN_PLACES        4u
#define BUDGET_TESTS       ((double) COIN_PLACES * CORES * _ENGINE_MAX * ENGINE_LANES) /* of a chip */
#define BUDGET_MISSED      1e-6 /* a deviation of `bias` towards the nearer end is overlooked no more often, in either stage */
#define BUDGET_SAMPLES_MAX 100000000u

typedef struct Budget {
        double alpha;       /* false-alarm probability of one place of one lane */
        double alpha_stage; /* of each of its two stages: their product is alpha */
        unsigned each;      /* conversions at each place */
        unsigned low;       /* at a quarter: so few or fewer of them up raise the alarm of a stage … */
        unsigned high;      /* … and so many or more; at three quarters it is the mirror image. each + 1: no count is so high */
} Budget;

/* Conversions of a lane that counting takes, over all places; BUDGET_SAMPLES_MAX where it is so many or more. */
uint64_t budget_samples(const RoundingParameters *parameters);

/* For parameters that budget_samples() lets pass. */
void budget_make(const RoundingParameters *parameters, Budget *ret);

/* The chance that UPS of budget->each at PLACE (odd: three quarters), or fewer or more, were up: two-sided. */
double budget_p_value(const Budget *budget, unsigned place, unsigned ups);
/* Whether they raise the alarm of a stage. */
bool budget_is_alarm(const Budget *budget, unsigned place, unsigned ups);

/* The least likely count of some lanes; of none: p_value 1. */
typedef struct Least {
        unsigned ups; /* as at a quarter of the way up */
        double p_value;
} Least;

void least_keep(Least *least, const Budget *budget, unsigned place, unsigned ups);
