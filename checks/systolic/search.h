/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Search
 *
 * Which of all candidates explain a signature: the bits of all answers tell.
 */

#include "checks/systolic/signature.h"

#define MATCHES_MAX 96u

typedef struct Matches {
        unsigned n, silent; /* of all the same: patterns that came back golden though they should not */
        bool loaded;        /* nothing but full load shows it */
        Candidate all[MATCHES_MAX];
} Matches;

/* The candidates that explain SIGNATURE on top of BASE, those with the fewest silent patterns. */
void signature_search(const Signature *signature, const Suspects *base, Matches *ret);

/* Several elements of one column that explain SIGNATURE on top of BASE together. Returns how many; 0: they are not told apart. */
#define SEVERAL_MAX 4u
unsigned signature_search_several(const Signature *signature, const Suspects *base, Candidate ret[static SEVERAL_MAX]);

/* Two parts of one element that explain SIGNATURE on top of BASE together, neither of them slow. Others may look the same. */
#define COUPLE 2u
bool signature_search_couple(const Signature *signature, const Suspects *base, Candidate ret[static COUPLE]);
