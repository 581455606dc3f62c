/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryOverlay
 *
 * Where a stack differs from what its content says, and nothing else, so that cost follows faults:
 *
 *  - spots: accesses with something of their own, sorted: cells that do not behave, data that was copied in, or both.
 *    A command visits them one by one in the exact order of addresses, so a cell may act on any other.
 *  - units: rows, banks and pseudo-channels that as a whole do not give back what they hold. They nest, and are
 *    predicates: counted in closed form, told one by one only where a command asks for its first mismatches.
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

typedef enum MemoryArray { /* what comes out of the sense amplifiers */
        MEMORY_ARRAY_GOOD,
        MEMORY_ARRAY_ZEROS,
        MEMORY_ARRAY_ONES,
        MEMORY_ARRAY_INVERTED,
        _MEMORY_ARRAY_MAX,
} MemoryArray;

typedef struct MemoryEffects { /* from the cells to the reader; ECC sits between array and lanes */
        MemoryArray array;
        uint32_t lanes;  /* stuck data lanes */
        uint32_t values; /* and at what */
} MemoryEffects;

typedef struct MemoryLine { /* a fault of a unit */
        const Fault *fault;
        WireBox box;
        uint32_t linear; /* of box.first */
        MemoryEffects effects;
} MemoryLine;

typedef struct MemoryUnit {
        WireBox box;
        uint32_t linear;
        int32_t parent; /* index, lower than its own; -1 */
        uint32_t first_line, n_lines;
        MemoryEffects effects; /* in this command, with those of all around it */
} MemoryUnit;

typedef struct MemoryOverlay {
        MemoryCell *cells;
        MemorySpot *spots;
        MemoryLine *lines;
        MemoryUnit *units;
        uint32_t *sorted; /* indices of spots by key of sorted_order */
        size_t n_cells, cells_allocated;
        size_t n_spots, spots_allocated;
        size_t n_lines, lines_allocated;
        size_t n_units, units_allocated;
        size_t sorted_allocated;
        MemoryOrder sorted_order;
        bool sorted_valid;
        bool dirty; /* faults came or went: spots and units must be linked again */
} MemoryOverlay;

#define MEMORY_SPOTS_MAX (256u << 10) /* 8 MiB copied in and not overwritten */

void memory_overlay_done(MemoryOverlay *overlay);

int memory_overlay_add_cell(MemoryOverlay *overlay, const MemoryCell *cell); /* -EEXIST: that bit has one */
int memory_overlay_add_line(MemoryOverlay *overlay, const MemoryLine *line); /* -EEXIST: that unit has one of the sort */

/* Before a command: links what is new and asks every unit's fault whether it acts. EXECUTION NULL: none does. */
int memory_overlay_prepare(MemoryOverlay *overlay, const MemoryShape *shape, const Execution *execution);

/* The innermost unit that AT lies in, or -1. */
int32_t memory_overlay_unit_at(const MemoryOverlay *overlay, uint32_t linear,
                            const uint16_t at[static _MEMORY_AXIS_MAX]);

/* NULL where that access is like its surroundings. */
MemorySpot *memory_overlay_find(MemoryOverlay *overlay, uint32_t linear);
/* The same, made where there is none. -ENOMEM; -ENOSPC: more than MEMORY_SPOTS_MAX. */
int memory_overlay_spot(MemoryOverlay *overlay, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX],
                     MemorySpot **ret);
/* Forgets spots that have become like their surroundings. */
void memory_overlay_sweep(MemoryOverlay *overlay);

/* The spots in an order: indices first … end - 1 of it lie between those keys; memory_overlay_nth() gives one of them. */
int memory_overlay_range(MemoryOverlay *overlay, const MemoryShape *shape, MemoryOrder order, const WireBox *box,
                      size_t *ret_first, size_t *ret_end);
MemorySpot *memory_overlay_nth(MemoryOverlay *overlay, MemoryOrder order, size_t index);
