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
#define REGISTERS_READ(type)                                                                                                   \
        for (unsigned n = 0; n < moving->columns; n++) {                                                                       \
                type number;                                                                                                   \
                                                                                                                               \
                memcpy(&number, bytes + n * sizeof(number), sizeof(number));                                                   \
                ret[n] = number & mask;                                                                                        \
        }

void moving_registers(const Moving *moving, unsigned row, uint32_t *restrict ret) {
        unsigned size = wire_format_bytes(moving->format);
        const uint8_t *bytes = moving->bytes + (size_t) row * moving->columns * size;
        uint32_t mask = format_mask(moving->format);

        if (moving->double_row)
                for (unsigned n = 0; n < moving->columns; n++)
                        ret[n] = moving_register(moving, row, n);
        else if (size == sizeof(uint8_t))
                REGISTERS_READ(uint8_t)
        else if (size == sizeof(uint16_t))
                REGISTERS_READ(uint16_t)
        else
                REGISTERS_READ(uint32_t)
}

PeMode pe_mode(const Stationary *stationary, const Moving *moving, bool ftz) {
        return (PeMode){
                .weights = stationary->format, .activations = moving->format, .ftz = ftz, .double_row = stationary->double_row
        };
}

/* A healthy chain begins with +0 and never holds −0, for only −0 + −0 gives it, unless a small negative sum is flushed to it. */
static void column_multiply(const Rows *rows, const Stationary *stationary, unsigned column) {
        Fragile fragile = { .n = 0 };

        column_begin(rows);

        for (unsigned k = 0; k < stationary->rows; k++) {
                const Row *row = row_of(rows, stationary, k, column);
                uint32_t w = stationary_register(stationary, k, column);

                if (rows->mode.ftz)
                        row_apply_fragile(rows, row, w, &fragile);
                else
                        row_apply(rows, row, w);
        }
}

static void column_pass(const Rows *rows, const Stationary *stationary, unsigned column) {
        column_begin(rows);

        for (unsigned k = 0; k < stationary->rows; k++) {
                const Row *row = &rows->rows[k];
                uint32_t w = stationary_register(stationary, k, column);

                for (unsigned i = 0; i < row->n_nonzero; i++) {
                        unsigned n = row->nonzero[i];

                        rows->psum[n] = pe_pass(rows->mode, rows->psum[n], w, row->images[n]);
                }
        }
}

int array_multiply(const Stationary *stationary, const Moving *moving, MatmulMode mode, Product *product) {
        _cleanup_(rows_freep) Rows *rows = &(Rows){};
        int r;

        r = rows_init(rows, moving, pe_mode(stationary, moving, mode.ftz));
        if (r < 0)
                return r;

        for (unsigned m = 0; m < stationary->columns; m++) {
                if (mode.transposed)
                        column_pass(rows, stationary, m);
                else
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
