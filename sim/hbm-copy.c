/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Data in and out of a stack. What is copied in stays with its accesses (spots) until something writes over it.
 */

#include <string.h>

#include "sim/hbm.h"

/* Accesses to copy; 0 where the command is wrong. ROOM is of the data. */
static uint64_t copy_accesses(const Hbm *hbm, const WireCopy *copy, uint64_t room) {
        uint64_t accesses;

        if (!hbm_box_is_valid(&hbm->shape, &copy->box) || copy->ecc > 1)
                return 0;

        accesses = hbm_box_volume(&copy->box);
        return accesses <= room / HBM_ACCESS_BYTES ? accesses : 0;
}

static void copy_complete(Execution *execution, uint64_t accesses, bool out) {
        uint64_t bytes = accesses * HBM_ACCESS_BYTES;

        execution->completion->status = STATUS_NRT_SUCCESS;
        execution->completion->out_bytes = out ? (uint32_t) bytes : 0;
        execution->completion->device_nsec = (bytes + HBM_BYTES_PER_NSEC - 1) / HBM_BYTES_PER_NSEC;
}

int hbm_copy_in(void *state, Execution *execution) {
        Hbm *hbm = state;
        const WireBox *box = &execution->command->copy.box;
        uint64_t accesses = copy_accesses(hbm, &execution->command->copy, execution->command->in_bytes);
        uint16_t at[_HBM_AXIS_MAX];
        int r;

        if (accesses == 0 || execution->command->in_bytes != accesses * HBM_ACCESS_BYTES) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        r = hbm_overlay_prepare(&hbm->overlay, &hbm->shape, execution);
        if (r < 0)
                return r;

        hbm_walk_first(box, false, at);
        for (uint64_t i = 0; i < accesses; i++) {
                HbmSpot *spot;

                r = hbm_overlay_spot(&hbm->overlay, hbm_shape_linear(&hbm->shape, at), at, &spot);
                if (r < 0)
                        return r;
                memcpy(&spot->data, execution->in + i * HBM_ACCESS_BYTES, sizeof(spot->data));
                spot->held = true;
                hbm_spot_wake(hbm, spot, execution);
                hbm_spot_store(hbm, spot, &spot->data);
                (void) hbm_walk_next(box, HBM_ORDER_COLUMN_FAST, false, at);
        }

        copy_complete(execution, accesses, false);
        return 0;
}

static HbmBits read_access(Hbm *hbm, Execution *execution, const uint16_t at[static _HBM_AXIS_MAX],
                           HbmEccTally *tally) {
        uint32_t linear = hbm_shape_linear(&hbm->shape, at);
        HbmSpot *spot = hbm_overlay_find(&hbm->overlay, linear);
        int32_t unit = spot ? spot->unit : hbm_overlay_unit_at(&hbm->overlay, linear, at);
        HbmEffects effects = unit >= 0 ? hbm->overlay.units[unit].effects : (HbmEffects) {};
        HbmBits intended, stored;

        if (spot) {
                hbm_spot_wake(hbm, spot, execution);
                stored = hbm_spot_stored(hbm, spot, &intended);
        } else
                stored = intended =
                                hbm_pattern_bits(hbm_content_find(&hbm->content, at), linear, at[HBM_ROW]);

        return hbm_read(&effects, stored, &intended, execution->command->copy.ecc, tally);
}

int hbm_copy_out(void *state, Execution *execution) {
        Hbm *hbm = state;
        const WireBox *box = &execution->command->copy.box;
        uint64_t accesses = copy_accesses(hbm, &execution->command->copy, execution->command->out_bytes);
        uint16_t at[_HBM_AXIS_MAX];
        HbmEccTally tally = {};
        int r;

        if (accesses == 0) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        r = hbm_overlay_prepare(&hbm->overlay, &hbm->shape, execution);
        if (r < 0)
                return r;

        hbm_walk_first(box, false, at);
        for (uint64_t i = 0; i < accesses; i++) {
                HbmBits bits = read_access(hbm, execution, at, &tally);

                memcpy(execution->out + i * HBM_ACCESS_BYTES, &bits, sizeof(bits));
                (void) hbm_walk_next(box, HBM_ORDER_COLUMN_FAST, false, at);
        }

        if (tally.corrected > 0)
                chip_count(execution->chip, COUNTER_MEM_ECC_CORRECTED, hbm->index, tally.corrected);
        if (tally.uncorrected > 0)
                chip_count(execution->chip, COUNTER_MEM_ECC_UNCORRECTED, hbm->index, tally.uncorrected);
        copy_complete(execution, accesses, true);
        return 0;
}
