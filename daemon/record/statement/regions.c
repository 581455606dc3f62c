/* SPDX-License-Identifier: Apache-2.0 */

/* What a statement tells of a memory that scans test region by region: see record.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/statement/health-read.h"
#include "daemon/record/statement/statement.h"

/* TEXT may be NULL: none. */
static int parse_set(const char *text, const Partition *partition, RegionSet *ret) {
        return text ? region_set_parse(text, partition_regions(partition), ret) : 0;
}

static int take_test(const RecordRegionTest *from, RecordKnownRegions *known) {
        RecordKnownTest *test = &known->tests[known->n_tests];

        *test = (RecordKnownTest) { .usec = from->usec };
        if (from->usec == UINT64_MAX || !*from->run || strlen(from->run) >= sizeof(test->run) || region_set_parse(from->regions, partition_regions(&known->partition), &test->regions) < 0 ||
            region_set_meets(&known->tested, &test->regions))
                return -EINVAL;
        (void) strcpy(test->run, from->run);
        region_set_unite(&known->tested, &test->regions);
        known->n_tests += region_set_count(&test->regions) > 0;
        return 0;
}

int regions_known(const RecordRegions *regions, RecordKnownRegions *ret) {
        Partition partition;
        bool are_sets;

        if (partition_parse(regions->partition, &partition) < 0 || regions->position >= partition_regions(&partition) || regions->n_tests > REGIONS_MAX ||
            regions->since_usec == UINT64_MAX)
                return -EINVAL;
        memset(ret, 0, offsetof(RecordKnownRegions, tests));
        ret->partition = partition;
        ret->position = regions->position;
        ret->since_usec = regions->since_usec;
        (void) snprintf(ret->because, sizeof(ret->because), "%s", regions->because ?: "");
        are_sets = parse_set(regions->occupied, &partition, &ret->occupied) >= 0 && parse_set(regions->failed, &partition, &ret->failed) >= 0 &&
                   parse_set(regions->unproven, &partition, &ret->unproven) >= 0 && parse_set(regions->altered, &partition, &ret->altered) >= 0 &&
                   parse_set(regions->suspicious, &partition, &ret->suspicious) >= 0 && parse_set(regions->joined, &partition, &ret->joined) >= 0 &&
                   parse_set(regions->together, &partition, &ret->together) >= 0;
        for (size_t i = 0; i < regions->n_tests && are_sets; i++)
                are_sets = take_test(&regions->tests[i], ret) >= 0;
        return are_sets && region_set_contains(&ret->tested, &ret->failed) ? 0 : -EINVAL;
}

static const RecordStep *find_step(const Health *health, size_t index) {
        for (size_t i = 0; i < health->chip.n_steps; i++)
                if (health->chip.steps[i].regions && index-- == 0)
                        return &health->chip.steps[i];
        return NULL;
}

int record_regions_read(const json_t *statement, size_t index, RecordKnownRegions **ret) {
        _cleanup_free_ RecordKnownRegions *known = NULL;
        _cleanup_health_ Health health = {};
        const RecordStep *step;
        int r;

        r = health_read((json_t *) statement, RECORD_TYPE_HEALTH, &health); /* only its references are counted */
        if (r < 0)
                return r;
        step = find_step(&health, index);
        if (!step)
                return -ENOENT;
        known = calloc(1, sizeof(*known));
        if (!known)
                return -ENOMEM;
        if (strlen(step->name) >= sizeof(known->step) || regions_known(step->regions, known) < 0)
                return -EBADMSG;
        (void) strcpy(known->step, step->name);
        (void) snprintf(known->serial, sizeof(known->serial), "%s", health.chip.subject.serial);
        *ret = TAKE_PTR(known);
        return 0;
}

/* ---- tested all at once ---- */

int record_tests_all_regions(const RecordVerified *later, const RecordVerified *regions, const char *step) {
        _cleanup_health_ Health later_health = {}, health = {};
        const RecordStep *all, *some;
        Reach pass, failed;
        int r;

        if (later->is_older)
                return 0;
        r = health_read_verified(later, &later_health);
        if (r == 0)
                r = health_read_verified(regions, &health);
        if (r < 0)
                return r;
        all = health_find_step(&later_health.chip, step);
        some = health_find_step(&health.chip, step);
        if (!all || !some || (all->verdict != VERDICT_PASSED && all->verdict != VERDICT_WARNED) || all->regions || !stage_clears(later->stage, regions->stage))
                return 0;
        reach_of_step(&later_health.scan.run, &later_health.chip, all, &pass);
        reach_of_step(&health.scan.run, &health.chip, some, &failed);
        return reach_covers(&pass, &failed, &regions->entry.subject, false);
}
