/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/march/plants.h"

#include <string.h>
#include <sys/param.h>

#define PLANT_SPREAD  4u /* a channel has a plant in every so many elements that begin with a read */
#define PART_PLANTS   (MARCH_PLANTS_MAX / MARCH_PARTS_MAX)
#define DOUBT_TRIALS  3u
#define USE_PLANT     UINT64_C(0x706c616e)

static bool begins_with_read(const MarchElement *element) {
        return element->n_ops > 0 && !(element->ops[0] & MARCH_WRITE);
}

void march_choose(const MarchPass *pass, uint64_t use, uint64_t number, uint16_t ret[static _MEMORY_AXIS_MAX]) {
        uint64_t hash = memory_mix(memory_mix(pass->seed ^ use) + number);

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                hash = memory_mix(hash);
                ret[axis] = (uint16_t) (pass->box.first[axis] +
                                        (hash >> 32) % (pass->box.last[axis] - pass->box.first[axis] + 1u));
        }
}

void march_plants_init(MarchPlants *plants, const March *march) {
        plants->n = plants->nth = plants->n_elements = 0;
        for (unsigned i = 0; i < march->n_elements; i++)
                plants->n_elements += begins_with_read(&march->elements[i]);
}

int march_plants_find(const MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (unsigned i = 0; i < plants->n; i++)
                if (plants->plants[i].part == part &&
                    memcmp(plants->plants[i].at, at, sizeof(plants->plants[i].at)) == 0)
                        return (int) i;
        return -1;
}

static int plant_one(MarchPlants *plants, MarchPass *pass, MemoryBatch *batch, unsigned part, unsigned channel,
                     unsigned element) {
        const MarchElement *reading = &pass->march->elements[element];
        MarchPlant *plant = &plants->plants[plants->n];
        uint64_t number = (uint64_t) element << 32 | part << 16 | channel;
        unsigned bit = (unsigned) (memory_mix(pass->seed ^ ~number) >> 56); /* 0 … 255 */
        WireBox box;
        int r;

        march_choose(pass, USE_PLANT, number, plant->at);
        plant->at[HBM_CHANNEL] = (uint16_t) channel;
        if (march_plants_find(plants, part, plant->at) >= 0)
                return 0;

        plant->part = part;
        plant->planted = memory_field_data(&pass->field, &pass->geometry, plant->at,
                                        reading->ops[0] & MARCH_DATA ? 1 : 0);
        plant->planted.bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);

        box = memory_access_box(plant->at);
        r = memory_batch_copy_in(batch, &pass->parts[part], &box, pass->ecc, plant->planted.bytes, sizeof(plant->planted.bytes));
        if (r < 0)
                return r;
        plants->n++;
        return 0;
}

static unsigned plants_of_part(const MarchPlants *plants, unsigned part) {
        unsigned n = 0;

        for (unsigned i = 0; i < plants->n; i++)
                n += plants->plants[i].part == part;
        return n;
}

int march_plants_plant(MarchPlants *plants, MarchPass *pass, MemoryBatch *batch, unsigned element) {
        unsigned first = pass->box.first[HBM_CHANNEL], n_channels = pass->box.last[HBM_CHANNEL] - first + 1u;
        unsigned spread = MIN(MIN(plants->n_elements, PLANT_SPREAD), n_channels);
        int r;

        if (!begins_with_read(&pass->march->elements[element]))
                return 0;

        for (unsigned part = 0; part < pass->n_parts; part++) {
                unsigned n = plants_of_part(plants, part);

                for (unsigned i = plants->nth % spread; i < n_channels && n < PART_PLANTS;
                     i += spread, n++) {
                        r = plant_one(plants, pass, batch, part, first + i, element);
                        if (r < 0)
                                return r;
                }
        }

        plants->nth++;
        return 0;
}

void march_plants_expect(MarchPlants *plants, const MarchElement *element) {
        uint32_t reads = 0;

        for (unsigned i = 0; i < element->n_ops && !(element->ops[i] & MARCH_WRITE); i++)
                reads |= UINT32_C(1) << i;

        for (unsigned i = 0; i < plants->n; i++) {
                plants->plants[i].expected = reads;
                plants->plants[i].returned = 0;
                plants->plants[i].changed = false;
                plants->plants[i].data = element->ops[0] & MARCH_DATA ? 1 : 0;
        }
}

MarchPlantMatch march_plants_match(MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX],
                                   unsigned op, const MemoryData *actual, MemoryData *expected) {
        int index = march_plants_find(plants, part, at);
        MarchPlant *plant;

        if (index < 0 || !(plants->plants[index].expected & UINT32_C(1) << op))
                return MARCH_PLANT_NONE;

        plant = &plants->plants[index];
        plant->returned |= UINT32_C(1) << op;
        if (memcmp(&plant->planted, actual, sizeof(*actual)) == 0)
                return MARCH_PLANT_RETURNED;

        plant->changed = true;
        *expected = plant->planted;
        return MARCH_PLANT_CHANGED;
}

