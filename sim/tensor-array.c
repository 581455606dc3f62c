/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static Rows *rows_free(Rows *rows) {
        free(rows->rows);
        free(rows->indices);
        free(rows->significands);
        free(rows->scales);
        free(rows->psum);
        return NULL;
}

DEFINE_CLEANUP(Rows *, rows_free);

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

static int rows_init(Rows *rows, const Moving *moving) {
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

                row->values = moving->values + k * moving->columns;
                row->nonzero = rows->indices + k * padded;
                row->significands = rows->significands + k * padded;
                row->scales = rows->scales + k * padded;
                row_init(row, moving->columns);
        }

        rows->zero = (Row){ .values = zeros, .finite = true };
        return 0;
}

static uint32_t multiply_add(uint32_t psum, uint16_t w, uint16_t x) {
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
static void row_apply(const Rows *rows, const Row *row, uint16_t w) {
        uint32_t *psum = rows->psum;

        if (!row_may_skip(row, w)) {
                for (unsigned n = 0; n < rows->n_columns; n++)
                        psum[n] = multiply_add(psum[n], w, row->values[n]);
                return;
        }

        if (bf16_is_zero(w))
                return;

        if (row->taken_apart) {
                float_multiply_add(psum, row->significands, row->scales, rows->n_blocks, bf16_parts(w));
                return;
        }

        for (unsigned i = 0; i < row->n_nonzero; i++)
                psum[row->nonzero[i]] = multiply_add(psum[row->nonzero[i]], w, row->values[row->nonzero[i]]);
}

static unsigned tag_at(const Stationary *stationary, unsigned row, unsigned column) {
        const uint16_t *tags = stationary->words + stationary->n_weights;

        return tags[row * stationary_tag_words(stationary->columns) + column / 4] >> 4 * (column % 4) & 15;
}

/* The moving row that PE (row, column) uses, its tag being TAG; inputs of its selector in DEAD give zero. */
static const Row *row_select(const Rows *rows, const Stationary *stationary, unsigned row, unsigned tag,
                             uint32_t dead) {
        if (stationary->keep == 0)
                return &rows->rows[row];

        if (tag >= stationary->group || dead >> tag & 1)
                return &rows->zero;

        return &rows->rows[row / stationary->keep * stationary->group + tag];
}

static const Row *row_of(const Rows *rows, const Stationary *stationary, unsigned row, unsigned column) {
        unsigned tag = stationary->keep > 0 ? tag_at(stationary, row, column) : 0;

        return row_select(rows, stationary, row, tag, 0);
}

/* The columns of the product are the rows of its memory. */
static void column_store(const Rows *rows, unsigned column, Product *product) {
        memcpy(product->bits + (size_t) column * rows->n_columns, rows->psum,
               rows->n_columns * sizeof(uint32_t));
}

static void column_multiply(const Rows *rows, const Stationary *stationary, unsigned column) {
        memset(rows->psum, 0, (size_t) rows->n_blocks * FLOAT_BLOCK * sizeof(uint32_t));

        for (unsigned k = 0; k < stationary->rows; k++)
                row_apply(rows, row_of(rows, stationary, k, column),
                          stationary->words[(size_t) k * stationary->columns + column]);
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

/* What is stuck in one PE of the column at work, all its registers together. */
typedef struct Element {
        bool stuck;
        struct {
                uint32_t clear, set;
        } registers[_REGISTER_MAX];
} Element;

static uint32_t element_force(const Element *element, Register at, uint32_t value) {
        return (value & ~element->registers[at].clear) | element->registers[at].set;
}

/* Gathers what acts in COLUMN. Returns false where nothing does. Ascending: of two activation registers in a
 * row, the later one has the last word. */
static bool elements_gather(const Stuck *stuck, size_t n_stuck, unsigned column,
                            Element elements[static PE_ROWS]) {
        bool any = false;

        memset(elements, 0, PE_ROWS * sizeof(Element));

        for (size_t i = 0; i < n_stuck; i++) {
                const Stuck *s = &stuck[i];
                Element *element = &elements[s->row];
                bool reaches = s->at == REGISTER_ACTIVATION ? s->column <= column
                               : s->at == REGISTER_SELECT   ? true
                                                            : s->column == column;

                if (!reaches)
                        continue;

                element->stuck = any = true;
                element->registers[s->at].clear = (element->registers[s->at].clear & ~s->set) | s->clear;
                element->registers[s->at].set = (element->registers[s->at].set & ~s->clear) | s->set;
        }

        return any;
}

/* A PE with something stuck, over all moving columns, nothing skipped. In a sparse load the selector comes
 * before the activation register. */
static void element_apply(const Rows *rows, const Stationary *stationary, unsigned k, unsigned column,
                          const Element *element) {
        uint32_t tag = stationary->keep > 0 ? tag_at(stationary, k, column) : 0;
        const Row *row = row_select(rows, stationary, k, element_force(element, REGISTER_TAG, tag),
                                    element->registers[REGISTER_SELECT].set);
        uint16_t w = stationary->words[(size_t) k * stationary->columns + column];

        w = (uint16_t) element_force(element, REGISTER_WEIGHT, w);

        for (unsigned n = 0; n < rows->n_columns; n++) {
                uint16_t x = (uint16_t) element_force(element, REGISTER_ACTIVATION, row->values[n]);
                uint32_t product = element_force(element, REGISTER_PRODUCT, float_multiply(w, x));

                rows->psum[n] = element_force(element, REGISTER_PSUM, float_add(rows->psum[n], product));
        }
}

/* Adding a zero changes this sum: −0, or a NaN with other bits than the one that additions give. */
static bool psum_is_fragile(uint32_t psum) {
        return psum == FLOAT_SIGN || (float_is_nan(psum) && psum != FLOAT_NAN);
}

static unsigned fragile_find(const Rows *rows, uint16_t *fragile) {
        unsigned count = 0;

        for (unsigned n = 0; n < rows->n_columns; n++)
                if (psum_is_fragile(rows->psum[n]))
                        fragile[count++] = (uint16_t) n;

        return count;
}

/* Adds the zero products that row_apply() left out to the sums that feel them. Returns how many still do. */
static unsigned fragile_apply(const Rows *rows, const Row *row, uint16_t w, uint16_t *fragile,
                              unsigned count) {
        unsigned kept = 0;

        for (unsigned i = 0; i < count; i++) {
                uint32_t *psum = &rows->psum[fragile[i]];

                if (bf16_is_zero(w) || bf16_is_zero(row->values[fragile[i]]))
                        *psum = multiply_add(*psum, w, row->values[fragile[i]]);
                if (psum_is_fragile(*psum))
                        fragile[kept++] = fragile[i];
        }

        return kept;
}

static void column_spoil(const Rows *rows, const Stationary *stationary, unsigned column,
                         const Element elements[static PE_ROWS]) {
        uint16_t fragile[MOVING_MAX];
        unsigned n_fragile = 0;

        memset(rows->psum, 0, (size_t) rows->n_blocks * FLOAT_BLOCK * sizeof(uint32_t));

        for (unsigned k = 0; k < stationary->rows; k++) {
                const Row *row = row_of(rows, stationary, k, column);
                uint16_t w = stationary->words[(size_t) k * stationary->columns + column];

                if (elements[k].stuck) {
                        element_apply(rows, stationary, k, column, &elements[k]);
                        n_fragile = fragile_find(rows, fragile);
                        continue;
                }

                row_apply(rows, row, w);
                if (n_fragile > 0)
                        n_fragile = fragile_apply(rows, row, w, fragile, n_fragile);
        }
}

int array_spoil(const Stationary *stationary, const Moving *moving, const Stuck *stuck, size_t n_stuck,
                Product *product) {
        _cleanup_(rows_freep) Rows *rows = &(Rows){};
        Element elements[PE_ROWS];
        int r, n = 0;

        r = rows_init(rows, moving);
        if (r < 0)
                return r;

        for (unsigned m = 0; m < stationary->columns; m++) {
                if (!elements_gather(stuck, n_stuck, m, elements))
                        continue;

                column_spoil(rows, stationary, m, elements);
                column_store(rows, m, product);
                n++;
        }

        return n;
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
