/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Retention: cells that lose their charge when nobody restores it.
 *
 * Sound stacks have a tail of weak cells too. Their times are lognormal, ln t with sigma 1 around 942 s at 45 °C: the share of
 * cells below 2.045 s at 70 °C is then that of -4.4 sigma, the published bound of HBM (Electronics 12(1) 32, 2023). The slope
 * is chosen by us, so that the weakest of 2e11 cells is at about twice the guarantee; what would be weaker yet was screened and
 * repaired before the stack was sold. So no sound cell fails within a pause of 1.024 s at 45 °C (64 ms at 85 °C), 90 cells of
 * a stack do by 2.048 s, 5,600 by 4.096 s. The i-th weakest cell has the time at which the i-th event of a Poisson process is due, and
 * a place, both by hash: pauses cost what they lose, and a longer one loses what a shorter one lost. Only the
 * HBM_NATURAL_MAX weakest are followed (5 s at 45 °C): beyond, what is lost is a lower bound.
 *
 * A fault without a time of its own draws one: median 0.256 s at 45 °C, half of the guarantee, sigma 0.5, at most the
 * guarantee; chosen by us, since what is stronger is no defect.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/hbm/hbm.h"
#include "sim/hbm/live.h"
#include "sim/hbm/refresh.h"

#define TAIL_MEDIAN_SEC 942.0 /* exp(4.4) × 2.045 s × 2^2.5 */
#define TAIL_SIGMA      1.0
#define SCREENED_SEC    (2 * HBM_GUARANTEED_SEC)
#define WEAK_MEDIAN_SEC 0.256
#define WEAK_SIGMA      0.5
#define SALT_TAIL       0x7461696cu
#define DRAW_SECONDS    0x7365
#define DRAW_STATE      0x767274

double hbm_retention_seconds(const Hbm *hbm, const HbmVictim *victim, const Execution *execution) {
        const HbmRetention *retention = victim->fault->parameters;
        const Chip *chip = hbm->memory.chip;
        const Location *at = &victim->fault->at;
        double seconds = retention->seconds;

        if (!(seconds > 0))
                seconds = fmin(HBM_GUARANTEED_SEC,
                               hbm_lognormal_draw(draw_u64(chip, at, 0, DRAW_SECONDS), draw_u64(chip, at, 1, DRAW_SECONDS),
                                                  WEAK_MEDIAN_SEC, WEAK_SIGMA));
        /* Which of its two states a cell with variable retention time is in changes by chance. */
        if (retention->other > 0 && draw_u64(chip, at, execution->number, DRAW_STATE) >> 63)
                seconds = retention->other;

        return hbm_seconds_at(seconds, chip_temperature(chip));
}

static int leak(Hbm *hbm, const HbmVictim *victim) {
        const HbmRetention *retention = victim->fault->parameters;
        MemoryFlip flip = { memory_shape_linear(&hbm->memory.shape, victim->at), victim->bit, (uint8_t) retention->leaks };

        return memory_flips_apply(&hbm->memory, &flip, 1);
}

int hbm_retention_open(Hbm *hbm, HbmVictim *victim, const Execution *execution, uint64_t nsec) {
        uint64_t window = hbm_refresh_window(chip_temperature(hbm->memory.chip)), from = victim->restored;
        double holds = hbm_retention_seconds(hbm, victim, execution) * 1e9;

        victim->restored = nsec;
        /* Refresh saves all that hold for as long as it takes to come round. */
        if (holds >= (double) window || !fault_is_active(victim->fault, execution) ||
            !hbm_refresh_misses(&hbm->memory.shape, victim->at[HBM_ROW], window, holds, from, nsec))
                return 0;
        return leak(hbm, victim);
}

/* ---- the tail of a sound stack ---- */

typedef struct Tail {
        uint64_t seed, number;
        double due; /* how many cells are expected to be weaker than this one */
} Tail;

static double cells_below(const Memory *memory, double seconds) {
        return (double) memory->shape.accesses * MEMORY_ACCESS_BYTES * 8 *
               hbm_lognormal_share(seconds, TAIL_MEDIAN_SEC, TAIL_SIGMA);
}

static uint64_t tail_next(Tail *tail) {
        uint64_t hash = memory_splitmix64(tail->seed + tail->number++);

        tail->due -= log1p(-hbm_uniform(hash));
        return memory_splitmix64(hash);
}

/* All that are due: what hangs on the i-th hash is the i-th weakest cell, whatever the pause. */
static size_t tail_flips(const Memory *memory, double seconds, MemoryFlip flips[static HBM_NATURAL_MAX]) {
        Tail tail = {
                .seed = memory_splitmix64(chip_seed(memory->chip) ^ memory_splitmix64(chip_index(memory->chip) * STACKS + memory->index)) ^ SALT_TAIL,
                .due  = cells_below(memory, SCREENED_SEC),
        };
        double below = cells_below(memory, seconds);
        size_t n = 0;

        while (n < HBM_NATURAL_MAX) {
                uint64_t place = tail_next(&tail);

                if (tail.due >= below)
                        break;
                flips[n++] = (MemoryFlip) {
                        .linear = (uint32_t) ((place >> 32) * memory->shape.accesses >> 32),
                        .bit    = (uint8_t) place,
                        .value  = place >> 8 & 1, /* true cells leak to 0, anti-cells to 1 */
                };
        }

        return n;
}

static int lose_tail(Hbm *hbm, double seconds) {
        _cleanup_free_ MemoryFlip *flips = NULL;

        if (seconds <= SCREENED_SEC)
                return 0;

        flips = reallocarray(NULL, HBM_NATURAL_MAX, sizeof(MemoryFlip));
        if (!flips)
                return -ENOMEM;
        return memory_flips_apply(&hbm->memory, flips, tail_flips(&hbm->memory, seconds, flips));
}

/* ---- the command ---- */

static int lose_weak(Hbm *hbm, const Execution *execution, uint64_t nsec) {
        int r;

        for (size_t i = 0; i < hbm->disturb.n_victims; i++) {
                HbmVictim *victim = &hbm->disturb.victims[i];

                if (victim->fault->kind != &hbm_disturb_kinds[HBM_DISTURB_RETENTION] || victim->gone)
                        continue;

                r = hbm_retention_open(hbm, victim, execution, execution->start_nsec);
                if (r >= 0 && fault_is_active(victim->fault, execution) &&
                    (double) nsec >= hbm_retention_seconds(hbm, victim, execution) * 1e9)
                        r = leak(hbm, victim);
                if (r < 0)
                        return r;
                victim->restored = execution->start_nsec + nsec;
        }

        return 0;
}

int hbm_pause(void *state, Execution *execution) {
        Hbm *hbm = state;
        uint64_t nsec = execution->command->pause.nsec;
        int r;

        hbm_live_touch_all(hbm);
        if (nsec > HBM_NSEC_MAX) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        r = hbm_disturb_before(hbm, execution);
        if (r < 0)
                return r;
        r = lose_weak(hbm, execution, nsec);
        if (r < 0)
                return r;
        r = lose_tail(hbm, hbm_seconds_from((double) nsec / 1e9, chip_temperature(hbm->memory.chip)));
        if (r < 0)
                return r;

        execution->completion->status = STATUS_NRT_SUCCESS;
        execution->completion->device_nsec = nsec;
        return 0;
}