void march_plants_settle(MarchPlants *plants, MarchPass *pass, unsigned part, unsigned element,
                         bool truncated) {
        for (unsigned i = 0; i < plants->n; i++) {
                const MarchPlant *plant = &plants->plants[i];
                MarchDoubt *doubt;

                if (plant->part != part || plant->expected == 0)
                        continue;

                pass->n_planted++;
                if (plant->returned == plant->expected) {
                        pass->n_returned += !plant->changed;
                        continue;
                }
                if (pass->n_doubts >= MARCH_DOUBTS_MAX)
                        continue;

                doubt = &pass->doubts[pass->n_doubts++];
                *doubt = (MarchDoubt) {
                        .part    = part,
                        .element = element,
                        .op      = (unsigned) __builtin_ctz(plant->expected & ~plant->returned),
                        .data    = plant->data,
                        .told    = !truncated,
                        .planted = plant->planted,
                };
                memcpy(doubt->at, plant->at, sizeof(doubt->at));
        }
}

void march_plants_forget(MarchPlants *plants, const MarchElement *element) {
        for (unsigned i = 0; i < element->n_ops; i++)
                if (element->ops[i] & MARCH_WRITE)
                        plants->n = 0;
}

typedef enum Trial {
        TRIAL_SEEN,  /* planted and reported */
        TRIAL_LOST,  /* memory does not give it back */
        TRIAL_BLIND, /* memory gives it back, and it was not reported */
} Trial;

static int try_doubt(const MarchPass *pass, const MarchDoubt *doubt, MemoryBatch *batch, Trial *ret,
                     MemoryData *ret_actual) {
        const MemoryPart *part = &pass->parts[doubt->part];
        WireBox box = memory_access_box(doubt->at);
        WireMarch march = {
                .box            = box,
                .background     = (uint8_t) pass->field.background,
                .parameter      = pass->field.parameter,
                .seed           = pass->field.seed,
                .ecc            = pass->ecc,
                .n_ops          = 1,
                .ops            = { doubt->data ? MARCH_DATA : 0 },
                .mismatches_max = 1,
        };
        MemoryAnswer answer;
        int r, marched, copied;

        memory_batch_reset(batch);
        r = memory_batch_copy_in(batch, part, &box, pass->ecc, doubt->planted.bytes, sizeof(doubt->planted.bytes));
        if (r < 0)
                return r;
        marched = memory_batch_march(batch, part, &march);
        if (marched < 0)
                return marched;
        copied = memory_batch_copy_out(batch, part, &box, pass->ecc);
        if (copied < 0)
                return copied;
        r = memory_batch_run(batch);
        if (r < 0)
                return r;

        answer = memory_batch_answer(batch, copied);
        memcpy(ret_actual->bytes, answer.data, sizeof(ret_actual->bytes));
        answer = memory_batch_answer(batch, marched);
        if (memcmp(ret_actual, &doubt->planted, sizeof(doubt->planted)) != 0)
                *ret = TRIAL_LOST;
        else
                *ret = answer.total > 0 && answer.n > 0 ? TRIAL_SEEN : TRIAL_BLIND;
        return 0;
}

static int settle_doubt(MarchPass *pass, const MarchDoubt *doubt, MemoryBatch *batch) {
        MarchMismatch mismatch = {
                .part = doubt->part, .element = doubt->element, .op = doubt->op, .expected = doubt->planted,
        };
        Trial trial = TRIAL_BLIND;
        int r;

        for (unsigned i = 0; i < DOUBT_TRIALS && trial == TRIAL_BLIND; i++) {
                r = try_doubt(pass, doubt, batch, &trial, &mismatch.actual);
                if (r < 0)
                        return r;
        }

        if (trial == TRIAL_BLIND) {
                if (pass->outcomes[doubt->part].n_blind++ == 0)
                        memcpy(pass->outcomes[doubt->part].blind_at, doubt->at, sizeof(doubt->at));
                return 0;
        }

        /* Seen now: behind the end of the list it was seen before, too. Else memory gave the background there. */
        if (trial == TRIAL_SEEN && !doubt->told) {
                pass->n_returned++;
                return 0;
        }
        if (trial == TRIAL_SEEN)
                mismatch.actual = memory_field_data(&pass->field, &pass->geometry, doubt->at, doubt->data);

        pass->outcomes[doubt->part].mismatches++;
        memcpy(mismatch.at, doubt->at, sizeof(mismatch.at));
        return pass->found(&mismatch, pass->userdata);
}

int march_doubts_settle(MarchPass *pass, MemoryBatch *batch) {
        int r;

        for (unsigned i = 0; i < pass->n_doubts; i++) {
                r = settle_doubt(pass, &pass->doubts[i], batch);
                if (r < 0)
                        return r;
        }

        pass->n_doubts = 0;
        return 0;
}
