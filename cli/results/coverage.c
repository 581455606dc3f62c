/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/coverage.h"

#include <errno.h>
#include <stdio.h>

int coverage_read(const json_t *statement, const char *where, uint64_t record,
                  int (*each)(const Coverage *coverage, void *userdata), void *userdata) {
        for (size_t i = 0;; i++) {
                Coverage coverage = { .where = where, .record = record };
                _cleanup_free_ RecordKnownRegions *known = NULL;
                int r;

                r = record_regions_read(statement, i, &known);
                if (r < 0)
                        return r == -ENOENT ? 0 : r;

                coverage.known = known;
                for (size_t k = 0; k < known->n_tests; k++)
                        for (unsigned region = 0; region < partition_regions(&known->partition); region++)
                                if (region_set_has(&known->tests[k].regions, region))
                                        coverage.usec[region] = known->tests[k].usec;
                r = each(&coverage, userdata);
                if (r != 0)
                        return r;
        }
}

uint64_t coverage_oldest(const Coverage *coverage) {
        uint64_t oldest = 0;

        for (unsigned region = 0; region < partition_regions(&coverage->known->partition); region++)
                if (coverage->usec[region] > 0 && (oldest == 0 || coverage->usec[region] < oldest))
                        oldest = coverage->usec[region];
        return oldest;
}

char *coverage_age(uint64_t usec, uint64_t now_usec, char ret[static 24]) {
        double sec = now_usec > usec ? (double) (now_usec - usec) / 1e6 : 0;

        if (usec == 0)
                (void) snprintf(ret, 24, "-");
        else if (sec < 120)
                (void) snprintf(ret, 24, "%.0f s", sec);
        else if (sec < 7200)
                (void) snprintf(ret, 24, "%.0f min", sec / 60);
        else if (sec < 172800)
                (void) snprintf(ret, 24, "%.1f h", sec / 3600);
        else
                (void) snprintf(ret, 24, "%.1f d", sec / 86400);
        return ret;
}

RegionSet coverage_failed(const Coverage *coverage) {
        RegionSet failed = coverage->known->failed;

        if (coverage->is_cleared)
                return (RegionSet) {};
        region_set_unite(&failed, &coverage->known->altered);
        region_set_unite(&failed, &coverage->known->together);
        return failed;
}

json_t *coverage_json(const Coverage *coverage, uint64_t now_usec) {
        char partition[REGIONS_PARTITION_MAX], where[REGIONS_WHERE_MAX];
        RegionSet failed = coverage_failed(coverage);
        json_t *list = json_array(), *ret;

        for (unsigned region = 0; region < partition_regions(&coverage->known->partition); region++) {
                uint64_t usec = coverage->usec[region];
                json_t *item = json_pack("{s:i, s:s, s:s, s:b}", "region", (int) region, "where",
                                         partition_where(&coverage->known->partition, region, where), "verdict",
                                         region_set_has(&failed, region) ? "FAILED" : usec == 0 ? "UNTESTED" : "PASSED",
                                         "occupied", region_set_has(&coverage->known->occupied, region));

                if (item && region_set_has(&coverage->known->unproven, region))
                        (void) json_object_set_new(item, "unproven", json_string(coverage->known->because));
                if (usec > 0 && item) {
                        (void) json_object_set_new(item, "tested_usec", json_integer((json_int_t) usec));
                        (void) json_object_set_new(item, "age_sec", json_real(now_usec > usec ? (double) ((now_usec - usec) / 1000) / 1e3 : 0));
                }
                (void) json_array_append_new(list, item);
        }

        ret = json_pack("{s:s, s:s, s:I, s:s, s:i, s:o}", "target", coverage->where, "step", coverage->known->step, "record",
                         (json_int_t) coverage->record, "partition", partition_format(&coverage->known->partition, partition),
                         "position", (int) coverage->known->position, "regions", list);
        if (ret && coverage->is_cleared)
                (void) json_object_set_new(ret, "cleared_by", json_integer((json_int_t) coverage->cleared_by));
        return ret;
}
