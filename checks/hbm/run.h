/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmRun
 *
 * One step of the check on its way: what was asked for, what the passes (passes.h) have met so far, and what it comes to
 * (report.h, lies.h).
 */

#include "checks/hbm/classify.h"
#include "checks/hbm/map.h"
#include "checks/hbm/parameters.h"
#include "checks/march/march.h"
#include "checks/step.h"

typedef struct HbmRun {
        Step *step;
        const HbmParameters *parameters;
        MemoryGeometry geometry;
        MemoryMap map;
        WireBox box; /* that is tested, of every stack */
        MemoryBatch *batch;
        MemoryPart parts[STACKS];
        HbmPass passes[HBM_PASSES_MAX];
        unsigned n_passes;             /* that were begun */
        HbmFailures failures;
        HbmDefects defects;
        MarchOutcome outcomes[STACKS]; /* over all passes */
        unsigned n_planted, n_returned, n_compared, n_wrong;
        uint64_t start_nsec;           /* of the device's time */
        Verdict verdict;
} HbmRun;
