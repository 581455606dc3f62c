/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/address.h"

#include <string.h>
#include <sys/param.h>

#define ROW_BITS_MAX 16
#define PROBES_MAX   (1 + ROW_BITS_MAX)
#define TRIES_MAX    4
#define READS_ROUND  64u
#define ROUNDS_MAX   32u
#define WRONG_MIN    10u
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

/* Adds N reads of one address; *ret_first is the number of the first. */
static int add_reads(const MemoryMap *map, const Trial *trial, const Probe *probe, unsigned n, MemoryBatch *batch, int *ret_first) {
        for (unsigned i = 0; i < n; i++) {
                int r = memory_batch_read_address(batch, trial->stack, memory_map_address(map, trial->stack, probe->at));

                if (r < 0)
                        return r;
                if (i == 0)
                        *ret_first = r;
        }
        return 0;
}

/* How many of N reads did not give the tag; *ret (or NULL) is what the first of them gave. */
static unsigned count_wrong(const Probe *probe, MemoryBatch *batch, int first, unsigned n, MemoryData *ret) {
        unsigned n_wrong = 0;

        for (unsigned i = 0; i < n; i++) {
                MemoryData got;

                memcpy(&got, memory_batch_answer(batch, first + (int) i).data, sizeof(got));
                if (!is_like(&got, &probe->tag) && n_wrong++ == 0 && ret)
                        *ret = got;
        }
        return n_wrong;
}

/*
 * Address lines behind the map that fail now and then give tags of other places as well; but they do so by coordinates too, as often:
 * that so many reads by address go wrong before the first by coordinates then has a chance of 2^-WRONG_MIN.
 */
static int is_led_astray(const MemoryMap *map, const Trial *trial, MemoryBatch *batch, const Probe *probe) {
        MemoryPart part = memory_part_stack(trial->stack);
        WireBox box = memory_access_box(probe->at);
        unsigned n_wrong = 0;

        for (unsigned round = 0; round < ROUNDS_MAX && n_wrong < WRONG_MIN; round++) {
                int by_place = 0, by_address = 0, r;

                memory_batch_reset(batch);
                for (unsigned i = 0; i < READS_ROUND; i++) {
                        r = memory_batch_copy_out(batch, &part, &box, false);
                        if (r < 0)
                                return r;
                        by_place = i == 0 ? r : by_place;
                }
                r = add_reads(map, trial, probe, READS_ROUND, batch, &by_address);
                if (r >= 0)
                        r = memory_batch_run(batch);
                if (r < 0)
                        return r;
                if (count_wrong(probe, batch, by_place, READS_ROUND, NULL) > 0)
                        return 0;
                n_wrong += count_wrong(probe, batch, by_address, READS_ROUND, NULL);
        }

        return n_wrong >= WRONG_MIN;
}

/*
 * An address is wrong where it gave something else than its place, which holds its tag. Memory that fails now and then can look
 * like that too, but not with the tag of a neighbour or with half of all bits at random. What cannot be told stays open, for
 * another place. Returns whether it is wrong.
 */
static int judge(const MemoryMap *map, const Trial *trial, MemoryBatch *batch, Probe *probe, HbmAddress *ret) {
        HbmAddress wrong = {
                .address  = memory_map_address(map, trial->stack, probe->at),
                .expected = probe->tag,
                .actual   = probe->got,
                .row_bit  = probe->row_bit,
        };
        int r;

        probe->settled = is_like(&probe->got, &probe->tag);
        if (probe->settled)
                return 0;

        find_led(map, trial, probe, &wrong);
        if (wrong.axis < 0 && is_dead(&probe->got, &probe->tag))
                return 0;
        r = is_led_astray(map, trial, batch, probe);
        if (r <= 0)
                return r;
        probe->settled = true;
        memcpy(wrong.at, probe->at, sizeof(wrong.at));
        *ret = wrong;
        return 1;
}

