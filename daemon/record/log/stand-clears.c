/* SPDX-License-Identifier: Apache-2.0 */

/* Tells what newer records have cleared of a failure, and what of it stands: see record-stand.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/places.h"
#include "daemon/record/statement/reason.h"

typedef struct Failed {
        const RecordVerified *verified;
        json_t *statement;
        Places places;
        bool *is_cleared;   /* of each place */
        bool *is_left_out;  /* by a record that could have cleared it */
} Failed;

static void failed_done(Failed *failed) {
        json_decref(failed->statement);
        places_done(&failed->places);
        free(failed->is_cleared);
        free(failed->is_left_out);
}

/* Rows of failures are kept and cleared by the same rule, see failures.c. */
static bool leaves_out(const Places *later, const Places *failed, const RecordPlace *place) {
        const Reach *reach = places_reach(failed, place->step), *now = places_reach(later, place->step);

        if (reach && now && reach_lacks_servers(now, reach))
                return true;
        return places_leave_out(later, place->step, &place->where, reach && reach->is_together) && places_keep(failed, place);
}

static bool has_looked(const Places *later, const Places *failed, const RecordPlace *place, bool same_plan) {
        const Reach *reach = places_reach(failed, place->step);
        Reach bare = {};

        if (leaves_out(later, failed, place))
                return false;
        (void) snprintf(bare.step, sizeof(bare.step), "%s", place->step);
        return places_have_reached(later, reach ? reach : &bare, &place->where, same_plan, failed->tells_reaches);
}

static bool is_same_plan(const RecordVerified *a, const RecordVerified *b) {
        return strcmp(a->entry.plan, b->entry.plan) == 0;
}

static bool clears(const Places *later, const Places *failed, bool same_plan) {
        for (size_t i = 0; i < failed->n_failed; i++)
                if (!has_looked(later, failed, &failed->failed[i], same_plan))
                        return false;
        return true;
}

int record_clears(const RecordVerified *later, const RecordVerified *failed) {
        _cleanup_json_ json_t *later_statement = NULL, *failed_statement = NULL;
        Places now = {}, before = {};
        int r;

        r = places_of_verified(later, &later_statement, &now);
        if (r == 0)
                r = places_of_verified(failed, &failed_statement, &before);
        if (r == 0)
                r = places_may_clear(&now, &later->entry, failed->entry.plan, before.stage) && clears(&now, &before, is_same_plan(later, failed));
        places_done(&now);
        places_done(&before);
        return r;
}

/* ---- what stands ---- */

static int read_failed(const RecordVerified *verified, Failed *ret) {
        int r;

        *ret = (Failed) { .verified = verified };
        r = places_of_verified(verified, &ret->statement, &ret->places);
        if (r < 0)
                return r;
        ret->is_cleared = calloc(ret->places.n_failed + 1, sizeof(*ret->is_cleared));
        ret->is_left_out = calloc(ret->places.n_failed + 1, sizeof(*ret->is_left_out));
        return ret->is_cleared && ret->is_left_out ? 0 : -ENOMEM;
}

static int take_later(Failed *failed, const RecordVerified *later) {
        const RecordEntry *entry = &failed->verified->entry;
        _cleanup_json_ json_t *statement = NULL;
        Places now = {};
        int r;

        r = places_of_verified(later, &statement, &now);
        if (r < 0)
                return r;
        if (places_may_clear(&now, &later->entry, entry->plan, failed->places.stage))
                for (size_t i = 0; i < failed->places.n_failed; i++) {
                        const RecordPlace *place = &failed->places.failed[i];

                        if (has_looked(&now, &failed->places, place, is_same_plan(later, failed->verified)))
                                failed->is_cleared[i] = true;
                        else if (leaves_out(&now, &failed->places, place))
                                failed->is_left_out[i] = true;
                }
        places_done(&now);
        return 0;
}

/* Whether something at WHERE that STEP found stands; WHERE NULL: anywhere. */
static bool stands_at(const Failed *failed, const char *step, const Location *where) {
        for (size_t i = 0; i < failed->places.n_failed; i++) {
                const RecordPlace *place = &failed->places.failed[i];

                if (!failed->is_cleared[i] && strcmp(place->step, step) == 0 && (!where || location_equal(&place->where, where)))
                        return true;
        }
        return false;
}

