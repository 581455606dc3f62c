/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Predict
 *
 * What one column of the array would answer to a pattern if certain parts of its elements were broken. Only rows with
 * something broken and rows that multiply need arithmetic, all others add a zero; under full load the healthy sums before and
 * behind a broken row are integers that are known.
 */

#include "checks/systolic/model/chain.h"
#include "checks/systolic/model/suspects.h"

/* A column of the array under all patterns; what full load needs is worked out when it is asked for. */
typedef struct Column {
        unsigned index;
        bool ftz;
        Chain *chains[PATTERNS_MAX];
} Column;

/* Zeroed before; turns it to another column. */
void column_turn(Column *column, unsigned index, bool ftz);
Column *column_done(Column *column);

/* Whether the column lies in the tile of PATTERN. */
bool column_has(const Column *column, const Pattern *pattern);
const uint32_t *column_golden(const Column *column, const Pattern *pattern);

/* What the column gives for vector N of pattern INDEX; or for all of its vectors, in RET. */
uint32_t column_predict(Column *column, const Suspects *suspects, unsigned index, unsigned n);
void column_predict_all(Column *column, const Suspects *suspects, unsigned index, uint32_t *ret);

/* The sum above ROW of the array, and what a sum that leaves ROW becomes at the end, with SUSPECTS, of which none is slow: for the search
 * among elements. */
uint32_t column_before(Column *column, const Suspects *suspects, unsigned index, unsigned row, unsigned n);
uint32_t column_finish(Column *column, const Suspects *suspects, unsigned index, unsigned row, unsigned n, uint32_t psum);
