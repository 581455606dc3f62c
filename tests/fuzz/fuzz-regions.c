/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Where scans in service are, on its way through texts: the first three lines are a partition, a set of its regions and another
 * partition; the rest is a record, whatever may be signed. What is read from one is what a worker accepts in a request and what the
 * next record tells again.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/worker/request-rotations.h"
#include "daemon/rotation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW UINT64_C(1795000000000000)

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

static char *take_line(const uint8_t **data, size_t *size) {
        const uint8_t *end = memchr(*data, '\n', *size);
        size_t n = end ? (size_t) (end - *data) : *size;
        char *line = strndup((const char *) *data, n);

        HOLDS(line);
        *data += n + (end != NULL);
        *size -= n + (end != NULL);
        return line;
}

/* Each inner part is in one region, and in their order. */
static void judge_partition(const Partition *partition, const char *text) {
        char again[REGIONS_PARTITION_MAX];
        uint32_t outer, first, last, next = 0;

        HOLDS(strcmp(partition_format(partition, again), text) == 0);
        HOLDS(partition_regions(partition) > 0 && partition_regions(partition) <= REGIONS_MAX);
        for (unsigned region = 0; region < partition_regions(partition); region++) {
                partition_region(partition, region, &outer, &first, &last);
                HOLDS(outer == region / partition->n_slices && first == next && last >= first);
                next = last + 1 < partition->n_inner ? last + 1 : 0;
                HOLDS(next > 0 || (region + 1) % partition->n_slices == 0);
        }
}

static void judge_sets(const Partition *partition, const char *text, const Partition *other) {
        unsigned total = partition_regions(partition);
        RegionSet set, mapped;

        if (region_set_parse(text, total, &set) < 0)
                return;
        for (unsigned region = total; region < REGIONS_MAX; region++)
                HOLDS(!region_set_has(&set, region));

        /* What is mapped there and back covers all that was in the set. */
        mapped = partition_map(partition, &set, other);
        if (region_set_count(&mapped) == 0)
                return;
        mapped = partition_map(other, &mapped, partition);
        HOLDS(region_set_contains(&mapped, &set));
}

static void judge_texts(const char *text, const char *set, const char *other_text) {
        Partition partition, other;

        if (partition_parse(text, &partition) < 0)
                return;
        judge_partition(&partition, text);
        judge_sets(&partition, set, partition_parse(other_text, &other) >= 0 ? &other : &partition);
}

/* What a worker makes of it. */
static void judge_request(const RecordKnownRegions *known) {
        json_auto_t *list = json_array();
        Request request = {};
        char *error = NULL;

        HOLDS(json_array_append_new(list, rotation_to_request(known, "us0-1/chip3:hbm", NOW)) >= 0);
        HOLDS(request_read_rotations(list, &request, &error) >= 0 && request.n_rotations == 1);
        HOLDS(partition_equal(&request.rotations[0].rotation.partition, &known->partition));
        free(request.rotations[0].step_id);
        free(request.rotations[0].serial);
        free(request.rotations);
}

static void judge_facts(const RecordKnownRegions *known) {
        Regions now = { .partition = known->partition, .position = known->position };
        RecordRun run = { .id = "0", .finished_usec = NOW };
        RecordRegions *facts;
        RegionSet all = {}, set;

        region_set_add(&now.tested, known->position);
        HOLDS(!regions_wrong(&now));
        HOLDS(rotation_facts(known, &now, known->serial, &run, &facts) >= 0 && facts);
        for (size_t i = 0; i < facts->n_tests; i++) {
                HOLDS(region_set_parse(facts->tests[i].regions, facts->total, &set) >= 0 && region_set_count(&set) > 0);
                HOLDS(!region_set_meets(&all, &set));
                region_set_unite(&all, &set);
        }
        HOLDS(region_set_parse(facts->failed, facts->total, &set) >= 0 && region_set_contains(&all, &set));
        (void) rotation_facts_free(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *partition = take_line(&data, &size), *set = take_line(&data, &size), *other = take_line(&data, &size);
        _cleanup_free_ RecordKnownRegions *known = NULL;

        judge_texts(partition, set, other);
        if (rotation_read((const char *) data, size, "hbm", &known) >= 0) {
                judge_request(known);
                judge_facts(known);
        }
        return 0;
}
