/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/overdue.h"

#define TOLD_MAX 32u /* one by one */

/* Seconds since the region was tested, or where it never was, since the first scan that might have. */
static double age_of(const Rotation *before, unsigned region) {
        return before->ages[region] >= 0 ? (double) before->ages[region] : (double) before->age;
}

/* A failure stands until the region has passed. */
static int tell_failed(Step *step, const Regions *regions, const Rotation *before, Verdict *verdict) {
        RegionSet left = before->failed;
        unsigned n_told = 0;

        region_set_remove(&left, &regions->tested);
        for (unsigned region = 0; region < partition_regions(&regions->partition) && n_told < TOLD_MAX; region++) {
                char where[REGIONS_WHERE_MAX];
                int r;

                if (!region_set_has(&left, region))
                        continue;
                r = step_finding(step, verdict, "hbm-region-failed", NULL,
                                 &(Evidence) { .decided = { "hbm_regions_failed", region_set_count(&left), 0 } },
                                 "region %u (%s) failed %.0f s ago and %s", region,
                                 partition_where(&regions->partition, region, where), age_of(before, region),
                                 region_set_has(&regions->occupied, region) ? "carries live data now" :
                                 region_set_has(&regions->unproven, region) ? "cannot be told from live data now" :
                                                                              "was not tested again");
                if (r < 0)
                        return r;
                n_told++;
        }

        return 0;
}

/*
 * What reads found in regions that have not been tested since stands, under CODE: nothing else shows that it was the memory or was not. Where this scan
 * has found the like again, that has been told.
 */
static int tell_found(Step *step, const Regions *regions, const char *code, const char *measurement, const char *what, const RegionSet *before,
                      const RegionSet *again, Verdict *verdict) {
        RegionSet left = *before, occupied;
        Evidence evidence = { .has_count = true };
        unsigned n;

        region_set_remove(&left, &regions->tested);
        n = region_set_count(&left);
        if (n == 0 || region_set_count(again) > 0)
                return 0;
        occupied = left;
        region_set_keep(&occupied, &regions->occupied);
        evidence.count = n;
        evidence.decided = (Decided) { measurement, n, 0 };
        return step_finding(step, verdict, code, NULL, &evidence, "%u of %u regions %s in an earlier scan, and were not tested since; %u of them carry live data",
                            n, partition_regions(&regions->partition), what, region_set_count(&occupied));
}

/* What failed in one pass and not in parts stands: one pass over all of it is the test that it failed. */
static int tell_together(Step *step, const Regions *regions, Verdict *verdict) {
        for (unsigned first = 0, n; first < partition_regions(&regions->partition); first += n > 0 ? n : 1) {
                char from[REGIONS_WHERE_MAX], to[REGIONS_WHERE_MAX];
                int r;

                n = partition_run(&regions->partition, &regions->together, first);
                if (n == 0)
                        continue;
                r = step_finding(step, verdict, "hbm-region-failed", NULL,
                                 &(Evidence) { .has_count = true, .count = n, .decided = { "hbm_regions_failed", n, 0 } },
                                 "regions %u to %u (%s to %s) failed together, and have not passed in one pass since",
                                 first, first + n - 1, partition_where(&regions->partition, first, from),
                                 partition_where(&regions->partition, first + n - 1, to));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int tell_overdue(Step *step, const Regions *regions, const Rotation *before, Verdict *verdict) {
        unsigned n = 0, n_occupied = 0, n_old = 0;
        Evidence evidence = { .has_count = true };
        double oldest = 0;
        int r;

        for (unsigned region = 0; region < partition_regions(&regions->partition); region++) {
                double age = age_of(before, region);

                if (region_set_has(&regions->tested, region))
                        continue;
                n_old++;
                oldest = age > oldest ? age : oldest;
                if (step_rotation_sec(step) == 0 || age <= step_rotation_sec(step))
                        continue;
                n++;
                n_occupied += region_set_has(&regions->occupied, region);
        }

        r = step_measure_series(step, "hbm_region_age_max", (Series) { STATISTIC_MAX, n_old }, oldest, "s",
                                step_rotation_sec(step) > 0 ? LIMIT_LESS_THAN_OR_EQUAL : LIMIT_NONE, step_rotation_sec(step), NULL);
        if (r < 0 || n == 0)
                return r;

        evidence.count = n;
        return step_finding(step, verdict, "hbm-region-overdue", NULL, &evidence,
                            "%u of %u regions were not tested for %.0f s, the oldest not for %.0f s; %u of them carry live data",
                            n, partition_regions(&regions->partition), step_rotation_sec(step), oldest, n_occupied);
}

int hbm_overdue_tell(Step *step, const Regions *regions, const Rotation *before, Verdict *verdict) {
        int r;

        if (!before)
                return 0;

        r = tell_failed(step, regions, before, verdict);
        if (r >= 0)
                r = tell_together(step, regions, verdict);
        if (r >= 0)
                r = tell_found(step, regions, "hbm-region-altered", "hbm_regions_altered", "had lost what a test left there", &before->altered,
                               &regions->altered, verdict);
        if (r >= 0)
                r = tell_found(step, regions, "hbm-region-unproven", "hbm_regions_suspicious", "held a row that differed from those around it",
                               &before->suspicious, &regions->suspicious, verdict);
        return r < 0 ? r : tell_overdue(step, regions, before, verdict);
}
