/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/model/layout.h"

#include <stdlib.h>
#include <sys/param.h>

#include "checks/systolic/patterns/exact.h"

static Layout *layouts[PATTERNS_MAX];

ElementMode pattern_mode(const Pattern *pattern, bool ftz) {
        return (ElementMode){ .weights = (uint8_t) pattern->w_format,
                              .values = (uint8_t) pattern->x_format,
                              .ftz = ftz,
                              .double_row = pattern_is_double(pattern),
                              .transpose = pattern->matmul_flags & MATMUL_TRANSPOSE };
}

static bool image_is_zero(ElementMode mode, WireFormat format, uint32_t image) {
        return element_is_zero(format, image) && (!mode.double_row || element_is_zero(format, image >> 8));
}

static void find_rows(Layout *layout, const Pattern *pattern) {
        ElementMode mode = pattern_mode(pattern, false);

        for (unsigned n = 0; n < pattern->moving; n++) {
                unsigned count = 0;

                layout->rows[n][0] = layout->rows[n][1] = NO_ROW;
                for (unsigned row = 0; row < pattern->rows; row++) {
                        if (image_is_zero(mode, pattern->x_format, pattern_activation(pattern, row, n)))
                                continue;
                        if (count == 2) {
                                layout->dense = true;
                                return;
                        }
                        layout->rows[n][count++] = (uint16_t) row;
                }
        }
}

/* Whether each column has one weight that is no zero, or none. */
static void find_weights(Layout *layout, const Pattern *pattern) {
        ElementMode mode = pattern_mode(pattern, false);

        layout->by_columns = (pattern->kind == PATTERN_WIRING && !pattern_is_double(pattern)) || pattern->kind == PATTERN_PAIRS;

        for (unsigned m = 0; m < pattern->columns && layout->by_columns; m++) {
                unsigned count = 0;

                for (unsigned row = 0; row < pattern->rows; row++)
                        if (!image_is_zero(mode, pattern->w_format, pattern_weight(pattern, row, m))) {
                                layout->weighty[m] = (uint8_t) row;
                                count++;
                        }
                layout->by_columns = count <= 1;
        }
}

uint32_t pattern_weight_number(const Pattern *pattern, unsigned row, unsigned column, unsigned lane) {
        return exact_widen(pattern->w_format, pattern_weight(pattern, row, column) >> 8 * lane);
}

uint32_t pattern_value_number(const Pattern *pattern, unsigned row, unsigned n, unsigned lane) {
        return exact_widen(pattern->x_format, pattern_activation(pattern, row, n) >> 8 * lane);
}

static void find_units(Layout *layout, const Pattern *pattern, unsigned lane) {
        for (unsigned row = 0; row < pattern->rows; row++) {
                for (unsigned m = 0; m < pattern->columns; m++)
                        layout->w_unit = MIN(layout->w_unit, exact_unit(pattern_weight_number(pattern, row, m, lane)));
                for (unsigned n = 0; n < pattern->moving; n++)
                        layout->x_unit = MIN(layout->x_unit, exact_unit(pattern_value_number(pattern, row, n, lane)));
        }
}

static void find_integers(Layout *layout, const Pattern *pattern) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        size_t size = (size_t) pattern->rows * pattern->moving;

        layout->x = malloc(lanes * size * sizeof(int32_t));
        if (!layout->x)
                return;

        layout->w_unit = layout->x_unit = EXACT_UNIT_MAX;
        for (unsigned lane = 0; lane < lanes; lane++)
                find_units(layout, pattern, lane);

        layout->integers = true;
        for (unsigned lane = 0; lane < lanes; lane++)
                for (unsigned row = 0; row < pattern->rows; row++)
                        for (unsigned n = 0; n < pattern->moving; n++)
                                layout->integers = exact_to_integer(pattern_value_number(pattern, row, n, lane), layout->x_unit,
                                                                    &layout->x[lane * size + row * pattern->moving + n]) &&
                                                   layout->integers;
}

const Layout *layout_of(unsigned index) {
        const Pattern *pattern = pattern_at(index);
        Layout *layout = layouts[index];

        if (layout)
                return layout;

        layout = layouts[index] = calloc(1, sizeof(Layout));
        if (!layout)
                return NULL;

        layout->dense = pattern->kind == PATTERN_FULL;
        if (!layout->dense)
                find_rows(layout, pattern);
        if (layout->dense || pattern->kind == PATTERN_PAIRS)
                find_weights(layout, pattern);
        if (pattern->kind == PATTERN_FULL)
                find_integers(layout, pattern);
        return layout;
}

unsigned pattern_hot_row(unsigned index, unsigned n) {
        const Layout *layout = layout_of(index);

        if (!layout || layout->dense || layout->rows[n][0] == NO_ROW || layout->rows[n][1] != NO_ROW)
                return PE_ROWS;
        return pattern_at(index)->first_row + layout->rows[n][0];
}
