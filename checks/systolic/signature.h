/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signature
 *
 * All that one column answered, and the search for what in its elements explains that. Positions of errors narrow the rows: in a
 * one-hot pattern what is broken in row r spoils the vectors that feed r, those that feed rows above it or those below in the same
 * way each, so that answers change at r and nowhere else. Which part it is, the bits of all answers tell: every candidate in such
 * a row is held against them.
 */

#include "checks/systolic/array.h"
#include "checks/systolic/predict.h"

typedef struct Signature {
        Column *column;
        unsigned n_patterns;
        bool ran[PATTERNS_MAX];                /* with this column in its tile */
        const uint32_t *answers[PATTERNS_MAX]; /* NULL: golden */
} Signature;

void signature_of(const Observation *observation, Column *column, Signature *ret);
bool signature_is_golden(const Signature *signature);

/* Whether the answer A to vector of pattern INDEX is as good as B: where bits pass through, payloads of NaN count. */
bool answer_equal(unsigned index, uint32_t a, uint32_t b);

#define EXPLAINED_NOT (-1)
/* How many patterns came back golden, or as with BASE alone, that SUSPECTS would spoil; EXPLAINED_NOT where something differs that they do
 * not explain. LOADED: only full load counts, as for what acts in nothing else. */
int signature_explain(const Signature *signature, const Suspects *suspects, const Suspects *base, bool loaded);

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
