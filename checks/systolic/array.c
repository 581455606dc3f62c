/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/device-tensor.h"

#define COLUMN_BYTES (PE_ROWS * sizeof(uint32_t))
#define ARRAY_BYTES  (PE_COLUMNS * COLUMN_BYTES)
#define PSUM_BANK    0u

int array_init(Array *array, Device *device) {
        assert(array);
        assert(device);

        *array = (Array){ .device = device };
        array->weights = device_window_take(device, PE_ROWS * PE_COLUMNS * sizeof(uint16_t));
        array->values = device_window_take(device, PE_ROWS * PE_ROWS * sizeof(uint16_t));
        if (!array->weights || !array->values)
                return -ENOSPC;

        for (unsigned core = 0; core < CORES; core++) {
                array->out[core] = device_window_take(device, ARRAY_BYTES);
                if (!array->out[core])
                        return -ENOSPC;
        }

        return 0;
}

Array *array_done(Array *array) {
        for (unsigned core = 0; core < CORES; core++)
                for (unsigned i = 0; i < ONE_HOT; i++)
                        free(array->cores[core].bits[i]);
        free(array->copy);
        return NULL;
}

bool observation_is_golden(const Observation *observation) {
        return observation->n_mismatched == 0;
}

const uint32_t *observation_column(const Observation *observation, unsigned index, unsigned column) {
        const uint32_t *golden = pattern_at(index)->golden + column * PE_ROWS, *bits;

        if (!observation->bits[index])
                return NULL;

        bits = observation->bits[index] + column * PE_ROWS;
        return memcmp(bits, golden, COLUMN_BYTES) == 0 ? NULL : bits;
}

static size_t count_differences(const uint32_t *a, const uint32_t *b, size_t n) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += a[i] != b[i];

        return count;
}

/* Keeps the columns of a one-hot answer that are not golden, where there was none before. */
static int keep_one_hot(Observation *observation, unsigned index, const uint32_t *answer) {
        const uint32_t *golden = pattern_at(index)->golden;
        uint32_t **bits = &observation->bits[index];

        if (!*bits) {
                *bits = malloc(ARRAY_BYTES);
                if (!*bits)
                        return -ENOMEM;
                memcpy(*bits, golden, ARRAY_BYTES);
        }

        for (size_t column = 0; column < PE_COLUMNS; column++) {
                size_t at = column * PE_ROWS;

                if (memcmp(*bits + at, golden + at, COLUMN_BYTES) == 0)
                        memcpy(*bits + at, answer + at, COLUMN_BYTES);
        }

        return 0;
}

static void keep_miswired(Observation *observation, const Pattern *pattern, const uint32_t *answer,
                          size_t n) {
        size_t n_bytes = pattern->moving * sizeof(uint32_t);

        for (size_t column = 0; column < PE_COLUMNS; column++)
                if (memcmp(answer + column * pattern->moving, pattern->golden + column * pattern->moving,
                           n_bytes) != 0)
                        observation->miswired[column] = true;

        observation->n_mismatched_miswired += n;
}

/* The window may change under our eyes, so what was not golden is judged on a copy. Should the copy be
 * golden, there was still one difference: it counts, and nothing will explain it. */
static int keep(Array *array, unsigned core, unsigned index) {
        const Pattern *pattern = pattern_at(index);
        Observation *observation = &array->cores[core];
        size_t n;

        if (!array->copy) {
                array->copy = malloc(ARRAY_BYTES);
                if (!array->copy)
                        return -ENOMEM;
        }

        memcpy(array->copy, array->out[core], pattern->n_bytes);
        n = count_differences(array->copy, pattern->golden, pattern->n_bytes / sizeof(uint32_t));
        observation->n_mismatched += n > 0 ? n : 1;

        if (index < ONE_HOT)
                return keep_one_hot(observation, index, array->copy);

        keep_miswired(observation, pattern, array->copy, n > 0 ? n : 1);
        return 0;
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
                memcpy(array->weights, pattern->weights, PE_ROWS * PE_COLUMNS * sizeof(uint16_t));
        if (array->sent_values != pattern->values)
                memcpy(array->values, pattern->values, PE_ROWS * pattern->moving * sizeof(uint16_t));

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

                array->n_compared += pattern->n_bytes / sizeof(uint32_t);
                if (memcmp(array->out[core], pattern->golden, pattern->n_bytes) == 0)
                        continue;

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
