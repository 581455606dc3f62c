/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/passes/hammer.h"

#include <math.h>
#include <stdbool.h>
#include <sys/param.h>

#define ACTIVATE_NSEC 45u    /* tRC */
#define FAW_NSEC      15u    /* of four banks */
#define PRESS_NSEC    3900.0 /* one refresh interval: … */
#define PRESS_FACTOR  20.0   /* … an opening of that length counts as so many */
#define STEP          4u
#define REACH         5u  /* rows from the last victim to what the farthest aggressor disturbs */
#define COMMAND_SEC   1.0 /* of one command: a device must answer before its deadline */

double hbm_hammer_openings(uint64_t activations, uint64_t open_nsec) {
        return (double) activations / (1 + (PRESS_FACTOR - 1) * (double) open_nsec / PRESS_NSEC);
}

/* Rows FIRST … LAST of every bank of the box; FIRST > LAST: none. */
static WireBox rows_of(const WireBox *box, unsigned first, unsigned last) {
        WireBox rows = *box;

        rows.first[HBM_ROW] = (uint16_t) first;
        rows.last[HBM_ROW] = (uint16_t) last;
        return rows;
}

/* The rows that may be victims: *first … *last, as given. */
static bool window(unsigned size, uint64_t rows, uint64_t seed, unsigned *first, unsigned *last) {
        unsigned n;

        if (*first > 0)
                *first += REACH;
        if (*last + 1 < size)
                *last = *last > REACH ? *last - REACH : 0;
        if (*last <= *first)
                return false;

        n = *last - *first + 1;
        if (rows > 0 && rows < n) {
                *first += (unsigned) (memory_mix(seed ^ 0x68616d6du) % (n - rows + 1));
                *last = *first + (unsigned) rows - 1;
        }
        return true;
}

/*
 * Aggressors in pairs, each pair beside one row: from the first on; where one is left over its turn opens one row more, behind the
 * last or, at the end of the bank, before the first.
 */
static bool pair_up(unsigned size, unsigned first, unsigned last, unsigned *ret_turn, unsigned *ret_last_turn) {
        unsigned lowest = first > 0 ? first - 1 : first + 1, highest = last + 1 < size ? last + 1 : last - 1;
        bool odd = (highest - lowest) / 2 % 2 == 0;

        if (size < 2)
                return false;
        *ret_turn = lowest + 1;
        *ret_last_turn = odd ? highest + 1 : highest - 1;
        if (!odd || highest + 1 < size)
                return true;
        if (lowest == 0)
                return false;
        *ret_turn = lowest - 1;
        *ret_last_turn = highest - 1;
        return true;
}

void hbm_hammer_aim(HbmPass *pass, const WireBox *box, unsigned size, uint64_t rows, uint64_t seed) {
        unsigned first = box->first[HBM_ROW], last = box->last[HBM_ROW], turn, last_turn;

        pass->victims = pass->turns = rows_of(box, 1, 0);
        if (!window(size, rows, seed, &first, &last))
                return;
        first += (first ^ pass->parity) & 1;
        if (last < first)
                return;
        last -= (last - first) & 1;

        /* An odd number of rows, all of them: one is left out. */
        if (!pair_up(size, first, last, &turn, &last_turn)) {
                if (last < first + 2)
                        return;
                last -= 2;
                if (!pair_up(size, first, last, &turn, &last_turn))
                        return;
        }
        pass->victims = rows_of(box, first, last);
        pass->turns = rows_of(box, turn, last_turn);
}

static unsigned n_turns(const HbmPass *pass) {
        const WireBox *turns = &pass->turns;

        return turns->last[HBM_ROW] < turns->first[HBM_ROW] ? 0 : (turns->last[HBM_ROW] - turns->first[HBM_ROW]) / STEP + 1u;
}

/* In all banks of a stack ID at once. */
static double turn_sec(const HbmPass *pass) {
        const WireBox *box = &pass->turns;
        double banks = (box->last[HBM_BANK_GROUP] - box->first[HBM_BANK_GROUP] + 1.0) * (box->last[HBM_BANK] - box->first[HBM_BANK] + 1.0);

        return 2 * (double) pass->activations * MAX((double) (ACTIVATE_NSEC + pass->open_nsec), ceil(banks * FAW_NSEC / 4)) / 1e9;
}

double hbm_hammer_sec(const HbmPass *pass) {
        return n_turns(pass) * turn_sec(pass) * (pass->turns.last[HBM_SID] - pass->turns.first[HBM_SID] + 1);
}

unsigned hbm_hammer_rows(const HbmPass *pass) {
        const WireBox *victims = &pass->victims;

        return victims->last[HBM_ROW] < victims->first[HBM_ROW]
                               ? 0
                               : (victims->last[HBM_ROW] - victims->first[HBM_ROW]) / 2 + 1u;
}

static int sweep_some(const HbmPass *pass, MemoryBatch *batch, unsigned sid, unsigned first, unsigned last) {
        WireHammer hammer = {
                .box         = rows_of(&pass->turns, first, last),
                .activations = pass->activations,
                .open_nsec   = pass->open_nsec,
                .step        = STEP,
        };
        int r;

        hammer.box.first[HBM_SID] = hammer.box.last[HBM_SID] = (uint16_t) sid;
        memory_batch_reset(batch);
        for (unsigned stack = 0; stack < STACKS; stack++) {
                r = memory_batch_hammer(batch, stack, &hammer);
                if (r < 0)
                        return r;
        }
        return memory_batch_run(batch);
}

/* The turns of a stack ID, in commands of which the first is the shorter the later the repeat. */
static int sweep_sid(const HbmPass *pass, MemoryBatch *batch, unsigned sid) {
        unsigned n = n_turns(pass), row = pass->turns.first[HBM_ROW], chunk = MAX((unsigned) (COMMAND_SEC / turn_sec(pass)), 4u);
        unsigned next = n <= chunk ? n : chunk - pass->repeat % 4 * (chunk / 4);
        int r;

        for (unsigned at = 0; at < n; at = next, next = MIN(next + chunk, n)) {
                r = sweep_some(pass, batch, sid, row + at * STEP, row + (next - 1) * STEP);
                if (r < 0)
                        return r;
        }

        return 0;
}

int hbm_hammer_sweep(const HbmPass *pass, MemoryBatch *batch) {
        int r;

        for (unsigned sid = pass->turns.first[HBM_SID]; sid <= pass->turns.last[HBM_SID]; sid++) {
                r = sweep_sid(pass, batch, sid);
                if (r < 0)
                        return r;
        }

        return 0;
}
