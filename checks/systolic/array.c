/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/device-tensor.h"

#define OUT_BYTES (PE_COLUMNS * PE_ROWS * sizeof(uint32_t))
#define PSUM_BANK 0u

int array_init(Array *array, Device *device) {
        assert(array);
        assert(device);

        *array = (Array){ .device = device };
        array->weights = device_window_take(device, PE_ROWS * PE_COLUMNS * sizeof(uint16_t));
        array->values = device_window_take(device, PE_ROWS * PE_ROWS * sizeof(uint16_t));
        if (!array->weights || !array->values)
                return -ENOSPC;

        for (unsigned core = 0; core < CORES; core++) {
                array->out[core] = device_window_take(device, OUT_BYTES);
                if (!array->out[core])
                        return -ENOSPC;
        }

        return 0;
}

static void observation_done(Observation *observation) {
        for (unsigned i = 0; i < PATTERNS_MAX; i++) {
                Answers *answers = observation->answers[i];

                for (unsigned column = 0; answers && column < PE_COLUMNS; column++)
                        free(answers->columns[column]);
                free(answers);
        }
}

Array *array_done(Array *array) {
        for (unsigned core = 0; core < CORES; core++)
                observation_done(&array->cores[core]);
        free(array->copy);
        return NULL;
}

bool observation_is_golden(const Observation *observation) {
        return observation->n_mismatched == 0;
}

const uint32_t *observation_column(const Observation *observation, unsigned index, unsigned column) {
        assert(index < PATTERNS_MAX);
        assert(column < PE_COLUMNS);

        return observation->answers[index] ? observation->answers[index]->columns[column] : NULL;
}

static size_t count_differences(const uint32_t *a, const uint32_t *b, size_t n) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += a[i] != b[i];

        return count;
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

static int keep_columns(Observation *observation, unsigned index, const uint32_t *answer) {
        const Pattern *pattern = pattern_at(index);
        size_t n_bytes = pattern->moving * sizeof(uint32_t);

        for (unsigned m = 0; m < pattern->columns; m++) {
                unsigned column = pattern->first_column + m;
                size_t at = (size_t) m * pattern->moving;
                int r;

                if (memcmp(answer + at, pattern->golden + at, n_bytes) == 0)
                        continue;
                if (pattern->kind != PATTERN_ONE_HOT)
                        observation->miswired[column] = true;
                r = keep_column(observation, index, column, answer + at, n_bytes);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* The window may change under our eyes, so what was not golden is judged on a copy. Should the copy be
 * golden, there was still one difference: it counts, and nothing will explain it. */
static int keep(Array *array, unsigned core, unsigned index) {
        const Pattern *pattern = pattern_at(index);
        Observation *observation = &array->cores[core];
        size_t n;

        if (!array->copy) {
                array->copy = malloc(OUT_BYTES);
                if (!array->copy)
                        return -ENOMEM;
        }

        memcpy(array->copy, array->out[core], pattern->n_bytes);
        n = count_differences(array->copy, pattern->golden, pattern->n_bytes / sizeof(uint32_t));
        n = n > 0 ? n : 1;
        observation->n_mismatched += n;
        if (pattern->kind != PATTERN_ONE_HOT)
                observation->n_mismatched_miswired += n;

        return keep_columns(observation, index, array->copy);
}

/* The commands of one pattern for the cores in MASK; a matrix that stands there already is not sent again.
 */
static size_t pattern_commands(Array *array, const Pattern *pattern, unsigned mask, WireCommand *commands) {
        const WireLoad load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16 };
        const WireMatmul matmul = { .moving = (uint16_t) pattern->moving, .bank = PSUM_BANK, .flags = MATMUL_OVERWRITE,
                                    .format = FORMAT_BF16 };
        bool is_new = array->sent_weights != pattern->weights;
        size_t n = 0;

        if (is_new)
                memcpy(array->weights, pattern->weights, pattern->weights_bytes);
        if (array->sent_values != pattern->values)
                memcpy(array->values, pattern->values, pattern->values_bytes);

        array->sent_weights = pattern->weights;
        array->sent_values = pattern->values;

        for (unsigned core = 0; core < CORES; core++) {
                if (!(mask >> core & 1))
                        continue;

                if (is_new)
                        commands[n++] = device_load_command(array->device, core, load, array->weights, NULL);
                commands[n++] = device_matmul_command(array->device, core, matmul, PE_ROWS, array->values,
                                                      PE_COLUMNS, array->out[core]);
        }

        return n;
}

static int judge_commands(Array *array, const WireCommand *commands, const WireCompletion *completions,
                          size_t n) {
        for (size_t i = 0; i < n; i++) {
                array->refused = commands[i].unit;
                if (completions[i].status != STATUS_NRT_SUCCESS)
                        return -EREMOTEIO;
                if (commands[i].type == COMMAND_MATMUL &&
                    !device_matmul_is_complete(&commands[i], &completions[i]))
                        return -EPROTO;
        }

        return 0;
}

static void observation_count(uint8_t *counter) {
        if (*counter < UINT8_MAX)
                (*counter)++;
}

static int measure_pattern(Array *array, unsigned mask, unsigned index) {
        const Pattern *pattern = pattern_at(index);
        WireCompletion completions[2 * CORES] = {};
        WireCommand commands[2 * CORES];
        size_t n;
        int r;

        n = pattern_commands(array, pattern, mask, commands);
        r = device_execute(array->device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        r = judge_commands(array, commands, completions, n);
        if (r < 0)
                return r;

        for (unsigned core = 0; core < CORES; core++) {
                if (!(mask >> core & 1))
                        continue;

                observation_count(&array->cores[core].ran[index]);
                array->n_compared += pattern->n_bytes / sizeof(uint32_t);
                if (memcmp(array->out[core], pattern->golden, pattern->n_bytes) == 0)
                        continue;

                observation_count(&array->cores[core].failed[index]);
                r = keep(array, core, index);
                if (r < 0)
                        return r;
        }

        return 0;
}

int array_measure(Array *array, unsigned mask, unsigned n_patterns) {
        int r, n = 0;

        assert(n_patterns <= PATTERNS);

        array->sent_weights = array->sent_values = NULL;
        for (unsigned i = 0; i < n_patterns; i++) {
                r = measure_pattern(array, mask, i);
                if (r < 0)
                        return r;
        }

        for (unsigned core = 0; core < CORES; core++)
                n += !observation_is_golden(&array->cores[core]);
        return n;
}
