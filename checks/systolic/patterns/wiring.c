/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns with another value in each place: what came from where shows. */

#include "checks/systolic/patterns/exact.h"
#include "checks/systolic/patterns/recipe.h"

#define TAG_BASE 0x2000u /* with 14 bits of number added: all normal in 16 bits, all different */

/* Of 16 384 numbers, as far as FORMAT can tell them apart. */
static uint32_t tag_at(WireFormat format, unsigned slow, unsigned fast) {
        uint32_t tag = TAG_BASE + 128 * slow + fast;

        switch (wire_format_bytes(format)) {

        case 4:
                return tag << 16 | (format == FORMAT_TF32 ? 0 : scatter(tag, 7) & 0xffff);

        case 2:
                return tag;
        }

        return normal_at(format, slow + fast);
}

void build_weights_in_order(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        uint32_t one = exact_image(pattern->x_format, false, 1, 0);

        for (unsigned row = 0; row < pattern->rows; row++)
                for (unsigned column = 0; column < pattern->columns; column++)
                        pattern_set_weight(pattern, row, column,
                                           tag_at(pattern->w_format, row, column) |
                                                           (pattern_is_double(pattern) ? normal_at(pattern->w_format, row + column + 61) << 8 : 0));

        for (unsigned n = 0; n < pattern->moving; n++)
                pattern_set_activation(pattern, n % pattern->rows, n, n < pattern->rows ? one : one << 8);

        for (unsigned m = 0; m < pattern->columns; m++)
                for (unsigned n = 0; n < pattern->moving; n++) {
                        uint32_t w = pattern_weight(pattern, n % pattern->rows, m);

                        *golden++ = exact_widen(pattern->w_format, n < pattern->rows ? w : w >> 8);
                }
}

void build_activations_in_order(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        uint32_t one = exact_image(pattern->w_format, false, 1, 0);

        for (unsigned row = 0; row < pattern->rows; row++) {
                pattern_set_weight(pattern, row, row, one);
                for (unsigned n = 0; n < pattern->moving; n++) {
                        uint32_t x = tag_at(pattern->x_format, row, n ^ 0x55);

                        pattern_set_activation(pattern, row, n, x);
                        golden[row * pattern->moving + n] = exact_widen(pattern->x_format, x);
                }
        }
}

void build_transposition(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        uint32_t one = exact_image(pattern->x_format, false, 1, 0);
        unsigned rows = pattern->rows;

        for (unsigned row = 0; row < rows; row++)
                for (unsigned column = 0; column < pattern->columns; column++)
                        pattern_set_weight(pattern, row, column, scatter(row * PE_COLUMNS + column, 11 + (uint32_t) pattern->w_format));

        /* Every vector feeds one row, the later half the next row too. */
        for (unsigned n = 0; n < pattern->moving; n++) {
                pattern_set_activation(pattern, n % rows, n, one);
                if (n >= rows)
                        pattern_set_activation(pattern, (n + 1) % rows, n, one);
        }

        for (unsigned m = 0; m < pattern->columns; m++)
                for (unsigned n = 0; n < pattern->moving; n++)
                        *golden++ = pattern_weight(pattern, n % rows, m) | (n >= rows ? pattern_weight(pattern, (n + 1) % rows, m) : 0);
}
