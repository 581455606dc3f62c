/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/array/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/port/device-tensor.h"

#define IN_BYTES  (768u << 10)
#define OUT_BYTES ((size_t) PE_COLUMNS * MOVING_MAX * sizeof(uint32_t)) /* of a core */

/* Small patterns go together, for a batch has its price; but so much of output only that it stays in a cache. */
#define BATCH_PATTERNS  16u
#define BATCH_OUT_BYTES (96u << 10)

#define STRIDE 5u /* 128 columns step over all lines of all lengths with it */

typedef struct Batch {
        Array *array;
        unsigned mask;
        unsigned n;
        unsigned patterns[BATCH_PATTERNS];
        size_t out[BATCH_PATTERNS]; /* where in the output of each core, in numbers */
        size_t out_used;            /* bytes of each core */
        size_t n_commands;
        WireCommand commands[2 * BATCH_PATTERNS * CORES];
        uint8_t of[2 * BATCH_PATTERNS * CORES];       /* which of the patterns */
        uint16_t refused[BATCH_PATTERNS][CORES];
} Batch;

/* ---- what the cores have ---- */

static int ask(Array *array) {
        static const char *const paths[] = { "assay/tensor/ftz", "assay/tensor/formats" };
        char texts[ELEMENTS(paths)][ATTRIBUTE_TEXT_MAX];
        int errors[ELEMENTS(paths)], r;

        r = device_attributes(array->device, device_chip(array->device), paths, ELEMENTS(paths), texts, errors);
        if (r < 0)
                return r;

        array->formats = (1u << _FORMAT_MAX) - 1;
        if (errors[0] >= 0) {
                if (strcmp(texts[0], "0") != 0 && strcmp(texts[0], "1") != 0)
                        return -EPROTO;
                array->ftz = texts[0][0] == '1';
        }
        if (errors[1] >= 0) {
                array->formats = wire_formats_of(texts[1]);
                array->told = true;
        }
        for (unsigned core = 0; core < CORES; core++)
                array->cores[core].ftz = array->ftz;
        return 0;
}

int array_init(Array *array, Device *device) {
        assert(array);
        assert(device);

        *array = (Array){ .device = device };
        array->in = device_window_take(device, IN_BYTES);
        if (!array->in)
                return -ENOSPC;
        for (unsigned core = 0; core < CORES; core++) {
                array->out[core] = device_window_take(device, OUT_BYTES);
                if (!array->out[core])
                        return -ENOSPC;
        }

        return ask(array);
}

void array_forget(Array *array, unsigned core, unsigned bank) {
        observation_done(&array->cores[core]);
        array->cores[core] = (Observation){ .ftz = array->ftz };
        array->banks[core] = (uint8_t) bank;
}

Array *array_done(Array *array) {
        for (unsigned core = 0; core < CORES; core++)
                observation_done(&array->cores[core]);
        free(array->copy);
        return NULL;
}

/* ---- matrices in the window ---- */

static uint8_t *matrix_find(const Array *array, const void *matrix, size_t n_bytes) {
        for (unsigned i = 0; i < array->n_placed; i++)
                if (array->placed[i].matrix == matrix && array->placed[i].n_bytes == n_bytes)
                        return array->placed[i].at;

        return NULL;
}

/* One that stands there already is not sent again. NULL: no room. */
static uint8_t *matrix_place(Array *array, const void *matrix, size_t n_bytes) {
        uint8_t *at = matrix_find(array, matrix, n_bytes);
        size_t room = (n_bytes + WIRE_ALIGNMENT - 1) / WIRE_ALIGNMENT * WIRE_ALIGNMENT;

        if (at)
                return at;
        if (array->n_placed == PLACED_MAX || room > IN_BYTES - array->in_used)
                return NULL;

        at = array->in + array->in_used;
        memcpy(at, matrix, n_bytes);
        array->in_used += room;
        array->placed[array->n_placed].matrix = matrix;
        array->placed[array->n_placed].n_bytes = n_bytes;
        array->placed[array->n_placed++].at = at;
        return at;
}

static void matrices_forget(Array *array) {
        array->n_placed = 0;
        array->in_used = 0;
}

/* ---- a batch ---- */

