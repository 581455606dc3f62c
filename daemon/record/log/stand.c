/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the verdict of a record on its own subject; for a roll-up, on the places that lie in none of its chips: see record-stand.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/judge-parts.h"
#include "daemon/record/statement/places.h"
#include "daemon/record/statement/reason.h"

void record_stand_done(RecordStand *stand) {
        free(stand->reason);
        free(stand->named);
        *stand = (RecordStand) {};
}

static int take_named(const json_t *predicate, RecordStand *stand) {
        const json_t *components = json_object_get(predicate, "components");
        size_t n = json_array_size(components);

        stand->named = calloc(n + 1, sizeof(*stand->named));
        if (!stand->named)
                return -ENOMEM;
        for (; stand->n_named < n; stand->n_named++) {
                const json_t *notes = json_object_get(json_array_get(components, stand->n_named), "annotations");
                RecordNamed *named = &stand->named[stand->n_named];
                const char *id = text_of(notes, "recordSha256");

                if (location_parse(text_of(notes, "slot"), &named->where, NULL, NULL) < 0 || strlen(id) >= sizeof(named->id))
                        return -EBADMSG;
                (void) strcpy(named->id, id);
                named->index = (uint64_t) json_integer_value(json_object_get(notes, "logIndex"));
                named->result = result_from_string(text_of(notes, "result"));
        }
        return 0;
}

/* The result of the roll-up follows from its chips too; its own measurements and findings tell of the rest. */
static int take_own(const json_t *predicate, const char *subject, RecordStand *stand) {
        static const Result results[] = { [VERDICT_PASSED] = RESULT_PASSED, [VERDICT_WARNED] = RESULT_WARNED, [VERDICT_FAILED] = RESULT_FAILED };
        Judgement judgement = {};
        Verdict own = VERDICT_PASSED;

        if (!judge_measurements(json_object_get(predicate, "measurements"), "the server", &own, &judgement) ||
            !judge_diagnoses(json_object_get(predicate, "diagnoses"), &own, &judgement))
                return -EBADMSG;
        stand->result = results[own];
        return reason_of_server(predicate, subject, stand->result, &stand->reason);
}

static void take_left_out(const Places *places, RecordStand *stand) {
        for (size_t i = 0; i < places->n_reaches && stand->n_left_out < RECORD_LEFT_OUT_MAX; i++) {
                const Reach *reach = &places->reaches[i];
                RecordLeftOut *left_out = &stand->left_out[stand->n_left_out];

                if (reach->n_left_out == 0)
                        continue;
                (void) snprintf(left_out->step, sizeof(left_out->step), "%s", reach->step);
                left_out->n = reach->n_left_out;
                stand->n_left_out++;
        }
}

static int take_summary(const json_t *statement, const RecordVerified *verified, RecordStand *stand) {
        const json_t *predicate = json_object_get(statement, "predicate");
        const char *uri = text_of(json_array_get(json_object_get(statement, "subject"), 0), "uri");
        char subject[LOCATION_STRING_MAX];
        int r;

        stand->n_chips = judge_chips_of(predicate, uri);
        r = take_named(predicate, stand);
        return r < 0 ? r : take_own(predicate, location_format(&verified->entry.subject, subject), stand);
}

static bool is_away(const json_t *predicate) {
        const json_t *untested = json_object_get(predicate, "untestedTests");
        size_t n = json_array_size(untested);

        for (size_t i = 0; i < n; i++)
                if (reason_from_string(text_of(json_array_get(untested, i), "reason")) != REASON_DEVICE_UNREACHABLE)
                        return false;
        return n > 0 && n == json_array_size(json_object_get(predicate, "steps"));
}

static int take_health(const json_t *statement, const RecordVerified *verified, RecordStand *stand) {
        stand->is_away = is_away(json_object_get(statement, "predicate"));
        stand->result = verified->entry.result;
        stand->reason = strdup(verified->reason ?: "");
        return stand->reason ? 0 : -ENOMEM;
}

int record_stand_of(const RecordVerified *verified, RecordStand *ret) {
        _cleanup_json_ json_t *statement = NULL;
        RecordStand stand = {};
        Places places = {};
        int r;

        r = places_of_verified(verified, &statement, &places);
        if (r < 0)
                return r;
        stand.in_part = places.in_part;
        take_left_out(&places, &stand);
        if (places.n_failed > 0)
                (void) snprintf(stand.failed_step, sizeof(stand.failed_step), "%s", places.failed[0].step);
        places_done(&places);
        r = strcmp(verified->entry.type, RECORD_TYPE_SUMMARY) == 0 ? take_summary(statement, verified, &stand) : take_health(statement, verified, &stand);
        if (r < 0) {
                record_stand_done(&stand);
                return r;
        }
        *ret = stand;
        return 0;
}

void record_lesser_line(const RecordVerified *verified, char *ret, size_t size) {
        (void) snprintf(ret, size, "no whole scan: '%s' looks at a part alone. Next: assayctl scan %s", verified->entry.plan, verified->entry.subject.server);
}

const RecordNamed *record_stand_find(const RecordStand *stand, const Location *where) {
        for (size_t i = 0; i < stand->n_named; i++)
                if (location_equal(&stand->named[i].where, where))
                        return &stand->named[i];
        return NULL;
}
