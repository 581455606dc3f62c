/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/request-rotations.h"

#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"

#define AGE_MAX INT32_MAX /* seconds: 68 years */

typedef struct Draft {
        const char *step, *serial, *partition, *failed, *altered, *suspicious, *joined, *together;
        json_int_t position, age;
        json_t *tested;
} Draft;

/* One [regions, seconds]. A region that stands in two of them was not tested twice. */
static const char *read_tested(const json_t *item, RegionSet *before, Rotation *rotation) {
        const char *text = json_string_value(json_array_get(item, 0));
        json_int_t age = json_integer_value(json_array_get(item, 1));
        unsigned total = partition_regions(&rotation->partition);
        RegionSet set;

        if (json_array_size(item) != 2 || !text || !json_is_integer(json_array_get(item, 1)))
                return "tested holds no pair of regions and seconds";
        if (age < 0 || age > AGE_MAX)
                return "an age is not within 0 … 68 years";
        if (region_set_parse(text, total, &set) < 0 || region_set_meets(&set, before))
                return "tested holds what is no set of regions, or a region twice";

        for (unsigned region = 0; region < total; region++)
                if (region_set_has(&set, region)) {
                        rotation->ages[region] = (int32_t) age;
                        region_set_add(before, region);
                }
        return NULL;
}

static const char *read_rotation(const Draft *draft, Rotation *ret) {
        Rotation rotation = { .age = (uint32_t) draft->age };
        RegionSet tested = {};
        unsigned total;

        if (partition_parse(draft->partition, &rotation.partition) < 0)
                return "partition is none";
        total = partition_regions(&rotation.partition);
        if (draft->position < 0 || draft->position >= (json_int_t) total)
                return "position is no region of the partition";
        if (draft->age < 0 || draft->age > AGE_MAX)
                return "age is not within 0 … 68 years";
        if (region_set_parse(draft->failed, total, &rotation.failed) < 0)
                return "failed is no set of regions";
        if (draft->altered && region_set_parse(draft->altered, total, &rotation.altered) < 0)
                return "altered is no set of regions";
        if (draft->suspicious && region_set_parse(draft->suspicious, total, &rotation.suspicious) < 0)
                return "suspicious is no set of regions";
        if (draft->joined && region_set_parse(draft->joined, total, &rotation.joined) < 0)
                return "joined is no set of regions";
        if (draft->together && region_set_parse(draft->together, total, &rotation.together) < 0)
                return "together is no set of regions";
        if (json_array_size(draft->tested) > REGIONS_MAX)
                return "tested is longer than there can be regions";

        rotation.position = (unsigned) draft->position;
        memset(rotation.ages, 0xff, sizeof(rotation.ages));
        for (size_t i = 0; i < json_array_size(draft->tested); i++) {
                const char *wrong = read_tested(json_array_get(draft->tested, i), &tested, &rotation);

                if (wrong)
                        return wrong;
        }
        if (!region_set_contains(&tested, &rotation.failed))
                return "a region failed that was not tested";

        *ret = rotation;
        return NULL;
}

static int read_one(json_t *item, Request *request, const char **ret_wrong) {
        RequestRotation *rotation = &request->rotations[request->n_rotations];
        Draft draft = {};

        *ret_wrong = "not {step, serial, age, partition, position, failed, altered, suspicious, joined, together, tested}, or an unknown key";
        if (json_unpack_ex(item, NULL, JSON_STRICT, "{s:s, s:s, s:I, s:s, s:I, s:s, s?:s, s?:s, s?:s, s?:s, s:o}", "step", &draft.step, "serial",
                           &draft.serial, "age", &draft.age, "partition", &draft.partition, "position", &draft.position,
                           "failed", &draft.failed, "altered", &draft.altered, "suspicious", &draft.suspicious, "joined", &draft.joined,
                           "together", &draft.together, "tested", &draft.tested) < 0 ||
            !json_is_array(draft.tested))
                return -EINVAL;
        *ret_wrong = "step or serial is too long";
        if (strlen(draft.step) > LOCATION_STRING_MAX + PLAN_NAME_MAX || strlen(draft.serial) > 256)
                return -EINVAL;
        *ret_wrong = read_rotation(&draft, &rotation->rotation);
        if (*ret_wrong)
                return -EINVAL;

        request->n_rotations++; /* request_done() is to release what follows */
        rotation->step_id = strdup(draft.step);
        rotation->serial = strdup(draft.serial);
        return rotation->step_id && rotation->serial ? 0 : -ENOMEM;
}

int request_read_rotations(const json_t *list, Request *request, char **ret_error) {
        size_t n = json_array_size(list);
        const char *wrong;

        if (n == 0)
                return 0;

        request->rotations = calloc(n, sizeof(*request->rotations));
        if (!request->rotations)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                int r = read_one(json_array_get(list, i), request, &wrong);

                if (r == -EINVAL && asprintf(ret_error, "request: rotations[%zu]: %s", i, wrong) < 0)
                        *ret_error = NULL;
                if (r < 0)
                        return r;
        }

        return 0;
}

const Rotation *request_rotation(const Request *request, const char *step_id, const char *serial) {
        for (size_t i = 0; i < request->n_rotations; i++)
                if (strcmp(request->rotations[i].step_id, step_id) == 0)
                        return strcmp(request->rotations[i].serial, serial) == 0 ? &request->rotations[i].rotation : NULL;

        return NULL;
}
