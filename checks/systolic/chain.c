/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/chain.h"

#include <stdlib.h>
#include <string.h>

#include "checks/systolic/exact.h"

static bool chain_fill(Chain *chain, const Pattern *pattern, const Layout *layout, unsigned column) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        size_t moving = pattern->moving, size = pattern->rows * moving;

        memset(chain->sums, 0, moving * sizeof(int32_t));
        memset(chain->largest, 0, sizeof(chain->largest));

        for (unsigned row = 0; row < pattern->rows; row++) {
                const int32_t *before = chain->sums + row * moving;
                int32_t *sums = chain->sums + (row + 1) * moving, w[2] = {};

                for (unsigned lane = 0; lane < lanes; lane++)
                        if (!exact_to_integer(pattern_weight_number(pattern, row, column, lane), layout->w_unit, &w[lane]))
                                return false;

                for (size_t n = 0; n < moving; n++) {
                        int64_t sum = before[n] + (int64_t) w[0] * layout->x[row * moving + n];

                        if (lanes > 1)
                                sum += (int64_t) w[1] * layout->x[size + row * moving + n];
                        if (sum >= EXACT_INTEGER_MAX || sum <= -EXACT_INTEGER_MAX)
                                return false;
                        sums[n] = (int32_t) sum;
                        if (labs((long) sum) > chain->largest[n])
                                chain->largest[n] = abs((int) sum);
                }
        }

        return true;
}

const Chain *chain_of(Chain **chain, unsigned index, unsigned column) {
        const Pattern *pattern = pattern_at(index);
        const Layout *layout = layout_of(index);

        if (!layout || !layout->integers)
                return NULL;
        if (*chain && (*chain)->column == column)
                return *chain;

        if (!*chain)
                *chain = malloc(sizeof(Chain) + (pattern->rows + 1) * pattern->moving * sizeof(int32_t));
        if (!*chain)
                return NULL;

        (*chain)->column = column;
        if (chain_fill(*chain, pattern, layout, column))
                return *chain;

        free(*chain);
        *chain = NULL;
        return NULL;
}
