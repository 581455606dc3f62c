/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/tensor/rows.h"

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

/* Row ROW of a matrix of ROWS rows of N numbers, two of these in double rows, one behind the other. */
static void registers_read(WireFormat format, bool double_row, const uint8_t *bytes, unsigned rows, unsigned row, size_t n,
                           uint32_t *restrict ret) {
        uint32_t second[MOVING_MAX];

        images_read(format, bytes + row * n * wire_format_bytes(format), n, ret);
        if (!double_row)
                return;

        images_read(format, bytes + (rows + row) * n * wire_format_bytes(format), n, second);
        for (size_t i = 0; i < n; i++)
                ret[i] |= second[i] << 8;
}

void moving_registers(const Moving *moving, unsigned row, uint32_t *restrict ret) {
        registers_read(moving->format, moving->double_row, moving->bytes, moving->rows, row, moving->columns, ret);
}

void stationary_registers(const Stationary *stationary, unsigned row, uint32_t *restrict ret) {
        registers_read(stationary->format, stationary->double_row, stationary->bytes, stationary->rows, row, stationary->columns, ret);
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
static void column_multiply(const Rows *rows, const Stationary *stationary, const Weights *weights, unsigned column, uint32_t *psum) {
        Fragile fragile = { .n = 0 };

        for (unsigned k = 0; k < stationary->rows; k++) {
                const Row *row = row_of(rows, stationary, k, column);

                if (rows->mode.ftz)
                        row_apply_fragile(rows, row, weights->images[k][column], psum, &fragile);
                else
                        row_apply(rows, row, weights->images[k][column], psum);
        }
}

static void column_pass(const Rows *rows, const Stationary *stationary, const Weights *weights, unsigned column, uint32_t *psum) {
        for (unsigned k = 0; k < stationary->rows; k++) {
                const Row *row = &rows->rows[k];

                for (unsigned i = 0; i < row->n; i++) {
                        unsigned n = row->dense ? i : row->at[i];

                        psum[n] = pe_pass(rows->mode, psum[n], weights->images[k][column], row->images[i]);
                }
        }
}

int array_multiply(const Stationary *stationary, const Rows *rows, MatmulMode mode, Product *product) {
        _cleanup_free_ Weights *weights = malloc(sizeof(*weights));

        if (!weights)
                return -ENOMEM;

        for (unsigned k = 0; k < stationary->rows; k++)
                stationary_registers(stationary, k, weights->images[k]);

        for (unsigned m = 0; m < stationary->columns; m++) {
                uint32_t psum[MOVING_MAX] = {};

                if (mode.transposed)
                        column_pass(rows, stationary, weights, m, psum);
                else
                        column_multiply(rows, stationary, weights, m, psum);
                memcpy(product->bits + (size_t) m * product->moving, psum, product->moving * sizeof(uint32_t));
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
