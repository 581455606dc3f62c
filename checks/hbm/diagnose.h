/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnose
 *
 * From what a march reported of one stack to defects. Where every mismatch was told, the list is classified as it is.
 * Where the list was cut short, each bank is asked by itself; under a stuck lane, with patterns that agree with
 * that lane and show every other bit both ways; and banks with more failures than were told are read to the end.
 */

#include "checks/hbm/classify.h"

typedef struct HbmDiagnosis {
        const MemoryGeometry *geometry;
        MemoryBatch *batch;
        HbmFailures *failures; /* of all stacks, merged; grows */
        unsigned scatter_max;
} HbmDiagnosis;

/* Adds the defects of STACK. TRUNCATED: failures are not all there are. 0, or could not judge. */
int hbm_diagnose(const HbmDiagnosis *diagnosis, unsigned stack, bool truncated, HbmDefects *defects);
