/* SPDX-License-Identifier: Apache-2.0 */

#include <jansson.h>

#include "checks/vocabulary/verdict.h"
#include "cli/verify/answer.h"

/* Of parts that there are: {"PASSED": 15, "FAILED": 2}. */
static json_t *count_parts(const size_t counts[static _RESULT_MAX]) {
        json_t *object = json_object();

        for (Result result = 0; result < _RESULT_MAX; result++)
                if (counts[result] > 0)
                        (void) json_object_set_new(object, result_to_string(result), json_integer((json_int_t) counts[result]));
        return object;
}

json_t *answer_json(const char *target, const Answer *answer, const char *text) {
        json_t *object = json_pack("{s:s, s:s, s:s, s:i}", "target", target, "verdict", result_to_string(answer->result), "reason", text, "status",
                                   answer->status);
        json_t *parts = count_parts(answer->n_parts);

        if (answer->record != UINT64_MAX)
                (void) json_object_set_new(object, "record", json_integer((json_int_t) answer->record));
        if (answer->id[0]) {
                (void) json_object_set_new(object, "sha256", json_string(answer->id));
                (void) json_object_set_new(object, "plan", json_string(answer->plan));
                (void) json_object_set_new(object, "age_sec", json_real((double) (answer->age_usec / 1000) / 1e3));
        }
        if (json_object_size(parts) > 0)
                (void) json_object_set(object, "parts", parts);
        if (json_object_size(parts) > 0)
                (void) json_object_set_new(object, "chips", count_parts(answer->n_chips));
        json_decref(parts);
        return object;
}
