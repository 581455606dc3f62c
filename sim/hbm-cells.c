/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cells, and the way of a read.
 *
 * The event machine of the faults that sit in cells: an operation first does what it would do in a good cell, then
 * conditions on states act until nothing changes. Callers bring the operations of all spots in the exact order of
 * the visit, so what one cell does to another can stand here and nowhere else.
 */

#include <assert.h>
#include <string.h>

#include "sim/hbm.h"

/* The one condition so far: whatever a stuck cell holds, it becomes what it is stuck at. */
static void cell_settle(HbmCell *cell) {
        if (cell->active)
                cell->value = cell->stuck;
}

void hbm_spot_wake(Hbm *hbm, const HbmSpot *spot, const Execution *execution) {
        for (unsigned i = 0; i < spot->n_cells; i++) {
                HbmCell *cell = &hbm->overlay.cells[spot->first_cell + i];

                cell->active = fault_is_active(cell->fault, execution);
                cell_settle(cell);
        }
}

HbmBits hbm_spot_stored(const Hbm *hbm, const HbmSpot *spot, HbmBits *ret_intended) {
        HbmBits bits = spot->held ? spot->data :
                                    hbm_pattern_bits(hbm_content_find(&hbm->content, spot->at), spot->linear,
                                                     spot->at[HBM_ROW]);

        *ret_intended = bits;
        for (unsigned i = 0; i < spot->n_cells; i++) {
                const HbmCell *cell = &hbm->overlay.cells[spot->first_cell + i];
                uint64_t mask = UINT64_C(1) << (cell->bit % 64);

                bits.w[cell->bit / 64] =
                                cell->value ? bits.w[cell->bit / 64] | mask : bits.w[cell->bit / 64] & ~mask;
        }

        return bits;
}

void hbm_spot_store(Hbm *hbm, const HbmSpot *spot, const HbmBits *bits) {
        for (unsigned i = 0; i < spot->n_cells; i++) {
                HbmCell *cell = &hbm->overlay.cells[spot->first_cell + i];

                cell->value = bits->w[cell->bit / 64] >> (cell->bit % 64) & 1;
                cell_settle(cell);
        }
}

/* RS over 16-bit symbols: one wrong symbol of an access is put right, more are passed on as they are. */
static HbmBits decode(HbmBits got, const HbmBits *intended, HbmEccTally *tally) {
        unsigned wrong = 0;

        for (unsigned word = 0; word < 4; word++) {
                uint64_t difference = got.w[word] ^ intended->w[word];

                for (; difference; difference >>= 16)
                        wrong += (difference & 0xffff) != 0;
        }

        if (wrong > 1)
                tally->uncorrected++;
        if (wrong != 1)
                return got;
        tally->corrected++;
        return *intended;
}

HbmBits hbm_read(const HbmEffects *effects, HbmBits stored, const HbmBits *intended, bool ecc, HbmEccTally *tally) {
        uint64_t lanes = effects->lanes | (uint64_t) effects->lanes << 32;
        uint64_t values = effects->values | (uint64_t) effects->values << 32;

        switch (effects->array) {
        case HBM_ARRAY_GOOD:
                break;
        case HBM_ARRAY_ZEROS:
                memset(&stored, 0, sizeof(stored));
                break;
        case HBM_ARRAY_ONES:
                memset(&stored, 0xff, sizeof(stored));
                break;
        case HBM_ARRAY_INVERTED:
                for (unsigned word = 0; word < 4; word++)
                        stored.w[word] = ~stored.w[word];
                break;
        case _HBM_ARRAY_MAX:
                assert(false);
        }

        if (ecc)
                stored = decode(stored, intended, tally);

        for (unsigned word = 0; word < 4; word++)
                stored.w[word] = (stored.w[word] & ~lanes) | (values & lanes);
        return stored;
}
