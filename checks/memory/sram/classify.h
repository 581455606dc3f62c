/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Classify
 *
 * From the failing accesses of one array to defects, top-down, the first rule that matches wins and takes what it explains:
 *
 *  array      half of the partitions of a bank (of the SBUF) are dead
 *  partition  more than 1 row of 8, and at least 4, fail in most of their bits
 *  decoder    two rows of a partition that reach each other's cells: found by asking, see diagnose.h
 *  row        a quarter of the bits of a row fail: what reads as zeros differs from random data in half of them
 *  column     one bit fails in half of the rows of a partition: a bit line or its sense amplifier
 *  word, cell several bits or one of one row
 *  scattered  more cells and words in an array than anyone would look at one by one
 */

#include <stdbool.h>

#include "checks/memory/march/failures.h"
#include "checks/memory/sram/arrays.h"

typedef enum SramDefectKind {
        SRAM_DEFECT_ARRAY,
        SRAM_DEFECT_PARTITION,
        SRAM_DEFECT_DECODER,
        SRAM_DEFECT_ROW,
        SRAM_DEFECT_COLUMN,
        SRAM_DEFECT_WORD,
        SRAM_DEFECT_CELL,
        SRAM_DEFECT_SCATTERED,
        _SRAM_DEFECT_KIND_MAX,
} SramDefectKind;

typedef struct SramDefect {
        SramDefectKind kind;
        unsigned number;                  /* of the array */
        uint16_t at[_MEMORY_AXIS_MAX];    /* as far as the kind goes; the evidence's place beyond */
        int bit;                          /* -1: more than one */
        uint16_t other;                   /* SRAM_DEFECT_DECODER: the other row */
        uint64_t n_accesses;              /* that fail, as far as known */
        uint64_t n_reads;                 /* that differed, of those told */
        MemoryData expected, actual;      /* of the first difference */
        uint16_t first[_MEMORY_AXIS_MAX]; /* where that was */
} SramDefect;

typedef struct SramDefects {
        SramDefect *defects;
        size_t n, allocated;
} SramDefects;

void sram_defects_done(SramDefects *defects);

/* Two rows of one block that a decoder confuses. */
typedef struct SramPair {
        uint32_t low, high; /* accesses */
} SramPair;

/* One array being judged. */
typedef struct SramCase {
        const MemoryGeometry *geometry;
        unsigned number;
        MarchFailure *failures; /* sorted by place, each access once */
        size_t n_failures;
        uint32_t *counts; /* failing accesses of every block, as far as known */
        bool *gone;       /* blocks that are explained as a whole */
        SramPair *pairs;
        size_t n_pairs, pairs_allocated;
        unsigned scatter_max; /* more cells and words are told as scattered */
        SramDefects *defects;
} SramCase;

int sram_case_init(SramCase *c, const MemoryGeometry *geometry, unsigned number, unsigned scatter_max, SramDefects *defects);
void sram_case_done(SramCase *c);
/* The failures to judge from now on: those of the array, merged. Counts grow to what they show. */
void sram_case_take(SramCase *c, const MarchFailures *failures);
int sram_case_add_pair(SramCase *c, uint32_t a, uint32_t b); /* -ENOMEM; one that is known is not added twice */

/* Whether a row fails as a whole. */
bool sram_is_wide(const MarchFailure *failure);

/* A part that is dead as a whole, and how often rows that failed as a whole were read, within it or not. */
typedef struct SramDead {
        uint32_t n_blocks;
        uint64_t n_reads;
        bool complete; /* each bank has none, or nearly all of its partitions */
} SramDead;

SramDead sram_case_count_dead(const SramCase *c);

/* The rules, in this order; each adds to defects. 0 or -ENOMEM. */
int sram_case_find_blocks(SramCase *c);
int sram_case_find_rest(SramCase *c);
