/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/control.h"

#include <string.h>
#include <sys/param.h>

#include "checks/sparsity/bank.h"

/* What is there half of the time is missed by all of them once in 65,000. Of what is there more rarely as many are made as would have
 * shown it ten times: it is missed once in 22,000. */
#define CONTROL_ROUNDS     16u
#define CONTROL_TIMES      10u
#define CONTROL_ROUNDS_MAX 256u

/* A sparse product of which one column is done again; tags NULL: it was dense. */
typedef struct Trial {
        const SparseMode *mode;
        WireFormat format;
        const uint8_t *weights, *values;
        const uint16_t *tags;
        const uint32_t *golden;
        unsigned moving, bank, column;
} Trial;

static Trial trial_of(const RecordStep *step, unsigned bank, unsigned column) {
        const SparseLoad *load = step->load;

        if (!load)
                return (Trial){ .format = FORMAT_BF16, .weights = (const uint8_t *) dense_probe()->weights,
                                .values = (const uint8_t *) dense_probe()->values, .golden = dense_probe()->golden,
                                .moving = DENSE_MOVING, .bank = bank_of(bank, NULL), .column = column };

        return (Trial){ .mode = load->mode, .format = FORMAT_BF16, .weights = (const uint8_t *) load->mode->weights,
                        .values = (const uint8_t *) load->mode->values, .tags = load->tags, .golden = load->golden,
                        .moving = load->mode->moving, .bank = bank_of(bank, load), .column = column };
}

/* The INDEX-th of the wrong columns, in another step each time as far as there are. */
static bool trial_at(const Record *record, unsigned index, unsigned rounds, unsigned bank, Trial *ret) {
        unsigned columns[PE_COLUMNS + 1] = {}, n = 0, seen = 0;
        const RecordStep *last = NULL;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (size_t i = 0; i < record->n_steps; i++)
                        if (record->steps[i].out && record_column_is_wrong(&record->steps[i], column)) {
                                columns[n++] = column;
                                break;
                        }

        columns[0] = columns[n > rounds ? index * n / rounds : index % MAX(n, 1u)];
        for (size_t i = 0; i < record->n_steps; i++) {
                if (!record->steps[i].out || !record_column_is_wrong(&record->steps[i], columns[0]))
                        continue;
                last = &record->steps[i];
                if (seen++ == index / MAX(n, 1u))
                        break;
        }

        if (last)
                *ret = trial_of(last, bank, columns[0]);
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

EngineJob dense_job(unsigned bank) {
        return (EngineJob){
                .load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16 },
                .matmul = { .moving = DENSE_MOVING, .bank = (uint8_t) bank_of(bank, NULL), .flags = MATMUL_OVERWRITE,
                            .format = FORMAT_BF16 },
                .moving_rows = PE_ROWS,
                .weights = dense_probe()->weights, .values = dense_probe()->values,
                .weights_bytes = PE_ROWS * PE_COLUMNS * sizeof(uint16_t),
                .values_bytes = PE_ROWS * DENSE_MOVING * sizeof(uint16_t),
        };
}

EngineJob load_job(const SparseLoad *load, unsigned bank) {
        const SparseMode *mode = load->mode;

        return (EngineJob){
                .load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16, .flags = LOAD_SPARSE,
                          .keep = (uint8_t) mode->keep, .group = (uint8_t) mode->group },
                .matmul = { .moving = (uint16_t) mode->moving, .bank = (uint8_t) bank_of(bank, load),
                            .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16 },
                .moving_rows = mode->rows,
                .weights = mode->weights, .tags = load->tags, .values = mode->values,
                .weights_bytes = PE_ROWS * PE_COLUMNS * sizeof(uint16_t),
                .values_bytes = mode->rows * mode->moving * sizeof(uint16_t),
        };
}

int dense_ask(Engine *engine, unsigned core, unsigned bank, bool *ret_refused) {
        const EngineJob job = dense_job(bank);
        unsigned unsupported = 0;
        int r = 0;

        for (unsigned i = 0; i < CONTROL_ROUNDS_MAX && unsupported == 0 && r >= 0; i++)
                r = engine_run(engine, &job, 1u << core, &unsupported);
        if (r >= 0)
                *ret_refused = unsupported != 0;
        return r;
}

/* Tags of zero: an element that goes on selecting in dense products selects its own row, and is no fault of the array. Twice, for it
 * may miss the first load after a dense one. */
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
        int r;

        r = engine_run(engine, &job, 1u << core, &unsupported);
        return r < 0 ? r : engine_run(engine, &job, 1u << core, &unsupported);
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
        engine_forget(engine); /* the same places hold other numbers each time */
        r = engine_run(engine, &job, 1u << core, &unsupported);
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

/*
 * Of a load that was ever wrong, every run counts but one that was: what is always there is always wrong in it, and the one is why it is
 * counted at all, which says nothing of how often it is.
 */
static unsigned control_rounds(const Record *record) {
        bool is_wrong[SPARSE_LOADS + 1] = {};
        size_t n = 0, n_wrong = 0, n_loads = 0;

        for (size_t i = 0; i < record->n_steps; i++)
                is_wrong[record_step_index(&record->steps[i])] |= record->steps[i].out != NULL;
        for (size_t i = 0; i < ELEMENTS(is_wrong); i++)
                n_loads += is_wrong[i];
        for (size_t i = 0; i < record->n_steps; i++) {
                n += is_wrong[record_step_index(&record->steps[i])];
                n_wrong += record->steps[i].out != NULL;
        }

        if (n == n_loads) /* each was run once */
                return CONTROL_ROUNDS;
        if (n_wrong == n_loads)
                return CONTROL_ROUNDS_MAX;
        return (unsigned) MIN(MAX(CONTROL_TIMES * (n - n_loads) / (n_wrong - n_loads), CONTROL_ROUNDS), CONTROL_ROUNDS_MAX);
}

int dense_measure(Engine *engine, unsigned core, const Record *record, unsigned bank, bool spoilt[static PE_COLUMNS],
                  bool *ret_refused) {
        unsigned rounds = control_rounds(record);

        *ret_refused = false;

        for (unsigned i = 0; i < rounds; i++) {
                Trial trial;
                int r;

                if (!trial_at(record, i, rounds, bank, &trial))
                        return 0;
                r = clear_tags(engine, core);
                if (r >= 0)
                        r = run_trial(engine, core, &trial, spoilt, ret_refused);
                if (r < 0)
                        return r;
        }

        return 0;
}

int dense_tile(Engine *engine, unsigned core, const SparseTile *tile, unsigned bank, const bool columns[static PE_COLUMNS],
               bool spoilt[static PE_COLUMNS], bool *ret_refused) {
        Trial trial = { .mode = tile->mode, .format = tile->format, .weights = tile->weights, .values = tile->values,
                        .tags = tile->tags, .golden = tile->golden, .moving = TILE_MOVING, .bank = bank_of(bank, NULL) };

        *ret_refused = false;

        for (unsigned i = 0, n_wrong = 0, column = 0; i < CONTROL_ROUNDS_MAX && n_wrong < CONTROL_ROUNDS; i++, column++) {
                const EngineJob job = sparse_tile_job(tile, bank);
                unsigned unsupported;
                int r;

                r = engine_run(engine, &job, 1u << core, &unsupported);
                if (r < 0)
                        return r;
                n_wrong += unsupported || memcmp(engine->out[core], tile->golden, PE_COLUMNS * TILE_MOVING * sizeof(uint32_t)) != 0;

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
