/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Record
 *
 * What a core answered, load after load in the order they were made: registers that keep an old tag are told by what came before.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/sparsity/loads.h"
#include "checks/text/cleanup.h"

typedef struct RecordStep {
        const SparseLoad *load; /* NULL: the dense product */
        bool known;             /* what came back is in `out`, or was golden */
        bool refused;           /* nothing was loaded */
        uint32_t *out;          /* NULL: golden */
} RecordStep;

typedef struct Record {
        RecordStep *steps;
        size_t n_steps;
        size_t n_kept;
        unsigned refused; /* a bit per mode */
} Record;

/* Notes a step; OUT is copied unless it is NULL (golden) or there is no more room for such. 0 or -ENOMEM. */
int record_add(Record *record, const SparseLoad *load, const uint32_t *out);
int record_add_refused(Record *record, const SparseLoad *load);
Record *record_done(Record *record);
DEFINE_CLEANUP(Record *, record_done);

/* The number of its load, SPARSE_LOADS for the dense product. */
static inline unsigned record_step_index(const RecordStep *step) {
        return step->load ? sparse_load_index(step->load) : SPARSE_LOADS;
}

static inline size_t record_step_bytes(const SparseLoad *load) {
        return load ? load->n_bytes : PE_COLUMNS * DENSE_MOVING * sizeof(uint32_t);
}

/*
 * The record read: of each step that was not golden, what every element selected. Columns in `unclear` are left out of it: their
 * numbers are no sums of selections.
 */
typedef struct RecordRead {
        const Record *record;
        uint16_t (**selected)[PE_COLUMNS]; /* by step: [PE_ROWS], NULL: as expected */
        bool unclear[PE_COLUMNS];          /* in any step */
} RecordRead;

int record_read(const Record *record, RecordRead *ret);
RecordRead *record_read_done(RecordRead *read);
DEFINE_CLEANUP(RecordRead *, record_read_done);

/* Whether COLUMN is not golden in STEP, of which something is kept. */
bool record_column_is_wrong(const RecordStep *step, unsigned column);

/* What the element was to select in STEP. */
uint32_t record_expected(const RecordStep *step, unsigned row, unsigned column);
