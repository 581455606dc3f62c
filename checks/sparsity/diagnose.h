/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnose
 *
 * Which faults of tags, decoders and inputs explain the selections that a core made over all loads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/sparsity/explain.h"

typedef struct SparseDiagnosis {
        SparseFault fault;
        unsigned row, slot;           /* slot: the PE column; SPARSE_ALL */
        unsigned last_row, last_slot; /* SPARSE_UNEXPLAINED */
        unsigned a, b;                /* see SparseFault */
        unsigned value;               /* SPARSE_DATA */
        size_t n_acted, n_silent;     /* loads in which it showed, and in which it should have and did not */
        unsigned mode, as;   /* SPARSE_MODE */
        size_t n_selections; /* that are wrong */
        bool has_selection;  /* the first of them: what was loaded and the inputs that were selected */
        unsigned tag;
        uint32_t selected;
} SparseDiagnosis;

#define SPARSE_DIAGNOSES_MAX 32u

/*
 * A mode that is wrong all over is taken out of RECORD: its steps tell nothing else. Returns how many there are. IGNORED: columns
 * where the array is to blame.
 */
size_t sparse_diagnose_modes(Record *record, const bool ignored[static PE_COLUMNS],
                             SparseDiagnosis diagnoses[static SPARSE_MODES]);

/* What can be read of RECORD as selections. Returns how many diagnoses there are, or -ENOMEM. */
int sparse_diagnose(const RecordRead *read, const bool ignored[static PE_COLUMNS],
                    SparseDiagnosis diagnoses[static SPARSE_DIAGNOSES_MAX]);
