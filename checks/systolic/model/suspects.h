/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Suspects
 *
 * Parts of the elements of one column that are taken for broken, and all those that may be.
 */

#include "checks/systolic/model/element.h"

#define SUSPECTS_MAX 8u

typedef struct Suspects {
        unsigned n;
        uint8_t dead; /* row groups of 32, a bit each: their products are zero */
        Candidate all[SUSPECTS_MAX]; /* by row of the array */
} Suspects;

/* Adds one in its place; false when there is no room. */
bool suspects_add(Suspects *suspects, Candidate candidate);
bool suspects_are_slow(const Suspects *suspects); /* one of them at least */

bool candidate_is_slow(const Candidate *candidate);

/* Calls VISIT for all that may be broken in ROW. */
void candidates_visit(unsigned row, void (*visit)(void *userdata, Candidate candidate), void *userdata);
/* The same of what is the whole column's; its row is behind all others. */
void outputs_visit(void (*visit)(void *userdata, Candidate candidate), void *userdata);
