/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/passes/walking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define ACCESS_BITS     (8 * MEMORY_ACCESS_BYTES)
#define LANES           32u
#define TOGGLES         8u
#define SWEEPS          3u /* one 1, one 0, all lanes at once */
#define STACK_BYTES_SEC 725e9
#define LANE_BYTES      4u

typedef struct Walk {
        HbmRun *run;
        int (*found)(const MarchMismatch *mismatch, void *userdata);
        MemoryData *data; /* of a box */
} Walk;

/* One box and what goes there. */
typedef struct Place {
        WireBox box;
        unsigned number;
        bool beats; /* every lane at every beat, else at one */
} Place;

/* Patterns of one sweep. */
static unsigned n_patterns(const Place *place, unsigned sweep) {
        return sweep == SWEEPS - 1 ? TOGGLES : place->beats ? ACCESS_BITS : LANES;
}

static uint32_t n_accesses(const WireBox *box) {
        return (uint32_t) memory_box_accesses(box);
}

static uint32_t n_places(const HbmRun *run) {
        const WireBox *box = &run->box;
        uint32_t n = 1;

        for (unsigned axis = HBM_CHANNEL; axis <= HBM_SID; axis++)
                n *= box->last[axis] - box->first[axis] + 1u;
        return n;
}

double hbm_walking_sec(const HbmRun *run) {
        return 2.0 * SWEEPS * n_places(run) * ACCESS_BITS * MEMORY_ACCESS_BYTES / STACK_BYTES_SEC; /* at most */
}

/* Pattern NUMBER of sweep SWEEP. */
static MemoryData pattern(const Place *place, unsigned sweep, unsigned number) {
        unsigned bit = place->beats ? number : number + LANES * ((number + place->number) % (ACCESS_BITS / LANES));
        MemoryData data;

        memset(data.bytes, sweep == 1 ? 0xff : 0, sizeof(data.bytes));
        if (sweep < SWEEPS - 1)
                data.bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
        else
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                        data.bytes[k] = (k / LANE_BYTES ^ number) & 1 ? 0xff : 0;
        return data;
}

/* Place NUMBER of the channels, pseudo-channels and stack IDs; the bank and rows in it are the seed's. */
static Place choose(const HbmRun *run, uint32_t number) {
        uint64_t hash = memory_mix(step_seed(run->step) ^ (UINT64_C(0x77616c6b) << 32 | number));
        uint32_t rows = run->box.last[HBM_ROW] - run->box.first[HBM_ROW] + 1u, n_columns = run->geometry.size[HBM_COLUMN], n_rows;
        uint32_t n_sids = run->box.last[HBM_SID] - run->box.first[HBM_SID] + 1u;
        Place place = { .number = number, .beats = number % n_sids == (number / n_sids) % n_sids };
        WireBox *box = &place.box;

        for (int axis = HBM_SID; axis >= (int) HBM_CHANNEL; axis--) {
                uint32_t n = run->box.last[axis] - run->box.first[axis] + 1u;

                box->first[axis] = box->last[axis] = (uint16_t) (run->box.first[axis] + number % n);
                number /= n;
        }
        for (unsigned axis = HBM_BANK_GROUP; axis <= HBM_BANK; axis++) {
                box->first[axis] = box->last[axis] =
                        (uint16_t) (run->box.first[axis] + hash % (run->box.last[axis] - run->box.first[axis] + 1u));
                hash = memory_mix(hash);
        }

        /* As many rows as the patterns take, or as there are. */
        n_rows = MIN(((place.beats ? ACCESS_BITS : LANES) + n_columns - 1) / n_columns, rows);
        box->first[HBM_ROW] = (uint16_t) (run->box.first[HBM_ROW] + hash % (rows - n_rows + 1));
        box->last[HBM_ROW] = (uint16_t) (box->first[HBM_ROW] + n_rows - 1);
        box->first[HBM_COLUMN] = 0;
        box->last[HBM_COLUMN] = (uint16_t) (n_columns - 1);
        return place;
}

