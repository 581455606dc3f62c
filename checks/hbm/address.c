/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/address.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW_BITS_MAX 16
#define PROBES_MAX   (1 + ROW_BITS_MAX)
#define TRIES_MAX    4
#define READS_STEADY 64
#define LANE_BYTES   4u /* of one beat */

typedef struct Probe {
        int row_bit;
        bool settled; /* its address was compared */
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryData tag, got;
        int by_address; /* number in the batch */
} Probe;

typedef struct Trial { /* of one stack */
        unsigned stack;
        MemoryField field;
        unsigned n_probes;
        Probe probes[PROBES_MAX];
} Trial;

/* ---- what was read ---- */

/* Lanes that are stuck and cells that fail leave most of a tag; another tag differs in half of its bits. */
static bool is_like(const MemoryData *data, const MemoryData *tag) {
        unsigned differing = 0;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                differing += (unsigned) __builtin_popcount(data->bytes[i] ^ tag->bytes[i]);
        return differing < MEMORY_ACCESS_BYTES * 8 / 4;
}

/* What a dead array gives, every beat the same, or one that inverts: memory may do that now and then. */
static bool is_dead(const MemoryData *got, const MemoryData *tag) {
        MemoryData inverted;
        bool same = true;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++) {
                same &= got->bytes[i] == got->bytes[i % LANE_BYTES];
                inverted.bytes[i] = (uint8_t) ~got->bytes[i];
        }
        return same || is_like(&inverted, tag);
}

/* Which bit of channel or bank group, turned over, leads from the probe's place to what was read; else an axis of -1. */
static void find_led(const MemoryMap *map, const Trial *trial, const Probe *probe, HbmAddress *ret) {
        static const MemoryAxis hashed[] = { HBM_CHANNEL, HBM_BANK_GROUP };

        ret->axis = -1;
        for (unsigned i = 0; i < ELEMENTS(hashed); i++)
                for (unsigned bit = 0; bit < map->n_masks[hashed[i]]; bit++) {
                        uint16_t at[_MEMORY_AXIS_MAX];
                        MemoryData tag;

                        memcpy(at, probe->at, sizeof(at));
                        at[hashed[i]] ^= (uint16_t) (1u << bit);
                        tag = memory_field_data(&trial->field, &map->geometry, at, 0);
                        if (!is_like(&probe->got, &tag))
                                continue;
                        ret->axis = (int) hashed[i];
                        ret->bit = bit;
                        return;
                }
}

/*
 * Address lines behind the map that fail now and then give tags of other places as well; but they do so by coordinates too.
 * Returns whether the place keeps to its tag in READS_STEADY reads.
 */
static int is_steady(const Trial *trial, MemoryBatch *batch, const Probe *probe) {
        MemoryPart part = memory_part_stack(trial->stack);
        WireBox box = memory_access_box(probe->at);
        int numbers[READS_STEADY], r;

        memory_batch_reset(batch);
        for (unsigned i = 0; i < READS_STEADY; i++) {
                numbers[i] = memory_batch_copy_out(batch, &part, &box, false);
                if (numbers[i] < 0)
                        return numbers[i];
        }
        r = memory_batch_run(batch);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < READS_STEADY; i++) {
                MemoryData data;

                memcpy(&data, memory_batch_answer(batch, numbers[i]).data, sizeof(data));
                if (!is_like(&data, &probe->tag))
                        return false;
        }
        return true;
}

/*
 * An address is wrong where it gave something else than its place, which holds its tag. Memory that fails now and then can look
 * like that too, but not with the tag of a neighbour or with half of all bits at random. What cannot be told stays open, for
 * another place.
 */
static int settle(const MemoryMap *map, const Trial *trial, MemoryBatch *batch, Probe *probe, HbmAddresses *ret) {
        HbmAddress wrong = {
                .address  = memory_map_address(map, trial->stack, probe->at),
                .expected = probe->tag,
                .actual   = probe->got,
                .row_bit  = probe->row_bit,
        };
        int r;

        probe->settled = is_like(&probe->got, &probe->tag);
        if (!probe->settled) {
                find_led(map, trial, probe, &wrong);
                if (wrong.axis < 0 && is_dead(&probe->got, &probe->tag))
                        return 0;
                r = is_steady(trial, batch, probe);
                if (r <= 0)
                        return r;
                probe->settled = true;
                memcpy(wrong.at, probe->at, sizeof(wrong.at));
                /* One that is understood says more than one that is not. */
                if (ret->n_wrong++ == 0 || (ret->first.axis < 0 && wrong.axis >= 0))
                        ret->first = wrong;
        }
        ret->n_compared++;
        return 0;
}

/* ---- what is asked ---- */

/* Row 0 or the first of the box, and one for each bit of the row. */
static void trial_init(Trial *trial, const WireBox *box, unsigned stack, uint64_t seed) {
        *trial = (Trial) {
                .stack = stack,
                .field = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = memory_mix(seed ^ (uint64_t) stack << 40) },
        };
        for (int bit = -1; bit < ROW_BITS_MAX; bit++) {
                unsigned row = bit < 0 ? box->first[HBM_ROW] : 1u << bit;

                if (row < box->first[HBM_ROW] || row > box->last[HBM_ROW])
                        continue;
                trial->probes[trial->n_probes] = (Probe) { .row_bit = bit };
                trial->probes[trial->n_probes++].at[HBM_ROW] = (uint16_t) row;
        }
}

/* A place in the probe's row that hangs on nothing but the seed; what is one part in one try is another in the next. */
static void place(const Trial *trial, const WireBox *box, unsigned column, unsigned attempt, Probe *probe) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                uint64_t chosen = memory_mix(trial->field.seed ^ (uint64_t) (probe->row_bit + 1) << 48 ^ axis);
                unsigned size = box->last[axis] - box->first[axis] + 1u;

                if (axis != HBM_ROW)
                        probe->at[axis] = (uint16_t) (box->first[axis] + (chosen + attempt) % size);
        }
        probe->at[HBM_COLUMN] = (uint16_t) column;
}

