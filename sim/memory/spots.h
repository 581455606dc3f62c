/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemorySpots
 *
 * Accesses of a memory with something of their own, sorted: cells that do not behave, data that was copied in, or both. A
 * command visits them one by one in the exact order of addresses, so a cell may act on any other; cost follows faults.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/memory/content.h"
#include "sim/memory/shape.h"
#include "sim/model.h"

typedef struct MemoryCell {
        const Fault *fault;
        uint32_t linear; /* of its access */
        uint8_t bit;
        bool stuck;  /* at what */
        bool value;  /* what it holds now: a cell keeps this between commands */
        bool active; /* whether its fault acts in this command */
} MemoryCell;

typedef struct MemorySpot {
        MemoryBits data; /* when held */
        uint32_t linear;
        uint32_t first_cell;
        uint16_t n_cells;
        uint16_t at[_MEMORY_AXIS_MAX];
        bool held;    /* copied in and not overwritten since; else the layers say what it holds */
        int32_t unit; /* the innermost it lies in, or -1 */
} MemorySpot;

typedef struct MemorySpots {
        MemoryCell *cells;
        MemorySpot *spots;
        uint32_t *sorted; /* indices of spots by key of sorted_order */
        size_t n_cells, cells_allocated;
        size_t n_spots, spots_allocated;
        size_t sorted_allocated;
        MemoryOrder sorted_order;
        bool sorted_valid;
        bool dirty; /* cells came or went: spots must be linked again */
} MemorySpots;

#define MEMORY_SPOTS_MAX (256u << 10) /* 8 MiB copied in and not overwritten */

void memory_spots_done(MemorySpots *spots);

int memory_spots_add_cell(MemorySpots *spots, const MemoryCell *cell); /* -EEXIST: that bit has one */

/* Makes every access that has cells a spot that knows them. -ENOMEM. */
int memory_spots_link(MemorySpots *spots, const MemoryShape *shape);

/* NULL where that access is like its surroundings. */
MemorySpot *memory_spots_find(const MemorySpots *spots, uint32_t linear);
/* Makes one where there is none. UNIT: the innermost it lies in. -ENOMEM; -ENOSPC: more than MEMORY_SPOTS_MAX. */
int memory_spots_add(MemorySpots *spots, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX], int32_t unit,
                     MemorySpot **ret);
/* Forgets spots that have become like their surroundings. */
void memory_spots_sweep(MemorySpots *spots);

/* The spots in an order: indices first … end - 1 of it lie between those keys; memory_spots_nth() gives one of them. */
int memory_spots_range(MemorySpots *spots, const MemoryShape *shape, MemoryOrder order, const WireBox *box,
                       size_t *ret_first, size_t *ret_end);
MemorySpot *memory_spots_nth(const MemorySpots *spots, MemoryOrder order, size_t index);