static int settle(const MemoryMap *map, const Trial *trial, MemoryBatch *batch, Probe *probe, HbmAddresses *ret) {
        HbmAddress wrong;
        int r;

        r = judge(map, trial, batch, probe, &wrong);
        if (r < 0)
                return r;

        /* One that is understood says more than one that is not. */
        if (r > 0 && (ret->n_wrong++ == 0 || (ret->first.axis < 0 && wrong.axis >= 0)))
                ret->first = wrong;
        ret->n_compared += probe->settled;
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

static unsigned column_of(const WireBox *box, const Trial *trial, unsigned attempt) {
        unsigned columns = box->last[HBM_COLUMN] - box->first[HBM_COLUMN] + 1u;

        return (unsigned) (box->first[HBM_COLUMN] + (trial->field.seed + attempt) % columns);
}

/* Tags go to one column of everything by coordinates, so that what an address reaches instead of its place is known. */
static int write_tags(const WireBox *box, const Trial *trial, unsigned column, MemoryBatch *batch) {
        MemoryPart part = memory_part_stack(trial->stack);
        WireMarch march = {
                .box        = *box,
                .background = (uint8_t) trial->field.background,
                .seed       = trial->field.seed,
                .n_ops      = 1,
                .ops        = { MARCH_WRITE },
        };

        march.box.first[HBM_COLUMN] = march.box.last[HBM_COLUMN] = (uint16_t) column;
        return memory_batch_march(batch, &part, &march);
}

static int ask(const MemoryMap *map, const WireBox *box, Trial *trial, unsigned attempt, MemoryBatch *batch) {
        unsigned column = column_of(box, trial, attempt);
        int r, n = 0;

        for (unsigned i = 0; i < trial->n_probes; i++) {
                Probe *probe = &trial->probes[i];

                if (probe->settled)
                        continue;
                r = n++ == 0 ? write_tags(box, trial, column, batch) : 0;
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

/* ---- now and then ---- */

/* The last row, and the one with the most bits: between them they have all bits that any row has. */
static unsigned crowded_rows(const WireBox *box, uint16_t rows[static 2]) {
        unsigned last = box->last[HBM_ROW], full = (1u << (31 - __builtin_clz(last + 1))) - 1;

        rows[0] = (uint16_t) last;
        rows[1] = (uint16_t) full;
        return full == last || full < box->first[HBM_ROW] ? 1 : 2;
}

/* Judges the first of N reads that did not give the tag; returns whether it is wrong, and how many there are in *ret_wrong. */
static int hear_reads(const MemoryMap *map, const Trial *trial, Probe *probe, int first, unsigned n, MemoryBatch *batch,
                      unsigned *ret_wrong, HbmAddress *ret) {
        *ret_wrong = count_wrong(probe, batch, first, n, &probe->got);
        return *ret_wrong > 0 ? judge(map, trial, batch, probe, ret) : 0;
}

/* Which bit of the row it is: rows in which one alone is set, in the column that has tags. */
static int find_row_bit(const MemoryMap *map, const WireBox *box, const Trial *trial, unsigned attempt, MemoryBatch *batch,
                        HbmAddress *ret) {
        for (unsigned i = 0; i < trial->n_probes; i++) {
                Probe probe = trial->probes[i];
                int first, r;
                unsigned n_wrong;

                if (probe.row_bit < 0)
                        continue;
                place(trial, box, column_of(box, trial, attempt), attempt, &probe);
                probe.tag = memory_field_data(&trial->field, &map->geometry, probe.at, 0);
                memory_batch_reset(batch);
                r = add_reads(map, trial, &probe, 2 * HBM_ADDRESS_READS, batch, &first);
                if (r >= 0)
                        r = memory_batch_run(batch);
                if (r >= 0)
                        r = hear_reads(map, trial, &probe, first, 2 * HBM_ADDRESS_READS, batch, &n_wrong, ret);
                if (r != 0)
                        return MIN(r, 0);
        }
        return 0;
}

/* One address of ROW; where memory does not hold its tag, others. */
static int ask_row_again(const MemoryMap *map, const WireBox *box, const Trial *trial, uint16_t row, MemoryBatch *batch, HbmAddresses *ret) {
        for (unsigned attempt = 0; attempt < TRIES_MAX; attempt++) {
                Probe probe = { .row_bit = -1 };
                int first, r;

                place(trial, box, column_of(box, trial, attempt), attempt, &probe);
                probe.at[HBM_ROW] = row;
                probe.tag = memory_field_data(&trial->field, &map->geometry, probe.at, 0);
                memory_batch_reset(batch);
                r = write_tags(box, trial, column_of(box, trial, attempt), batch);
                if (r >= 0)
                        r = add_reads(map, trial, &probe, HBM_ADDRESS_READS, batch, &first);
                if (r >= 0)
                        r = memory_batch_run(batch);
                if (r >= 0)
                        r = hear_reads(map, trial, &probe, first, HBM_ADDRESS_READS, batch, &ret->n_again_wrong, &ret->first);
                if (r < 0)
                        return r;

                ret->n_again = HBM_ADDRESS_READS;
                if (r > 0)
                        return find_row_bit(map, box, trial, attempt, batch, &ret->first);
                if (ret->n_again_wrong == 0)
                        return 0;
        }

        ret->n_again = ret->n_again_wrong = 0;
        return 0;
}

static int ask_again(const MemoryMap *map, const WireBox *box, const Trial trials[static STACKS], MemoryBatch *batch,
                     HbmAddresses ret[static STACKS]) {
        uint16_t rows[2];
        unsigned n = crowded_rows(box, rows);
        int r = 0;

        for (unsigned i = 0; i < n * STACKS && r >= 0; i++)
                if (ret[i / n].n_wrong == 0 && ret[i / n].n_again_wrong == 0)
                        r = ask_row_again(map, box, &trials[i / n], rows[i % n], batch, &ret[i / n]);
        return r;
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
        return r < 0 ? r : ask_again(map, box, trials, batch, ret);
}
