/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose/shape.h"

Extent signature_extent(const Signature *signature, const Suspects *base) {
        Extent extent = { .first = PE_ROWS };
        bool differs[PE_ROWS] = {};
        uint32_t expected[MOVING_MAX];

        for (unsigned i = 0; i < signature->n_patterns; i++) {
                if (!signature->answers[i] || pattern_hot_row(i, 0) == PE_ROWS)
                        continue;

                column_predict_all(signature->column, base, i, expected);
                for (unsigned n = 0; n < pattern_at(i)->moving; n++) {
                        unsigned row = pattern_hot_row(i, n);

                        if (row < PE_ROWS && !answer_equal(i, signature->answers[i][n], expected[n]))
                                differs[row] = true;
                }
        }

        for (unsigned row = 0; row < PE_ROWS; row++) {
                if (!differs[row])
                        continue;
                if (extent.n++ == 0)
                        extent.first = row;
                extent.last = row;
        }

        return extent;
}

uint8_t signature_dead_groups(const Signature *signature) {
        unsigned zeros[PE_ROWS / TILE_UNIT] = {};
        bool seen[PE_ROWS] = {};
        uint8_t dead = 0;

        for (unsigned i = 0; i < signature->n_patterns; i++) {
                const uint32_t *golden;

                if (!signature->answers[i] || pattern_at(i)->kind != PATTERN_ONE_HOT)
                        continue;
                golden = column_golden(signature->column, pattern_at(i));

                for (unsigned n = 0; n < pattern_at(i)->moving; n++) {
                        unsigned row = pattern_hot_row(i, n);

                        if (row == PE_ROWS || signature->answers[i][n] != 0 || golden[n] << 1 == 0 || seen[row])
                                continue;
                        seen[row] = true;
                        zeros[row / TILE_UNIT]++;
                }
        }

        for (unsigned group = 0; group < PE_ROWS / TILE_UNIT; group++)
                dead |= (uint8_t) ((zeros[group] == TILE_UNIT) << group);
        return dead;
}
