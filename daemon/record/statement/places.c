/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/places.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/judge-parts.h"
#include "daemon/record/statement/statement.h"

#define UNTESTED          REACH_UNTESTED
#define UNTESTED_TOGETHER REACH_UNTESTED "together"

static void add(RecordPlace *places, size_t *n, const char *step, const Location *where) {
        RecordPlace *place = &places[(*n)++];

        *place = (RecordPlace) { .where = *where };
        (void) snprintf(place->step, sizeof(place->step), "%s", step);
}

static void add_untested(Places *places, const char *step, const Location *where, const char *name) {
        const char *found = strstr(name, UNTESTED_TOGETHER);

        add(places->untested, &places->n_untested, step, where);
        places->untested[places->n_untested - 1].is_together = found && strcmp(found, UNTESTED_TOGETHER) == 0 && location_kind(where) == LOCATION_CHIP;
}

static bool has_run(const RecordStep *step) {
        return step->verdict == VERDICT_PASSED || step->verdict == VERDICT_WARNED || step->verdict == VERDICT_FAILED;
}

static void add_unlocated(Places *places, const char *step, const Location *chip) {
        add(places->failed, &places->n_failed, step, chip);
        places->failed[places->n_failed - 1].is_unlocated = true;
}

static void read_step(const RecordStep *step, const Location *subject, bool in_part, Places *places) {
        size_t n_failed = places->n_failed;

        if (in_part || !has_run(step))
                add(places->untested, &places->n_untested, step->name, subject);
        for (size_t i = 0; i < step->n_measurements; i++) {
                const RecordMeasurement *measurement = &step->measurements[i];

                if (!strstr(measurement->name, UNTESTED))
                        continue;
                if (!measurement_is_printable(measurement)) /* who cannot say how much was left out has looked at nothing */
                        add(places->untested, &places->n_untested, step->name, subject);
                else if (measurement->value > 0)
                        add_untested(places, step->name, &measurement->where, measurement->name);
        }
        for (size_t i = 0; i < step->n_diagnoses; i++)
                if (step->diagnoses[i].severity == SEVERITY_FAIL)
                        add(places->failed, &places->n_failed, step->name, &step->diagnoses[i].where);
        if (step->verdict == VERDICT_FAILED && places->n_failed == n_failed && location_kind(subject) != LOCATION_SERVER)
                add_unlocated(places, step->name, subject);
}

static int places_read(Stage stage, const Location *subject, const RecordStep *steps, size_t n_steps, bool in_part, Places *ret) {
        size_t n_failed = 0, n_untested = 0;
        Places places = { .stage = stage };

        for (size_t i = 0; i < n_steps; i++) {
                n_failed += steps[i].n_diagnoses + 1;
                n_untested += steps[i].n_measurements + 1;
        }
        places.failed = calloc(n_failed + 1, sizeof(RecordPlace));
        places.untested = calloc(n_untested + 1, sizeof(RecordPlace));
        places.reaches = calloc(n_steps + 1, sizeof(Reach));
        places.tells_reaches = true;
        if (!places.failed || !places.untested || !places.reaches) {
                places_done(&places);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n_steps; i++)
                read_step(&steps[i], subject, in_part, &places);
        *ret = places;
        return 0;
}

int places_of_scan(const RecordScan *scan, bool in_part, Places *ret) {
        int r;

        r = places_read(scan->run.stage, &scan->server.where, scan->steps, scan->n_steps, in_part, ret);
        if (r < 0)
                return r;
        ret->in_part = in_part || scan->n_chips == 0;
        for (; ret->n_reaches < scan->n_steps; ret->n_reaches++)
                reach_of_server_step(scan, ret->n_reaches, &ret->reaches[ret->n_reaches]);
        return 0;
}

static bool is_left_out(const RecordStep *step) {
        return step->verdict == VERDICT_SKIPPED && step->reason == REASON_NOT_REQUESTED;
}

static bool tells_unasked(const char *name, double value) {
        return reach_name_ends_with(name, REACH_UNASKED) && value > 0;
}

/* It ran without chips that nobody asked for. */
static bool lacks_chips(const RecordStep *step) {
        for (size_t i = 0; i < step->n_measurements; i++)
                if (measurement_is_printable(&step->measurements[i]) && tells_unasked(step->measurements[i].name, step->measurements[i].value))
                        return true;
        return false;
}

