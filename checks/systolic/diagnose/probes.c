/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose/probes.h"

#include <string.h>

static void probes_add(Probes *probes, unsigned index, unsigned n, uint32_t answer) {
        if (probes->n < PROBES_MAX)
                probes->all[probes->n++] = (Probe){ (uint16_t) index, (uint16_t) n, answer };
}

static void rows_add(Probes *probes, unsigned hot) {
        for (unsigned row = hot > 2 ? hot - 2 : 0; row <= hot && row < PE_ROWS; row++)
                probes->rows[row] = true;
}

/* Rows at which the answers of a one-hot pattern begin to differ in another way. Returns whether there is one: that the first vectors alone
 * differ says nothing of rows, for there all that is slow changes. */
static bool find_rows(Probes *probes, unsigned index, const uint32_t *answer, const uint32_t *expected) {
        const Pattern *pattern = pattern_at(index);
        unsigned n_x = pattern->n_x > 0 ? pattern->n_x : 1;
        bool any = false;

        for (unsigned n = 0; n < pattern->moving; n++) {
                unsigned hot = pattern_hot_row(index, n);
                bool differs = !answer_equal(index, answer[n], expected[n]), changes;

                if (hot == PE_ROWS)
                        return any;

                if (n < n_x || pattern->kind == PATTERN_PAIRS)
                        changes = differs;
                else if (pattern->kind == PATTERN_ONE_HOT)
                        changes = (answer[n] ^ expected[n]) != (answer[n - n_x] ^ expected[n - n_x]);
                else
                        changes = differs != !answer_equal(index, answer[n - 1], expected[n - 1]);
                if (!changes)
                        continue;

                rows_add(probes, hot);
                if (pattern->kind == PATTERN_ONE_HOT && n >= n_x && n < 2 * n_x && !differs)
                        continue;
                probes->turns[hot] = probes->turns[hot] || (n >= n_x && pattern->kind != PATTERN_PAIRS);
                any = any || n >= n_x || pattern->kind == PATTERN_PAIRS;
        }

        return any;
}

void probes_find(const Signature *signature, const Suspects *base, Probes *ret) {
        uint32_t expected[MOVING_MAX];
        bool any_row = false;

        *ret = (Probes){ .loaded = true };
        for (unsigned i = 0; i < signature->n_patterns; i++) {
                const uint32_t *answer = signature->answers[i];
                unsigned moving, first, last;

                if (!answer)
                        continue;
                moving = pattern_at(i)->moving;
                column_predict_all(signature->column, base, i, expected);
                for (first = 0; first < moving && answer_equal(i, answer[first], expected[first]); first++)
                        ;
                if (first == moving)
                        continue;
                for (last = moving - 1; answer_equal(i, answer[last], expected[last]); last--)
                        ;

                probes_add(ret, i, first, answer[first]);
                if (last != first)
                        probes_add(ret, i, last, answer[last]);
                if (pattern_at(i)->kind == PATTERN_FULL)
                        continue;
                ret->loaded = false;
                any_row = find_rows(ret, i, answer, expected) || any_row;
        }

        ret->rows[0] = ret->rows[PE_ROWS - 1] = true;
        if (!any_row)
                memset(ret->rows, true, sizeof(ret->rows));
}

unsigned probes_turn(const Probes *probes) {
        unsigned n = 0, first = PE_ROWS;

        for (unsigned row = PE_ROWS; row-- > 0;)
                if (probes->turns[row]) {
                        first = row;
                        n++;
                }

        return n == 2 && probes->turns[first + 1] ? first : PE_ROWS;
}
