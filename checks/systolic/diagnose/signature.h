/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signature
 *
 * All that one column answered, and whether parts that are broken explain it.
 */

#include "checks/systolic/array/array.h"
#include "checks/systolic/model/predict.h"

typedef struct Signature {
        Column *column;
        unsigned n_patterns;
        bool ran[PATTERNS_MAX];                /* with this column in its tile */
        const uint32_t *answers[PATTERNS_MAX]; /* NULL: golden */
        bool at_times;                         /* a pattern that is not golden once was, so that one that is golden says little */
} Signature;

void signature_of(const Observation *observation, Column *column, Signature *ret);
bool signature_is_golden(const Signature *signature);

/* Whether the answer A to vector of pattern INDEX is as good as B: where bits pass through, payloads of NaN count. */
bool answer_equal(unsigned index, uint32_t a, uint32_t b);

#define EXPLAINED_NOT (-1)
/* How many patterns came back golden, or as with BASE alone, that SUSPECTS would spoil; EXPLAINED_NOT where something differs that they do
 * not explain. LOADED: only full load counts, as for what acts in nothing else. ENOUGH: beyond it counting may end. */
int signature_explain(const Signature *signature, const Suspects *suspects, const Suspects *base, bool loaded, unsigned enough);