static bool has_counted(const RecordStep *step, const char *name, const Location *unit) {
        for (size_t i = 0; i < step->n_measurements; i++)
                if (strcmp(step->measurements[i].name, name) == 0 && reach_is_count(step, &step->measurements[i], unit))
                        return true;
        return false;
}

/* A step that was left out could have kept it, or one that ran with all chips. */
static bool is_excused(const RecordHealth *health, const RecordPromise *promise) {
        for (size_t i = 0; i < health->n_steps; i++)
                if (lacks_chips(&health->steps[i]) && has_counted(&health->steps[i], promise->measurement, &health->subject.where))
                        return true;
        for (size_t i = 0; i < health->n_steps; i++)
                for (const char *const *counted = health->steps[i].counts; is_left_out(&health->steps[i]) && counted && *counted; counted++)
                        if (strcmp(*counted, promise->measurement) == 0)
                                return true;
        return false;
}

/* Its twin reads what was signed: is_part_of_health(). */
static bool is_in_part(const RecordHealth *health) {
        bool any = false;

        if (health->result != RESULT_INCONCLUSIVE && health->result != RESULT_FAILED)
                return false;
        for (size_t i = 0; i < health->n_steps; i++) {
                if (!has_run(&health->steps[i]) && !is_left_out(&health->steps[i]))
                        return false;
                any = any || is_left_out(&health->steps[i]) || lacks_chips(&health->steps[i]);
        }
        for (size_t i = 0; i < health->n_promises; i++)
                if (health->promises[i].reached < health->promises[i].promised && !is_excused(health, &health->promises[i]))
                        return false;
        return any;
}

int places_of_health(const RecordRun *run, const RecordHealth *health, Places *ret) {
        int r;

        r = places_read(run->stage, &health->subject.where, health->steps, health->n_steps, false, ret);
        if (r < 0)
                return r;
        ret->in_part = is_in_part(health);
        for (; ret->n_reaches < health->n_steps; ret->n_reaches++)
                reach_of_step(run, health, &health->steps[ret->n_reaches], &ret->reaches[ret->n_reaches]);
        return 0;
}

/* ---- out of what was signed ---- */

static int reserve(Places *places, size_t n_failed, size_t n_untested) {
        RecordPlace *failed, *untested;

        failed = reallocarray(places->failed, places->n_failed + n_failed + 1, sizeof(RecordPlace));
        if (!failed)
                return -ENOMEM;
        places->failed = failed;
        untested = reallocarray(places->untested, places->n_untested + n_untested + 1, sizeof(RecordPlace));
        if (!untested)
                return -ENOMEM;
        places->untested = untested;
        return 0;
}

/* Where FROM is of: its component, or what all is of. -EBADMSG: that is no place. */
static int where_of(const json_t *from, const Location *subject, Location *ret) {
        const json_t *component = json_object_get(from, "component");

        *ret = *subject;
        return component && location_parse(text_of(component, "location"), ret, NULL, NULL) < 0 ? -EBADMSG : 0;
}

static int take_failed(const json_t *diagnoses, const char *step, const Location *subject, Places *places) {
        for (size_t i = 0; i < json_array_size(diagnoses); i++) {
                const json_t *diagnosis = json_array_get(diagnoses, i);
                Location where;
                int r;

                if (strcmp(text_of(diagnosis, "type"), severity_to_ocp(SEVERITY_FAIL)) != 0)
                        continue;
                r = where_of(diagnosis, subject, &where);
                if (r < 0)
                        return r;
                add(places->failed, &places->n_failed, step ?: text_of(diagnosis, "step"), &where);
        }
        return 0;
}

static int take_measured(const json_t *step, const Location *subject, Places *places) {
        const json_t *measurements = json_object_get(step, "measurements"), *errors = json_object_get(step, "errors");

        for (size_t i = 0; i < json_array_size(measurements); i++) {
                const json_t *measurement = json_array_get(measurements, i);
                Location where;
                int r;

                if (!strstr(text_of(measurement, "name"), UNTESTED) || json_number_value(json_object_get(measurement, "value")) <= 0)
                        continue;
                r = where_of(measurement, subject, &where);
                if (r < 0)
                        return r;
                add_untested(places, text_of(step, "name"), &where, text_of(measurement, "name"));
        }
        for (size_t i = 0; i < json_array_size(errors); i++) {
                const json_t *error = json_array_get(errors, i);

                if (strcmp(text_of(error, "symptom"), "not-a-number") == 0 && strstr(text_of(error, "message"), UNTESTED))
                        add(places->untested, &places->n_untested, text_of(step, "name"), subject);
        }
        return 0;
}

