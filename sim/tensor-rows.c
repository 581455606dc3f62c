/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor-rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

Rows *rows_free(Rows *rows) {
        free(rows->rows);
        free(rows->images);
        free(rows->indices);
        free(rows->significands);
        free(rows->scales);
        free(rows->psum);
        return NULL;
}

/* ---- what a register image is ---- */

static ImageMasks masks_of(WireFormat format, bool double_row) {
        ImageMasks masks = { .magnitude = format_mask(format) & ~format_sign(format), .exponent = format_exponent(format) };

        if (double_row) {
                masks.magnitude |= masks.magnitude << 8;
                masks.second_exponent = masks.exponent << 8;
        }
        return masks;
}

static bool image_is_zero(const ImageMasks *masks, uint32_t image) {
        return (image & masks->magnitude) == 0;
}

static bool image_is_finite(const ImageMasks *masks, uint32_t image) {
        return (image & masks->exponent) != masks->exponent &&
               (masks->second_exponent == 0 || (image & masks->second_exponent) != masks->second_exponent);
}

static FloatWidth width_of(PeMode mode) {
        if (mode.double_row)
                return FLOAT_DOUBLE;

        return mode.weights == FORMAT_FP32 || mode.activations == FORMAT_FP32 ? FLOAT_24 : FLOAT_12;
}

/* Of a finite number. */
static FloatParts image_parts(const Rows *rows, WireFormat format, uint32_t image) {
        Number number = number_read(format, image, rows->mode.ftz);
        uint32_t sign = number.negative ? FLOAT_SIGN : 0;

        if (number.significand == 0)
                return (FloatParts){ sign, 0 };
        if (rows->width == FLOAT_24)
                return (FloatParts){ sign | number.significand, number.scale };

        return (FloatParts){ sign | number.significand >> 12, number.scale + 12 };
}

/* ---- rows ---- */

static size_t rows_padded(const Rows *rows) {
        return (size_t) rows->n_blocks * FLOAT_BLOCK;
}

/* Vector code over all elements beats a walk of the non-zero ones from about one in five. */
static bool row_is_dense(const Row *row, unsigned n) {
        return row->n_nonzero * 5u > n;
}

static void row_take_apart(const Rows *rows, Row *row, unsigned n) {
        size_t second = n + rows_padded(rows);
        FloatParts parts = image_parts(rows, rows->mode.activations, row->images[n]);

        row->significands[n] = parts.significand;
        row->scales[n] = parts.scale;
        if (rows->width != FLOAT_DOUBLE)
                return;

        parts = image_parts(rows, rows->mode.activations, row->images[n] >> 8);
        row->significands[second] = parts.significand;
        row->scales[second] = parts.scale;
}

static void row_init(const Rows *rows, Row *row) {
        row->finite = true;

        for (unsigned n = 0; n < rows->n_columns; n++) {
                if (image_is_zero(&rows->activation, row->images[n]))
                        continue;

                row->nonzero[row->n_nonzero++] = (uint16_t) n;
                row->finite = row->finite && image_is_finite(&rows->activation, row->images[n]);
        }

        if (!row->finite)
                return;

        row->dense = row_is_dense(row, rows->n_columns);
        if (row->dense)
                for (unsigned n = 0; n < rows->n_columns; n++)
                        row_take_apart(rows, row, n);
        else
                for (unsigned i = 0; i < row->n_nonzero; i++)
                        row_take_apart(rows, row, row->nonzero[i]);
}

static int rows_allocate(Rows *rows) {
        size_t n = rows->n_rows * rows_padded(rows), lanes = rows->mode.double_row ? 2 : 1;

        rows->rows = calloc(rows->n_rows, sizeof(Row));
        rows->images = malloc(n * sizeof(uint32_t));
        rows->indices = malloc(n * sizeof(uint16_t));
        rows->significands = calloc(n * lanes, sizeof(uint32_t));
        rows->scales = calloc(n * lanes, sizeof(int32_t));
        rows->psum = malloc(rows_padded(rows) * sizeof(uint32_t));
        return rows->rows && rows->images && rows->indices && rows->significands && rows->scales && rows->psum ? 0 : -ENOMEM;
}

