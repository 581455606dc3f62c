/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnose
 *
 * Which registers explain what a core answered. Positions of errors do not tell (a high bit stuck at 1
 * spoils vectors whose operand is zero), so whole signatures are compared: the bits of every output of a
 * column under all one-hot patterns with what each candidate would make of it. No two elements have the same
 * signature.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/systolic/array.h"
#include "checks/systolic/predict.h"

typedef enum ArrayFault {
        ARRAY_PE,  /* one processing element */
        ARRAY_ROW, /* a row of the array, in all columns */
        ARRAY_COLUMN,
        ARRAY_UNEXPLAINED, /* nothing of the above */
} ArrayFault;

typedef struct Difference {  /* the first */
        const char *pattern; /* NULL: none is known */
        unsigned column, vector;
        uint32_t expected, actual;
} Difference;

typedef struct Diagnosis {
        ArrayFault fault;
        unsigned row, column;           /* where it is, or begins */
        unsigned last_row, last_column; /* of what shows it */
        bool known;                     /* which bit: candidate */
        bool intermittent;              /* some patterns that show it came back golden */
        unsigned n_alike;               /* candidates of this element with the same signature */
        Candidate candidate;
        size_t n_outputs; /* that differ */
        Difference first;
} Diagnosis;

#define DIAGNOSES_MAX PE_COLUMNS

/* Returns how many there are; 0 only for a golden core. */
size_t array_diagnose(const Observation *observation, Diagnosis diagnoses[static DIAGNOSES_MAX]);

/* ---- of one column, for the above and its tests ---- */

/* What a column answered: PE_ROWS numbers for each pattern, NULL where golden. */
typedef struct Signature {
        const uint32_t *answers[ONE_HOT];
} Signature;

#define MATCHES_MAX 64u

typedef struct Matches {
        unsigned n, silent; /* patterns that came back golden though they should not, the same for all of
                               them */
        Candidate all[MATCHES_MAX];
} Matches;

/* The candidates that explain SIGNATURE on top of BASE, those with the fewest silent patterns. */
void signature_search(const Signature *signature, const Suspects *base, Matches *ret);
