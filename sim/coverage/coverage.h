/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Coverage
 *
 * What a march test finds, counted by brute force: every fault of every class, in every place of a small memory, from
 * every content at power-up. A fault counts as detected only if it is found from all contents and in all places with the
 * stated order.
 *
 *  - 4 cells; 3 for linked faults; 3 × 3 for neighbourhoods, base in the middle, from 8 contents, on the solid background
 *    that the notation writes.
 *  - a < v and a > v are two cases; three cells have six orders.
 *  - `any` elements run ascending, or, strictly, in every combination of directions.
 *  - SAF is listed and is not part of the static total: it is SF and TF of one polarity.
 *  - CFid is what CFds_wt has; both are listed.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/memory/march/notation.h"

#define COVERAGE_CLASSES_MAX 64u

typedef struct CoverageCount {
        const char *name; /* of the class: "CFds_wt", "AF-A", "LF2av" */
        bool is_static;
        unsigned detected, total;
        unsigned below_detected, below_total; /* of these, cases with a < v, where there are two cells in two orders */
} CoverageCount;

typedef struct Coverage {
        unsigned operations; /* per cell */
        unsigned delays;
        size_t n;
        CoverageCount classes[COVERAGE_CLASSES_MAX];
        unsigned static_detected, static_total;
} Coverage;

/* STRICT: a fault must be found whatever the direction of `any` elements, of which there may be 12: -E2BIG beyond. */
int coverage_measure(const March *march, bool strict, Coverage *ret);
