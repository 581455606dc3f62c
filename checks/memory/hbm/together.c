/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/together.h"

/* Of SET the groups that lie within N regions from FIRST on. */
static void clear_within(const Partition *partition, RegionSet *set, unsigned first, unsigned n) {
        for (unsigned region = 0, length; region < partition_regions(partition); region += length > 0 ? length : 1) {
                RegionSet group;

                length = partition_run(partition, set, region);
                if (region < first || region + length > first + n)
                        continue;
                group = region_set_range(region, length);
                region_set_remove(set, &group);
        }
}

void hbm_together_tested(HbmTogether *together, const Partition *partition, unsigned first, unsigned n, bool failed) {
        RegionSet box = region_set_range(first, n);

        if (failed && n > 1)
                region_set_unite(&together->failed, &box);
        if (failed)
                return;

        clear_within(partition, &together->joined, first, n);
        clear_within(partition, &together->together, first, n);
}

/* Into which set GROUP goes, which no pass has cleared; NULL: each region of it that failed has failed by itself. */
static RegionSet *set_of(const RegionSet *group, const Rotation *before, Regions *regions) {
        RegionSet failed = *group, left, passed;

        region_set_keep(&failed, &before->failed);
        left = passed = failed;
        region_set_remove(&left, &regions->tested);
        region_set_keep(&passed, &regions->tested);
        region_set_remove(&passed, &regions->failed);
        if (region_set_count(&failed) == 0 || region_set_count(&passed) > 0)
                return &regions->together;
        return region_set_count(&left) > 0 ? &regions->joined : NULL;
}

void hbm_together_conclude(const HbmTogether *together, const Rotation *before, Regions *regions) {
        const Partition *partition = &regions->partition;

        regions->joined = together->failed;
        regions->together = together->together;
        for (unsigned first = 0, n; before && first < partition_regions(partition); first += n > 0 ? n : 1) {
                RegionSet group, *set;

                n = partition_run(partition, &together->joined, first);
                group = region_set_range(first, n);
                set = n > 0 ? set_of(&group, before, regions) : NULL;
                if (set)
                        region_set_unite(set, &group);
        }
}
