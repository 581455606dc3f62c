/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/tensor-rows.h"

Rows *rows_free(Rows *rows) {
        free(rows->rows);
        free(rows->indices);
        free(rows->significands);
        free(rows->scales);
        free(rows->psum);
        return NULL;
}

/* Vector code over all elements beats a walk of the non-zero ones from about one in five. */
static bool row_is_dense(const Row *row, unsigned n) {
        return row->n_nonzero * 5u > n;
}

static void row_init(Row *row, unsigned n) {
        row->finite = true;

        for (unsigned i = 0; i < n; i++) {
                if (bf16_is_zero(row->values[i]))
                        continue;

                row->nonzero[row->n_nonzero++] = (uint16_t) i;
                row->finite = row->finite && bf16_is_finite(row->values[i]);
        }

        if (!row->finite || !row_is_dense(row, n))
                return;

        for (unsigned i = 0; i < n; i++) {
                Bf16Parts parts = bf16_parts(row->values[i]);

                row->significands[i] = parts.significand;
                row->scales[i] = parts.scale;
        }
        row->taken_apart = true;
}

int rows_init(Rows *rows, const Moving *moving) {
        static const uint16_t zeros[MOVING_MAX];
        size_t padded;

        rows->n_rows = moving->rows;
        rows->n_columns = moving->columns;
        rows->n_blocks = (moving->columns + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
        padded = (size_t) rows->n_blocks * FLOAT_BLOCK;

        rows->rows = calloc(rows->n_rows, sizeof(Row));
        rows->indices = malloc(rows->n_rows * padded * sizeof(uint16_t));
        rows->significands = calloc(rows->n_rows * padded, sizeof(uint32_t));
        rows->scales = calloc(rows->n_rows * padded, sizeof(int32_t));
        rows->psum = malloc(padded * sizeof(uint32_t));
        if (!rows->rows || !rows->indices || !rows->significands || !rows->scales || !rows->psum)
                return -ENOMEM;

        for (size_t k = 0; k < rows->n_rows; k++) {
                Row *row = &rows->rows[k];

                row->values = (const uint16_t *) moving->bytes + k * moving->columns;
                row->nonzero = rows->indices + k * padded;
                row->significands = rows->significands + k * padded;
                row->scales = rows->scales + k * padded;
                row_init(row, moving->columns);
        }

        rows->zero = (Row){ .values = zeros, .finite = true };
        return 0;
}

uint32_t row_multiply_add(uint32_t psum, uint16_t w, uint16_t x) {
        return float_add(psum, float_multiply(w, x));
}

/* Whether row K of a column with weight W can be left out where x is zero: the product is ±0 there. */
static bool row_may_skip(const Row *row, uint16_t w) {
        return row->finite && bf16_is_finite(w);
}

/*
 * One healthy PE over all moving columns. Zero products are skipped: psum + ±0 is psum, unless psum is −0 or
 * a NaN of another pattern, which a healthy chain never holds (it begins with +0, and only −0 + −0 gives
 * −0).
 */
void row_apply(const Rows *rows, const Row *row, uint16_t w) {
        uint32_t *psum = rows->psum;

        if (!row_may_skip(row, w)) {
                for (unsigned n = 0; n < rows->n_columns; n++)
                        psum[n] = row_multiply_add(psum[n], w, row->values[n]);
                return;
        }

        if (bf16_is_zero(w))
                return;

        if (row->taken_apart) {
                float_multiply_add(psum, row->significands, row->scales, rows->n_blocks, bf16_parts(w));
                return;
        }

        for (unsigned i = 0; i < row->n_nonzero; i++)
                psum[row->nonzero[i]] = row_multiply_add(psum[row->nonzero[i]], w, row->values[row->nonzero[i]]);
}

unsigned stationary_tag(const Stationary *stationary, unsigned row, unsigned column) {
        const uint8_t *tags = stationary->bytes + stationary->n_weights;
        uint16_t word;

        memcpy(&word, tags + sizeof(word) * (row * stationary_tag_words(stationary->columns) + column / 4), sizeof(word));
        return word >> 4 * (column % 4) & 15;
}

/* Number AT of a matrix in FORMAT as a register holds it. */
static uint32_t image_at(WireFormat format, const uint8_t *bytes, size_t at) {
        unsigned size = wire_format_bytes(format);
        uint32_t image = 0;

        memcpy(&image, bytes + at * size, size); /* the wire is little-endian, and so is every machine it runs on */
        return image & format_mask(format);
}

static uint32_t register_at(WireFormat format, bool double_row, const uint8_t *bytes, size_t at, size_t second) {
        uint32_t image = image_at(format, bytes, at);

        return double_row ? image | image_at(format, bytes, second + at) << 8 : image;
}

uint32_t stationary_register(const Stationary *stationary, unsigned row, unsigned column) {
        return register_at(stationary->format, stationary->double_row, stationary->bytes,
                           (size_t) row * stationary->columns + column, (size_t) stationary->rows * stationary->columns);
}

uint32_t moving_register(const Moving *moving, unsigned row, unsigned n) {
        return register_at(moving->format, moving->double_row, moving->bytes, (size_t) row * moving->columns + n,
                           (size_t) moving->rows * moving->columns);
}

PeMode pe_mode(const Stationary *stationary, const Moving *moving, bool ftz) {
        return (PeMode){
                .weights = stationary->format, .activations = moving->format, .ftz = ftz, .double_row = stationary->double_row
        };
}

/* The moving row that PE (row, column) uses, its tag being TAG; inputs of its selector in DEAD give zero. */
const Row *row_select(const Rows *rows, const Stationary *stationary, unsigned row, unsigned tag,
                             uint32_t dead) {
        if (stationary->keep == 0)
                return &rows->rows[row];

        if (tag >= stationary->group || dead >> tag & 1)
                return &rows->zero;

        return &rows->rows[row / stationary->keep * stationary->group + tag];
}

const Row *row_of(const Rows *rows, const Stationary *stationary, unsigned row, unsigned column) {
        unsigned tag = stationary->keep > 0 ? stationary_tag(stationary, row, column) : 0;

        return row_select(rows, stationary, row, tag, 0);
}

/* The columns of the product are the rows of its memory. */
void column_store(const Rows *rows, unsigned column, Product *product) {
        memcpy(product->bits + (size_t) column * rows->n_columns, rows->psum,
               rows->n_columns * sizeof(uint32_t));
}

static void column_multiply(const Rows *rows, const Stationary *stationary, unsigned column) {
        memset(rows->psum, 0, (size_t) rows->n_blocks * FLOAT_BLOCK * sizeof(uint32_t));

        for (unsigned k = 0; k < stationary->rows; k++)
                row_apply(rows, row_of(rows, stationary, k, column),
                          (uint16_t) stationary_register(stationary, k, column));
}

int array_multiply(const Stationary *stationary, const Moving *moving, Product *product) {
        _cleanup_(rows_freep) Rows *rows = &(Rows){};
        int r;

        r = rows_init(rows, moving);
        if (r < 0)
                return r;

        for (unsigned m = 0; m < stationary->columns; m++) {
                column_multiply(rows, stationary, m);
                column_store(rows, m, product);
        }

        return 0;
}

unsigned stationary_moving_rows(const Stationary *stationary) {
        if (stationary->keep == 0)
                return stationary->rows;

        return stationary->rows / stationary->keep * stationary->group;
}

Stationary *stationary_unref(Stationary *stationary) {
        if (stationary && --stationary->references == 0)
                free(stationary);
        return NULL;
}

Moving *moving_unref(Moving *moving) {
        if (moving && --moving->references == 0)
                free(moving);
        return NULL;
}

Product *product_unref(Product *product) {
        if (product && --product->references == 0)
                free(product);
        return NULL;
}

int product_new(unsigned columns, unsigned moving, Product **ret) {
        Product *product;

        product = malloc(sizeof(Product) + (size_t) columns * moving * sizeof(uint32_t));
        if (!product)
                return -ENOMEM;

        *product = (Product){ .references = 1, .columns = (uint16_t) columns, .moving = (uint16_t) moving };
        *ret = product;
        return 0;
}
