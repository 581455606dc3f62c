/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The linking of spots (sim/memory/structures/link.c) at work, for its second half (sim/memory/structures/triggers.c). */

#include "sim/memory/structures/spots.h"

typedef struct MemoryEntry { /* a place, to be sorted by cell */
        uint64_t key;
        uint32_t place;
} MemoryEntry;

typedef struct MemoryLinking {
        MemorySpots *old;
        MemoryTraps *traps;
        const MemoryShape *shape;
        const MemoryContent *content;
        MemoryEntry *entries, *spare;
        uint32_t *wanted; /* accesses that must be spots, sorted */
        size_t n_wanted;
        uint32_t *spot_of;    /* by cell */
        uint32_t *parents;    /* by spot: those joined by traps make one component */
        uint32_t *components; /* by root: how many states, then where they go */
        MemorySpots new;
} MemoryLinking;

/* Once cells and spots are there: what each of them springs, and which conditions follow. */
void memory_link_triggers(MemoryLinking *l);
