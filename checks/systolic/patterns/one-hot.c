/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns that feed one row at a time, or one beside the row before. */

#include <string.h>

#include "checks/systolic/patterns/recipe.h"

/* What the first column gives, all give. */
static void copy_columns(const Pattern *pattern, uint32_t *golden) {
        for (unsigned m = 1; m < pattern->columns; m++)
                memcpy(golden + (size_t) m * pattern->moving, golden, pattern->moving * sizeof(*golden));
}

void build_one_hot(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        pattern_fill_weights(pattern, recipe->w);

        for (unsigned n = 0; n < pattern->moving; n++)
                pattern_set_activation(pattern, n / pattern->n_x, n, pattern->x[n % pattern->n_x]);
        for (unsigned i = 0; i < pattern->n_x; i++)
                pattern->golden_of[i] = pattern_chain(pattern, 0, i);

        for (unsigned n = 0; n < pattern->moving; n++)
                golden[n] = pattern->golden_of[n % pattern->n_x];
        copy_columns(pattern, golden);
}

/* The last row has none beside it. */
void build_two_hot(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        pattern_fill_weights(pattern, recipe->w);

        for (unsigned n = 0; n < pattern->moving; n++) {
                pattern_set_activation(pattern, n, n, pattern->x[0]);
                if (n + 1 < pattern->rows)
                        pattern_set_activation(pattern, n + 1, n, pattern->x[1]);
        }
        pattern->golden_of[0] = pattern_chain(pattern, 0, 0);
        pattern->golden_of[1] = pattern_chain(pattern, 0, pattern->moving - 1);

        for (unsigned n = 0; n < pattern->moving; n++)
                golden[n] = pattern->golden_of[n + 1 == pattern->moving];
        copy_columns(pattern, golden);
}
