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
        const uint32_t *images; /* of the activation register, by moving vector */
        bool finite;
        bool dense; /* all its parts are filled in; else, if finite, those that are not zero */
        uint16_t n_nonzero;
        uint16_t *nonzero;      /* where */
        uint32_t *significands; /* [n_blocks × FLOAT_BLOCK], in double rows twice: those of the second numbers follow */
        int32_t *scales;
} Row;

/* Bits of a register image that say what a number is, of both numbers in double rows. */
typedef struct ImageMasks {
        uint32_t magnitude, exponent, second_exponent;
} ImageMasks;

typedef struct Rows {
        PeMode mode;
        FloatWidth width;
        ImageMasks weight, activation;
        unsigned n_rows, n_columns, n_blocks;
        Row *rows;
        Row zero; /* what a tag outside its group selects */
        uint32_t *images;
        uint16_t *indices;
        uint32_t *significands;
        int32_t *scales;
        uint32_t *psum; /* of the column at work */
} Rows;

/* Returns 0 or -ENOMEM; rows_free() either way. */
int rows_init(Rows *rows, const Moving *moving, PeMode mode);
Rows *rows_free(Rows *rows);
DEFINE_CLEANUP(Rows *, rows_free);

/*
 * One healthy PE whose weight register holds W, over all moving columns. Products that are zero because W or X is may be left out:
 * psum + ±0 is psum, but for the sums that feel a zero.
 */
void row_apply(const Rows *rows, const Row *row, uint32_t w);

/* Sums that the addition of a zero changes: −0, a NaN with other bits than the one that additions give, and what the adder flushes to
 * zero. Of a healthy chain that is only −0 where small sums are flushed. */
typedef struct Fragile {
        unsigned n;
        uint16_t at[MOVING_MAX];
} Fragile;

void fragile_find(const Rows *rows, Fragile *ret);
/* As row_apply(), with sums in FRAGILE, which then has those that feel the next zero. */
void row_apply_fragile(const Rows *rows, const Row *row, uint32_t w, Fragile *fragile);

/* Which moving row a healthy PE (row, column) uses. */
unsigned stationary_tag(const Stationary *stationary, unsigned row, unsigned column);
const Row *row_of(const Rows *rows, const Stationary *stationary, unsigned row, unsigned column);

/* The sums of the column at work begin anew, or become column COLUMN of PRODUCT. */
void column_begin(const Rows *rows);
void column_store(const Rows *rows, unsigned column, Product *product);
