/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryUnits
 *
 * Rows, columns, banks, channels, dies of a memory that as a whole do not give back what they hold: boxes, which may cross.
 *
 * Where two cross, what they have in common is a unit too, so that among the units that hold an access one lies within all
 * others: the innermost. It knows every fault that the access meets on its way out. Units are predicates: counted in
 * closed form, told one by one only where a command asks for its first mismatches. They are linked when faults change;
 * until then a command costs what the faults do that it touches.
 *
 * Boxes of one size along every axis (a tiling) never cross, so of each tiling one tile at most holds an access, and it is
 * found by its first access.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/chip/model.h"
#include "sim/memory/structures/content.h"
#include "sim/memory/structures/shape.h"

typedef enum MemoryArray { /* what comes out of the sense amplifiers */
        MEMORY_ARRAY_GOOD,
        MEMORY_ARRAY_ZEROS,
        MEMORY_ARRAY_ONES,
        MEMORY_ARRAY_INVERTED,
        _MEMORY_ARRAY_MAX,
} MemoryArray;

typedef struct MemoryEffects { /* from the cells to the reader; ECC sits between array and lanes */
        MemoryBits drop, flip; /* out of the array come (bits & ~drop) ^ flip */
        uint32_t lanes;        /* stuck data lanes */
        uint32_t values;       /* and at what */
        bool silent;           /* ECC works and tells nobody */
        bool bypass;           /* ECC says that it is on and does nothing */
        bool stale;            /* reads give what was there before the last write */
        bool spent;            /* no spare row is left for it */
} MemoryEffects;

/* What one access looks like where an array reads so in the bits of MASK. */
MemoryEffects memory_effects_array(MemoryArray array, const MemoryBits *mask);

typedef struct MemoryLine { /* a fault of a unit */
        const Fault *fault; /* NULL: always acts */
        WireBox box;
        uint16_t tile[_MEMORY_AXIS_MAX]; /* its size along every axis; at the end of an axis a box may be less */
        uint8_t rank;                    /* data meet the lower first on their way out */
        bool active;                     /* in this command */
        uint32_t linear;                 /* of box.first */
        MemoryEffects effects;
} MemoryLine;

typedef struct MemoryUnit {
        WireBox box;
        uint16_t tile[_MEMORY_AXIS_MAX];
        uint32_t linear;
        uint32_t first_above, n_above; /* in units.above: the units that hold it, but itself */
        uint32_t first_part, n_parts;  /* in units.parts: the lines that act on its accesses, by rank */
        MemoryEffects effects;         /* in this command, of all of them */
} MemoryUnit;

typedef struct MemoryTiling {
        uint16_t tile[_MEMORY_AXIS_MAX];
        uint32_t first_unit, n_units;
} MemoryTiling;

typedef struct MemoryUnits {
        MemoryLine *lines;
        MemoryUnit *units; /* by tiling, small tiles first, then by linear */
        MemoryTiling *tilings;
        uint32_t *above, *parts, *touched;
        size_t n_lines, lines_allocated;
        size_t n_units, units_allocated;
        size_t n_tilings, tilings_allocated;
        size_t n_above, above_allocated;
        size_t n_parts, parts_allocated;
        size_t n_touched, touched_allocated;
        bool dirty; /* lines came or went: units must be linked again */
        bool settled; /* effects are those of the lines that act */
} MemoryUnits;

#define MEMORY_UNITS_MAX (1u << 18)

void memory_units_done(MemoryUnits *units);

int memory_units_add_line(MemoryUnits *units, const MemoryLine *line); /* -EEXIST: that unit has one of the sort */

/* Makes units of the lines (sim/memory/structures/crossings.c). -ENOMEM; -ENOSPC: more than MEMORY_UNITS_MAX. */
int memory_units_link(MemoryUnits *units, const MemoryShape *shape);

/* Before a command: asks every line's fault whether it acts. EXECUTION NULL: none does. */
void memory_units_ask(MemoryUnits *units, const Execution *execution);

/* The unit of one tiling that AT lies in, or -1. */
int32_t memory_units_tile_at(const MemoryUnits *units, const MemoryShape *shape, const MemoryTiling *tiling,
                             const uint16_t at[static _MEMORY_AXIS_MAX]);
/* The innermost unit that AT lies in, or -1. */
int32_t memory_units_at(const MemoryUnits *units, const MemoryShape *shape, const uint16_t at[static _MEMORY_AXIS_MAX]);

/* Lists in units->touched the units that have something in common with BOX, each after all that lie within it. */
void memory_units_touch(MemoryUnits *units, const MemoryShape *shape, const WireBox *box);
