/* SPDX-License-Identifier: Apache-2.0 */

#include "daemon/rotation.h"

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#define AGE_SEC_MAX INT32_MAX

/* ---- from a record ---- */

int rotation_read(const char *payload, size_t n, const char *step, RecordKnownRegions **ret) {
        json_auto_t *statement = NULL;
        int r;

        r = record_statement_read(payload, n, &statement);
        if (r < 0)
                return r == -EBADMSG ? -ENOENT : r;
        for (size_t i = 0;; i++) {
                _cleanup_free_ RecordKnownRegions *known = NULL;

                r = record_regions_read(statement, i, &known);
                if (r < 0)
                        return r == -EBADMSG ? -ENOENT : r;
                if (strcmp(known->step, step) != 0)
                        continue;
                *ret = TAKE_PTR(known);
                return 0;
        }
}

void rotation_forget_passes(RecordKnownRegions *known) {
        size_t n = 0;

        for (size_t i = 0; i < known->n_tests; i++) {
                known->tests[n] = known->tests[i];
                region_set_keep(&known->tests[n].regions, &known->failed);
                n += region_set_count(&known->tests[n].regions) > 0;
        }
        known->n_tests = n;
        region_set_keep(&known->tested, &known->failed);
}

/* ---- to a worker ---- */

static json_int_t age_of(uint64_t usec, uint64_t now_usec) {
        return now_usec > usec ? (json_int_t) MIN((now_usec - usec) / 1000000, (uint64_t) AGE_SEC_MAX) : 0;
}

json_t *rotation_to_request(const RecordKnownRegions *rotation, const char *step_id, uint64_t now_usec) {
        char partition[REGIONS_PARTITION_MAX], text[REGIONS_TEXT_MAX], altered[REGIONS_TEXT_MAX], suspicious[REGIONS_TEXT_MAX],
                        joined[REGIONS_TEXT_MAX], together[REGIONS_TEXT_MAX];
        json_t *tested = json_array();

        for (size_t i = 0; i < rotation->n_tests; i++)
                if (json_array_append_new(tested, json_pack("[s, I]", region_set_format(&rotation->tests[i].regions, text),
                                                            age_of(rotation->tests[i].usec, now_usec))) < 0) {
                        json_decref(tested);
                        return NULL;
                }

        return json_pack("{s:s, s:s, s:I, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:o}", "step", step_id, "serial", rotation->serial, "age",
                         age_of(rotation->since_usec, now_usec), "partition",
                         partition_format(&rotation->partition, partition), "position", (int) rotation->position,
                         "failed", region_set_format(&rotation->failed, text), "altered", region_set_format(&rotation->altered, altered),
                         "suspicious", region_set_format(&rotation->suspicious, suspicious), "joined", region_set_format(&rotation->joined, joined),
                         "together", region_set_format(&rotation->together, together), "tested", tested);
}

/* ---- to the next record ---- */

typedef struct Facts {
        RecordRegions regions; /* the first, so that what is freed is this */
        char partition[REGIONS_PARTITION_MAX], occupied[REGIONS_TEXT_MAX], failed[REGIONS_TEXT_MAX];
        char unproven[REGIONS_TEXT_MAX], altered[REGIONS_TEXT_MAX], suspicious[REGIONS_TEXT_MAX], joined[REGIONS_TEXT_MAX], together[REGIONS_TEXT_MAX];
        char because[REGIONS_REASON_MAX];
        RecordRegionTest *tests;
        char (*runs)[RECORD_RUN_BYTES];
} Facts;

RecordRegions *rotation_facts_free(RecordRegions *regions) {
        Facts *facts = (Facts *) regions;

        if (!facts)
                return NULL;

        for (size_t i = 0; i < facts->regions.n_tests; i++)
                free((char *) facts->tests[i].regions);
        free(facts->tests);
        free(facts->runs);
        free(facts);
        return NULL;
}

/* Takes over REGIONS as text. */
static int add_test(Facts *facts, uint64_t usec, const char *run, const RegionSet *regions) {
        size_t n = facts->regions.n_tests;
        char text[REGIONS_TEXT_MAX];

        if (region_set_count(regions) == 0)
                return 0;

        (void) snprintf(facts->runs[n], RECORD_RUN_BYTES, "%s", run);
        facts->tests[n] = (RecordRegionTest) {
                .run = facts->runs[n], .usec = usec, .regions = strdup(region_set_format(regions, text)),
        };
        if (!facts->tests[n].regions)
                return -ENOMEM;
        facts->regions.n_tests++;
        return 0;
}

static bool same_regions(const RecordKnownRegions *before, const Regions *now) {
        return !now || partition_equal(&before->partition, &now->partition);
}

