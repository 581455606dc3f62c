/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemorySpots
 *
 * Accesses of a memory with something of their own, sorted: cells that take part in a fault, data that was copied in, or an
 * address that leads elsewhere. A command visits them one by one in the exact order of addresses, so a cell may act on any
 * other; cost and size follow faults.
 *
 * Cells are what any trap looks at, once each, with what they hold. What was injected is linked before the next command:
 * memory_spots_link() finds the cells and makes, for each spot, the lists of traps that an operation on it can spring
 * (triggers) and of the conditions that follow (states).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/memory/structures/content.h"
#include "sim/memory/structures/shape.h"
#include "sim/memory/structures/traps.h"

typedef struct MemoryCell {
        uint32_t linear; /* of its access */
        uint8_t bit;
        bool value : 1; /* what it holds now: a cell keeps this between commands */
        bool was : 1;   /* … and before the last operation on it */
        bool wrote : 1; /* what that wrote, if it did */
        bool own : 1;   /* within one operation: what it holds before others disturb it */
        bool reached : 1; /* the last operation on its access did reach it */
        bool cut : 1;   /* has a stuck-open fault … */
        bool open : 1;  /* … that acts: operations do not reach it */
        bool latch : 1; /* what the sense amplifier of its bit line gave last, see stuck-open */
} MemoryCell;

typedef struct MemorySpot {
        MemoryBits data; /* when held */
        MemoryBits wrong; /* when held: bits of the data that its check bits do not know of */
        uint64_t last;   /* serial of the last operation on it, see Memory */
        uint32_t linear;
        uint32_t first_cell, first_trigger, first_state;
        uint32_t n_triggers, n_states;
        int32_t unit; /* the innermost it lies in, or -1 */
        int32_t decoder; /* or -1 */
        uint16_t n_cells;
        uint16_t at[_MEMORY_AXIS_MAX];
        bool last_write;
        bool held;   /* data was copied in and not overwritten since; else the layers say what it holds */
        bool behind; /* what it held before is told for itself, see MemoryPast */
        bool quiet;  /* its cells are good ones that other cells look at */
        bool pairs;  /* an operation on it can be the second of a trap's two */
        bool opens;  /* has cells with a stuck-open fault … */
        bool heard;  /* … or lies on the bit line of one */
} MemorySpot;

typedef struct MemoryTrigger { /* what can be told of a trap without looking at it */
        uint32_t trap;
        uint8_t cell;  /* the operated one, of those of the spot */
        uint8_t op;    /* the last of its operations */
        uint8_t state; /* that this one begins in, or PRIMITIVE_ANY */
        uint8_t fires; /* within one operation: what it does, and … */
        uint8_t stroke; /* … in which of its accesses */
} MemoryTrigger;

typedef struct MemoryOpen { /* a stuck-open trap */
        uint32_t line; /* the bit lines of its access, see memory_spots_line() */
        uint32_t trap;
} MemoryOpen;

typedef struct MemorySpots {
        MemoryCell *cells;
        MemorySpot *spots;
        MemoryTrigger *triggers; /* those of a spot side by side */
        uint32_t *states;        /* indices of traps, those of a component side by side */
        MemoryTrigger *fired;    /* room for all */
        MemoryOpen *opens;                   /* sorted by line */
        uint32_t *sorted[_MEMORY_ORDER_MAX]; /* indices of spots by key of an order */
        size_t n_cells, n_spots, n_opens;
        size_t cells_allocated, spots_allocated;
        size_t n_pairs; /* traps of two operations: where they are, operations are numbered */
        bool sorted_valid[_MEMORY_ORDER_MAX];
        bool unsettled; /* linked, and no command since: conditions have to act */
} MemorySpots;

#define MEMORY_SPOTS_MAX (256u << 10) /* 8 MiB copied in and not overwritten */

void memory_spots_done(MemorySpots *spots);

/* See above. Cells that nothing looks at any more leave what they hold as data. -ENOMEM: nothing has changed. */
int memory_spots_link(MemorySpots *spots, MemoryTraps *traps, const MemoryShape *shape, const MemoryContent *content);

/* The number of a column of a bank: what its accesses have in common. */
uint32_t memory_spots_line(const MemoryShape *shape, uint32_t linear);
/* The stuck-open traps of a line: opens[*ret_first …], their number. */
size_t memory_spots_opens_of(const MemorySpots *spots, uint32_t line, size_t *ret_first);

/* What the good cells of a spot hold. */
MemoryBits memory_spots_content(const MemorySpot *spot, const MemoryContent *content);

/* Index of the first spot at LINEAR or behind. */
size_t memory_spots_from(const MemorySpots *spots, uint32_t linear);

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
