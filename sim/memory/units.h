/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryUnits
 *
 * Rows, banks and pseudo-channels of a memory that as a whole do not give back what they hold. They nest, and are
 * predicates: counted in closed form, told one by one only where a command asks for its first mismatches.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/memory/shape.h"
#include "sim/model.h"

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

typedef struct MemoryUnits {
        MemoryLine *lines;
        MemoryUnit *units;
        size_t n_lines, lines_allocated;
        size_t n_units, units_allocated;
        bool dirty; /* lines came or went: units must be linked again */
} MemoryUnits;

void memory_units_done(MemoryUnits *units);

int memory_units_add_line(MemoryUnits *units, const MemoryLine *line); /* -EEXIST: that unit has one of the sort */

/* Makes units of the lines, around before within. -ENOMEM. */
int memory_units_link(MemoryUnits *units);

/* Before a command: asks every unit's fault whether it acts. EXECUTION NULL: none does. */
void memory_units_ask(MemoryUnits *units, const Execution *execution);

/* The innermost unit that AT lies in, or -1. */
int32_t memory_units_at(const MemoryUnits *units, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX]);
