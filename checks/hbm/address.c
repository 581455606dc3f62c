/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/address.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW_BITS_MAX   16
#define NEIGHBOURS_MAX (2 * MEMORY_MAP_MASKS_MAX)
#define READS_STEADY   64

/* Bits of channel and bank group: where one too many in the hash leads. */
typedef struct Neighbour {
        uint8_t axis, bit;
        uint16_t at[_MEMORY_AXIS_MAX];
        uint64_t tag;
} Neighbour;

typedef struct Probe {
        uint16_t at[_MEMORY_AXIS_MAX];
        int row_bit;
        uint64_t tag;
        unsigned n_neighbours;
        Neighbour neighbours[NEIGHBOURS_MAX];
        int before, by_address, after; /* numbers in the batch */
} Probe;

static MemoryData tag_data(uint64_t tag) {
        MemoryData data;

        for (unsigned word = 0; word < MEMORY_ACCESS_BYTES / sizeof(uint64_t); word++) {
                uint64_t value = memory_mix(tag + word);

                memcpy(data.bytes + word * sizeof(value), &value, sizeof(value));
        }
        return data;
}

/* A place of ROW in the box that hangs on nothing but SEED. */
static void place(const WireBox *box, unsigned row, uint64_t seed, uint16_t ret[static _MEMORY_AXIS_MAX]) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                ret[axis] = (uint16_t) (box->first[axis] +
                                        memory_mix(seed ^ axis) % (box->last[axis] - box->first[axis] + 1u));
        ret[HBM_ROW] = (uint16_t) row;
}

static void find_neighbours(const MemoryMap *map, const WireBox *box, Probe *probe) {
        static const MemoryAxis hashed[] = { HBM_CHANNEL, HBM_BANK_GROUP };

        for (unsigned i = 0; i < ELEMENTS(hashed); i++)
                for (unsigned bit = 0; bit < map->n_masks[hashed[i]]; bit++) {
                        Neighbour *neighbour = &probe->neighbours[probe->n_neighbours];

                        *neighbour = (Neighbour) { .axis = (uint8_t) hashed[i], .bit = (uint8_t) bit };
                        memcpy(neighbour->at, probe->at, sizeof(probe->at));
                        neighbour->at[hashed[i]] ^= (uint16_t) (1u << bit);
                        neighbour->tag = memory_mix(probe->tag ^ (uint64_t) (probe->n_neighbours + 1) << 32);
                        if (memory_box_includes(box, neighbour->at))
                                probe->n_neighbours++;
                }
}

static int plant(MemoryBatch *batch, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], uint64_t tag) {
        MemoryPart part = memory_part_stack(stack);
        MemoryData data = tag_data(tag);
        WireBox box = memory_access_box(at);

        return memory_batch_copy_in(batch, &part, &box, false, &data, sizeof(data));
}

static int add_probe(const MemoryMap *map, unsigned stack, MemoryBatch *batch, Probe *probe) {
        MemoryPart part = memory_part_stack(stack);
        WireBox box = memory_access_box(probe->at);
        int r;

        r = plant(batch, stack, probe->at, probe->tag);
        for (unsigned i = 0; i < probe->n_neighbours && r >= 0; i++)
                r = plant(batch, stack, probe->neighbours[i].at, probe->neighbours[i].tag);
        if (r < 0)
                return r;

        probe->before = memory_batch_copy_out(batch, &part, &box, false);
        probe->by_address = memory_batch_read_address(batch, stack, memory_map_address(map, stack, probe->at));
        probe->after = memory_batch_copy_out(batch, &part, &box, false);
        return probe->before < 0 || probe->by_address < 0 || probe->after < 0 ? -ENOSPC : 0;
}

static bool holds(const MemoryBatch *batch, int number, uint64_t tag) {
        MemoryData data = tag_data(tag);

        return memcmp(memory_batch_answer(batch, number).data, &data, sizeof(data)) == 0;
}

static HbmAddress astray(const MemoryMap *map, unsigned stack, const MemoryBatch *batch, const Probe *probe, const Neighbour *led) {
        HbmAddress address = {
                .address  = memory_map_address(map, stack, probe->at),
                .expected = tag_data(probe->tag),
                .axis     = led ? led->axis : -1,
                .bit      = led ? led->bit : 0,
                .row_bit  = probe->row_bit,
        };

        memcpy(address.at, probe->at, sizeof(address.at));
        memcpy(&address.actual, memory_batch_answer(batch, probe->by_address).data, sizeof(address.actual));
        return address;
}

/* What a dead array gives, or one that inverts: memory may do that now and then, and another place does not hold it. */
static bool is_dead(const uint8_t *got, const MemoryData *tag) {
        bool same = true, inverted = true;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++) {
                same &= got[i] == got[0];
                inverted &= (got[i] ^ tag->bytes[i]) == 0xff;
        }
        return same || inverted;
}

/*
 * An address is wrong where the place it stands for held its tag before and after and the address did not give it. Memory that
 * fails now and then can look like that too, but not with a tag of a neighbour or with a quarter of all bits at random.
 */
