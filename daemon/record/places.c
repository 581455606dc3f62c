/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/places.h"

#include <stdio.h>
#include <string.h>

/* What checks call a measurement that tells where they did not look, and why. */
#define UNTESTED "_untested_"

static void add(RecordPlace *places, size_t *n, const char *step, const Location *where) {
        RecordPlace *place = &places[(*n)++];

        (void) snprintf(place->step, sizeof(place->step), "%s", step);
        place->where = *where;
}

static bool has_run(const RecordStep *step) {
        return step->verdict == VERDICT_PASSED || step->verdict == VERDICT_WARNED || step->verdict == VERDICT_FAILED;
}

static void read_step(const RecordStep *step, const Location *subject, bool in_part, Places *places) {
        if (in_part || !has_run(step))
                add(places->untested, &places->n_untested, step->name, subject);
        for (size_t i = 0; i < step->n_measurements; i++) {
                const RecordMeasurement *measurement = &step->measurements[i];

                if (strstr(measurement->name, UNTESTED) && measurement->value > 0)
                        add(places->untested, &places->n_untested, step->name, &measurement->where);
        }
        for (size_t i = 0; i < step->n_diagnoses; i++)
                if (step->diagnoses[i].severity == SEVERITY_FAIL)
                        add(places->failed, &places->n_failed, step->name, &step->diagnoses[i].where);
}

int places_read(Stage stage, const Location *subject, const RecordStep *steps, size_t n_steps, bool in_part, Places *ret) {
        size_t n_failed = 0, n_untested = 0;
        Places places = { .stage = stage };

        for (size_t i = 0; i < n_steps; i++) {
                n_failed += steps[i].n_diagnoses;
                n_untested += steps[i].n_measurements + 1;
        }
        places.failed = calloc(n_failed + 1, sizeof(RecordPlace));
        places.untested = calloc(n_untested + 1, sizeof(RecordPlace));
        if (!places.failed || !places.untested) {
                places_done(&places);
                return -ENOMEM;
        }
        for (size_t i = 0; i < n_steps; i++)
                read_step(&steps[i], subject, in_part, &places);
        *ret = places;
        return 0;
}

void places_done(Places *places) {
        free(places->failed);
        free(places->untested);
        *places = (Places) {};
}

bool places_leave_out(const Places *places, const char *step, const Location *where) {
        for (size_t i = 0; i < places->n_untested; i++) {
                const RecordPlace *place = &places->untested[i];

                if (location_contains(&place->where, where) &&
                    (location_kind(&place->where) > LOCATION_CHIP || strcmp(place->step, step) == 0))
                        return true;
        }
        return false;
}
