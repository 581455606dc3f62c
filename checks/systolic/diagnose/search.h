/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Search
 *
 * Which of all candidates explain a signature: the bits of all answers tell.
 */

#include "checks/systolic/diagnose/signature.h"

#define MATCHES_MAX 1024u

typedef struct Matches {
        unsigned n, silent; /* patterns that came back golden though they should not: the fewest, those of the first candidates */
        bool loaded;        /* nothing but full load shows it */
        bool at_times;      /* it comes and goes */
        Candidate all[MATCHES_MAX];
        uint16_t silent_of[MATCHES_MAX]; /* the same of each */
} Matches;

/*
 * The candidates that explain SIGNATURE on top of BASE, those with the fewest silent patterns. Of what comes and goes others are as good as
 * these, unless they would have shown themselves in so many more patterns that they are a thousand times less likely.
 */
void signature_search(const Signature *signature, const Suspects *base, Matches *ret);

/* Several elements of one column that explain SIGNATURE on top of BASE together. Returns how many; 0: they are not told apart. */
#define SEVERAL_MAX 4u
unsigned signature_search_several(const Signature *signature, const Suspects *base, Candidate ret[static SEVERAL_MAX]);

/* Two parts of one element that explain SIGNATURE on top of BASE together, neither of them slow. Others may look the same. */
#define COUPLE 2u
bool signature_search_couple(const Signature *signature, const Suspects *base, Candidate ret[static COUPLE]);
