/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/control.h"

#include <string.h>
#include <sys/param.h>

/* What is there half of the time is missed by all of them once in 65,000. */
#define CONTROL_ROUNDS 16u

/* A sparse product of which one column is done again; tags NULL: it was dense. */
typedef struct Trial {
        const SparseMode *mode;
        WireFormat format;
        const uint8_t *weights, *values;
        const uint16_t *tags;
        const uint32_t *golden;
        unsigned moving, bank, column;
} Trial;

static const uint32_t *golden_of(const RecordStep *step, unsigned *ret_moving) {
        *ret_moving = step->load ? step->load->mode->moving : DENSE_MOVING;
        return step->load ? step->load->golden : dense_probe()->golden;
}

static bool column_is_wrong(const RecordStep *step, unsigned column) {
        unsigned moving;
        const uint32_t *golden = golden_of(step, &moving);
        size_t at = (size_t) column * moving;

        return memcmp(step->out + at, golden + at, moving * sizeof(uint32_t)) != 0;
}

static Trial trial_of(const RecordStep *step, unsigned column) {
        const SparseLoad *load = step->load;

        if (!load)
                return (Trial){ .format = FORMAT_BF16, .weights = (const uint8_t *) dense_probe()->weights,
                                .values = (const uint8_t *) dense_probe()->values, .golden = dense_probe()->golden,
                                .moving = DENSE_MOVING, .column = column };

        return (Trial){ .mode = load->mode, .format = FORMAT_BF16, .weights = (const uint8_t *) load->mode->weights,
                        .values = (const uint8_t *) load->mode->values, .tags = load->tags, .golden = load->golden,
                        .moving = load->mode->moving, .bank = 1 + sparse_mode_index(load->mode), .column = column };
}

/* The INDEX-th of the wrong columns, in another step each time as far as there are. */
static bool trial_at(const Record *record, unsigned index, Trial *ret) {
        unsigned columns[PE_COLUMNS + 1] = {}, n = 0, seen = 0;
        const RecordStep *last = NULL;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (size_t i = 0; i < record->n_steps; i++)
                        if (record->steps[i].out && column_is_wrong(&record->steps[i], column)) {
                                columns[n++] = column;
                                break;
                        }

        columns[0] = columns[n > CONTROL_ROUNDS ? index * n / CONTROL_ROUNDS : index % MAX(n, 1u)];
        for (size_t i = 0; i < record->n_steps; i++) {
                if (!record->steps[i].out || !column_is_wrong(&record->steps[i], columns[0]))
                        continue;
                last = &record->steps[i];
                if (seen++ == index / MAX(n, 1u))
                        break;
        }

        if (last)
                *ret = trial_of(last, columns[0]);
        return last != NULL;
}

/* The dense matrices in which every column is the trial's. */
static void trial_matrices(const Trial *trial, uint8_t *weights, uint8_t *values) {
        size_t size = wire_format_bytes(trial->format), n = trial->moving * size;

        for (unsigned row = 0; row < PE_ROWS; row++) {
                unsigned tag = 0, from = row;

                for (unsigned column = 0; column < PE_COLUMNS; column++)
                        memcpy(weights + (row * PE_COLUMNS + column) * size,
                               trial->weights + (row * PE_COLUMNS + trial->column) * size, size);
                if (trial->tags) {
                        tag = trial->tags[row * (PE_COLUMNS / 4) + trial->column / 4] >> 4 * (trial->column % 4) & 15;
                        from = row / trial->mode->keep * trial->mode->group + tag;
                }
                if (trial->tags && tag >= trial->mode->group)
                        memset(values + row * n, 0, n);
                else
                        memcpy(values + row * n, trial->values + from * n, n);
        }
}

/* Tags of zero: an element that goes on selecting in dense products selects its own row, and is no fault of the array. */
static int clear_tags(Engine *engine, unsigned core) {
        static const uint16_t zeros[PE_ROWS * PE_COLUMNS];
        const SparseMode *mode = sparse_mode_at(0);
        const EngineJob job = {
                .load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16, .flags = LOAD_SPARSE,
                          .keep = (uint8_t) mode->keep, .group = (uint8_t) mode->group },
                .matmul = { .moving = 1, .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16 },
                .moving_rows = mode->rows,
                .weights = zeros, .tags = zeros, .values = zeros,
                .weights_bytes = sizeof(zeros), .values_bytes = mode->rows * sizeof(uint16_t),
        };
        unsigned unsupported;

        return engine_run(engine, &job, 1u << core, &unsupported);
}

static int run_trial(Engine *engine, unsigned core, const Trial *trial, bool spoilt[static PE_COLUMNS], bool *ret_refused) {
        static uint8_t weights[PE_ROWS * PE_COLUMNS * 2], values[PE_ROWS * 98 * 2];
        unsigned moving = trial->moving, unsupported = 0, size = wire_format_bytes(trial->format);
        const EngineJob job = {
                .load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = (uint8_t) trial->format },
                .matmul = { .moving = (uint16_t) moving, .flags = MATMUL_OVERWRITE, .format = (uint8_t) trial->format,
                            .bank = (uint8_t) trial->bank },
                .moving_rows = PE_ROWS,
                .weights = weights, .values = values,
                .weights_bytes = PE_ROWS * PE_COLUMNS * size, .values_bytes = PE_ROWS * moving * size,
        };
        int r;

        trial_matrices(trial, weights, values);
        engine->sent_weights = engine->sent_values = NULL; /* the same places hold other numbers each time */
        r = engine_run(engine, &job, 1u << core, &unsupported);
        engine->sent_weights = engine->sent_values = NULL;
        if (r < 0)
                return r;
        if (unsupported) {
                *ret_refused = true;
                return 0;
        }

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                if (memcmp(engine->out[core] + (size_t) column * moving, trial->golden + (size_t) trial->column * moving,
                           moving * sizeof(uint32_t)) != 0)
                        spoilt[column] = true;
        return 0;
}

int dense_measure(Engine *engine, unsigned core, const Record *record, bool spoilt[static PE_COLUMNS], bool *ret_refused) {
        *ret_refused = false;

        for (unsigned i = 0; i < CONTROL_ROUNDS; i++) {
                Trial trial;
                int r;

                if (!trial_at(record, i, &trial))
                        return 0;
                r = clear_tags(engine, core);
                if (r >= 0)
                        r = run_trial(engine, core, &trial, spoilt, ret_refused);
                if (r < 0)
                        return r;
        }

        return 0;
}

int dense_tile(Engine *engine, unsigned core, const SparseTile *tile, const bool columns[static PE_COLUMNS],
                 bool spoilt[static PE_COLUMNS], bool *ret_refused) {
        Trial trial = { .mode = tile->mode, .format = tile->format, .weights = tile->weights, .values = tile->values,
                        .tags = tile->tags, .golden = tile->golden, .moving = TILE_MOVING };

        *ret_refused = false;

        for (unsigned i = 0, column = 0; i < CONTROL_ROUNDS; i++, column++) {
                int r;

                for (unsigned k = 0; k < PE_COLUMNS && !columns[column % PE_COLUMNS]; k++)
                        column++;
                trial.column = column % PE_COLUMNS;
                r = clear_tags(engine, core);
                if (r >= 0)
                        r = run_trial(engine, core, &trial, spoilt, ret_refused);
                if (r < 0)
                        return r;
        }

        return 0;
}