/* Takes away the failures of DIAGNOSES that were cleared. STEP: of all; NULL: each tells its own. */
static void take_cleared(const Failed *failed, json_t *diagnoses, const char *step) {
        for (size_t i = json_array_size(diagnoses); i-- > 0;) {
                const json_t *diagnosis = json_array_get(diagnoses, i), *component = json_object_get(diagnosis, "component");
                Location where = failed->verified->entry.subject;

                if (component && location_parse(text_of(component, "location"), &where, NULL, NULL) < 0)
                        continue;
                if (strcmp(text_of(diagnosis, "type"), severity_to_ocp(SEVERITY_FAIL)) == 0 &&
                    !stands_at(failed, step ?: text_of(diagnosis, "step"), &where))
                        (void) json_array_remove(diagnoses, i);
        }
}

/* The predicate, with no more of what failed in it than stands. */
static void narrow(Failed *failed) {
        json_t *predicate = json_object_get(failed->statement, "predicate"), *steps = json_object_get(predicate, "steps");

        take_cleared(failed, json_object_get(predicate, "diagnoses"), NULL);
        for (size_t i = json_array_size(steps); i-- > 0;) {
                json_t *step = json_array_get(steps, i);
                const char *name = text_of(step, "name");

                take_cleared(failed, json_object_get(step, "diagnoses"), name);
                if (strcmp(text_of(step, "result"), result_to_string(RESULT_FAILED)) == 0 && !stands_at(failed, name, NULL))
                        (void) json_array_remove(steps, i);
        }
}

/* The first place that stands, or NULL. */
static const RecordPlace *first_standing(const Failed *failed, bool *ret_left_out) {
        for (size_t i = 0; i < failed->places.n_failed; i++)
                if (!failed->is_cleared[i]) {
                        *ret_left_out = failed->is_left_out[i];
                        return &failed->places.failed[i];
                }
        return NULL;
}

/* ", needs us0-1, us0-2", of what only tests with other servers clear. "": of other failures. */
static void format_needs(const Reach *reach, char *text, size_t size) {
        size_t n = 0;

        text[0] = '\0';
        if (!reach || !reach->needs_servers)
                return;
        for (size_t i = 0; i < REACH_NEEDED_MAX && reach->needed[i][0] && n < size; i++)
                n += (size_t) snprintf(text + n, size - n, ", %s%s", i == 0 ? "needs " : "", reach->needed[i]);
        if (n == 0)
                (void) snprintf(text, size, ", needs another server");
}

static int say(Failed *failed, const RecordPlace *first, bool is_left_out, RecordStand *stand) {
        const RecordEntry *entry = &failed->verified->entry;
        _cleanup_free_ char *reason = NULL;
        char subject[LOCATION_STRING_MAX], needs[REACH_NEEDED_MAX * (LOCATION_SERVER_NAME_MAX + 8)], *line;
        int r;

        narrow(failed);
        if (strcmp(entry->type, RECORD_TYPE_SUMMARY) == 0)
                r = reason_of_server(json_object_get(failed->statement, "predicate"), location_format(&entry->subject, subject), stand->result, &reason);
        else
                r = reason_of(failed->statement, entry->type, &reason);
        if (r < 0)
                return r;
        format_needs(places_reach(&failed->places, first->step), needs, sizeof(needs));
        if (asprintf(&line, "%s%s%s%s%s", reason, is_left_out ? ", " : "", is_left_out ? first->step : "", is_left_out ? ": left out since" : "",
                     is_left_out ? needs : "") < 0)
                return -ENOMEM;
        free(stand->reason);
        stand->reason = line;
        (void) snprintf(stand->failed_step, sizeof(stand->failed_step), "%s", first->step);
        return 0;
}

int record_stand_narrow(RecordStand *stand, const RecordVerified *failed, const RecordVerified *later, size_t n) {
        const RecordPlace *first = NULL;
        bool is_left_out = false;
        Failed reading;
        int r;

        r = read_failed(failed, &reading);
        for (size_t i = 0; i < n && r == 0; i++)
                r = take_later(&reading, &later[i]);
        if (r == 0)
                first = first_standing(&reading, &is_left_out);
        if (first)
                r = say(&reading, first, is_left_out, stand);
        failed_done(&reading);
        return r;
}
