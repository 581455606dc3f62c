/* SPDX-License-Identifier: Apache-2.0 */

/* The cone of what is stuck: only the columns it reaches are computed again. */

#include <string.h>

#include "sim/tensor-rows.h"
#include "sim/tensor-select.h"

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
                bool reaches = s->at == REGISTER_ACTIVATION ? s->column <= column : s->column == column;

                if (!reaches)
                        continue;

                element->stuck = any = true;
                element->registers[s->at].clear = (element->registers[s->at].clear & ~s->set) | s->clear;
                element->registers[s->at].set = (element->registers[s->at].set & ~s->clear) | s->set;
        }

        return any;
}

/* A PE with something stuck, over all moving columns, nothing skipped. The selector comes before the
 * activation register. */
static void element_apply(const Rows *rows, const Stationary *stationary, unsigned k, unsigned column,
                          const Element *element, const Selection *selection) {
        uint16_t w = (uint16_t) element_force(element, REGISTER_WEIGHT, stationary_register(stationary, k, column));

        for (unsigned n = 0; n < rows->n_columns; n++) {
                uint16_t x = (uint16_t) element_force(element, REGISTER_ACTIVATION, selection_image(selection, n));
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
                        *psum = row_multiply_add(*psum, w, row->values[fragile[i]]);
                if (psum_is_fragile(*psum))
                        fragile[kept++] = fragile[i];
        }

        return kept;
}

static void column_spoil(const Rows *rows, const Stationary *stationary, const Selectors *selectors, const Moving *moving,
                         unsigned column, const Element elements[static PE_ROWS]) {
        uint16_t fragile[MOVING_MAX];
        unsigned n_fragile = 0;

        memset(rows->psum, 0, (size_t) rows->n_blocks * FLOAT_BLOCK * sizeof(uint32_t));

        for (unsigned k = 0; k < stationary->rows; k++) {
                Selection selection = selection_of(selectors, stationary, 0, moving, k, column);
                int at = selection_row(&selection);
                const Row *row = at < 0 ? &rows->zero : &rows->rows[at];
                uint16_t w = (uint16_t) stationary_register(stationary, k, column);

                if (elements[k].stuck || !selection.plain) {
                        element_apply(rows, stationary, k, column, &elements[k], &selection);
                        n_fragile = fragile_find(rows, fragile);
                        continue;
                }

                row_apply(rows, row, w);
                if (n_fragile > 0)
                        n_fragile = fragile_apply(rows, row, w, fragile, n_fragile);
        }
}

static bool column_selects_wrongly(const Stationary *stationary, const Selectors *selectors, const Moving *moving,
                                   unsigned column) {
        for (unsigned k = 0; k < stationary->rows; k++)
                if (!selection_of(selectors, stationary, 0, moving, k, column).right)
                        return true;

        return false;
}

int array_spoil(const Stationary *stationary, const Moving *moving, const Stuck *stuck, size_t n_stuck,
                const Selectors *selectors, Product *product) {
        _cleanup_(rows_freep) Rows *rows = &(Rows){};
        Element elements[PE_ROWS];
        bool may_err = selectors_may_err(selectors, stationary, 0);
        int r, n = 0;

        r = rows_init(rows, moving);
        if (r < 0)
                return r;

        for (unsigned m = 0; m < stationary->columns; m++) {
                if (!elements_gather(stuck, n_stuck, m, elements) &&
                    !(may_err && column_selects_wrongly(stationary, selectors, moving, m)))
                        continue;

                column_spoil(rows, stationary, selectors, moving, m, elements);
                column_store(rows, m, product);
                n++;
        }

        return n;
}
