/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/totals.h"

#include <stdio.h>

#define NAME_MAX_BYTES 64u

void march_totals_add(MarchTotals *totals, const MarchTotals *more) {
        totals->planted += more->planted;
        totals->returned += more->returned;
        totals->compared += more->compared;
        totals->wrong += more->wrong;
}

int march_totals_measure(const MarchTotals *totals, Step *step, const char *word, uint64_t mismatches) {
        const struct {
                const char *name, *unit;
                double value;
                LimitType type;
                double limit;
        } measures[] = {
                { "mismatches", "{error}", (double) mismatches, LIMIT_LESS_THAN_OR_EQUAL, 0 },
                { "plants_returned", "1", totals->returned, LIMIT_EQUAL, totals->planted },
                { "samples_compared", "1", totals->compared, LIMIT_NONE, 0 },
                { "samples_wrong", "{error}", totals->wrong, LIMIT_LESS_THAN_OR_EQUAL, 0 },
        };

        for (size_t i = 0; i < ELEMENTS(measures); i++) {
                char name[NAME_MAX_BYTES];
                int r;

                (void) snprintf(name, sizeof(name), "%s_%s", word, measures[i].name);
                r = step_measure(step, name, measures[i].value, measures[i].unit, measures[i].type, measures[i].limit, NULL);
                if (r < 0)
                        return r;
        }

        return 0;
}

int march_totals_measure_coverage(Step *step, const char *word, uint64_t accesses, uint64_t planned, bool complete) {
        char name[NAME_MAX_BYTES];

        (void) snprintf(name, sizeof(name), "%s_bytes_tested", word);
        return step_measure(step, name, complete ? (double) (accesses * MEMORY_ACCESS_BYTES) : 0, "By",
                            complete ? LIMIT_GREATER_THAN_OR_EQUAL : LIMIT_NONE, (double) (planned * MEMORY_ACCESS_BYTES), NULL);
}