/* What is left of test I of before: of regions that are cut otherwise now, what failed. */
static RegionSet carry(const RecordKnownRegions *before, size_t i, const Regions *now) {
        RegionSet set = before->tests[i].regions;

        if (same_regions(before, now))
                return set;

        region_set_keep(&set, &before->failed);
        return partition_map(&before->partition, &set, &now->partition);
}

/* Regions that were not proven when it was their turn, and have neither been tested nor taken by a job since. */
static void merge_unproven(const RecordKnownRegions *before, const Regions *now, Facts *facts) {
        Regions merged = {};

        if (before && same_regions(before, now)) {
                merged.unproven = before->unproven;
                regions_add_reason(&merged, before->because);
        }
        if (now) {
                region_set_remove(&merged.unproven, &now->tested);
                region_set_remove(&merged.unproven, &now->occupied);
                region_set_remove(&merged.unproven, &now->unproven);
                if (region_set_count(&merged.unproven) == 0)
                        merged.because[0] = '\0';
                region_set_unite(&merged.unproven, &now->unproven);
                regions_add_reason(&merged, now->because);
        }
        (void) region_set_format(&merged.unproven, facts->unproven);
        (void) strcpy(facts->because, merged.because);
}

/* Of the regions with a finding, BEFORE and NOW, those that have not been tested since. What a scan did not test, it does not clear. */
static void merge_found(const RecordKnownRegions *before, const Regions *now, const RegionSet *found_before, const RegionSet *found_now, char *ret) {
        RegionSet found = {};

        if (before)
                found = same_regions(before, now) ? *found_before : partition_map(&before->partition, found_before, &now->partition);
        if (now) {
                region_set_remove(&found, &now->tested);
                region_set_unite(&found, found_now);
        }
        (void) region_set_format(&found, ret);
}

/* Of regions that failed together a scan says itself what stands, since only it knows which it tested in one pass. */
static void carry_joined(const RecordKnownRegions *before, const Regions *now, Facts *facts) {
        const RegionSet none = {};

        (void) region_set_format(now ? &now->joined : before ? &before->joined : &none, facts->joined);
        (void) region_set_format(now ? &now->together : before ? &before->together : &none, facts->together);
}

/* What was known, and what this scan adds. */
static int merge(const RecordKnownRegions *before, const Regions *now, const RecordRun *run, Facts *facts) {
        const RegionSet none = {}, *tested = now ? &now->tested : &none;
        RegionSet seen = *tested;
        int r = 0;

        for (size_t i = 0; before && i < before->n_tests && r >= 0; i++) {
                RegionSet left = carry(before, i, now);

                region_set_remove(&left, &seen);
                region_set_unite(&seen, &left);
                r = add_test(facts, before->tests[i].usec, before->tests[i].run, &left);
        }
        if (r >= 0)
                r = add_test(facts, run->finished_usec, run->id, tested);

        merge_found(before, now, before ? &before->failed : NULL, now ? &now->failed : NULL, facts->failed);
        merge_found(before, now, before ? &before->altered : NULL, now ? &now->altered : NULL, facts->altered);
        merge_found(before, now, before ? &before->suspicious : NULL, now ? &now->suspicious : NULL, facts->suspicious);
        (void) region_set_format(now ? &now->occupied : &none, facts->occupied);
        merge_unproven(before, now, facts);
        carry_joined(before, now, facts);
        return r;
}

static bool same_chip(const RecordKnownRegions *before, const char *serial) {
        return strcmp(before->serial, serial ? serial : "") == 0;
}

int rotation_facts(const RecordKnownRegions *before, const Regions *now, const char *serial, const RecordRun *run,
                   RecordRegions **ret) {
        const Partition *partition;
        Facts *facts;
        int r;

        *ret = NULL;
        if (before && !same_chip(before, serial))
                before = NULL;
        if (!before && !now)
                return 0;

        facts = calloc(1, sizeof(*facts));
        if (!facts)
                return -ENOMEM;
        facts->tests = calloc(REGIONS_MAX + 1, sizeof(*facts->tests));
        facts->runs = calloc(REGIONS_MAX + 1, sizeof(*facts->runs));

        partition = now ? &now->partition : &before->partition;
        facts->regions = (RecordRegions) {
                .partition  = partition_format(partition, facts->partition),
                .total      = partition_regions(partition),
                .position   = now ? now->position : before->position,
                .since_usec = before && same_regions(before, now) ? before->since_usec : run->finished_usec,
                .occupied   = facts->occupied,
                .unproven   = facts->unproven,
                .because    = facts->because,
                .altered    = facts->altered,
                .suspicious = facts->suspicious,
                .joined     = facts->joined,
                .together   = facts->together,
                .failed     = facts->failed,
                .tests      = facts->tests,
        };
        r = facts->tests && facts->runs ? merge(before, now, run, facts) : -ENOMEM;
        if (r < 0) {
                rotation_facts_free(&facts->regions);
                return r;
        }

        *ret = &facts->regions;
        return 0;
}
