/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/walking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define ACCESS_BITS     (8 * MEMORY_ACCESS_BYTES)
#define SWEEPS          3u  /* one 1, one 0, all lanes at once */
#define STACK_BYTES_SEC 725e9
#define LANE_BYTES      4u

typedef struct Walk {
        HbmRun *run;
        int (*found)(const MarchMismatch *mismatch, void *userdata);
        uint32_t n_columns, n_rows; /* of a box */
        MemoryData *data;           /* of a box */
} Walk;

/* As many rows as 256 accesses take, or as the box has. */
static void measure_box(const HbmRun *run, uint32_t *ret_columns, uint32_t *ret_rows) {
        uint32_t rows = run->box.last[HBM_ROW] - run->box.first[HBM_ROW] + 1u;

        *ret_columns = run->geometry.size[HBM_COLUMN];
        *ret_rows = MIN((ACCESS_BITS + *ret_columns - 1) / *ret_columns, rows);
}

static uint32_t n_places(const HbmRun *run) {
        const WireBox *box = &run->box;
        uint32_t n = 1;

        for (unsigned axis = HBM_CHANNEL; axis <= HBM_SID; axis++)
                n *= box->last[axis] - box->first[axis] + 1u;
        return n;
}

double hbm_walking_sec(const HbmRun *run) {
        uint32_t n_columns, n_rows;

        measure_box(run, &n_columns, &n_rows);
        return 2.0 * SWEEPS * n_places(run) * n_columns * n_rows * MEMORY_ACCESS_BYTES / STACK_BYTES_SEC;
}

/* Access I of sweep SWEEP. */
static MemoryData pattern(unsigned sweep, uint32_t i) {
        MemoryData data;
        unsigned bit = i % ACCESS_BITS;

        memset(data.bytes, sweep == 1 ? 0xff : 0, sizeof(data.bytes));
        if (sweep < 2)
                data.bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
        else
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                        data.bytes[k] = (k / LANE_BYTES ^ i) & 1 ? 0xff : 0;
        return data;
}

/* Place NUMBER of the channels, pseudo-channels and stack IDs; the bank and rows in it are the seed's. */
static WireBox place(const Walk *walk, uint32_t number) {
        const HbmRun *run = walk->run;
        uint64_t hash = memory_mix(step_seed(run->step) ^ (UINT64_C(0x77616c6b) << 32 | number));
        uint32_t rows = run->box.last[HBM_ROW] - run->box.first[HBM_ROW] + 1u;
        WireBox box;

        for (int axis = HBM_SID; axis >= (int) HBM_CHANNEL; axis--) {
                uint32_t n = run->box.last[axis] - run->box.first[axis] + 1u;

                box.first[axis] = box.last[axis] = (uint16_t) (run->box.first[axis] + number % n);
                number /= n;
        }
        for (unsigned axis = HBM_BANK_GROUP; axis <= HBM_BANK; axis++) {
                box.first[axis] = box.last[axis] =
                        (uint16_t) (run->box.first[axis] + hash % (run->box.last[axis] - run->box.first[axis] + 1u));
                hash = memory_mix(hash);
        }

        box.first[HBM_ROW] = (uint16_t) (run->box.first[HBM_ROW] + hash % (rows - walk->n_rows + 1));
        box.last[HBM_ROW] = (uint16_t) (box.first[HBM_ROW] + walk->n_rows - 1);
        box.first[HBM_COLUMN] = 0;
        box.last[HBM_COLUMN] = (uint16_t) (walk->n_columns - 1);
        return box;
}

static int compare(const Walk *walk, unsigned stack, const WireBox *box, unsigned sweep, const uint8_t *got) {
        for (uint32_t i = 0; i < walk->n_columns * walk->n_rows; i++, got += MEMORY_ACCESS_BYTES) {
                MarchMismatch mismatch = { .part = stack, .element = sweep, .op = MARCH_OPS_MAX, .expected = walk->data[i] };
                int r;

                if (memcmp(got, walk->data[i].bytes, MEMORY_ACCESS_BYTES) == 0)
                        continue;

                memcpy(mismatch.at, box->first, sizeof(mismatch.at));
                mismatch.at[HBM_ROW] = (uint16_t) (box->first[HBM_ROW] + i / walk->n_columns);
                mismatch.at[HBM_COLUMN] = (uint16_t) (i % walk->n_columns);
                memcpy(mismatch.actual.bytes, got, sizeof(mismatch.actual.bytes));
                walk->run->outcomes[stack].mismatches++;
                r = walk->found(&mismatch, walk->run);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Stacks FIRST … END - 1 at one place, with the pattern that DATA holds. */
static int walk_stacks(const Walk *walk, const WireBox *box, unsigned sweep, unsigned first, unsigned end) {
        HbmRun *run = walk->run;
        size_t n_bytes = walk->n_columns * walk->n_rows * sizeof(MemoryData);
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

        run->tally.walked += (end - first) * (uint64_t) walk->n_columns * walk->n_rows;
        return 0;
}

/* All of one sweep; a box of fewer accesses than an access has bits is gone over again. */
static int walk_place(const Walk *walk, const WireBox *box, unsigned sweep, unsigned at_once) {
        uint32_t n = walk->n_columns * walk->n_rows;
        int r;

        for (uint32_t base = 0; base < ACCESS_BITS; base += n) {
                for (uint32_t i = 0; i < n; i++)
                        walk->data[i] = pattern(sweep, base + i);
                for (unsigned stack = 0; stack < STACKS; stack += at_once) {
                        r = walk_stacks(walk, box, sweep, stack, MIN(stack + at_once, STACKS));
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

int hbm_walking_run(HbmRun *run, int (*found)(const MarchMismatch *mismatch, void *userdata)) {
        Walk walk = { .run = run, .found = found };
        unsigned at_once;
        size_t n_bytes;
        int r = 0;

        measure_box(run, &walk.n_columns, &walk.n_rows);
        n_bytes = (size_t) walk.n_columns * walk.n_rows * sizeof(MemoryData);
        memory_batch_reset(run->batch);
        at_once = (unsigned) MIN(memory_batch_room(run->batch) / (2 * n_bytes + 3 * WIRE_ALIGNMENT), (size_t) STACKS);
        if (at_once == 0)
                return -ENOSPC;

        walk.data = malloc(n_bytes);
        if (!walk.data)
                return -ENOMEM;
        for (uint32_t i = 0; r >= 0 && i < n_places(run); i++) {
                WireBox box = place(&walk, i);

                for (unsigned sweep = 0; r >= 0 && sweep < SWEEPS; sweep++)
                        r = walk_place(&walk, &box, sweep, at_once);
        }

        free(walk.data);
        return r;
}