static bool loads_equal(const Pattern *a, const Pattern *b) {
        return a && a->weights == b->weights && a->w_format == b->w_format && a->load_flags == b->load_flags && a->rows == b->rows &&
               a->columns == b->columns && a->first_row == b->first_row && a->first_column == b->first_column;
}

static void batch_command(Batch *batch, unsigned slot, WireCommand command) {
        batch->of[batch->n_commands] = (uint8_t) slot;
        batch->commands[batch->n_commands++] = command;
}

static void batch_load(Batch *batch, unsigned slot, const Pattern *pattern, const void *weights) {
        Array *array = batch->array;
        const WireLoad load = {
                .rows = (uint16_t) pattern->rows,
                .columns = (uint16_t) pattern->columns,
                .format = (uint8_t) pattern->w_format,
                .flags = pattern->load_flags,
                .first_row = pattern->first_row,
                .first_column = pattern->first_column,
        };

        for (unsigned core = 0; core < CORES; core++)
                if (batch->mask >> core & 1)
                        batch_command(batch, slot, device_load_command(array->device, core, load, weights, NULL));
        array->loaded = pattern;
}

/* A number of each column is made wrong before: what is not written does not pass for an answer. Its place changes by column and
 * from run to run, so that what is lost in the same place each time is seen as well. */
static void make_wrong(const Array *array, const Pattern *pattern, uint32_t *out) {
        for (unsigned column = 0; column < pattern->columns; column++) {
                size_t at = (size_t) column * pattern->moving + (column * STRIDE + array->n_runs) % pattern->moving;

                out[at] = ~pattern->golden[at];
        }
}

static void batch_multiply(Batch *batch, unsigned slot, const Pattern *pattern, const void *values) {
        WireMatmul matmul = {
                .moving = (uint16_t) pattern->moving,
                .flags = MATMUL_OVERWRITE | pattern->matmul_flags,
                .format = (uint8_t) pattern->x_format,
                .first_row = pattern->first_row,
                .first_column = pattern->first_column,
        };
        unsigned moving_rows = pattern->rows * (pattern_is_double(pattern) ? 2 : 1);
        Array *array = batch->array;

        for (unsigned core = 0; core < CORES; core++) {
                uint32_t *out = array->out[core] + batch->out[slot];

                if (!(batch->mask >> core & 1))
                        continue;
                make_wrong(array, pattern, out);
                matmul.bank = array->banks[core];
                batch_command(batch, slot, device_matmul_command(array->device, core, matmul, moving_rows, values, pattern->columns, out));
        }
}

/* Loads as far as the weights are not there, all of a group that goes together before anything is multiplied. */
static void batch_write(Batch *batch) {
        Array *array = batch->array;

        for (unsigned slot = 0; slot < batch->n; slot++) {
                const Pattern *pattern = pattern_at(batch->patterns[slot]);

                if (pattern->together)
                        batch_load(batch, slot, pattern, matrix_find(array, pattern->weights, pattern->weights_bytes));
        }
        for (unsigned slot = 0; slot < batch->n; slot++) {
                const Pattern *pattern = pattern_at(batch->patterns[slot]);

                if (!pattern->together && !loads_equal(array->loaded, pattern))
                        batch_load(batch, slot, pattern, matrix_find(array, pattern->weights, pattern->weights_bytes));
                batch_multiply(batch, slot, pattern, matrix_find(array, pattern->values, pattern->values_bytes));
        }
}

/* Who did not do what; a core that did not load does not multiply either. */
static void batch_refusals(Batch *batch, const WireCompletion *completions) {
        for (size_t i = 0; i < batch->n_commands; i++) {
                const WireCommand *command = &batch->commands[i];
                uint16_t *refused = &batch->refused[batch->of[i]][command->unit];
                bool is_load = command->type == COMMAND_LOAD_STATIONARY;
                bool told = !is_load && completions[i].status == STATUS_NRT_NC_UE;

                if (told)
                        batch->array->psum_told |= 1u << command->unit;
                if (completions[i].status != STATUS_NRT_SUCCESS && !told) {
                        if (*refused == 0) /* the first reason is the reason */
                                *refused = (uint16_t) (completions[i].status < OBSERVATION_SHORT ? completions[i].status : OBSERVATION_SHORT - 1);
                        if (is_load)
                                batch->array->loaded = NULL;
                } else if (!is_load && *refused == 0 && !device_matmul_is_complete(command, &completions[i]))
                        *refused = OBSERVATION_SHORT;
        }
}