static bool judge_probe(const MemoryMap *map, unsigned stack, const MemoryBatch *batch, const Probe *probe, HbmAddresses *ret,
                        HbmAddress *ret_astray) {
        const Neighbour *led = NULL;
        MemoryData tag = tag_data(probe->tag);
        const uint8_t *got = memory_batch_answer(batch, probe->by_address).data;
        unsigned differing = 0;

        if (!holds(batch, probe->before, probe->tag) || !holds(batch, probe->after, probe->tag))
                return false;
        ret->n_compared++;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                differing += (unsigned) __builtin_popcount(got[i] ^ tag.bytes[i]);
        if (differing < MEMORY_ACCESS_BYTES * 8 / 4)
                return false;
        for (unsigned i = 0; i < probe->n_neighbours && !led; i++)
                if (holds(batch, probe->by_address, probe->neighbours[i].tag))
                        led = &probe->neighbours[i];
        if (!led && is_dead(got, &tag))
                return false;

        *ret_astray = astray(map, stack, batch, probe, led);
        return true;
}

/*
 * Address lines behind the map that fail now and then give neighbours' tags as well; but they do so by coordinates too. Returns
 * whether the place keeps to its tag in READS_STEADY more reads.
 */
static int is_steady(unsigned stack, MemoryBatch *batch, const Probe *probe) {
        MemoryPart part = memory_part_stack(stack);
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

        for (unsigned i = 0; i < READS_STEADY; i++)
                if (!holds(batch, numbers[i], probe->tag))
                        return false;
        return true;
}

/* Row 0 or the first of the box, and one for each bit of the row. Returns how many. */
static int plant_all(const MemoryMap *map, const WireBox *box, unsigned stack, uint64_t seed, MemoryBatch *batch,
                     Probe probes[static 1 + ROW_BITS_MAX]) {
        unsigned n = 0;

        for (int bit = -1; bit < ROW_BITS_MAX; bit++) {
                unsigned row = bit < 0 ? box->first[HBM_ROW] : 1u << bit;
                Probe *probe = &probes[n];
                int r;

                if (row < box->first[HBM_ROW] || row > box->last[HBM_ROW])
                        continue;
                *probe = (Probe) { .row_bit = bit, .tag = memory_mix(seed ^ (uint64_t) stack << 40 ^ (uint64_t) (bit + 1) << 48) };
                place(box, row, probe->tag, probe->at);
                find_neighbours(map, box, probe);
                r = add_probe(map, stack, batch, probe);
                if (r < 0)
                        return r;
                n++;
        }

        return (int) n;
}

int hbm_addresses_run(const MemoryMap *map, const WireBox *box, unsigned stack, uint64_t seed, MemoryBatch *batch,
                      HbmAddresses *ret) {
        Probe probes[1 + ROW_BITS_MAX];
        HbmAddress wrong[1 + ROW_BITS_MAX];
        bool is_wrong[1 + ROW_BITS_MAX];
        int n, r;

        memory_batch_reset(batch);
        *ret = (HbmAddresses) {};

        n = plant_all(map, box, stack, seed, batch, probes);
        if (n < 0)
                return n;
        r = memory_batch_run(batch);
        if (r < 0)
                return r;

        ret->n_asked = (unsigned) n;
        for (int i = 0; i < n; i++)
                is_wrong[i] = judge_probe(map, stack, batch, &probes[i], ret, &wrong[i]);
        for (int i = 0; i < n; i++) {
                r = is_wrong[i] ? is_steady(stack, batch, &probes[i]) : false;
                if (r < 0)
                        return r;
                /* One that is understood says more than one that is not. */
                if (r > 0 && (ret->n_wrong++ == 0 || (ret->first.axis < 0 && wrong[i].axis >= 0)))
                        ret->first = wrong[i];
        }

        return 0;
}

static char *hex(const MemoryData *data, char text[static 2 * MEMORY_ACCESS_BYTES + 1]) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                (void) snprintf(text + 2 * i, 3, "%02x", data->bytes[i]);
        return text;
}

static int tell(HbmRun *run, unsigned stack, const HbmAddresses *came) {
        const HbmAddress *first = &came->first;
        char address[MEMORY_ADDRESS_TEXT_MAX], expected[2 * MEMORY_ACCESS_BYTES + 1], actual[2 * MEMORY_ACCESS_BYTES + 1],
                        how[96] = "another place";
        Location where = *step_unit(run->step);
        Evidence evidence = {
                .address   = memory_map_format(&run->map, stack, first->at, address),
                .expected  = hex(&first->expected, expected),
                .actual    = hex(&first->actual, actual),
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
        unsigned n = 0, n_asked = 0;
        int r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                HbmAddresses came;

                r = hbm_addresses_run(&run->map, &run->box, stack, step_seed(run->step), run->batch, &came);
                if (r < 0)
                        return r;
                n += came.n_compared;
                n_asked += came.n_asked;
                if (came.n_wrong == 0)
                        continue;
                r = tell(run, stack, &came);
                if (r < 0)
                        return r;
        }

        /* Where memory does not hold its tags the marches find out; if they do not, this is no pass. */
        r = step_measure(run->step, "hbm_addresses_compared", n, "1", LIMIT_EQUAL, n_asked, NULL);
        return r < 0 ? r : 0;
}
