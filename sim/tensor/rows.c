/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Vector code over all elements beats a walk of those that are not zero from about one in five. */
static bool row_is_dense(unsigned n_nonzero, unsigned n) {
        return n_nonzero * 5u > n;
}

/* Places of one kind of number. */
static size_t row_padded(const Rows *rows, const Row *row) {
        return row->dense ? (size_t) rows->n_blocks * FLOAT_BLOCK : row->n;
}

static void row_measure(const Rows *rows, Row *row, const uint32_t *images) {
        unsigned n = 0;

        for (unsigned i = 0; i < rows->n_columns; i++)
                n += images[i] != 0;

        row->dense = row_is_dense(n, rows->n_columns);
        row->n = (uint16_t) (row->dense ? rows->n_columns : n);
}

/* All that it points at is one piece of memory. */
static int row_allocate(Rows *rows, Row *row) {
        size_t lanes = rows->mode.double_row ? 2 : 1, padded = row_padded(rows, row);
        size_t size = padded * (1 + 2 * lanes) * sizeof(uint32_t) + (row->dense ? 0 : row->n * sizeof(uint16_t));

        row->images = calloc(1, size + 1);
        if (!row->images)
                return -ENOMEM;

        row->second = padded;
        row->significands = row->images + padded;
        row->scales = (int32_t *) row->significands + lanes * padded;
        row->at = (uint16_t *) (row->scales + lanes * padded);
        rows->n_bytes += size;
        return 0;
}

static void row_take_apart(const Rows *rows, const Row *row, unsigned i) {
        FloatParts parts = image_parts(rows, rows->mode.activations, row->images[i]);

        row->significands[i] = parts.significand;
        row->scales[i] = parts.scale;
        if (rows->width != FLOAT_DOUBLE)
                return;

        parts = image_parts(rows, rows->mode.activations, row->images[i] >> 8);
        row->significands[row->second + i] = parts.significand;
        row->scales[row->second + i] = parts.scale;
}

static void row_fill(const Rows *rows, Row *row, const uint32_t *images) {
        unsigned i = 0;

        row->finite = true;
        for (unsigned n = 0; n < rows->n_columns; n++) {
                if (!row->dense && images[n] == 0)
                        continue;

                row->images[i] = images[n];
                if (!row->dense)
                        row->at[i] = (uint16_t) n;
                row->finite = row->finite && image_is_finite(&rows->activation, images[n]);
                i++;
        }

        for (i = 0; row->finite && i < row->n; i++)
                row_take_apart(rows, row, i);
}

Rows *rows_free(Rows *rows) {
        if (!rows)
                return NULL;

        for (unsigned k = 0; k < rows->n_rows; k++)
                free(rows->rows[k].images);
        free(rows);
        return NULL;
}

int rows_new(const Moving *moving, PeMode mode, Rows **ret) {
        _cleanup_(rows_freep) Rows *rows = NULL;
        uint32_t images[MOVING_MAX];
        size_t size = sizeof(Rows) + moving->rows * sizeof(Row);
        int r;

        rows = calloc(1, size);
        if (!rows)
                return -ENOMEM;

        rows->mode = mode;
        rows->width = width_of(mode);
        rows->weight = masks_of(mode.weights, mode.double_row);
        rows->activation = masks_of(mode.activations, mode.double_row);
        rows->n_rows = moving->rows;
        rows->n_columns = moving->columns;
        rows->n_blocks = (moving->columns + FLOAT_BLOCK - 1) / FLOAT_BLOCK;
        rows->n_bytes = size;
        rows->zero.finite = true;

        for (unsigned k = 0; k < rows->n_rows; k++) {
                moving_registers(moving, k, images);
                row_measure(rows, &rows->rows[k], images);
                r = row_allocate(rows, &rows->rows[k]);
                if (r < 0)
                        return r;
                row_fill(rows, &rows->rows[k], images);
        }

        *ret = TAKE_PTR(rows);
        return 0;
}

/* ---- one PE ---- */

