/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor-array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/tensor-rows.h"

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

/* A loop of its own for each size, or a big matrix is slow. */
#define IMAGES_READ(type)                                                                                                      \
        for (size_t i = 0; i < n; i++) {                                                                                       \
                type number;                                                                                                   \
                                                                                                                               \
                memcpy(&number, bytes + i * sizeof(number), sizeof(number));                                                   \
                ret[i] = number & mask;                                                                                        \
        }

static void images_read(WireFormat format, const uint8_t *bytes, size_t n, uint32_t *restrict ret) {
        unsigned size = wire_format_bytes(format);
        uint32_t mask = format_mask(format);

        if (size == sizeof(uint8_t))
                IMAGES_READ(uint8_t)
        else if (size == sizeof(uint16_t))
                IMAGES_READ(uint16_t)
        else
                IMAGES_READ(uint32_t)
}

void moving_registers(const Moving *moving, unsigned row, uint32_t *restrict ret) {
        size_t size = wire_format_bytes(moving->format);

        if (moving->double_row)
                for (unsigned n = 0; n < moving->columns; n++)
                        ret[n] = moving_register(moving, row, n);
        else
                images_read(moving->format, moving->bytes + row * moving->columns * size, moving->columns, ret);
}

void stationary_registers(const Stationary *stationary, unsigned row, uint32_t *restrict ret) {
        size_t size = wire_format_bytes(stationary->format);

        if (stationary->double_row)
                for (unsigned m = 0; m < stationary->columns; m++)
                        ret[m] = stationary_register(stationary, row, m);
        else
                images_read(stationary->format, stationary->bytes + row * stationary->columns * size, stationary->columns, ret);
}

PeMode pe_mode(const Stationary *stationary, const Moving *moving, bool ftz) {
        return (PeMode){
                .weights = stationary->format, .activations = moving->format, .ftz = ftz, .double_row = stationary->double_row
        };
}

/* All weights as registers hold them. */
typedef struct Weights {
        uint32_t images[PE_ROWS][PE_COLUMNS];
} Weights;

/* A healthy chain begins with +0 and never holds −0, for only −0 + −0 gives it, unless a small negative sum is flushed to it. */
static void column_multiply(const Rows *rows, const Stationary *stationary, const Weights *weights, unsigned column) {
        Fragile fragile = { .n = 0 };

        for (unsigned k = 0; k < stationary->rows; k++) {
                const Row *row = row_of(rows, stationary, k, column);

                if (rows->mode.ftz)
                        row_apply_fragile(rows, row, weights->images[k][column], &fragile);
                else
                        row_apply(rows, row, weights->images[k][column]);
        }
}

static void column_pass(const Rows *rows, const Stationary *stationary, const Weights *weights, unsigned column) {
        for (unsigned k = 0; k < stationary->rows; k++) {
                const Row *row = &rows->rows[k];

                for (unsigned i = 0; i < row->n_nonzero; i++) {
                        unsigned n = row->nonzero[i];

                        rows->psum[n] = pe_pass(rows->mode, rows->psum[n], weights->images[k][column], row->images[n]);
                }
        }
}

int array_multiply(const Stationary *stationary, const Moving *moving, MatmulMode mode, Product *product) {
        _cleanup_(rows_freep) Rows *rows = &(Rows){};
        _cleanup_free_ Weights *weights = malloc(sizeof(*weights));
        int r;

        if (!weights)
                return -ENOMEM;
        r = rows_init(rows, moving, pe_mode(stationary, moving, mode.ftz));
        if (r < 0)
                return r;

        for (unsigned k = 0; k < stationary->rows; k++)
                stationary_registers(stationary, k, weights->images[k]);
        for (unsigned m = 0; m < stationary->columns; m++) {
                column_begin(rows);
                if (mode.transposed)
                        column_pass(rows, stationary, weights, m);
                else
                        column_multiply(rows, stationary, weights, m);
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