/* Tags go to one column of everything by coordinates, so that what an address reaches instead of its place is known. */
static int ask(const MemoryMap *map, const WireBox *box, Trial *trial, unsigned attempt, MemoryBatch *batch) {
        MemoryPart part = memory_part_stack(trial->stack);
        unsigned columns = box->last[HBM_COLUMN] - box->first[HBM_COLUMN] + 1u;
        unsigned column = (unsigned) (box->first[HBM_COLUMN] + (trial->field.seed + attempt) % columns);
        WireMarch march = {
                .box        = *box,
                .background = (uint8_t) trial->field.background,
                .seed       = trial->field.seed,
                .n_ops      = 1,
                .ops        = { MARCH_WRITE },
        };
        int r, n = 0;

        march.box.first[HBM_COLUMN] = march.box.last[HBM_COLUMN] = (uint16_t) column;
        for (unsigned i = 0; i < trial->n_probes; i++) {
                Probe *probe = &trial->probes[i];

                if (probe->settled)
                        continue;
                r = n++ == 0 ? memory_batch_march(batch, &part, &march) : 0;
                if (r < 0)
                        return r;
                place(trial, box, column, attempt, probe);
                probe->tag = memory_field_data(&trial->field, &map->geometry, probe->at, 0);
                probe->by_address = memory_batch_read_address(batch, trial->stack, memory_map_address(map, trial->stack, probe->at));
                if (probe->by_address < 0)
                        return probe->by_address;
        }
        return n;
}

/* Returns how many addresses were read. */
static int try_all(const MemoryMap *map, const WireBox *box, Trial trials[static STACKS], unsigned attempt, MemoryBatch *batch,
                   HbmAddresses ret[static STACKS]) {
        int r, n = 0;

        memory_batch_reset(batch);
        for (unsigned stack = 0; stack < STACKS; stack++) {
                r = ask(map, box, &trials[stack], attempt, batch);
                if (r < 0)
                        return r;
                n += r;
        }
        r = n > 0 ? memory_batch_run(batch) : 0;
        if (r < 0)
                return r;

        for (unsigned i = 0; i < STACKS * PROBES_MAX; i++) {
                Probe *probe = &trials[i / PROBES_MAX].probes[i % PROBES_MAX];

                if (i % PROBES_MAX < trials[i / PROBES_MAX].n_probes && !probe->settled)
                        memcpy(&probe->got, memory_batch_answer(batch, probe->by_address).data, sizeof(probe->got));
        }
        for (unsigned i = 0; i < STACKS * PROBES_MAX; i++) {
                Trial *trial = &trials[i / PROBES_MAX];
                Probe *probe = &trial->probes[i % PROBES_MAX];

                if (i % PROBES_MAX >= trial->n_probes || probe->settled)
                        continue;
                r = settle(map, trial, batch, probe, &ret[trial->stack]);
                if (r < 0)
                        return r;
        }
        return n;
}

int hbm_addresses_run(const MemoryMap *map, const WireBox *box, uint64_t seed, MemoryBatch *batch, HbmAddresses ret[static STACKS]) {
        Trial trials[STACKS];
        int r = 1;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                trial_init(&trials[stack], box, stack, seed);
                ret[stack] = (HbmAddresses) { .n_asked = trials[stack].n_probes };
        }
        for (unsigned attempt = 0; attempt < TRIES_MAX && r > 0; attempt++)
                r = try_all(map, box, trials, attempt, batch, ret);
        return r < 0 ? r : 0;
}

static int tell(HbmRun *run, unsigned stack, const HbmAddresses *came) {
        const HbmAddress *first = &came->first;
        char address[MEMORY_ADDRESS_TEXT_MAX], expected[MEMORY_DATA_TEXT_MAX], actual[MEMORY_DATA_TEXT_MAX],
                        how[96] = "another place";
        Location where = *step_unit(run->step);
        Evidence evidence = {
                .address   = memory_map_format(&run->map, stack, first->at, address),
                .expected  = memory_data_hex(&first->expected, expected),
                .actual    = memory_data_hex(&first->actual, actual),
                .has_count = true,
                .count     = came->n_wrong,
        };

        (void) location_append(&where, LOCATION_HBM, stack);
        if (first->axis >= 0)
                (void) snprintf(how, sizeof(how), "a place with another bit %u of its %s, hashed wrongly with bit %d of the row", first->bit,
                                first->axis == HBM_CHANNEL ? "channel" : "bank group", first->row_bit);
        return step_finding(run->step, &run->verdict, "hbm-map", &where, &evidence,
                            "%u of %u addresses lead astray: 0x%" PRIx64 " to %s", came->n_wrong, came->n_compared,
                            first->address, how);
}

int hbm_addresses_judge(HbmRun *run) {
        HbmAddresses came[STACKS];
        unsigned n = 0, n_asked = 0;
        int r;

        r = hbm_addresses_run(&run->map, &run->box, step_seed(run->step), run->batch, came);
        if (r < 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                n += came[stack].n_compared;
                n_asked += came[stack].n_asked;
                if (came[stack].n_wrong == 0)
                        continue;
                r = tell(run, stack, &came[stack]);
                if (r < 0)
                        return r;
        }

        /* Where memory does not hold its tags the marches find out; if they do not, this is no pass. */
        r = step_measure(run->step, "hbm_addresses_compared", n, "1", LIMIT_EQUAL, n_asked, NULL);
        return r < 0 ? r : 0;
}
