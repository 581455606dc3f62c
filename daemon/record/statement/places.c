/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/places.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/statement/health-read.h"
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

static void add_failed(const RecordStep *step, Places *places) {
        for (size_t i = 0; i < step->n_diagnoses; i++)
                if (step->diagnoses[i].severity == SEVERITY_FAIL)
                        add(places->failed, &places->n_failed, step->name, &step->diagnoses[i].where);
}

static bool tells_untested(const Measurement *measurement) {
        return strstr(measurement->name, UNTESTED) != NULL;
}

static void read_step(const RecordStep *step, const Location *subject, bool in_part, Places *places) {
        size_t n_failed = places->n_failed;

        if (in_part || !verdict_is_judged(step->verdict))
                add(places->untested, &places->n_untested, step->name, subject);
        for (size_t i = 0; i < step->n_measurements; i++) {
                const Measurement *measurement = &step->measurements[i];

                if (!tells_untested(measurement))
                        continue;
                if (!measurement_is_printable(measurement)) /* who cannot say how much was left out has looked at nothing */
                        add(places->untested, &places->n_untested, step->name, subject);
                else if (measurement->value > 0)
                        add_untested(places, step->name, &measurement->where, measurement->name);
        }
        add_failed(step, places);
        if (step->verdict == VERDICT_FAILED && places->n_failed == n_failed && location_kind(subject) != LOCATION_SERVER)
                add(places->failed, &places->n_failed, step->name, subject);
}

/* With room for so many; the rest is zero. */
static int places_new(size_t n_failed, size_t n_untested, size_t n_reaches, Places *ret) {
        Places places = {
                .failed = calloc(n_failed + 1, sizeof(RecordPlace)),
                .untested = calloc(n_untested + 1, sizeof(RecordPlace)),
                .reaches = calloc(n_reaches + 1, sizeof(Reach)),
        };

        if (!places.failed || !places.untested || !places.reaches) {
                places_done(&places);
                return -ENOMEM;
        }
        *ret = places;
        return 0;
}

static int places_read(Stage stage, const Location *subject, const RecordStep *steps, size_t n_steps, bool in_part, Places *ret) {
        size_t n_failed = 0, n_untested = 0;
        int r;

        for (size_t i = 0; i < n_steps; i++) {
                n_failed += steps[i].n_diagnoses + 1;
                n_untested++;
                for (size_t k = 0; k < steps[i].n_measurements; k++)
                        n_untested += tells_untested(&steps[i].measurements[k]);
        }
        r = places_new(n_failed, n_untested, n_steps, ret);
        if (r < 0)
                return r;
        ret->stage = stage;
        ret->tells_reaches = true;
        for (size_t i = 0; i < n_steps; i++)
                read_step(&steps[i], subject, in_part, ret);
        return 0;
}

/* It is of less than all chips that the server has. */
static bool is_in_part_of_server(const RecordScan *scan) {
        return scan->n_chips == 0 || scan->n_chips < judge_chips_of(&scan->server, scan->n_chips_of_server);
}

int places_of_scan(const RecordScan *scan, Places *ret) {
        bool in_part = scan->n_chips < judge_chips_of(&scan->server, scan->n_chips_of_server);
        int r;

        r = places_read(scan->run.stage, &scan->server.where, scan->steps, scan->n_steps, in_part, ret);
        if (r < 0)
                return r;
        ret->in_part = is_in_part_of_server(scan);
        for (; ret->n_reaches < scan->n_steps; ret->n_reaches++)
                reach_of_server_step(scan, ret->n_reaches, &ret->reaches[ret->n_reaches]);
        return 0;
}

static bool is_left_out(const RecordStep *step) {
        return step->verdict == VERDICT_SKIPPED && step->reason == REASON_NOT_REQUESTED;
}

/* It ran without chips that nobody asked for. */
static bool lacks_chips(const RecordStep *step) {
        for (size_t i = 0; i < step->n_measurements; i++)
                if (measurement_is_printable(&step->measurements[i]) && step->measurements[i].value > 0 && reach_name_ends_with(step->measurements[i].name, REACH_UNASKED))
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
                if (is_left_out(&health->steps[i]) && step_counts(&health->steps[i], promise->measurement))
                        return true;
        return false;
}

static bool is_in_part(const RecordHealth *health) {
        bool any = false;

        if (health->result != RESULT_INCONCLUSIVE && health->result != RESULT_FAILED)
                return false;
        for (size_t i = 0; i < health->n_steps; i++) {
                if (!verdict_is_judged(health->steps[i].verdict) && !is_left_out(&health->steps[i]))
                        return false;
                any = any || is_left_out(&health->steps[i]) || lacks_chips(&health->steps[i]);
        }
        for (size_t i = 0; i < health->n_promises; i++)
                if (promise_is_open(&health->promises[i]) && !is_excused(health, &health->promises[i]))
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

/* ---- of what was read ---- */

/* A roll-up says of its steps no more than what stands, and where they did not look. */
static int places_of_rollup(const Health *health, Places *ret) {
        const RecordScan *scan = &health->scan;
        size_t n_failed = 0;
        int r;

        for (size_t i = 0; i < scan->n_steps; i++)
                n_failed += scan->steps[i].n_diagnoses;
        r = places_new(n_failed, health->n_untested, health->n_reaches, ret);
        if (r < 0)
                return r;
        ret->stage = scan->run.stage;
        ret->in_part = is_in_part_of_server(scan);
        ret->tells_reaches = health->tells_reaches;
        for (size_t i = 0; i < scan->n_steps; i++)
                add_failed(&scan->steps[i], ret);
        for (; ret->n_untested < health->n_untested; ret->n_untested++)
                ret->untested[ret->n_untested] = health->untested[ret->n_untested];
        for (; ret->n_reaches < health->n_reaches; ret->n_reaches++)
                ret->reaches[ret->n_reaches] = health->reaches[ret->n_reaches];
        return 0;
}

static bool are_named(const RecordPlace *places, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (place_is_unnamed(&places[i].where))
                        return false;
        return true;
}

int places_of(const Health *health, Places *ret) {
        Places places;
        int r;

        r = health->is_rollup ? places_of_rollup(health, &places) : places_of_health(&health->scan.run, &health->chip, &places);
        if (r < 0)
                return r;
        if (!are_named(places.failed, places.n_failed) || !are_named(places.untested, places.n_untested)) {
                places_done(&places);
                return -EBADMSG;
        }
        *ret = places;
        return 0;
}

int places_of_verified(const RecordVerified *verified, Health *ret_health, Places *ret) {
        int r;

        r = health_read_verified(verified, ret_health);
        if (r < 0)
                return r;
        r = places_of(ret_health, ret);
        if (r < 0)
                health_done(ret_health);
        return r;
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
