/* SPDX-License-Identifier: Apache-2.0 */

/* What a statement tells of a memory that scans test region by region: see record.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/health-read.h"
#include "daemon/record/statement/identity.h"

static int read_set(const json_t *from, const char *key, const Partition *partition, RegionSet *ret) {
        const char *text = json_string_value(json_object_get(from, key));

        return text ? region_set_parse(text, partition_regions(partition), ret) : -EINVAL;
}

static int read_test(const json_t *from, RecordKnownRegions *ret) {
        RecordKnownTest *test = &ret->tests[ret->n_tests];
        const char *run = text_of(from, "run");

        if (*run == '\0' || strlen(run) >= sizeof(test->run) || timestamp_parse(text_of(from, "on"), &test->usec) < 0 ||
            read_set(from, "regions", &ret->partition, &test->regions) < 0 || region_set_meets(&ret->tested, &test->regions))
                return -EINVAL;

        memcpy(test->run, run, strlen(run) + 1);
        region_set_unite(&ret->tested, &test->regions);
        ret->n_tests += region_set_count(&test->regions) > 0;
        return 0;
}

static int read_regions(const json_t *from, RecordKnownRegions *ret) {
        json_int_t position = json_integer_value(json_object_get(from, "position"));
        const json_t *tests = json_object_get(from, "tested");

        if (partition_parse(text_of(from, "partition"), &ret->partition) < 0 || position < 0 ||
            position >= (json_int_t) partition_regions(&ret->partition) || timestamp_parse(text_of(from, "since"), &ret->since_usec) < 0 ||
            read_set(from, "failed", &ret->partition, &ret->failed) < 0 ||
            read_set(from, "occupied", &ret->partition, &ret->occupied) < 0 || !json_is_array(tests) ||
            json_array_size(tests) > REGIONS_MAX)
                return -EINVAL;

        if (json_object_get(from, "unproven") && read_set(from, "unproven", &ret->partition, &ret->unproven) < 0)
                return -EINVAL;
        if (json_object_get(from, "altered") && read_set(from, "altered", &ret->partition, &ret->altered) < 0)
                return -EINVAL;
        if (json_object_get(from, "suspicious") && read_set(from, "suspicious", &ret->partition, &ret->suspicious) < 0)
                return -EINVAL;
        if (json_object_get(from, "joined") && read_set(from, "joined", &ret->partition, &ret->joined) < 0)
                return -EINVAL;
        if (json_object_get(from, "together") && read_set(from, "together", &ret->partition, &ret->together) < 0)
                return -EINVAL;
        (void) snprintf(ret->because, sizeof(ret->because), "%s", text_of(from, "because"));

        ret->position = (unsigned) position;
        for (size_t i = 0; i < json_array_size(tests); i++)
                if (read_test(json_array_get(tests, i), ret) < 0)
                        return -EINVAL;
        return region_set_contains(&ret->tested, &ret->failed) ? 0 : -EINVAL;
}

static const json_t *find_step(const json_t *statement, size_t index) {
        const json_t *steps = json_object_get(json_object_get(statement, "predicate"), "steps");

        for (size_t i = 0; i < json_array_size(steps); i++)
                if (json_object_get(json_array_get(steps, i), "regions") && index-- == 0)
                        return json_array_get(steps, i);
        return NULL;
}

int record_regions_read(const json_t *statement, size_t index, RecordKnownRegions **ret) {
        const json_t *step = find_step(statement, index);
        _cleanup_free_ RecordKnownRegions *known = NULL;
        char product[RECORD_PRODUCT_BYTES];

        if (!step)
                return -ENOENT;

        known = calloc(1, sizeof(*known));
        if (!known)
                return -ENOMEM;
        if (strlen(text_of(step, "name")) >= sizeof(known->step) || read_regions(json_object_get(step, "regions"), known) < 0)
                return -EBADMSG;

        (void) strcpy(known->step, text_of(step, "name"));
        identity_read(text_of(json_array_get(json_object_get(statement, "subject"), 0), "uri"), product, known->serial);
        *ret = TAKE_PTR(known);
        return 0;
}

/* ---- tested all at once ---- */

static const RecordStep *find_named(const Health *health, const char *name) {
        for (size_t i = 0; i < health->chip.n_steps; i++)
                if (strcmp(health->chip.steps[i].name, name) == 0)
                        return &health->chip.steps[i];
        return NULL;
}

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
        all = find_named(&later_health, step);
        some = find_named(&health, step);
        if (!all || !some || (all->verdict != VERDICT_PASSED && all->verdict != VERDICT_WARNED) || all->regions || !stage_clears(later->stage, regions->stage))
                return 0;
        reach_of_step(&later_health.scan.run, &later_health.chip, all, &pass);
        reach_of_step(&health.scan.run, &health.chip, some, &failed);
        return reach_covers(&pass, &failed, &regions->entry.subject, false);
}
