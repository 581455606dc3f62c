/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Observation
 *
 * What one core answered, as far as it was not golden.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/systolic/patterns/patterns.h"

/* What came back of one pattern, by column of the array: as many numbers as it has vectors; NULL where golden. */
typedef struct Answers {
        uint32_t *columns[PE_COLUMNS];
} Answers;

#define OBSERVATION_BYTES_MAX (8u << 20)

#define OBSERVATION_SHORT UINT16_MAX /* for a status: success, and less than all was written */

/* What one core answered. Columns that were not golden are kept whole, as far as there is room. */
typedef struct Observation {
        bool ftz;                             /* the core flushes */
        Answers *answers[PATTERNS_MAX];       /* NULL where all was golden, or nothing is known */
        uint8_t ran[PATTERNS_MAX];            /* how often it was answered, at most 255 … */
        uint8_t failed[PATTERNS_MAX];         /* … and not golden */
        uint16_t refused[PATTERNS_MAX];       /* WireStatus of the last refusal */
        bool wrong[PE_COLUMNS];               /* columns that failed since this was cleared */
        bool miswired[PE_COLUMNS];            /* columns that failed in patterns that are not one-hot */
        size_t n_mismatched;                  /* outputs, all rounds, all patterns */
        size_t n_bytes;                       /* kept */
        size_t n_dropped;                     /* columns that there was no room for */
} Observation;

bool observation_is_golden(const Observation *observation);

/* Whether a pattern failed in one round and was golden in another. */
bool observation_comes_and_goes(const Observation *observation);

/* The answer of COLUMN of the array to pattern INDEX, pattern->moving numbers; NULL where it was golden. */
const uint32_t *observation_column(const Observation *observation, unsigned index, unsigned column);

/* ---- for who runs patterns ---- */

/* Takes ANSWER, which was not golden when it was compared: a copy, for the window may change under our eyes. -ENOMEM. */
int observation_keep(Observation *observation, unsigned index, const uint32_t *answer);
void observation_count(uint8_t *counter);
void observation_done(Observation *observation);
