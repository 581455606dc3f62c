/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnose
 *
 * Which tag bits or selector inputs explain the selections that a core made over all loads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/sparsity/loads.h"

/* What a core answered: copies of its outputs, NULL where golden or not run. */
typedef struct Selections {
        uint32_t *out[SPARSE_LOADS];
        bool ran[SPARSE_LOADS];
        bool refused[SPARSE_MODES];
} Selections;

typedef enum SparseFault {
        SPARSE_TAG,    /* a bit of the tag of one element */
        SPARSE_INPUTS, /* inputs of the selectors of a row read zero */
        SPARSE_MODE,   /* a mode is wrong all over */
        SPARSE_UNEXPLAINED,
} SparseFault;

typedef struct SparseDiagnosis {
        SparseFault fault;
        unsigned row, slot; /* slot: the PE column */
        unsigned last_row, last_slot;
        unsigned bits; /* SPARSE_TAG: which bits it may be, one if it is told; SPARSE_INPUTS: which inputs */
        unsigned value; /* SPARSE_TAG: what it is stuck at */
        bool intermittent;
        unsigned mode;       /* SPARSE_MODE */
        size_t n_selections; /* that are wrong */
        unsigned tag;        /* of the first: what was loaded … */
        uint32_t selected;   /* … and the inputs that were selected */
} SparseDiagnosis;

#define SPARSE_DIAGNOSES_MAX 32u

/* Columns in SPOILT (dense products are wrong there) are left out unless a tag explains them. Returns how
 * many there are. */
size_t sparse_diagnose(const Selections *selections, const bool spoilt[static PE_COLUMNS],
                       SparseDiagnosis diagnoses[static SPARSE_DIAGNOSES_MAX]);
