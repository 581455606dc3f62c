/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *text(const json_t *object, const char *key) {
        return json_string_value(json_object_get(object, key)) ?: "";
}

/* yyyy-mm-ddThh:mm:ss[.fff]Z; 0 where it is none. */
static uint64_t parse_time(const char *from) {
        struct tm tm = {};
        time_t sec;

        if (!strptime(from, "%Y-%m-%dT%H:%M:%S", &tm))
                return 0;
        sec = timegm(&tm);
        return sec > 0 ? (uint64_t) sec * 1000000 : 0;
}

static int read_tests(const json_t *list, Coverage *coverage) {
        unsigned total = partition_regions(&coverage->partition);
        const json_t *item;
        RegionSet set;
        size_t i;

        json_array_foreach(list, i, item) {
                uint64_t usec = parse_time(text(item, "on"));

                if (usec == 0 || region_set_parse(text(item, "regions"), total, &set) < 0)
                        return -EBADMSG;
                for (unsigned region = 0; region < total; region++)
                        if (region_set_has(&set, region))
                                coverage->usec[region] = usec;
                region_set_unite(&coverage->tested, &set);
        }

        return 0;
}

static int read_step(const json_t *regions, Coverage *coverage) {
        json_int_t position = json_integer_value(json_object_get(regions, "position"));
        unsigned total;

        if (partition_parse(text(regions, "partition"), &coverage->partition) < 0)
                return -EBADMSG;

        total = partition_regions(&coverage->partition);
        if (position < 0 || position >= (json_int_t) total ||
            region_set_parse(text(regions, "failed"), total, &coverage->failed) < 0 ||
            region_set_parse(text(regions, "occupied"), total, &coverage->occupied) < 0)
                return -EBADMSG;

        coverage->position = (unsigned) position;
        return read_tests(json_object_get(regions, "tested"), coverage);
}

int coverage_read(const json_t *statement, int (*each)(const Coverage *coverage, void *userdata), void *userdata) {
        const json_t *predicate = json_object_get(statement, "predicate"), *step;
        size_t i;
        int r;

        if (!predicate)
                return -EBADMSG;

        json_array_foreach(json_object_get(predicate, "steps"), i, step) {
                const json_t *regions = json_object_get(step, "regions");
                Coverage coverage = { .record = (uint64_t) json_integer_value(
                                                      json_object_get(json_object_get(predicate, "log"), "index")) };

                if (!regions)
                        continue;
                (void) snprintf(coverage.where, sizeof(coverage.where), "%s", text(json_object_get(predicate, "location"), "path"));
                (void) snprintf(coverage.step, sizeof(coverage.step), "%s", text(step, "name"));
                r = read_step(regions, &coverage);
                if (r >= 0)
                        r = each(&coverage, userdata);
                if (r != 0)
                        return r;
        }

        return 0;
}

uint64_t coverage_oldest(const Coverage *coverage) {
        uint64_t oldest = 0;

        for (unsigned region = 0; region < partition_regions(&coverage->partition); region++)
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

json_t *coverage_json(const Coverage *coverage, uint64_t now_usec) {
        char partition[REGIONS_PARTITION_MAX], where[REGIONS_WHERE_MAX];
        json_t *list = json_array();

        for (unsigned region = 0; region < partition_regions(&coverage->partition); region++) {
                uint64_t usec = coverage->usec[region];
                json_t *item = json_pack("{s:i, s:s, s:s, s:b}", "region", (int) region, "where",
                                         partition_where(&coverage->partition, region, where), "verdict",
                                         usec == 0 ? "UNTESTED" : region_set_has(&coverage->failed, region) ? "FAILED" : "PASSED",
                                         "occupied", region_set_has(&coverage->occupied, region));

                if (usec > 0 && item) {
                        (void) json_object_set_new(item, "tested_usec", json_integer((json_int_t) usec));
                        (void) json_object_set_new(item, "age_sec", json_real(now_usec > usec ? (double) (now_usec - usec) / 1e6 : 0));
                }
                (void) json_array_append_new(list, item);
        }

        return json_pack("{s:s, s:s, s:I, s:s, s:i, s:o}", "target", coverage->where, "step", coverage->step, "record",
                         (json_int_t) coverage->record, "partition", partition_format(&coverage->partition, partition),
                         "position", (int) coverage->position, "regions", list);
}