static int compare(Batch *batch, unsigned slot, unsigned core) {
        const Pattern *pattern = pattern_at(batch->patterns[slot]);
        Array *array = batch->array;
        Observation *observation = &array->cores[core];
        const uint32_t *out = array->out[core] + batch->out[slot];

        observation_count(&observation->ran[batch->patterns[slot]]);
        array->n_compared += pattern->n_bytes / sizeof(uint32_t);
        if (memcmp(out, pattern->golden, pattern->n_bytes) == 0)
                return 0;

        if (!array->copy) {
                array->copy = malloc(OUT_BYTES);
                if (!array->copy)
                        return -ENOMEM;
        }
        memcpy(array->copy, out, pattern->n_bytes);
        return observation_keep(observation, batch->patterns[slot], array->copy);
}

static int batch_judge(Batch *batch) {
        for (unsigned slot = 0; slot < batch->n; slot++)
                for (unsigned core = 0; core < CORES; core++) {
                        uint16_t refused = batch->refused[slot][core];
                        int r;

                        if (!(batch->mask >> core & 1))
                                continue;
                        if (refused) {
                                batch->array->cores[core].refused[batch->patterns[slot]] = refused;
                                continue;
                        }
                        r = compare(batch, slot, core);
                        if (r < 0)
                                return r;
                }

        return 0;
}

static int batch_execute(Batch *batch) {
        WireCompletion completions[2 * BATCH_PATTERNS * CORES];
        int r;

        if (batch->n == 0)
                return 0;

        memset(batch->refused, 0, batch->n * sizeof(batch->refused[0]));
        batch_write(batch);
        memset(completions, 0, batch->n_commands * sizeof(completions[0]));
        r = device_execute(batch->array->device, batch->commands, batch->n_commands, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        batch_refusals(batch, completions);
        r = batch_judge(batch);
        batch->n = 0;
        batch->out_used = 0;
        batch->n_commands = 0;
        return r;
}

/* Patterns that depend on a load that failed in this batch would be judged by older weights, so equal loads part. */
static bool batch_takes(const Batch *batch, const Pattern *pattern) {
        const Pattern *last;

        if (batch->n == 0)
                return true;

        last = pattern_at(batch->patterns[batch->n - 1]);
        return batch->n < BATCH_PATTERNS && batch->out_used + pattern->n_bytes <= BATCH_OUT_BYTES && last->together == pattern->together &&
               !loads_equal(last, pattern);
}

static int batch_add(Batch *batch, unsigned index) {
        const Pattern *pattern = pattern_at(index);
        Array *array = batch->array;
        int r;

        if (!batch_takes(batch, pattern)) {
                r = batch_execute(batch);
                if (r < 0)
                        return r;
        }
        if (!matrix_place(array, pattern->weights, pattern->weights_bytes) || !matrix_place(array, pattern->values, pattern->values_bytes)) {
                r = batch_execute(batch);
                if (r < 0)
                        return r;
                matrices_forget(array);
                if (!matrix_place(array, pattern->weights, pattern->weights_bytes) ||
                    !matrix_place(array, pattern->values, pattern->values_bytes))
                        return -ENOSPC;
        }

        batch->patterns[batch->n] = index;
        batch->out[batch->n++] = batch->out_used / sizeof(uint32_t);
        batch->out_used += (pattern->n_bytes + WIRE_ALIGNMENT - 1) / WIRE_ALIGNMENT * WIRE_ALIGNMENT;
        return 0;
}

int array_run(Array *array, unsigned mask, const PatternList *list) {
        Batch batch;
        int r, n = 0;

        batch.array = array;
        batch.mask = mask;
        batch.n = 0;
        batch.out_used = batch.n_commands = 0;
        array->n_runs++;
        array->loaded = NULL;
        matrices_forget(array);

        for (unsigned i = 0; i < list->n; i++) {
                r = batch_add(&batch, list->all[i]);
                if (r < 0)
                        return r;
        }
        r = batch_execute(&batch);
        if (r < 0)
                return r;

        for (unsigned core = 0; core < CORES; core++)
                n += !observation_is_golden(&array->cores[core]);
        return n;
}
