/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Retest
 *
 * The second stage of counting (budget.h): a lane that raised the alarm at a place is counted there again, with a fresh seed and one
 * conversion after another (sprt.h), so that a sound one is done soon. What is undecided after as many conversions as the first
 * stage took is decided by their exact tail. Each of the two ways to a false alarm has half of the stage's probability.
 */

#include "checks/rounding/session.h"
#include "checks/stream/stream.h"

typedef struct Retest {
        bool biased;
        uint64_t n, ups;
        double p_value;
        Decided decided; /* where it is biased: by the likelihoods or by the tail */
} Retest;

/* UPS: the first count. A lane is held against one as biased as the budget says, to the side on which that lies. */
int retest_lane(Session *session, unsigned core, WireEngine engine, unsigned lane, unsigned place, unsigned ups, Retest *ret);
