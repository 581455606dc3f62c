/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statement
 *
 * Holds the share that escaped against a plan's statement on the faults of a kind. Faults are told apart by how often they act, since a plan
 * asks (1 - p)^n only of what comes and goes. The bound of a class is the mean of the bounds of its faults: of so many trials of unlike
 * chances no more successes are to be expected in a tail than of as many trials with their mean (Hoeffding 1956, theorem 4), so that
 * the exact interval of a binomial is wide enough. All intervals of a report hold together: each has the confidence that leaves to all of
 * them one chance in twenty (Bonferroni).
 */

#include "sim/qualify/interval.h"
#include "sim/qualify/qualify.h"

#define STATEMENT_CLASSES 6u /* what is always there, and five of what comes and goes, by p */

/* The measured share of one kind in one class. */
typedef struct Measured {
        double from, to; /* p: at least, below; 1, 1: always there */
        unsigned n, escaped;
        double bound;    /* of the share that escapes; meant where the plan states anything of the kind */
} Measured;

/* The plan's statement on KIND, by its name or else by its family; NULL: there is none. */
const ObservedEscape *statement_find(const Qualification *qualification, const FaultKind *kind);
/* The share of faults that act in a share P of the commands (1: always) that escapes, at the most. */
double statement_bound(const ObservedEscape *statement, double p);
/* STATEMENT NULL: the bound is 0. */
void statement_measure(const ObservedEscape *statement, const Injected *faults, unsigned n, Measured ret[static STATEMENT_CLASSES]);
/* Of one class, so that all that the plan states anything of hold together; how many these are in *ret_n unless NULL. */
double statement_confidence(const Qualification *qualification, unsigned *ret_n);
/* Whether more escaped than is stated, beyond chance. */
bool statement_is_exceeded(const Measured *measured, double confidence, Interval *ret);
/* Whether any kind is worse than stated, or missed with nothing stated of it. */
bool statement_has_failed(const Qualification *qualification);
