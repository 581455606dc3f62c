/* SPDX-License-Identifier: Apache-2.0 */

/* What is kept of the answers of a core. */

#include "checks/systolic/array/observation.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void observation_done(Observation *observation) {
        for (unsigned i = 0; i < PATTERNS_MAX; i++) {
                Answers *answers = observation->answers[i];

                for (unsigned column = 0; answers && column < PE_COLUMNS; column++)
                        free(answers->columns[column]);
                free(answers);
        }
}

bool observation_is_golden(const Observation *observation) {
        return observation->n_mismatched == 0;
}

bool observation_comes_and_goes(const Observation *observation) {
        for (unsigned i = 0; i < PATTERNS_MAX; i++)
                if (observation->failed[i] > 0 && observation->failed[i] < observation->ran[i])
                        return true;

        return false;
}

const uint32_t *observation_column(const Observation *observation, unsigned index, unsigned column) {
        assert(index < PATTERNS_MAX);
        assert(column < PE_COLUMNS);

        return observation->answers[index] ? observation->answers[index]->columns[column] : NULL;
}

void observation_count(uint8_t *counter) {
        if (*counter < UINT8_MAX)
                (*counter)++;
}

/* Keeps one column that is not golden, where there was none before. */
static int keep_column(Observation *observation, unsigned index, unsigned column, const uint32_t *answer, size_t n_bytes) {
        Answers *answers = observation->answers[index];

        if (!answers) {
                answers = observation->answers[index] = calloc(1, sizeof(*answers));
                if (!answers)
                        return -ENOMEM;
        }
        if (answers->columns[column])
                return 0;
        if (observation->n_bytes + n_bytes > OBSERVATION_BYTES_MAX) {
                observation->n_dropped++;
                return 0;
        }

        answers->columns[column] = malloc(n_bytes);
        if (!answers->columns[column])
                return -ENOMEM;
        memcpy(answers->columns[column], answer, n_bytes);
        observation->n_bytes += n_bytes;
        return 0;
}

static size_t count_differences(const uint32_t *a, const uint32_t *b, size_t n) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += a[i] != b[i];

        return count;
}

/* Should the copy be golden, there was still one difference: it counts, and nothing will explain it. */
int observation_keep(Observation *observation, unsigned index, const uint32_t *answer) {
        const Pattern *pattern = pattern_at(index);
        size_t n = count_differences(answer, pattern->golden, pattern->n_bytes / sizeof(uint32_t));
        size_t n_bytes = pattern->moving * sizeof(uint32_t);

        n = n > 0 ? n : 1;
        observation_count(&observation->failed[index]);
        observation->n_mismatched += n;

        for (unsigned m = 0; m < pattern->columns; m++) {
                unsigned column = pattern->first_column + m;
                size_t at = (size_t) m * pattern->moving;
                int r;

                if (memcmp(answer + at, pattern->golden + at, n_bytes) == 0)
                        continue;
                observation->wrong[column] = true;
                if (pattern->kind != PATTERN_ONE_HOT)
                        observation->miswired[column] = true;
                r = keep_column(observation, index, column, answer + at, n_bytes);
                if (r < 0)
                        return r;
        }

        return 0;
}
