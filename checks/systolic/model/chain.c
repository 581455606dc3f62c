/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/model/chain.h"

#include <stdlib.h>
#include <string.h>

#include "checks/systolic/patterns/exact.h"

/* Returns false where the sums are no integers. */
static bool chain_count(Chain *chain, const Pattern *pattern, const Layout *layout, unsigned column) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        size_t moving = pattern->moving, size = pattern->rows * moving;

        memset(chain->sums, 0, moving * sizeof(chain->sums[0]));
        memset(chain->largest, 0, sizeof(chain->largest));

        for (unsigned row = 0; row < pattern->rows; row++) {
                size_t before = row * moving, after = before + moving;
                int32_t w[2] = {};

                for (unsigned lane = 0; lane < lanes; lane++)
                        if (!exact_to_integer(pattern_weight_number(pattern, row, column, lane), layout->w_unit, &w[lane]))
                                return false;

                for (size_t n = 0; n < moving; n++) {
                        int64_t sum = chain->sums[before + n].units + (int64_t) w[0] * layout->x[row * moving + n];

                        if (lanes > 1)
                                sum += (int64_t) w[1] * layout->x[size + row * moving + n];
                        if (sum >= EXACT_INTEGER_MAX || sum <= -EXACT_INTEGER_MAX)
                                return false;
                        chain->sums[after + n].units = (int32_t) sum;
                        if (labs((long) sum) > chain->largest[n])
                                chain->largest[n] = abs((int) sum);
                }
        }

        return true;
}

/* Element by element. */
static void chain_step(Chain *chain, const Pattern *pattern, unsigned column) {
        ElementMode mode = pattern_mode(pattern, chain->ftz);
        size_t moving = pattern->moving;

        memset(chain->sums, 0, moving * sizeof(chain->sums[0]));
        for (unsigned row = 0; row < pattern->rows; row++) {
                uint32_t w = pattern_weight(pattern, row, column);

                for (unsigned n = 0; n < moving; n++) {
                        ElementPast past = {};

                        chain->sums[(row + 1) * moving + n].bits = element_step(mode, NULL, NULL, w, pattern_activation(pattern, row, n),
                                                                                chain->sums[row * moving + n].bits, &past);
                }
        }
}

const Chain *chain_of(Chain **chain, unsigned index, unsigned column, bool ftz) {
        const Pattern *pattern = pattern_at(index);
        const Layout *layout = layout_of(index);

        if (*chain && (*chain)->column == column && (*chain)->ftz == ftz)
                return *chain;

        if (!*chain)
                *chain = malloc(sizeof(Chain) + (pattern->rows + 1) * pattern->moving * sizeof((*chain)->sums[0]));
        if (!*chain)
                return NULL;

        (*chain)->column = column;
        (*chain)->ftz = ftz;
        (*chain)->integers = layout && layout->integers && chain_count(*chain, pattern, layout, column);
        if (!(*chain)->integers)
                chain_step(*chain, pattern, column);
        return *chain;
}