static int take_step(const json_t *step, const Location *subject, Places *places) {
        const json_t *diagnoses = json_object_get(step, "diagnoses");
        size_t n_failed = places->n_failed;
        int r;

        r = reserve(places, json_array_size(diagnoses) + 1,
                    json_array_size(json_object_get(step, "measurements")) + json_array_size(json_object_get(step, "errors")) + 1);
        if (r < 0)
                return r;
        if (result_from_string(text_of(step, "result")) == RESULT_INCONCLUSIVE)
                add(places->untested, &places->n_untested, text_of(step, "name"), subject);
        r = take_measured(step, subject, places);
        if (r == 0)
                r = take_failed(diagnoses, text_of(step, "name"), subject, places);
        if (r == 0 && result_from_string(text_of(step, "result")) == RESULT_FAILED && places->n_failed == n_failed)
                add_unlocated(places, text_of(step, "name"), subject);
        return r;
}

/* A roll-up says of its steps no more than what stands, and where they did not look. */
static int take_summary(const json_t *predicate, const Location *subject, Places *places) {
        const json_t *diagnoses = json_object_get(predicate, "diagnoses"), *untested = json_object_get(predicate, "untested");
        int r;

        r = reserve(places, json_array_size(diagnoses), json_array_size(untested));
        for (size_t i = 0; i < json_array_size(untested) && r == 0; i++) {
                const json_t *place = json_array_get(untested, i);
                Location where;

                r = where_of(place, subject, &where);
                if (r == 0)
                        add(places->untested, &places->n_untested, text_of(place, "step"), &where);
        }
        return r < 0 ? r : take_failed(diagnoses, NULL, subject, places);
}

static bool is_among(const json_t *names, const char *name) {
        for (size_t i = 0; i < json_array_size(names); i++)
                if (strcmp(json_string_value(json_array_get(names, i)) ?: "", name) == 0)
                        return true;
        return false;
}

static bool signed_lacks_chips(const json_t *step) {
        const json_t *measurements = json_object_get(step, "measurements");

        for (size_t i = 0; i < json_array_size(measurements); i++) {
                const json_t *measurement = json_array_get(measurements, i);

                if (tells_unasked(text_of(measurement, "name"), json_number_value(json_object_get(measurement, "value"))))
                        return true;
        }
        return false;
}

static bool signed_has_counted(const json_t *step, const char *name) {
        const json_t *measurements = json_object_get(step, "measurements");

        for (size_t i = 0; i < json_array_size(measurements); i++) {
                const json_t *measurement = json_array_get(measurements, i);

                if (json_is_true(json_object_get(measurement, "isCoverage")) && strcmp(text_of(measurement, "name"), name) == 0)
                        return true;
        }
        return false;
}

static bool is_excused_by(const json_t *steps, const json_t *untested, const char *name) {
        for (size_t i = 0; i < json_array_size(steps); i++)
                if (signed_lacks_chips(json_array_get(steps, i)) && signed_has_counted(json_array_get(steps, i), name))
                        return true;
        for (size_t i = 0; i < json_array_size(untested); i++)
                if (is_among(json_object_get(json_array_get(untested, i), "coverage"), name))
                        return true;
        return false;
}

/* Every test that is open was left out by who asked, or went without chips that he did not ask for, and no other promise is open. */
static bool is_part_of_health(const json_t *predicate) {
        const json_t *untested = json_object_get(predicate, "untestedTests"), *coverage = json_object_get(predicate, "coverage");
        const json_t *steps = json_object_get(predicate, "steps");
        Result result = result_from_string(text_of(predicate, "result"));
        bool any = json_array_size(untested) > 0;

        if (result != RESULT_INCONCLUSIVE && result != RESULT_FAILED)
                return false;
        for (size_t i = 0; i < json_array_size(steps); i++)
                any = any || signed_lacks_chips(json_array_get(steps, i));
        for (size_t i = 0; i < json_array_size(untested); i++)
                if (strcmp(text_of(json_array_get(untested, i), "reason"), reason_to_string(REASON_NOT_REQUESTED)) != 0)
                        return false;
        for (size_t i = 0; i < json_array_size(coverage); i++) {
                const json_t *promise = json_array_get(coverage, i);

                if (json_number_value(json_object_get(promise, "reached")) < json_number_value(json_object_get(promise, "promised")) &&
                    !is_excused_by(steps, untested, text_of(promise, "name")))
                        return false;
        }
        return any;
}

