/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnose
 *
 * Which parts of a tensor engine explain what a core answered: column by column in the direction of the activations, since a broken
 * activation register spoils all columns behind it. Whole rows, columns and blocks of 32 × 32 are told as such. What no candidate
 * explains is still placed in one element where the rows that differ say so.
 */

#include "checks/systolic/diagnose/signature.h"

typedef enum ArrayFault {
        ARRAY_PE,  /* one processing element */
        ARRAY_ROW, /* a row of the array, in all columns */
        ARRAY_COLUMN,
        ARRAY_BLOCK, /* 32 rows × 32 columns */
        ARRAY_MODE,  /* a format is treated as another one */
        ARRAY_UNEXPLAINED, /* nothing of the above */
        _ARRAY_FAULT_MAX,
} ArrayFault;

typedef struct Difference {  /* the first */
        const char *pattern; /* NULL: none is known */
        unsigned column, vector;
        uint32_t expected, actual;
} Difference;

typedef struct Diagnosis {
        ArrayFault fault;
        unsigned row, column;           /* of the array: where it is, or begins */
        unsigned last_row, last_column; /* of what shows it */
        bool known;                     /* which part: candidate */
        bool intermittent;              /* some patterns that show it came back golden */
        bool loaded;                    /* it shows under full load only */
        bool undecided;                 /* ARRAY_UNEXPLAINED: elements of several rows would each explain it alone */
        unsigned n_alike;               /* candidates of this element with the same signature */
        bool other_parts;               /* some of these are of another register than the candidate */
        Candidate candidate;
        bool more;                      /* another part of the element is broken, too: other */
        Candidate other;
        unsigned formats;               /* in which it shows: 1 << WireFormat, of the moving matrix */
        bool only_double, only_transposed; /* it shows in nothing else */
        WireFormat format, taken_for;   /* ARRAY_MODE */
        size_t n_outputs; /* that differ */
        Difference first;
} Diagnosis;

#define DIAGNOSES_MAX PE_COLUMNS

/* Returns how many there are; 0 only for a golden core. */
size_t array_diagnose(const Observation *observation, Diagnosis diagnoses[static DIAGNOSES_MAX]);
