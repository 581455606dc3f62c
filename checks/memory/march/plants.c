/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/plants.h"

#include <string.h>
#include <sys/param.h>

#include "checks/memory/march/doubts.h"

#define USE_PLANT UINT64_C(0x706c616e)

unsigned march_data_of(uint8_t op) {
        return op & MARCH_DATA ? 1 : 0;
}

void march_choose(const MarchPass *pass, uint64_t use, uint64_t number, uint16_t ret[static _MEMORY_AXIS_MAX]) {
        uint64_t hash = memory_mix(memory_mix(pass->seed ^ use) + number);

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                hash = memory_mix(hash);
                ret[axis] = (uint16_t) (pass->box.first[axis] +
                                        (hash >> 32) % (pass->box.last[axis] - pass->box.first[axis] + 1u));
        }
}

WireBox march_choose_box(const MarchPass *pass, uint64_t use, unsigned part, unsigned turn) {
        unsigned n_channels = pass->box.last[HBM_CHANNEL] - pass->box.first[HBM_CHANNEL] + 1u;
        unsigned width = MIN(pass->width, n_channels), n_turns = (n_channels + width - 1) / width, first;
        uint16_t at[_MEMORY_AXIS_MAX];
        WireBox box;

        march_choose(pass, use, (uint64_t) turn << 32 | part, at);
        first = (unsigned) (memory_mix(pass->seed ^ use ^ part) % n_turns + turn) % n_turns * width;
        at[HBM_CHANNEL] = (uint16_t) (pass->box.first[HBM_CHANNEL] + MIN(first, n_channels - width));
        box = memory_access_box(at);
        box.last[HBM_CHANNEL] = (uint16_t) (at[HBM_CHANNEL] + width - 1);
        return box;
}

static unsigned width_of(const WireBox *box) {
        return box->last[HBM_CHANNEL] - box->first[HBM_CHANNEL] + 1u;
}

/* Reads before the first write. */
static uint32_t leading_reads(const MarchElement *element) {
        uint32_t reads = 0;

        for (unsigned i = 0; i < element->n_ops && !(element->ops[i] & MARCH_WRITE); i++)
                reads |= UINT32_C(1) << i;
        return reads;
}

static MarchPlantBox *find_box(const MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (unsigned i = 0; i < plants->parts[part].n; i++)
                if (memory_box_includes(&plants->parts[part].boxes[i].box, at))
                        return (MarchPlantBox *) &plants->parts[part].boxes[i];
        return NULL;
}

const MemoryData *march_plants_find(const MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        const MarchPlantBox *plant = find_box(plants, part, at);

        return plant ? &plant->planted[at[HBM_CHANNEL] - plant->box.first[HBM_CHANNEL]] : NULL;
}

/* Every channel a bit of its own. */
static void fill(MarchPlantBox *plant, const MarchPass *pass, uint64_t number, unsigned data) {
        uint16_t at[_MEMORY_AXIS_MAX];

        memcpy(at, plant->box.first, sizeof(at));
        for (unsigned i = 0; i < width_of(&plant->box); i++) {
                unsigned bit = (unsigned) (memory_mix(pass->seed ^ ~(number << 16 | i)) >> 56); /* 0 … 255 */

                at[HBM_CHANNEL] = (uint16_t) (plant->box.first[HBM_CHANNEL] + i);
                plant->planted[i] = memory_field_data(&pass->field, &pass->geometry, at, data);
                plant->planted[i].bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
        }
}

static bool boxes_meet(const MarchPlants *plants, unsigned part, const WireBox *box) {
        uint16_t at[_MEMORY_AXIS_MAX];

        memcpy(at, box->first, sizeof(at));
        for (; at[HBM_CHANNEL] <= box->last[HBM_CHANNEL]; at[HBM_CHANNEL]++)
                if (find_box(plants, part, at))
                        return true;
        return false;
}

