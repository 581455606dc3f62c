/* SPDX-License-Identifier: Apache-2.0 */

/* Judge: the roll-up of a server, against what it says of its chips. */

#include <string.h>

#include "daemon/record/statement/facts.h"
#include "daemon/record/statement/judge-parts.h"

/* The product stands in urn:dev:ops:PEN-PRODUCT-… */
size_t judge_chips_of(const json_t *predicate, const char *uri) {
        const char *product = strchr(uri, '-');
        size_t stated = (size_t) json_integer_value(json_object_get(predicate, "chipCount"));

        return product ? facts_chips_of(product + 1, strcspn(product + 1, "-"), stated) : stated;
}

/* Each chip once, in the server, and told by records before this one, the last of which is the previous. */
static bool judge_component(const json_t *predicate, size_t i, Judgement *judgement) {
        const json_t *components = json_object_get(predicate, "components");
        const json_t *chip = json_object_get(json_array_get(components, i), "annotations");
        const char *slot = text_of(chip, "slot"), *id = text_of(chip, "recordSha256");
        json_int_t index = json_integer_value(json_object_get(chip, "logIndex"));
        json_int_t own = json_integer_value(json_object_get(json_object_get(predicate, "log"), "index"));
        const char *server = text_of(json_object_get(predicate, "location"), "path");

        if (*server && (strncmp(slot, server, strlen(server)) != 0 || slot[strlen(server)] != '/'))
                return judge_wrong(judgement, "%.60s is not in the server", slot);
        if (index >= own || (index == own - 1 && !judge_says(json_object_get(predicate, "previous"), "sha256", id)))
                return judge_wrong(judgement, "the record of %.60s is none before this one", slot);
        for (size_t k = 0; k < i; k++) {
                const json_t *other = json_object_get(json_array_get(components, k), "annotations");

                if (judge_says(other, "slot", slot) || judge_says(other, "recordSha256", id) ||
                    json_integer_value(json_object_get(other, "logIndex")) == index)
                        return judge_wrong(judgement, "%.60s or its record is named twice", slot);
        }
        return true;
}

/* The best that can be said of the server; _RESULT_INVALID with *judgement set. */
static Result judge_components(const json_t *predicate, const char *uri, Judgement *judgement) {
        const json_t *components = json_object_get(predicate, "components");
        size_t n = json_array_size(components);
        Result worst = n == 0 || n < judge_chips_of(predicate, uri) ? RESULT_INCONCLUSIVE : RESULT_PASSED;

        for (size_t i = 0; i < n; i++) {
                const json_t *annotations = json_object_get(json_array_get(components, i), "annotations");

                if (!judge_component(predicate, i, judgement))
                        return _RESULT_INVALID;
                worst = result_worst(worst, result_from_string(text_of(annotations, "result")));
        }
        return worst;
}

bool judge_summary(const json_t *predicate, const char *uri, Judgement *judgement) {
        static const Result results[] = { [VERDICT_PASSED] = RESULT_PASSED, [VERDICT_WARNED] = RESULT_WARNED,
                                          [VERDICT_FAILED] = RESULT_FAILED };
        Result worst, result = result_from_string(text_of(predicate, "result"));
        Verdict own = VERDICT_PASSED; /* what lies in none of the chips */

        if (!judge_status(predicate, judgement) ||
            !judge_measurements(json_object_get(predicate, "measurements"), "the server", &own, judgement) ||
            !judge_diagnoses(json_object_get(predicate, "diagnoses"), &own, judgement))
                return false;
        worst = judge_components(predicate, uri, judgement);
        if (worst < 0)
                return false;
        worst = result_worst(worst, results[own]);
        if (result_worst(result, worst) != result)
                return judge_wrong(judgement, "the result is called %s, its chips and its own evidence come to %s",
                             text_of(predicate, "result"), result_to_string(worst));
        return true;
}
