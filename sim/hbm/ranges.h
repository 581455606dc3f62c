/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmRanges
 *
 * Sets of rows of the four stacks of a chip together, as attributes tell them: "SID:FIRST-LAST,…" or "none" (checks/wire/wire.h).
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

typedef struct HbmRange { /* rows of all banks of one SID, inclusive */
        uint16_t sid, first, last;
} HbmRange;

#define HBM_RANGES_MAX 32u /* of one stack */
#define HBM_UNION_MAX  (STACKS * HBM_RANGES_MAX)

typedef struct HbmRanges {
        size_t n;
        HbmRange ranges[HBM_UNION_MAX];
} HbmRanges;

/* By SID and first row. */
int hbm_range_compare(const void *a, const void *b);
/* Takes one from the text, "SID:FIRST-LAST" and a comma or the end, of so many SIDs and rows. -EINVAL: it is none. */
int hbm_range_take(const char **text, unsigned sids, unsigned rows, HbmRange *ret);

/* Unites. Where there is no room for so many pieces the set becomes more than it is, never less. -ENOSPC: as many SIDs cannot be. */
int hbm_ranges_add(HbmRanges *ranges, const HbmRange *range);
/* Takes away; as above. */
int hbm_ranges_remove(HbmRanges *ranges, const HbmRange *range);
/* As text: more where that has no room for so many pieces, never less. -ENOENT: it has no room for one of each SID. The set is changed to what was told. */
int hbm_ranges_format(HbmRanges *ranges, char *text, size_t size);