static int compare(const Walk *walk, unsigned stack, const WireBox *box, unsigned sweep, const uint8_t *got) {
        for (uint32_t i = 0; i < n_accesses(box); i++, got += MEMORY_ACCESS_BYTES) {
                MarchMismatch mismatch = { .part = stack, .element = sweep, .op = MARCH_OPS_MAX, .expected = walk->data[i] };
                int r;

                if (memcmp(got, walk->data[i].bytes, MEMORY_ACCESS_BYTES) == 0)
                        continue;

                memcpy(mismatch.at, box->first, sizeof(mismatch.at));
                mismatch.at[HBM_ROW] = (uint16_t) (box->first[HBM_ROW] + i / walk->run->geometry.size[HBM_COLUMN]);
                mismatch.at[HBM_COLUMN] = (uint16_t) (i % walk->run->geometry.size[HBM_COLUMN]);
                memcpy(mismatch.actual.bytes, got, sizeof(mismatch.actual.bytes));
                walk->run->outcomes[stack].mismatches++;
                r = walk->found(&mismatch, walk->run);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Stacks FIRST … END - 1 at one place, with the patterns that DATA holds. */
static int walk_stacks(const Walk *walk, const WireBox *box, unsigned sweep, unsigned first, unsigned end) {
        HbmRun *run = walk->run;
        size_t n_bytes = n_accesses(box) * sizeof(MemoryData);
        int numbers[STACKS], r;

        memory_batch_reset(run->batch);
        for (unsigned stack = first; stack < end; stack++) {
                r = memory_batch_copy_in(run->batch, &run->parts[stack], box, false, walk->data, n_bytes);
                if (r < 0)
                        return r;
                r = memory_batch_copy_out(run->batch, &run->parts[stack], box, false);
                if (r < 0)
                        return r;
                numbers[stack] = r;
        }
        r = memory_batch_run(run->batch);
        if (r < 0)
                return r;

        for (unsigned stack = first; stack < end; stack++) {
                r = compare(walk, stack, box, sweep, memory_batch_answer(run->batch, numbers[stack]).data);
                if (r < 0)
                        return r;
        }

        run->tally.walked += (end - first) * (uint64_t) n_accesses(box);
        return 0;
}

/* The part of a place's box that N patterns take; whole rows where these are more than one. */
static WireBox box_for(const Place *place, unsigned n) {
        WireBox box = place->box;
        unsigned n_columns = box.last[HBM_COLUMN] + 1u;

        if (n < n_columns) {
                box.last[HBM_ROW] = box.first[HBM_ROW];
                box.last[HBM_COLUMN] = (uint16_t) (n - 1);
        }
        return box;
}

/* All of one sweep; a box of fewer accesses than there are patterns is gone over again. */
static int walk_place(const Walk *walk, const Place *place, unsigned sweep) {
        unsigned n = n_patterns(place, sweep), at_once;
        WireBox box = box_for(place, n);
        size_t n_bytes = n_accesses(&box) * sizeof(MemoryData);
        int r;

        memory_batch_reset(walk->run->batch);
        at_once = (unsigned) MIN(memory_batch_room(walk->run->batch) / (2 * n_bytes + 3 * WIRE_ALIGNMENT), (size_t) STACKS);
        if (at_once == 0)
                return -ENOSPC;

        for (unsigned base = 0; base < n; base += n_accesses(&box)) {
                for (uint32_t i = 0; i < n_accesses(&box); i++)
                        walk->data[i] = pattern(place, sweep, (base + i) % n);
                for (unsigned stack = 0; stack < STACKS; stack += at_once) {
                        r = walk_stacks(walk, &box, sweep, stack, MIN(stack + at_once, STACKS));
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

int hbm_walking_run(HbmRun *run, int (*found)(const MarchMismatch *mismatch, void *userdata)) {
        Walk walk = { .run = run, .found = found };
        int r = 0;

        walk.data = reallocarray(NULL, ACCESS_BITS + run->geometry.size[HBM_COLUMN], sizeof(MemoryData));
        if (!walk.data)
                return -ENOMEM;

        for (uint32_t i = 0; r >= 0 && i < n_places(run); i++) {
                Place place = choose(run, i);

                for (unsigned sweep = 0; r >= 0 && sweep < SWEEPS; sweep++)
                        r = walk_place(&walk, &place, sweep);
        }

        free(walk.data);
        return r;
}
