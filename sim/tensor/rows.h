/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor rows
 *
 * A moving matrix made ready for the columns of an array, one after another: inside the array only.
 */

#include "checks/text/cleanup.h"
#include "sim/tensor/array.h"

/* A row of the moving matrix, made ready once and used by every column. */
typedef struct Row {
        bool finite, dense;
        uint16_t n;             /* vectors that it tells of: if dense all, else those that are not 0 */
        uint16_t *at;           /* which, in ascending order, unless dense */
        uint32_t *images;       /* of the activation register */
        uint32_t *significands; /* if finite; in double rows those of the second numbers follow in `second` places */
        int32_t *scales;
        size_t second;
} Row;

/* Bits of a register image that say what a number is, of both numbers in double rows. */
typedef struct ImageMasks {
        uint32_t magnitude, exponent, second_exponent;
} ImageMasks;

struct Rows {
        PeMode mode;
        FloatWidth width;
        ImageMasks weight, activation;
        unsigned n_rows, n_columns, n_blocks;
        size_t n_bytes; /* of all of it */
        Row zero;       /* what a tag outside its group selects */
        Row rows[];
};

/* Returns 0 or -ENOMEM. */
int rows_new(const Moving *moving, PeMode mode, Rows **ret);
Rows *rows_free(Rows *rows);
DEFINE_CLEANUP(Rows *, rows_free);

/*
 * One healthy PE whose weight register holds W, over all moving columns; PSUM has room for whole blocks of them. Products that are zero
 * because W or X is may be left out: psum + ±0 is psum, but for the sums that feel a zero.
 */
void row_apply(const Rows *rows, const Row *row, uint32_t w, uint32_t *psum);

/* Sums that the addition of a zero changes: −0, a NaN with other bits than the one that additions give, and what the adder flushes to
 * zero. Of a healthy chain that is only −0 where small sums are flushed. */
typedef struct Fragile {
        unsigned n;
        uint16_t at[MOVING_MAX];
} Fragile;

void fragile_find(const Rows *rows, const uint32_t *psum, Fragile *ret);
/* As row_apply(), with sums in FRAGILE, which then has those that feel the next zero. */
void row_apply_fragile(const Rows *rows, const Row *row, uint32_t w, uint32_t *psum, Fragile *fragile);

/* Which moving row a healthy PE (row, column) uses. */
unsigned stationary_tag(const Stationary *stationary, unsigned row, unsigned column);
const Row *row_of(const Rows *rows, const Stationary *stationary, unsigned row, unsigned column);