/* URI: of the statement's subject, which tells the product. */
static bool is_part_of_server(const json_t *predicate, const char *uri) {
        size_t n = json_array_size(json_object_get(predicate, "components"));

        return n == 0 || n < judge_chips_of(predicate, uri);
}

/* A chip's record has its steps; a roll-up tells its tests. */
static int take_reaches(const json_t *predicate, const json_t *all, void (*read)(const json_t *predicate, const json_t *step, Reach *ret), Places *places) {
        size_t n = json_array_size(all);

        places->reaches = calloc(n + 1, sizeof(Reach));
        if (!places->reaches)
                return -ENOMEM;
        places->tells_reaches = all != NULL;
        for (; places->n_reaches < n; places->n_reaches++)
                read(predicate, json_array_get(all, places->n_reaches), &places->reaches[places->n_reaches]);
        return 0;
}

int places_of(const json_t *statement, const RecordEntry *entry, Places *ret) {
        const json_t *predicate = json_object_get(statement, "predicate"), *steps = json_object_get(predicate, "steps");
        Places places = { .stage = stage_from_string(text_of(json_object_get(predicate, "run"), "stage")) };
        int r = 0;

        if (strcmp(entry->type, RECORD_TYPE_SUMMARY) == 0) {
                places.in_part = is_part_of_server(predicate, text_of(json_array_get(json_object_get(statement, "subject"), 0), "uri"));
                r = take_summary(predicate, &entry->subject, &places);
                if (r == 0)
                        r = take_reaches(predicate, json_object_get(predicate, "tests"), reach_of_signed_test, &places);
        } else {
                places.in_part = is_part_of_health(predicate);
                for (size_t i = 0; i < json_array_size(steps) && r == 0; i++)
                        r = take_step(json_array_get(steps, i), &entry->subject, &places);
                if (r == 0)
                        r = take_reaches(predicate, steps, reach_of_signed, &places);
        }
        if (r < 0) {
                places_done(&places);
                return r;
        }
        *ret = places;
        return 0;
}

int places_of_verified(const RecordVerified *verified, json_t **ret_statement, Places *ret) {
        const char *wrong;
        int r;

        if (!record_is_verdict(&verified->entry))
                return -EBADMSG;
        r = json_read(verified->payload, verified->n_payload, ret_statement, &wrong);
        return r < 0 ? r : places_of(*ret_statement, &verified->entry, ret);
}

void places_done(Places *places) {
        free(places->failed);
        free(places->untested);
        free(places->reaches);
        *places = (Places) {};
}

bool places_leave_out(const Places *places, const char *step, const Location *where, bool is_together) {
        for (size_t i = 0; i < places->n_untested; i++) {
                const RecordPlace *place = &places->untested[i];

                if (location_contains(&place->where, where) && (is_together || !place->is_together) &&
                    (location_kind(&place->where) > LOCATION_CHIP || strcmp(place->step, step) == 0))
                        return true;
        }
        return false;
}

bool places_keep(const Places *places, const RecordPlace *failed) {
        return location_kind(&failed->where) != LOCATION_SERVER || !places_leave_out(places, failed->step, &failed->where, true);
}

bool places_may_clear(const Places *places, const RecordEntry *entry, const char *plan, Stage stage) {
        bool passed = entry->result == RESULT_PASSED || entry->result == RESULT_WARNED;

        return strcmp(entry->plan, plan) == 0 || (passed && stage_clears(places->stage, stage));
}

const Reach *places_reach(const Places *places, const char *step) {
        for (size_t i = 0; i < places->n_reaches; i++)
                if (strcmp(places->reaches[i].step, step) == 0)
                        return &places->reaches[i];
        return NULL;
}

bool places_have_reached(const Places *places, const Reach *failed, const Location *where, bool same_plan, bool told) {
        const Reach *reach = places_reach(places, failed->step);

        return places->tells_reaches ? reach && reach_covers(reach, failed, where, same_plan) : !told;
}
