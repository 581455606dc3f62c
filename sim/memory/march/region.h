/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryElement and its regions: the part of a march element that is counted in closed form (sim/memory/march/regions.c).
 */

#include "sim/memory/cells/memory.h"

typedef struct MemoryRegion {
        MemorySlice places;    /* its accesses: these … */
        MemoryPattern pattern; /* what lies there */
        MemoryPattern past;    /* and what did before, where that is read */
        const MemoryDetour *detour; /* that leads there, or NULL: … */
        uint32_t shift;             /* … from a place on to its address */
        MemoryEffects effects;
        int32_t unit;          /* … whose innermost unit this is, and that are no spots */
        uint32_t key;          /* of its first access in the order of the visit */
        uint64_t own[2];       /* accesses of even and odd rows */
} MemoryRegion;

typedef struct MemoryElement {
        Memory *memory;
        const WireMarch *march;
        MemoryPattern pattern; /* of data 0 */
        bool hash;          /* the pattern differs from access to access */
        unsigned n_writes;
        bool reads[3];      /* some come before all writes, behind one, behind more */
        bool astray;        /* some addresses of the box lead elsewhere */
        uint32_t blind;     /* operations that are not compared */
        uint8_t last_data, before_data; /* of the last write and that before it */
        MemoryBits uniform[2]; /* of even and odd rows, unless hash */
        uint64_t mismatches;
        MemoryEccTally tally;
        size_t n_spot_records;
        size_t n_released; /* spots whose own data was written over */
        MemoryRegion *regions; /* those that mismatch, still to be told */
        size_t n_regions, regions_allocated;
} MemoryElement;

static inline bool memory_element_reads(const MemoryElement *element) {
        return element->reads[0] || element->reads[1] || element->reads[2];
}

/* The background of one access. */
MemoryBits memory_element_bits(const MemoryElement *element, uint32_t linear, unsigned row);
int memory_element_record(MemoryElement *element, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned op,
                       const MemoryBits *actual);
/* Sorts the records and keeps the first that are wanted. */
void memory_element_cut_records(MemoryElement *element);

/* Runs the spots of the box one by one, and records as many of their first mismatches as are wanted. Content is as before. */
int memory_spots_run(MemoryElement *element);

/* Counts the mismatches of all that is no spot, in the parts of the box that are second or in the others. */
int memory_regions_count(MemoryElement *element, bool second);
/* Records the first of them. */
int memory_regions_tell(MemoryElement *element);

/* ---- one region (sim/memory/march/region.c) ---- */

/* Whether its accesses read as they should, where nothing is the matter with them. */
bool memory_region_runs_clean(MemoryElement *element, const MemoryRegion *region);
/* Adds its mismatches to the element's. Returns whether there are any. */
int memory_region_count(MemoryElement *element, const MemoryRegion *region);
/* Walks it until it has recorded as many as are wanted. */
int memory_region_tell(MemoryElement *element, const MemoryRegion *region);
