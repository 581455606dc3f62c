/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmRun
 *
 * One step of the check on its way: what was asked for, what the passes (passes.h) have met so far, and what it comes to
 * (report.h, lies.h).
 */

#include "checks/memory/hbm/classify/classify.h"
#include "checks/memory/hbm/diagnose/pass.h"
#include "checks/memory/hbm/report/doubt.h"
#include "checks/memory/hbm/report/map.h"
#include "checks/memory/hbm/report/parameters.h"
#include "checks/memory/march/totals.h"
#include "checks/step/step.h"

/* Marches of the phases that have their own. */
typedef enum HbmMarch {
        HBM_MARCH_FILL,    /* write */
        HBM_MARCH_ADDRESS,
        HBM_MARCH_RANDOM,
        HBM_MARCH_CONTROL, /* write, read */
        HBM_MARCH_HOLD_0, /* write, wait or hammer, read */
        HBM_MARCH_HOLD_1,
        HBM_MARCH_ECC_0,  /* write, read raw, read through ECC */
        HBM_MARCH_ECC_1,
        _HBM_MARCH_MAX,
} HbmMarch;

/* What a step did, beside marching. */
typedef struct HbmTally {
        uint64_t rows_hammered; /* victims, in all banks of all stacks and passes */
        double paused_sec;      /* without refresh */
        double held_msec;       /* the longest pause, as if at 45 °C */
        double celsius;         /* the hottest that it was */
        uint64_t walked;        /* accesses that patterns went through */
        uint64_t ecc_planted, ecc_corrected, ecc_uncorrected; /* accesses with errors for ECC, and what it counted of them */
        uint64_t ecc_wrong;     /* accesses that read wrong through ECC, in marches */
} HbmTally;

/* What ECC of one stack does wrong. */
typedef struct HbmEccLie {
        uint64_t n;
        char text[160];
} HbmEccLie;

/* A row that fails and that a spare row would mend. */
typedef struct HbmRow {
        unsigned stack;
        uint16_t at[_MEMORY_AXIS_MAX]; /* column 0 */
        bool weak;             /* it was seen to fail once and not again */
        bool told;             /* the device said what follows */
        unsigned left;         /* spare rows of its bank */
        WireRepairState state; /* of itself */
        bool asked;            /* its repair was asked for in this step */
        bool failed;           /* it was repaired and fails, and that was told */
} HbmRow;

typedef struct HbmRows {
        HbmRow *rows; /* sorted by stack and place */
        size_t n;
} HbmRows;

typedef struct HbmRun {
        Step *step;
        const HbmParameters *parameters;
        MemoryGeometry geometry;
        MemoryMap map;
        WireBox box; /* that is tested, of every stack */
        unsigned subarray; /* rows; known from the first failure on */
        MemoryBatch *batch;
        MemoryPart parts[STACKS];
        March marches[_HBM_MARCH_MAX];
        HbmPass passes[MARCH_STEP_PASSES_MAX]; /* that there are to run */
        unsigned n_passes;
        unsigned pass;                  /* that is being run */
        bool fresh[2];                  /* whether stale reads were looked for: raw, through ECC */
        HbmTally tally;
        MarchFailures failures;
        HbmDefects defects;
        HbmRows rows;                  /* of these */
        unsigned n_asked;              /* repairs */
        MarchOutcome outcomes[STACKS]; /* over all passes */
        MarchTotals totals;
        uint64_t start_nsec;           /* of the device's time */
        HbmEccLie ecc_lies[STACKS + 1]; /* of the stacks, and of the chip */
        bool told;                     /* why a pass could not judge */
        struct HbmLiveWatch *watch;    /* of live rows beside BOX: passes end where rows fail as an alias makes them (apart.h) … */
        bool stopped;                  /* … as they did … */
        HbmDoubt reached;              /* … or where live rows or a guard change (live-watch.h) */
        const MemoryGeometry *whole;   /* of all of the stack, where slices are tested beside jobs; NULL: the chip is to be idle */
        bool taken;                    /* a job has begun there (taken.h) */
        Verdict verdict;
} HbmRun;