int rows_init(Rows *rows, const Moving *moving, PeMode mode) {
        static const uint32_t zeros[MOVING_MAX];
        size_t padded, lanes = mode.double_row ? 2 : 1;
        int r;

        rows->mode = mode;
        rows->width = width_of(mode);
        rows->weight = masks_of(mode.weights, mode.double_row);
        rows->activation = masks_of(mode.activations, mode.double_row);
        rows->n_rows = moving->rows;
        rows->n_columns = moving->columns;
        rows->n_blocks = (moving->columns + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
        r = rows_allocate(rows);
        if (r < 0)
                return r;

        padded = rows_padded(rows);
        for (size_t k = 0; k < rows->n_rows; k++) {
                Row *row = &rows->rows[k];

                moving_registers(moving, (unsigned) k, rows->images + k * padded);
                row->images = rows->images + k * padded;
                row->nonzero = rows->indices + k * padded;
                row->significands = rows->significands + k * padded * lanes;
                row->scales = rows->scales + k * padded * lanes;
                row_init(rows, row);
        }

        rows->zero = (Row){ .images = zeros, .finite = true };
        return 0;
}

/* ---- one PE ---- */

static void row_apply_at(const Rows *rows, const Row *row, uint32_t w, unsigned n) {
        rows->psum[n] = pe_step(rows->mode, rows->psum[n], w, row->images[n]);
}

void row_apply(const Rows *rows, const Row *row, uint32_t w) {
        size_t second = rows_padded(rows);
        FloatLane lanes[2];

        if (!row->finite || !image_is_finite(&rows->weight, w)) {
                for (unsigned n = 0; n < rows->n_columns; n++)
                        row_apply_at(rows, row, w, n);
                return;
        }

        if (row->n_nonzero == 0 || image_is_zero(&rows->weight, w))
                return;

        lanes[0] = (FloatLane){ row->significands, row->scales, image_parts(rows, rows->mode.weights, w) };
        if (rows->width == FLOAT_DOUBLE)
                lanes[1] = (FloatLane){ row->significands + second, row->scales + second,
                                        image_parts(rows, rows->mode.weights, w >> 8) };

        if (row->dense)
                float_multiply_add(rows->psum, lanes, rows->n_blocks, rows->width, rows->mode.ftz);
        else
                float_multiply_add_at(rows->psum, lanes, row->nonzero, row->n_nonzero, rows->width, rows->mode.ftz);
}

/* ---- zeros that count ---- */

static bool psum_is_fragile(PeMode mode, uint32_t psum) {
        return psum == FLOAT_SIGN || (float_is_nan(psum) && psum != FLOAT_NAN) || (mode.ftz && psum != float_flush(psum));
}

void fragile_find(const Rows *rows, Fragile *ret) {
        uint32_t any = 0;

        ret->n = 0;
        for (unsigned n = 0; n < rows->n_columns; n++) /* vector code, and mostly all */
                any |= psum_is_fragile(rows->mode, rows->psum[n]);

        for (unsigned n = 0; any && n < rows->n_columns; n++)
                if (psum_is_fragile(rows->mode, rows->psum[n]))
                        ret->at[ret->n++] = (uint16_t) n;
}

void row_apply_fragile(const Rows *rows, const Row *row, uint32_t w, Fragile *fragile) {
        uint32_t saved[MOVING_MAX];
        unsigned kept = 0;

        for (unsigned i = 0; i < fragile->n; i++)
                saved[i] = rows->psum[fragile->at[i]];

        row_apply(rows, row, w);

        for (unsigned i = 0; i < fragile->n; i++) {
                unsigned n = fragile->at[i];

                rows->psum[n] = pe_step(rows->mode, saved[i], w, row->images[n]);
                if (psum_is_fragile(rows->mode, rows->psum[n]))
                        fragile->at[kept++] = (uint16_t) n;
        }

        fragile->n = kept;
        if (rows->mode.ftz) /* where others may have become so */
                fragile_find(rows, fragile);
}

/* ---- columns ---- */

const Row *row_of(const Rows *rows, const Stationary *stationary, unsigned row, unsigned column) {
        unsigned tag;

        if (stationary->keep == 0)
                return &rows->rows[row];

        tag = stationary_tag(stationary, row, column);
        return tag < stationary->group ? &rows->rows[row / stationary->keep * stationary->group + tag] : &rows->zero;
}

void column_begin(const Rows *rows) {
        memset(rows->psum, 0, rows_padded(rows) * sizeof(uint32_t));
}

/* The columns of the product are the rows of its memory. */
void column_store(const Rows *rows, unsigned column, Product *product) {
        memcpy(product->bits + (size_t) column * rows->n_columns, rows->psum,
               rows->n_columns * sizeof(uint32_t));
}
