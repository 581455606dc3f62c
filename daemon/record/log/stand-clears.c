/* SPDX-License-Identifier: Apache-2.0 */

/* Tells what newer records have cleared of a failure, and what of it stands: see record-stand.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/statement/reason.h"

typedef struct Failed {
        const RecordVerified *verified;
        Health health;
        Places places;
        bool *is_cleared;   /* of each place */
        bool *is_left_out;  /* by a record that could have cleared it */
} Failed;

static void failed_done(Failed *failed) {
        health_done(&failed->health);
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

static int read_failed(const RecordVerified *verified, Failed *ret) {
        int r;

        *ret = (Failed) { .verified = verified };
        r = places_of_verified(verified, &ret->health, &ret->places);
        if (r < 0)
                return r;
        ret->is_cleared = calloc(ret->places.n_failed + 1, sizeof(*ret->is_cleared));
        ret->is_left_out = calloc(ret->places.n_failed + 1, sizeof(*ret->is_left_out));
        return ret->is_cleared && ret->is_left_out ? 0 : -ENOMEM;
}

/* 1: LATER may clear it. */
static int take_later(Failed *failed, const RecordVerified *later) {
        const RecordEntry *entry = &failed->verified->entry;
        _cleanup_health_ Health health = {};
        Places now = {};
        int r;

        if (later->is_older)
                return 0;
        r = places_of_verified(later, &health, &now);
        if (r < 0)
                return r;
        r = places_may_clear(&now, &later->entry, entry->plan, failed->places.stage);
        if (r > 0)
                for (size_t i = 0; i < failed->places.n_failed; i++) {
                        const RecordPlace *place = &failed->places.failed[i];

                        if (has_looked(&now, &failed->places, place, is_same_plan(later, failed->verified)))
                                failed->is_cleared[i] = true;
                        else if (leaves_out(&now, &failed->places, place))
                                failed->is_left_out[i] = true;
                }
        places_done(&now);
        return r;
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

int record_clears(const RecordVerified *later, const RecordVerified *failed) {
        bool is_left_out;
        Failed reading;
        int r;

        r = read_failed(failed, &reading);
        if (r == 0)
                r = take_later(&reading, later);
        if (r >= 0)
                r = r > 0 && !first_standing(&reading, &is_left_out);
        failed_done(&reading);
        return r;
}

/* ---- what stands ---- */

/* Whether something at WHERE that STEP found stands; WHERE NULL: anywhere. */
static bool stands_at(const Failed *failed, const char *step, const Location *where) {
        for (size_t i = 0; i < failed->places.n_failed; i++) {
                const RecordPlace *place = &failed->places.failed[i];

                if (!failed->is_cleared[i] && strcmp(place->step, step) == 0 && (!where || location_equal(&place->where, where)))
                        return true;
        }
        return false;
}

/* Takes away the failures of STEP that were cleared. */
static void take_cleared(const Failed *failed, RecordStep *step) {
        RecordDiagnosis *diagnoses = (RecordDiagnosis *) step->diagnoses; /* memory of the reading */
        size_t n = 0;

        for (size_t i = 0; i < step->n_diagnoses; i++)
                if (diagnoses[i].severity != SEVERITY_FAIL || stands_at(failed, step->name, &diagnoses[i].where))
                        diagnoses[n++] = diagnoses[i];
        step->n_diagnoses = n;
}

/* Leaves of a record that was read only those failures that stand. */
static void narrow(Failed *failed) {
        Health *health = &failed->health;
        size_t n_steps = health->is_rollup ? health->scan.n_steps : health->chip.n_steps, n = 0;

        for (size_t i = 0; i < n_steps; i++) {
                RecordStep *step = &health->steps[i];

                take_cleared(failed, step);
                if (step->verdict != VERDICT_FAILED || stands_at(failed, step->name, NULL))
                        health->steps[n++] = *step;
        }
        *(health->is_rollup ? &health->scan.n_steps : &health->chip.n_steps) = n;
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
        char needs[REACH_NEEDED_MAX * (LOCATION_SERVER_NAME_MAX + 8)], *line;
        int r;

        narrow(failed);
        if (failed->health.is_rollup)
                r = reason_of_server(&failed->health, stand->result, &reason);
        else
                r = reason_of(failed->health.statement, entry->type, &failed->health, &reason);
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
        for (size_t i = 0; i < n && r >= 0; i++)
                r = take_later(&reading, &later[i]);
        if (r >= 0)
                first = first_standing(&reading, &is_left_out);
        if (first)
                r = say(&reading, first, is_left_out, stand);
        failed_done(&reading);
        return r < 0 ? r : 0;
}
