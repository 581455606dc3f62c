/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchPlants
 *
 * The mismatches that were planted and stand in memory during an element, and what must come back of them.
 */

#include "checks/march/march.h"

typedef struct MarchPlant {
        unsigned part;
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryData planted;
        uint32_t expected; /* the operations that must report it */
        uint32_t returned; /* those that have */
        bool changed;      /* some of these with other data */
        unsigned data;     /* what these operations want to read */
} MarchPlant;

typedef struct MarchPlants {
        unsigned n_elements;            /* of the march that begin with a read */
        unsigned nth;                   /* of these, that were run */
        unsigned n;
        MarchPlant plants[MARCH_PLANTS_MAX];
} MarchPlants;

typedef enum MarchPlantMatch {
        MARCH_PLANT_NONE,     /* there is none at this place and operation */
        MARCH_PLANT_RETURNED, /* it is what was planted */
        MARCH_PLANT_CHANGED,  /* something else came back from where it was */
} MarchPlantMatch;

/* A place in the pass's box that depends on nothing but seed, USE and NUMBER. */
void march_choose(const MarchPass *pass, uint64_t use, uint64_t number, uint16_t ret[static _MEMORY_AXIS_MAX]);

void march_plants_init(MarchPlants *plants, const March *march);
/* Adds this element's plants to the batch. */
int march_plants_plant(MarchPlants *plants, MarchPass *pass, MemoryBatch *batch, unsigned element);
/* Works out which operations of ELEMENT must report what stands in memory. */
void march_plants_expect(MarchPlants *plants, const MarchElement *element);
/* Index of the plant there, or -1. */
int march_plants_find(const MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX]);
/* A reported mismatch. With a plant at its place *expected becomes what was planted there. */
MarchPlantMatch march_plants_match(MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX],
                                   unsigned op, const MemoryData *actual, MemoryData *expected);
/* Ends the judgement of one part: what has not come back is doubted. TRUNCATED: not all mismatches were told. */
void march_plants_settle(MarchPlants *plants, MarchPass *pass, unsigned part, unsigned element,
                         bool truncated);
/* After ELEMENT: what it has overwritten is gone. */
void march_plants_forget(MarchPlants *plants, const MarchElement *element);

/* Tries every doubted plant again, alone. */
int march_doubts_settle(MarchPass *pass, MemoryBatch *batch);
