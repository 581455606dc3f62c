/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/sag.h"

#include "sim/tensor/rows.h"

/* Which of the lanes of IMAGE are not zero, as bits. */
static unsigned lanes_at_work(WireFormat format, bool double_row, uint32_t image) {
        uint32_t mask = format_mask(format) & ~format_sign(format);

        return ((image & mask) != 0) | (double_row && (image >> 8 & mask) != 0 ? 2 : 0);
}

/* How many vectors of each kind of lanes a row of the moving matrix has. */
typedef struct Mix {
        unsigned n[4];
} Mix;

static Mix mix_of(const Moving *moving, unsigned row) {
        Mix mix = {};

        for (unsigned n = 0; n < moving->columns; n++)
                mix.n[lanes_at_work(moving->format, moving->double_row, moving_register(moving, row, n))]++;
        return mix;
}

static unsigned mix_count(const Mix *mix, unsigned lanes) {
        unsigned count = 0;

        for (unsigned i = 1; i < ELEMENTS(mix->n); i++)
                count += i & lanes ? mix->n[i] : 0;
        return count;
}

/* The moving row of an element; -1: it selects none. */
static int row_used(const Stationary *stationary, unsigned k, unsigned column) {
        unsigned tag;

        if (stationary->keep == 0)
                return (int) k;

        tag = stationary_tag(stationary, k, column);
        return tag < stationary->group ? (int) (k / stationary->keep * stationary->group + tag) : -1;
}

double tensor_sag(const Stationary *stationary, const Moving *moving) {
        Mix mixes[PE_ROWS * SPARSE_GROUP_MAX];
        uint64_t busy = 0;

        for (unsigned row = 0; row < moving->rows; row++)
                mixes[row] = mix_of(moving, row);

        for (unsigned k = 0; k < stationary->rows; k++)
                for (unsigned m = 0; m < stationary->columns; m++) {
                        uint32_t w = stationary_register(stationary, k, m);
                        int row = row_used(stationary, k, m);

                        if (row >= 0)
                                busy += mix_count(&mixes[row], lanes_at_work(stationary->format, stationary->double_row, w));
                }

        return SAG_MAX * (double) busy / ((double) moving->columns * PE_ROWS * PE_COLUMNS);
}
