/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Classify
 *
 * From failing accesses to defects, top-down, the first rule that matches wins and takes what it explains:
 *
 *  lane            one data lane wrong in all 8 beats of most accesses of 9 of 10 failing banks, in 2 stack IDs
 *  pseudo-channel  half of its banks are dead
 *  bank            more than 1 access of 10 fails, over many rows and columns
 *  row             1 column of 8, and at least 2, fail in it
 *  column          one bit fails in 2 rows of a bank, at one column
 *  word, cell      several bits or one of one access
 *  scattered       more cells and words in a stack than anyone would repair one by one
 */

#include <stdbool.h>

#include "checks/hbm/failures.h"
#include "checks/hbm/probe.h"

typedef enum HbmDefectKind {
        HBM_DEFECT_LANE,
        HBM_DEFECT_PSEUDO_CHANNEL,
        HBM_DEFECT_BANK,
        HBM_DEFECT_ROW,
        HBM_DEFECT_COLUMN,
        HBM_DEFECT_WORD,
        HBM_DEFECT_CELL,
        HBM_DEFECT_SCATTERED,
        _HBM_DEFECT_KIND_MAX,
} HbmDefectKind;

typedef struct HbmDefect {
        HbmDefectKind kind;
        unsigned stack;
        uint16_t at[_MEMORY_AXIS_MAX]; /* as far as the kind goes; the evidence's place beyond */
        int bit;                    /* of the access; the lane of HBM_DEFECT_LANE; -1: more than one */
        unsigned value;             /* HBM_DEFECT_LANE: what it is stuck at */
        uint64_t n_accesses;        /* that fail, as far as known */
        uint64_t n_reads;           /* that differed, of those told */
        MemoryData expected, actual;   /* of the first difference */
        uint16_t first[_MEMORY_AXIS_MAX]; /* where that was */
} HbmDefect;

typedef struct HbmDefects {
        HbmDefect *defects;
        size_t n, allocated;
} HbmDefects;

void hbm_defects_done(HbmDefects *defects);

/* One stack being judged. */
typedef struct HbmCase {
        const MemoryGeometry *geometry;
        unsigned stack;
        HbmFailure *failures; /* sorted by place, each access once */
        size_t n_failures;
        HbmBankTally *tallies; /* of every bank */
        uint32_t *lanes;       /* stuck ones, of every pseudo-channel */
        bool *gone;            /* banks that are explained as a whole */
        unsigned scatter_max;  /* more cells and words are told as scattered */
        HbmDefects *defects;
} HbmCase;

int hbm_case_init(HbmCase *c, const MemoryGeometry *geometry, unsigned stack, unsigned scatter_max,
                  HbmDefects *defects);
void hbm_case_done(HbmCase *c);
/* The next failures to judge: those of the stack, merged. */
void hbm_case_take(HbmCase *c, const HbmFailures *failures);
/* Tallies as the failures have them, without what the lanes found so far explain: where these are all there are. */
void hbm_case_tally(HbmCase *c);

/* What LANES of a pseudo-channel read where they are wrong. */
uint32_t hbm_case_lane_values(const HbmCase *c, uint32_t pseudo_channel, uint32_t lanes);

/* The rules, in this order; each adds to defects. 0 or -ENOMEM. */
int hbm_case_find_lanes(HbmCase *c);
int hbm_case_find_banks(HbmCase *c);
int hbm_case_find_rest(HbmCase *c);
