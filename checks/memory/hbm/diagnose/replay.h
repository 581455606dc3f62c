/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmReplay
 *
 * A pass again, over one access and a region of its stack: every element visits what of the region comes before the access, the
 * access, and what comes after it, in the pass's order. What other accesses report is not asked for, so that what fails
 * there hides nothing. The pass that ran before it can be done again first, in the same places: then the first reads find what
 * they found in the test, as far as they hang on data of the region.
 */

#include <stdint.h>

#include "checks/memory/hbm/diagnose/pass.h"
#include "checks/memory/march/syndrome.h"

typedef struct HbmReplay {
        const MemoryGeometry *geometry;
        MemoryBatch *batch;
        unsigned stack;
        uint32_t target;
        const HbmPass *before;    /* a march; NULL: the region is taken as it is */
        const March *march;
        MemoryOrder order;
        uint64_t pause_nsec;
        uint64_t linger_nsec;     /* without refresh, after each element but a pause */
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

/* Which reads of the target fail in the last of a few: what memory held before the first does not matter any more. */
#define HBM_REPLAY_TRIES 2u
int hbm_replay_settled(const HbmReplay *replay, const WireBox *region, uint64_t *ret);
