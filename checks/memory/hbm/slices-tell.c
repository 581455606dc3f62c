/* SPDX-License-Identifier: Apache-2.0 */

/* Slices: see slices-parts.h. This part says what came of them. */

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/overdue.h"
#include "checks/memory/hbm/report/report.h"
#include "checks/memory/hbm/report/taken.h"
#include "checks/memory/hbm/slices-parts.h"

static int measure(Slices *slices) {
        const Regions *regions = &slices->regions;
        const HbmRun *run = slices->run;
        int r;

        r = step_note(run->step, "hbm_bytes_tested", (double) slices->bytes, "By", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_regions", partition_regions(&regions->partition), "1", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_regions_tested", region_set_count(&regions->tested), "1", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_regions_occupied", region_set_count(&regions->occupied), "1", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_regions_unproven", region_set_count(&regions->unproven), "1", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_rows_guarded", (double) slices->guarded, "{row}", NULL);
        return r < 0 ? r : march_totals_measure(&run->totals, run->step, "hbm", slices->mismatches);
}

static unsigned weight(const HbmDoubt *doubt) {
        return 1 + doubt->suspicious + 2 * doubt->in_part;
}

/* The first of unproven regions in which a part is broken, else with a row that differs from all around it, else the first. */
static unsigned first_unproven(const Slices *slices) {
        unsigned first = 0, most = 0;

        for (unsigned region = 0; region < partition_regions(&slices->regions.partition); region++)
                if (region_set_has(&slices->regions.unproven, region) && weight(&slices->doubts[region]) > most) {
                        most = weight(&slices->doubts[region]);
                        first = region;
                }
        return first;
}

/* A finding at a region stands until the region has been tested: the next scans ask it first, and tell it where they cannot. */
static void keep_suspicious(Slices *slices) {
        for (unsigned region = 0; region < partition_regions(&slices->regions.partition); region++)
                if (region_set_has(&slices->regions.unproven, region) && slices->doubts[region].suspicious)
                        region_set_add(slices->doubts[region].in_part ? &slices->regions.altered : &slices->regions.suspicious, region);
}

/* Why slices were not tested: of one of them, and for how many it is another reason. */
static int tell_unproven(Slices *slices) {
        Regions *regions = &slices->regions;
        const HbmDoubt *doubt;
        const RegionSet *found;
        unsigned first = first_unproven(slices), n_others = 0;
        Location place;

        if (region_set_count(&regions->unproven) == 0)
                return 0;

        doubt = &slices->doubts[first];
        for (unsigned region = 0; region < partition_regions(&regions->partition); region++)
                n_others += region_set_has(&regions->unproven, region) && strcmp(slices->doubts[region].why, doubt->why) != 0;
        (void) snprintf(regions->because, sizeof(regions->because), "%s", doubt->why);
        if (n_others > 0)
                (void) snprintf(regions->because + strlen(regions->because), sizeof(regions->because) - strlen(regions->because),
                                "; the like of %u more region%s", n_others, n_others == 1 ? "" : "s");
        if (!doubt->suspicious)
                return 0;

        found = doubt->in_part ? &regions->altered : &regions->suspicious; /* see keep_suspicious() */
        slices->run->geometry = slices->whole;
        place = hbm_report_place(slices->run, doubt->stack, doubt->at, doubt->in_part ? HBM_PSEUDO_CHANNEL : HBM_ROW);
        return step_finding(slices->run->step, &slices->verdict, doubt->in_part ? "hbm-region-altered" : "hbm-region-unproven", &place,
                            &(Evidence) { .has_count = true, .count = region_set_count(&regions->unproven),
                                          .decided = { doubt->in_part ? "hbm_regions_altered" : "hbm_regions_suspicious", region_set_count(found), 0 } },
                            "%s; not written and not tested: %u of %u regions", regions->because, region_set_count(&regions->unproven),
                            partition_regions(&regions->partition));
}

static unsigned region_at(const Partition *partition, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        unsigned region = at[HBM_SID] * partition->n_slices;
        uint32_t sid, first, last;

        do
                partition_region(partition, region, &sid, &first, &last);
        while (at[HBM_ROW] > last && ++region < partition_regions(partition));
        return region;
}

int slices_tell_alias(Slices *slices, const HbmFarAlias *alias) {
        Regions *regions = &slices->regions;
        unsigned one = region_at(&regions->partition, alias->at), other = region_at(&regions->partition, alias->other);
        RegionSet between = region_set_range(MIN(one, other), MAX(one, other) - MIN(one, other) + 1);
        char text[LOCATION_STRING_MAX];
        Location where, partner;

        if (region_set_has(&regions->failed, one) || region_set_has(&regions->failed, other))
                return 0; /* a pass has shown it */

        slices->run->geometry = slices->whole;
        where = hbm_report_place(slices->run, alias->stack, alias->at, HBM_ROW);
        partner = hbm_report_place(slices->run, alias->stack, alias->other, HBM_ROW);
        region_set_unite(&slices->together.failed, &between);
        return step_finding(slices->run->step, &slices->verdict, "hbm-decoder", &where, &(Evidence) { .decided = { "hbm_rows_written_astray", 1, 0 } },
                            "this row gives back what was written to %s, in region %u: one of both addresses reaches the row of the other", location_format(&partner, text), other);
}

int slices_conclude(Slices *slices, Verdict *ret) {
        HbmRun *run = slices->run;
        int r;

        keep_suspicious(slices);
        hbm_together_conclude(&slices->together, slices->before, &slices->regions);
        r = measure(slices);
        if (r >= 0)
                r = tell_unproven(slices);
        if (r >= 0)
                r = hbm_overdue_tell(run->step, &slices->regions, slices->before, &slices->verdict);
        if (r >= 0)
                r = step_regions(run->step, &slices->regions);
        if (r < 0)
                return r;

        if (region_set_count(&slices->regions.tested) == 0 && slices->verdict != VERDICT_FAILED) {
                if (region_set_count(&slices->regions.occupied) == partition_regions(&slices->regions.partition))
                        return step_skip(run->step, ret, REASON_OCCUPIED, "all of the memory carries live data");
                if (region_set_count(&slices->regions.unproven) > 0)
                        return step_skip(run->step, ret, REASON_OCCUPIED,
                                         "no free rows could be told from those with live data without writing to them: %s",
                                         slices->regions.because);
                if (slices->taken)
                        return step_skip(run->step, ret, REASON_OCCUPIED, "%s", HBM_TAKEN_WHY);
                return step_skip(run->step, ret, REASON_BUDGET, "a slice takes %.3g s", slices->region_sec);
        }

        *ret = slices->verdict;
        return 0;
}
