/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SramRun
 *
 * One step of the check on its way: what was asked for, what the passes (passes.h) and the errors planted for the codes
 * (ecc.h) have met so far, and what it comes to (report.h).
 */

#include "checks/memory/march/totals.h"
#include "checks/memory/sram/classify.h"
#include "checks/memory/sram/parameters.h"
#include "checks/step/step.h"

typedef struct SramRun {
        Step *step;
        const SramParameters *parameters;
        MemoryBatch *batch;
        MemoryGeometry geometry[_ARRAY_MAX];
        SramCode codes[_ARRAY_MAX];
        MemoryPart parts[SRAM_ARRAYS]; /* by sram_number() */
        MarchFailures failures;          /* whose stack is the number */
        SramDefects defects;
        MarchOutcome outcomes[SRAM_ARRAYS]; /* over all passes */
        unsigned n_passes;                  /* that were run to their end, of every array */
        MarchTotals totals;
        unsigned n_ecc_planted, n_ecc_seen; /* errors planted for the codes, and those that were treated as they must be */
        uint64_t start_nsec;                /* of the device's time */
        Verdict verdict;
} SramRun;
