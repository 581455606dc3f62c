/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchPlants
 *
 * The mismatches that were copied in and stand in memory during an element, and what must come back of them.
 */

#include "checks/memory/march/march.h"

#define MARCH_BOXES_MAX 4u /* of one part in memory at one time */

/* One place in some neighbouring channels. */
typedef struct MarchPlantBox {
        WireBox box;
        MemoryData planted[MARCH_WIDTH_MAX]; /* by channel */
        uint32_t returned[MARCH_WIDTH_MAX];  /* operations that have reported it as it was planted */
        uint32_t changed[MARCH_WIDTH_MAX];   /* and with other data: those of the first of them */
        MemoryData actual[MARCH_WIDTH_MAX];
} MarchPlantBox;

typedef struct MarchPlants {
        uint32_t expected; /* the operations of this element that must report every plant */
        unsigned data;     /* what these want to read */
        struct {
                unsigned n;
                MarchPlantBox boxes[MARCH_BOXES_MAX];
        } parts[MARCH_PARTS_MAX];
} MarchPlants;

typedef enum MarchPlantMatch {
        MARCH_PLANT_NONE,     /* there is none at this place and operation */
        MARCH_PLANT_RETURNED, /* it is what was planted */
        MARCH_PLANT_CHANGED,  /* something else came back from where it was: it is doubted */
} MarchPlantMatch;

/* A place in the pass's box that depends on nothing but seed, USE and NUMBER. */
void march_choose(const MarchPass *pass, uint64_t use, uint64_t number, uint16_t ret[static _MEMORY_AXIS_MAX]);
/* The same in as many neighbouring channels as the pass has width for; with TURN they take turns. */
WireBox march_choose_box(const MarchPass *pass, uint64_t use, unsigned part, unsigned turn);

/* The data of a write or read. */
unsigned march_data_of(uint8_t op);

/* Adds this element's plants to the batch and works out which operations must report all that stand in memory. */
int march_plants_plant(MarchPlants *plants, MarchPass *pass, MemoryBatch *batch, unsigned element);
/* What was planted there, or NULL. */
const MemoryData *march_plants_find(const MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX]);
/* A reported mismatch. */
MarchPlantMatch march_plants_match(MarchPlants *plants, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX],
                                   unsigned op, const MemoryData *actual);
/* Ends the judgement of one part: what has not come back is doubted. TRUNCATED: not all mismatches were told. */
void march_plants_settle(MarchPlants *plants, MarchPass *pass, unsigned part, unsigned element, bool truncated);
/* After ELEMENT: what it has overwritten is gone. */
void march_plants_forget(MarchPlants *plants, const MarchElement *element);
