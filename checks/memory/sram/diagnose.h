/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnose
 *
 * From what a march reported of one array to defects. Where the list of mismatches was cut short, every block is asked by
 * itself, and those with more failures than were told are read to the end. Blocks with rows that fail as a whole are
 * written with their own addresses, upwards and downwards: a row that gives back what another was given tells of a decoder.
 */

#include "checks/memory/sram/classify.h"

typedef struct SramDiagnosis {
        const MemoryGeometry *geometry;
        const MemoryPart *part;
        MemoryBatch *batch;
        MarchFailures *failures; /* of all arrays, merged; grows */
        unsigned number;
        unsigned scatter_max;
        uint64_t seed;
} SramDiagnosis;

/* Adds the defects of the array. TRUNCATED: failures are not all there are. 0, or could not judge. */
int sram_diagnose(const SramDiagnosis *diagnosis, bool truncated, SramDefects *defects);
