/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmReplay
 *
 * A pass again, over one access and a region of its stack: every element visits what of the region comes before the access, the
 * access, and what comes after it, in the pass's order. What other accesses report is not asked for, so that what fails
 * there hides nothing.
 */

#include <stdint.h>

#include "checks/march/failures.h"
#include "checks/march/syndrome.h"

typedef struct HbmReplay {
        const MemoryGeometry *geometry;
        MemoryBatch *batch;
        unsigned stack;
        uint32_t target;
        const March *march;
        MemoryOrder order;
        uint64_t pause_nsec;
        MemoryField field;        /* at the target */
        bool inverted;            /* its operations with the other data */
        MemoryField region_field; /* elsewhere */
        bool region_inverted;
} HbmReplay;

typedef struct HbmEcho {
        uint64_t failed; /* reads of the target, see march_syndrome_bit() */
        MemoryData bits; /* that differed in any of them */
} HbmEcho;

/* REGION may hold the target or not; NULL: the target alone. 0, or could not judge. */
int hbm_replay(const HbmReplay *replay, const WireBox *region, HbmEcho *ret);
