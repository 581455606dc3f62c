/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/fleet/comparison.h"

#include <string.h>

#include "checks/vocabulary/location.h"
#include "sim/fleet/expectation.h"
#include "sim/fleet/observation.h"

static bool finding_fits(const ExpectedFinding *expected, const ObservedFinding *observed) {
        char text[LOCATION_STRING_MAX];
        size_t n, n_end = strlen(expected->at);

        if (strcmp(expected->code, observed->code) != 0)
                return false;
        n = strlen(location_format(&observed->at, text));
        return expected->is_suffix ? n >= n_end && strcmp(text + n - n_end, expected->at) == 0 : strcmp(text, expected->at) == 0;
}

static int compare_findings(const Expectation *expectation, ObservedUnit *unit, const char *name, FILE *out) {
        size_t n_expected = expectation ? expectation->n_findings : 0;
        char text[LOCATION_STRING_MAX];
        int n = 0;

        for (size_t i = 0; i < n_expected; i++) {
                bool found = false;

                for (size_t k = 0; k < unit->n_findings; k++)
                        if (finding_fits(&expectation->findings[i], &unit->findings[k]))
                                found = unit->findings[k].expected = true;
                if (!found)
                        n += fprintf(out, "%s: %s at %s%s was not found\n", name, expectation->findings[i].code,
                                     expectation->findings[i].is_suffix ? ELLIPSIS : "", expectation->findings[i].at) > 0;
        }
        for (size_t k = 0; k < unit->n_findings; k++)
                if (!unit->findings[k].expected && !(expectation && expectation->more))
                        n += fprintf(out, "%s: %s at %s was not expected\n", name, unit->findings[k].code,
                                     location_format(&unit->findings[k].at, text)) > 0;
        return n;
}

static const Expectation *expectation_of(const Scenario *scenario, const Location *at) {
        for (size_t i = 0; i < scenario->n_expectations; i++)
                if (location_equal(&scenario->expectations[i].at, at))
                        return &scenario->expectations[i];
        return NULL;
}

static int compare_unit(const Scenario *scenario, const Observation *observation, ObservedUnit *unit, FILE *out) {
        const Expectation *expectation = expectation_of(scenario, &unit->at);
        Result result = unit->result, wanted = expectation ? expectation->result : RESULT_PASSED;
        char name[LOCATION_STRING_MAX];
        int n = 0;

        location_format(&unit->at, name);
        /* A server follows from its chips: its own result counts where somebody wrote it down. */
        if (result != wanted && (expectation || location_kind(&unit->at) == LOCATION_CHIP)) {
                fprintf(out, "%s: %s, expected %s\n", name, expectation_words[result], expectation_words[wanted]);
                n++;
        }
        return n + compare_findings(expectation, unit, name, out);
}

/* A chip that is expected to come to something, and stands in no list of hardware. */
static int compare_absent(const Scenario *scenario, const Observation *observation, FILE *out) {
        char name[LOCATION_STRING_MAX];
        int n = 0;

        for (size_t i = 0; i < scenario->n_expectations; i++) {
                const Location *at = &scenario->expectations[i].at;
                Location server = *at;

                (void) location_truncate(&server, LOCATION_SERVER);
                if (observation_find(observation, at) || !observation_find(observation, &server))
                        continue;
                fprintf(out, "%s: is not part of the stream\n", location_format(at, name));
                n++;
        }
        return n;
}

int expectations_compare(const Scenario *scenario, FILE *file, FILE *out) {
        _cleanup_(observation_freep) Observation *observation = NULL;
        size_t n_chips = 0;
        int r, n = 0;

        r = observation_read(file, &observation, out);
        if (r < 0)
                return r;
        for (size_t i = 0; i < observation->n_units; i++) {
                n_chips += location_kind(&observation->units[i].at) == LOCATION_CHIP;
                n += compare_unit(scenario, observation, &observation->units[i], out);
        }
        if (n_chips == 0) {
                fprintf(out, "the stream is about no chip\n");
                n++;
        }
        return n + compare_absent(scenario, observation, out);
}
