/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor rows
 *
 * A moving matrix made ready for the columns of an array, one after another: inside the array only.
 */

#include "checks/cleanup.h"
#include "sim/tensor-array.h"

/* A row of the moving matrix, made ready once and used by every column. */
typedef struct Row {
        const uint16_t *values;
        bool finite;
        bool taken_apart; /* its parts are filled in */
        uint16_t n_nonzero;
        uint16_t *nonzero; /* where */
        uint32_t *significands;
        int32_t *scales;
} Row;

typedef struct Rows {
        unsigned n_rows, n_columns, n_blocks;
        Row *rows;
        Row zero; /* what a tag outside its group selects */
        uint16_t *indices;
        uint32_t *significands;
        int32_t *scales;
        uint32_t *psum; /* of the column at work */
} Rows;

/* Returns 0 or -ENOMEM; rows_free() either way. */
int rows_init(Rows *rows, const Moving *moving);
Rows *rows_free(Rows *rows);
DEFINE_CLEANUP(Rows *, rows_free);

/* One step of one healthy PE. */
uint32_t row_multiply_add(uint32_t psum, uint16_t w, uint16_t x);

/* One healthy PE with weight W over all moving columns. */
void row_apply(const Rows *rows, const Row *row, uint16_t w);

/* Which moving row PE (row, column) uses: by its own tag, or by TAG with the inputs in DEAD giving zero. */
unsigned stationary_tag(const Stationary *stationary, unsigned row, unsigned column);
const Row *row_of(const Rows *rows, const Stationary *stationary, unsigned row, unsigned column);
const Row *row_select(const Rows *rows, const Stationary *stationary, unsigned row, unsigned tag, uint32_t dead);

/* The sums of the column at work become column COLUMN of PRODUCT. */
void column_store(const Rows *rows, unsigned column, Product *product);