/* What the row holds at vector N; of ascending N, with *I 0 at first. */
static uint32_t row_image(const Row *row, unsigned n, unsigned *i) {
        if (row->dense)
                return row->images[n];

        while (*i < row->n && row->at[*i] < n)
                (*i)++;
        return *i < row->n && row->at[*i] == n ? row->images[*i] : 0;
}

/* One after the other. */
static void row_step(const Rows *rows, const Row *row, uint32_t w, uint32_t *psum) {
        for (unsigned n = 0, i = 0; n < rows->n_columns; n++)
                psum[n] = pe_step(rows->mode, psum[n], w, row_image(row, n, &i));
}

void row_apply(const Rows *rows, const Row *row, uint32_t w, uint32_t *psum) {
        FloatLane lanes[2];

        if (!row->finite || !image_is_finite(&rows->weight, w)) {
                row_step(rows, row, w, psum);
                return;
        }

        if (row->n == 0 || image_is_zero(&rows->weight, w))
                return;

        lanes[0] = (FloatLane){ row->significands, row->scales, image_parts(rows, rows->mode.weights, w) };
        if (rows->width == FLOAT_DOUBLE)
                lanes[1] = (FloatLane){ row->significands + row->second, row->scales + row->second,
                                        image_parts(rows, rows->mode.weights, w >> 8) };

        if (row->dense)
                float_multiply_add(psum, lanes, rows->n_blocks, rows->width, rows->mode.ftz);
        else
                float_multiply_add_at(psum, lanes, row->at, row->n, rows->width, rows->mode.ftz);
}

/* ---- zeros that count ---- */

static bool psum_is_fragile(PeMode mode, uint32_t psum) {
        return psum == FLOAT_SIGN || (float_is_nan(psum) && psum != FLOAT_NAN) || (mode.ftz && psum != float_flush(psum));
}

void fragile_find(const Rows *rows, const uint32_t *psum, Fragile *ret) {
        uint32_t any = 0;

        ret->n = 0;
        for (unsigned n = 0; n < rows->n_columns; n++) /* vector code, and mostly all */
                any |= psum_is_fragile(rows->mode, psum[n]);

        for (unsigned n = 0; any && n < rows->n_columns; n++)
                if (psum_is_fragile(rows->mode, psum[n]))
                        ret->at[ret->n++] = (uint16_t) n;
}

/* Which sums may be others behind a row, where none felt the zeros that it left out. */
static void fragile_find_in(const Rows *rows, const Row *row, uint32_t w, const uint32_t *psum, Fragile *ret) {
        if (row->dense || !image_is_finite(&rows->weight, w)) {
                fragile_find(rows, psum, ret);
                return;
        }

        for (unsigned i = 0; i < row->n; i++)
                if (psum_is_fragile(rows->mode, psum[row->at[i]]))
                        ret->at[ret->n++] = row->at[i];
}

void row_apply_fragile(const Rows *rows, const Row *row, uint32_t w, uint32_t *psum, Fragile *fragile) {
        uint32_t saved[MOVING_MAX];
        unsigned kept = 0;

        if (fragile->n == 0) {
                row_apply(rows, row, w, psum);
                if (rows->mode.ftz) /* or it makes none */
                        fragile_find_in(rows, row, w, psum, fragile);
                return;
        }

        for (unsigned i = 0; i < fragile->n; i++)
                saved[i] = psum[fragile->at[i]];

        row_apply(rows, row, w, psum);

        for (unsigned i = 0, at = 0; i < fragile->n; i++) {
                unsigned n = fragile->at[i];

                psum[n] = pe_step(rows->mode, saved[i], w, row_image(row, n, &at));
                if (psum_is_fragile(rows->mode, psum[n]))
                        fragile->at[kept++] = (uint16_t) n;
        }

        fragile->n = kept;
        if (rows->mode.ftz) /* where others may have become so */
                fragile_find(rows, psum, fragile);
}

/* ---- columns ---- */

const Row *row_of(const Rows *rows, const Stationary *stationary, unsigned row, unsigned column) {
        unsigned tag;

        if (stationary->keep == 0)
                return &rows->rows[row];

        tag = stationary_tag(stationary, row, column);
        return tag < stationary->group ? &rows->rows[row / stationary->keep * stationary->group + tag] : &rows->zero;
}
