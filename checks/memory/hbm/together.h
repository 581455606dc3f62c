/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmTogether
 *
 * A row of one region may fail because of a row of another: by an address that leads there, or by cells that disturb its own. Only a pass that
 * writes both shows it, so a pass over the region alone is no test of it. Regions that were tested in one pass that failed are therefore `joined`,
 * until those of them that failed have been tested by themselves. Where all of them fail again, the failure is their own, and stands as such. Where
 * one passes, all of the pass stand as `together`, until one pass over them all has passed.
 *
 * Groups that lie side by side become one, which only a larger pass clears.
 */

#include <stdbool.h>

#include "checks/vocabulary/regions.h"

typedef struct HbmTogether {
        RegionSet joined, together; /* of earlier scans, but for what this scan has cleared */
        RegionSet failed;           /* joined in this scan, which failed */
} HbmTogether;

/* One pass over N regions from FIRST on came to its end. */
void hbm_together_tested(HbmTogether *together, const Partition *partition, unsigned first, unsigned n, bool failed);
/* Sets joined and together of REGIONS, whose other sets are those of the whole scan. BEFORE may be NULL. */
void hbm_together_conclude(const HbmTogether *together, const Rotation *before, Regions *regions);