static int plant_box(MarchPlants *plants, MarchPass *pass, MemoryBatch *batch, unsigned part, unsigned element) {
        WireBox box = march_choose_box(pass, USE_PLANT, part, element);
        MarchPlantBox *plant;
        int r;

        if (plants->parts[part].n >= MARCH_BOXES_MAX || boxes_meet(plants, part, &box))
                return 0;

        plant = &plants->parts[part].boxes[plants->parts[part].n];
        plant->box = box;
        fill(plant, pass, (uint64_t) element << 32 | part, plants->data);
        r = memory_batch_copy_in(batch, &pass->parts[part], &box, pass->ecc, plant->planted,
                                 width_of(&box) * sizeof(MemoryData));
        if (r < 0)
                return r;

        plants->parts[part].n++;
        return 0;
}

int march_plants_plant(MarchPlants *plants, MarchPass *pass, MemoryBatch *batch, unsigned element) {
        const MarchElement *reading = &pass->march->elements[element];
        int r;

        plants->expected = leading_reads(reading);
        plants->data = march_data_of(reading->ops[0]);

        for (unsigned part = 0; part < pass->n_parts && plants->expected; part++) {
                r = plant_box(plants, pass, batch, part, element);
                if (r < 0)
                        return r;
        }

        for (unsigned part = 0; part < pass->n_parts; part++)
                for (unsigned i = 0; i < plants->parts[part].n; i++) {
                        MarchPlantBox *plant = &plants->parts[part].boxes[i];

                        memset(plant->returned, 0, sizeof(plant->returned));
                        memset(plant->changed, 0, sizeof(plant->changed));
                }
        return 0;
}

MarchPlantMatch march_plants_match(MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX],
                                   unsigned op, const MemoryData *actual) {
        MarchPlantBox *plant = plants->expected >> op & 1 ? find_box(plants, part, at) : NULL;
        unsigned i;

        if (!plant)
                return MARCH_PLANT_NONE;

        i = at[HBM_CHANNEL] - plant->box.first[HBM_CHANNEL];
        if (memcmp(&plant->planted[i], actual, sizeof(*actual)) != 0) {
                if (plant->changed[i] == 0)
                        plant->actual[i] = *actual;
                plant->changed[i] |= UINT32_C(1) << op;
                return MARCH_PLANT_CHANGED;
        }

        plant->returned[i] |= UINT32_C(1) << op;
        return MARCH_PLANT_RETURNED;
}

static void settle_box(const MarchPlants *plants, const MarchPlantBox *plant, MarchPass *pass, unsigned part, unsigned element,
                       bool truncated) {
        for (unsigned i = 0; i < width_of(&plant->box); i++) {
                uint32_t missing = plants->expected & ~plant->returned[i];
                MarchDoubt doubt = {
                        .part    = part,
                        .element = element,
                        .data    = plants->data,
                        .told    = !truncated,
                        .planted = plant->planted[i],
                };

                pass->totals.planted++;
                if (!missing) {
                        pass->totals.returned++;
                        continue;
                }

                doubt.op = (unsigned) __builtin_ctz(missing);
                /* Records come in the order of operations: the first that is missing is heard only as the first that was changed. */
                doubt.heard = plant->changed[i] >> doubt.op & 1;
                doubt.actual = plant->actual[i];
                memcpy(doubt.at, plant->box.first, sizeof(doubt.at));
                doubt.at[HBM_CHANNEL] = (uint16_t) (doubt.at[HBM_CHANNEL] + i);
                march_doubt(pass, &doubt);
        }
}

void march_plants_settle(MarchPlants *plants, MarchPass *pass, unsigned part, unsigned element, bool truncated) {
        for (unsigned i = 0; i < plants->parts[part].n && plants->expected; i++)
                settle_box(plants, &plants->parts[part].boxes[i], pass, part, element, truncated);
}

void march_plants_forget(MarchPlants *plants, const MarchElement *element) {
        for (unsigned i = 0; i < element->n_ops; i++)
                if (element->ops[i] & MARCH_WRITE)
                        for (unsigned part = 0; part < MARCH_PARTS_MAX; part++)
                                plants->parts[part].n = 0;
}
