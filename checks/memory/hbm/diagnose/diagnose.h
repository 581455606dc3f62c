/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Diagnose
 *
 * From what the passes reported of one stack to defects. Where every mismatch was told, the list is classified as it is.
 * Where the list was cut short, or single accesses are wrong as a whole, banks are asked again and again until what is as large as they are
 * has shown all of itself (census.h). Where the list was cut short, each bank is asked by itself; under a stuck lane, with patterns that agree with
 * that lane and show every other bit both ways; and banks with more failures than were told are read to the end, a subarray
 * at a time. Where whole accesses fail, own-address data tell whether another place answers. Then cells are examined one
 * by one (examine.h).
 *
 * All of that stays within the box that was tested.
 */

#include "checks/memory/hbm/classify/classify.h"
#include "checks/memory/hbm/diagnose/pass.h"

#define HBM_SUBARRAY_ROWS 512u /* where nothing tells */

typedef struct HbmDiagnosis {
        const MemoryGeometry *geometry;
        const WireBox *box;     /* of every stack, that was tested */
        unsigned subarray;      /* rows */
        const HbmPass *passes;  /* that were run */
        unsigned n_passes;
        MemoryBatch *batch;     /* NULL: the device is not asked again */
        uint32_t list_max;      /* mismatches asked for at once */
        MarchFailures *failures;  /* of all stacks, merged; grows */
        unsigned scatter_max;
        bool may_pause;         /* without refresh: the stacks carry no live data */
        const Device *device;   /* whose time it is; NULL: there is no end */
        uint64_t end_nsec;      /* of the device's time: no box is marched again after it */
} HbmDiagnosis;

/* Adds the defects of STACK. TRUNCATED: failures are not all there are. 0, or could not judge. */
int hbm_diagnose(const HbmDiagnosis *diagnosis, unsigned stack, bool truncated, HbmDefects *defects);
