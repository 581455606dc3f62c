/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Regions
 *
 * A memory in service is tested a few regions at a time, and completed over scans. A partition says which regions there
 * are, in one line that stands in streams, requests and records alike:
 *
 *     sid 3 row 16384/32     three SIDs, the 16384 rows of each cut into 32 slices: 96 regions
 *
 * Region r lies in SID r / 32; its slice k = r % 32 is the rows k × 16384 / 32 … (k + 1) × 16384 / 32 − 1, rounded down:
 * every row is in exactly one. Sets of regions are texts like "0-12,40": ascending, disjoint, joined where they touch.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGIONS_MAX           256u  /* of one memory */
#define REGIONS_TEXT_MAX      1024u /* of a set of them */
#define REGIONS_WORD_MAX      16u
#define REGIONS_PARTITION_MAX 64u
#define REGIONS_WHERE_MAX     80u
#define REGIONS_REASON_MAX    384u

/* All zero: none. */
typedef struct Partition {
        char outer[REGIONS_WORD_MAX], inner[REGIONS_WORD_MAX]; /* lower-case words */
        uint32_t n_outer, n_inner;
        uint32_t n_slices; /* of n_inner, at most so many */
} Partition;

/* -EINVAL: a word, a number or a product that no partition has. */
int partition_new(const char *outer, uint32_t n_outer, const char *inner, uint32_t n_inner, uint32_t n_slices, Partition *ret);
int partition_parse(const char *text, Partition *ret);
char *partition_format(const Partition *partition, char text[static REGIONS_PARTITION_MAX]);
bool partition_equal(const Partition *a, const Partition *b);
unsigned partition_regions(const Partition *partition); /* how many */

/* Where REGION lies: its outer part, and the first and last of the inner ones. */
void partition_region(const Partition *partition, unsigned region, uint32_t *ret_outer, uint32_t *ret_first, uint32_t *ret_last);
/* "sid1 row512-1023" */
char *partition_where(const Partition *partition, unsigned region, char text[static REGIONS_WHERE_MAX]);

typedef struct RegionSet {
        uint64_t words[REGIONS_MAX / 64];
} RegionSet;

static inline bool region_set_has(const RegionSet *set, unsigned region) {
        return (set->words[region / 64] >> region % 64 & 1) != 0;
}
void region_set_add(RegionSet *set, unsigned region);
RegionSet region_set_range(unsigned first, unsigned n); /* N regions from FIRST on */
void region_set_remove(RegionSet *set, const RegionSet *others);
void region_set_unite(RegionSet *set, const RegionSet *others);
void region_set_keep(RegionSet *set, const RegionSet *others); /* what is in both */
unsigned region_set_count(const RegionSet *set);
bool region_set_meets(const RegionSet *a, const RegionSet *b);    /* they have one in common */
bool region_set_contains(const RegionSet *a, const RegionSet *b); /* all of b are in a */
char *region_set_format(const RegionSet *set, char text[static REGIONS_TEXT_MAX]); /* "": none */
/* -EINVAL where it is not written as said above, or names one of TOTAL on. */
int region_set_parse(const char *text, unsigned total, RegionSet *ret);

/* How many of SET lie side by side in one outer part from FIRST on. */
unsigned partition_run(const Partition *partition, const RegionSet *set, unsigned first);
/* The regions of TO that share a part with those of SET, of FROM; none where the two are not of the same memory. */
RegionSet partition_map(const Partition *from, const RegionSet *set, const Partition *to);

/* What a step did in one scan. */
typedef struct Regions {
        Partition partition;
        unsigned position;  /* where the next scan begins */
        RegionSet tested;
        RegionSet failed;   /* of those tested */
        RegionSet occupied; /* left alone, because they carry live data */
        RegionSet unproven; /* left alone, because reading did not tell their rows from those that do */
        RegionSet altered;  /* of those unproven: a part of the memory has lost what a test left there, so it is broken */
        RegionSet suspicious; /* of those unproven: a row of them differs from those around it */
        RegionSet joined;   /* tested in one pass that failed, where those that failed have not been tested by themselves since */
        RegionSet together; /* failed in one pass and not by themselves: they stand until one pass over them together has passed */
        char because[REGIONS_REASON_MAX]; /* why not; "": there are none */
} Regions;

/* Adds to why regions are unproven, where that is not said yet and has room. */
void regions_add_reason(Regions *regions, const char *why);

/* NULL, or a sentence of what is wrong with it. */
const char *regions_wrong(const Regions *regions);

/* What is known of earlier scans, for the step that goes on. */
typedef struct Rotation {
        Partition partition;
        unsigned position;
        RegionSet failed;          /* when they were last tested */
        RegionSet altered, suspicious; /* and have not been tested since */
        RegionSet joined, together; /* as above */
        int32_t ages[REGIONS_MAX]; /* seconds since each was tested; negative: never */
        uint32_t age;              /* seconds since the first scan of this memory */
} Rotation;
