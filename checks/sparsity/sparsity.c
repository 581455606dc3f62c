/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sparsity
 *
 * Structured sparsity, which no dense test touches: in each of the seven M:N modes every element of every
 * tensor engine must select the input that its tag names. The whole selection matrix is read back with one
 * matmul per load. What is wrong is told apart by all loads together, in their order: tags, decoders, inputs, registers that keep
 * an old tag, modes. Where dense products of the same numbers are wrong as well, the array is to blame
 * and not the sparse path: such columns are left to `systolic`, and without any other
 * finding the step is skipped for that prerequisite.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/sparsity/control.h"
#include "checks/sparsity/diagnose.h"
#include "checks/sparsity/legs.h"
#include "checks/sparsity/line.h"
#include "checks/sparsity/parameters.h"
#include "checks/sparsity/replay.h"
#include "checks/sparsity/report.h"
#include "checks/sparsity/work.h"

static Sparsity *sparsity_free(Sparsity *sparsity) {
        for (unsigned core = 0; sparsity && core < CORES; core++)
                (void) record_done(&sparsity->cores[core].record);
        free(sparsity);
        return NULL;
}

DEFINE_CLEANUP(Sparsity *, sparsity_free);

/* ---- loads ---- */

/* Runs LOAD, or the dense product where it is NULL, and keeps what is not golden. */
static int run_step(Sparsity *sparsity, const SparseLoad *load, unsigned mask, unsigned bank) {
        const EngineJob job = load ? load_job(load, bank) : dense_job(bank);
        const uint32_t *golden = load ? load->golden : dense_probe()->golden;
        unsigned unsupported = 0;
        int r;

        r = engine_run(&sparsity->engine, &job, mask, &unsupported);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < CORES; i++) {
                Core *core = &sparsity->cores[i];
                const uint32_t *out = sparsity->engine.out[i];
                bool right;

                if (!(mask >> i & 1))
                        continue;
                if (unsupported >> i & 1) {
                        core->dense_refused = core->dense_refused || !load || sparsity->engine.no_format >> i & 1;
                        r = load ? record_add_refused(&core->record, load) : 0;
                } else {
                        right = memcmp(out, golden, record_step_bytes(load)) == 0;
                        core->wrong = core->wrong || !right;
                        sparsity->n_compared += load ? (size_t) PE_ROWS * PE_COLUMNS : 0;
                        r = record_add(&core->record, load, right ? NULL : out);
                }
                if (r < 0)
                        return r;
        }

        return 0;
}

int sparsity_run_loads(Sparsity *sparsity, unsigned mask, unsigned bank, bool all_paths) {
        for (unsigned i = 0; i < SPARSE_LOADS; i++) {
                const SparseLoad *load;
                int r;

                if (!all_paths && !sparse_load_is_for_bits(i))
                        continue;

                load = sparse_load_at(i);
                r = run_step(sparsity, load, mask, bank);
                if (r >= 0 && load->then_dense)
                        r = run_step(sparsity, NULL, mask, bank);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- random tiles ---- */

static int run_tile(Sparsity *sparsity, unsigned index, unsigned mask, unsigned bank) {
        const SparseTile *tile = sparse_tile_at(index, step_seed(sparsity->step));
        unsigned unsupported = 0;
        EngineJob job;
        int r;

        if (!tile)
                return -ENOMEM;

        job = sparse_tile_job(tile, bank);
        r = engine_run(&sparsity->engine, &job, mask, &unsupported);
        if (r < 0)
                return r;

        sparsity->n_tiles++;
        for (unsigned i = 0; i < CORES; i++) {
                const uint32_t *out = sparsity->engine.out[i];
                Core *core = &sparsity->cores[i];

                if (!(mask >> i & 1))
                        continue;
                if (unsupported >> i & 1) {
                        core->tiles_refused |= 1u << index;
                        continue;
                }
                if (memcmp(out, tile->golden, PE_COLUMNS * TILE_MOVING * sizeof(uint32_t)) == 0)
                        continue;
                core->tiles_wrong |= 1u << index;
                for (unsigned column = 0; column < PE_COLUMNS; column++)
                        core->tile_wrong[index][column] = memcmp(out + column * TILE_MOVING, tile->golden + column * TILE_MOVING,
                                                                 TILE_MOVING * sizeof(uint32_t)) != 0;
        }

        return 0;
}

/* In every format that the chip says it has: a chip that says nothing has bf16. */
int sparsity_run_tiles(Sparsity *sparsity, unsigned mask, unsigned bank) {
        for (unsigned i = 0; i < TILES; i++) {
                const SparseTile *tile = sparse_tile_at(i, step_seed(sparsity->step));
                int r;

                if (tile && !(sparsity->formats >> tile->format & 1))
                        continue;
                r = run_tile(sparsity, i, mask, bank);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int read_formats(Sparsity *sparsity) {
        char text[ATTRIBUTE_TEXT_MAX];
        int r;

        sparsity->formats = 1u << FORMAT_BF16;
        r = device_attribute(sparsity->device, device_chip(sparsity->device), "assay/tensor/formats", text);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;

        sparsity->formats |= wire_formats_of(text);
        return 0;
}

/* ---- what it means ---- */

static int report(Sparsity *sparsity, Verdict *verdict, unsigned core, const SparseDiagnosis *diagnosis) {
        sparsity->n_findings++;
        sparsity->cores[core].n_findings++;
        sparsity->n_wrong += diagnosis->n_selections;
        return sparse_report(sparsity->step, verdict, core, diagnosis);
}

static int report_refused(Sparsity *sparsity, Verdict *verdict, unsigned core) {
        unsigned refused = sparsity->cores[core].record.refused;
        bool *dense_refused = &sparsity->cores[core].dense_refused;
        Location where;
        int r = 0;

        /* Without dense products in bf16 it is the format and not a mode of sparsity. */
        if (refused != 0 && !*dense_refused)
                r = dense_ask(&sparsity->engine, core, sparsity->cores[core].bank, dense_refused);
        if (r < 0 || *dense_refused)
                return r;

        for (unsigned i = 0; i < SPARSE_MODES; i++) {
                if (!(refused >> i & 1))
                        continue;

                r = sparse_location(sparsity->step, core, SPARSE_ALL, SPARSE_ALL, &where);
                if (r < 0)
                        return r;

                sparsity->n_findings++;
                sparsity->cores[core].n_findings++;
                r = step_finding(sparsity->step, verdict, "sparsity-mode", &where, &(Evidence) { .decided = { "sparsity_modes_refused", 1, 0 } },
                                 "core%u: mode %s is refused", core, sparse_mode_at(i)->name);
                if (r < 0)
                        return r;
        }

        return 0;
}

static bool any_in(const bool columns[static PE_COLUMNS]) {
        return memchr(columns, true, PE_COLUMNS) != NULL;
}

/* Stuck bits of inputs, in columns whose numbers are no sums of selections. */
static int judge_data(Sparsity *sparsity, unsigned core, const RecordRead *read, Verdict *verdict) {
        SparseDiagnosis diagnoses[SPARSE_DIAGNOSES_MAX], rest = { .fault = SPARSE_UNEXPLAINED, .last_row = PE_ROWS - 1 };
        bool columns[PE_COLUMNS], line[PE_COLUMNS] = {};
        int n, r;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                columns[column] = read->unclear[column] && !sparsity->cores[core].spoilt[column];
        if (!any_in(columns))
                return 0;

        n = legs_measure(&sparsity->engine, core, sparsity->cores[core].bank, columns, line, diagnoses, SPARSE_DIAGNOSES_MAX);
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                if (line[column])
                        sparsity->cores[core].spoilt[column] = sparsity->cores[core].has_line = true;
        for (int i = 0; i < n; i++) {
                r = report(sparsity, verdict, core, &diagnoses[i]);
                if (r < 0)
                        return r;
        }
        if (n < 0 || !any_in(columns))
                return n;

        rest.slot = PE_COLUMNS;
        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                if (!columns[column])
                        continue;
                rest.slot = rest.slot < column ? rest.slot : column;
                rest.last_slot = column;
                rest.n_selections++;
        }
        return report(sparsity, verdict, core, &rest);
}

static int judge_selections(Sparsity *sparsity, unsigned core, Verdict *verdict) {
        _cleanup_(record_read_donep) RecordRead *read = &(RecordRead){};
        SparseDiagnosis diagnoses[SPARSE_DIAGNOSES_MAX];
        const bool *spoilt = sparsity->cores[core].spoilt;
        bool ignored[PE_COLUMNS];
        size_t n_modes;
        int r, n;

        n_modes = sparse_diagnose_modes(&sparsity->cores[core].record, spoilt, diagnoses);
        for (size_t i = 0; i < n_modes; i++) {
                r = report(sparsity, verdict, core, &diagnoses[i]);
                if (r < 0)
                        return r;
        }

        r = record_read(&sparsity->cores[core].record, read);
        if (r >= 0)
                r = judge_data(sparsity, core, read, verdict);
        if (r < 0)
                return r;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                ignored[column] = spoilt[column] || read->unclear[column];
        n = sparse_diagnose(read, ignored, diagnoses);
        for (int i = 0; i < n; i++) {
                r = report(sparsity, verdict, core, &diagnoses[i]);
                if (r < 0)
                        return r;
        }

        return n < 0 ? n : 0;
}

/* What is wrong in random tiles alone. */
static int judge_tiles(Sparsity *sparsity, unsigned index, Verdict *verdict) {
        Core *core = &sparsity->cores[index];
        bool refused;
        int r;

        for (unsigned i = 0; i < TILES && core->n_findings == 0 && !any_in(core->spoilt); i++) {
                const SparseTile *tile = sparse_tile_at(i, step_seed(sparsity->step));
                bool is_refused = core->tiles_refused >> i & 1;
                SparseDiagnosis rest = { .fault = SPARSE_UNEXPLAINED, .last_row = PE_ROWS - 1, .last_slot = PE_COLUMNS - 1,
                                         .n_selections = 1 };

                if (!is_refused && !(core->tiles_wrong >> i & 1))
                        continue;

                r = dense_tile(&sparsity->engine, index, tile, core->bank, core->tile_wrong[i], core->spoilt, &refused);
                if (r < 0)
                        return r;
                core->dense_refused = core->dense_refused || refused;
                if (refused || any_in(core->spoilt))
                        continue;
                if (is_refused)
                        rest = (SparseDiagnosis){ .fault = SPARSE_MODE, .row = SPARSE_ALL, .slot = SPARSE_ALL,
                                                  .mode = sparse_mode_index(tile->mode), .as = SPARSE_MODES };
                r = report(sparsity, verdict, index, &rest);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Tells of the columns that were wrong and are so no more: a selector or a cell of PSUM may have made it, and nothing tells which. */
static int report_once(Sparsity *sparsity, unsigned index, Verdict *verdict) {
        Core *core = &sparsity->cores[index];
        Location where = *step_unit(sparsity->step);
        unsigned n = 0, first = PE_COLUMNS;
        char more[32];
        int r;

        for (unsigned column = PE_COLUMNS; column-- > 0;)
                if (core->once[column] && !core->spoilt[column]) {
                        first = column;
                        n++;
                }
        if (n == 0)
                return 0;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                core->spoilt[column] = core->spoilt[column] || core->once[column];
        sparsity->n_findings++;
        core->n_findings++;
        r = location_append(&where, LOCATION_CORE, index);
        if (r < 0)
                return r;
        (void) snprintf(more, sizeof(more), " and %u more", n - 1);
        return step_finding(sparsity->step, verdict, "sparsity-sums", &where, &(Evidence) { .decided = { "sparsity_columns_once_wrong", n, 0 } },
                            "core%u: sums of sparse products were wrong in column %u%s, and not again in %u rounds of the same: a selector or a cell of PSUM",
                            index, first, n > 1 ? more : "", REPLAY_ROUNDS);
}

static int judge_core(Sparsity *sparsity, unsigned index, Verdict *verdict) {
        Core *core = &sparsity->cores[index];
        bool refused = false;
        int r;

        sparsity->n_cells += core->has_cells;
        r = report_refused(sparsity, verdict, index);
        if (r < 0 || (!core_is_suspect(core) && !core->dense_refused))
                return r;

        if (core->wrong)
                r = dense_measure(&sparsity->engine, index, &core->record, core->bank, core->spoilt, &refused);
        core->dense_refused = core->dense_refused || refused;
        core->has_line = line_mark(&core->record, core->spoilt);
        if (r >= 0 && !core->dense_refused)
                r = report_once(sparsity, index, verdict);
        if (r >= 0 && core->wrong && !core->dense_refused)
                r = judge_selections(sparsity, index, verdict);
        if (r >= 0 && !core->dense_refused)
                r = judge_tiles(sparsity, index, verdict);
        if (r < 0)
                return r;

        if (core->n_findings > 0)
                return 0;
        if (core->dense_refused || any_in(core->spoilt)) {
                sparsity->n_left++;
                sparsity->n_lines += core->has_line;
                return 0;
        }

        /* The answer changed while it was read: nothing is left to show, and still it was wrong. */
        return report(sparsity, verdict, index,
                      &(SparseDiagnosis){ .fault = SPARSE_UNEXPLAINED, .last_row = PE_ROWS - 1, .last_slot = PE_COLUMNS - 1,
                                          .n_selections = 1 });
}

static int judge(Sparsity *sparsity, Verdict *verdict) {
        size_t n_compared = sparsity->n_compared, n_tiles = sparsity->n_tiles;
        int r;

        r = sparsity_follow(sparsity);
        for (unsigned core = 0; core < CORES && r >= 0; core++)
                r = judge_core(sparsity, core, verdict);
        if (r < 0)
                return r;

        r = step_note(sparsity->step, "sparsity_selections_compared", (double) n_compared, "{selection}", NULL);
        if (r >= 0 && n_tiles > 0)
                r = step_note(sparsity->step, "sparsity_tiles_compared", (double) n_tiles, "{tile}", NULL);
        if (r < 0)
                return r;
        r = step_measure(sparsity->step, "sparsity_mismatched_selections", (double) sparsity->n_wrong,
                         "{selection}", LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r < 0)
                return r;

        if (sparsity->n_findings == 0 && sparsity->n_left > 0)
                return step_skip(
                                sparsity->step, verdict, REASON_PREREQUISITE,
                                "dense products%s are wrong or refused on %u of the cores, so that selections cannot be read there",
                                sparsity->n_lines > 0 ? ", or all columns from one on alike," : "", sparsity->n_left);
        if (sparsity->n_findings == 0 && sparsity->n_cells > 0)
                return step_skip(sparsity->step, verdict, REASON_PREREQUISITE,
                                 "sums of sparse products are wrong in single banks of PSUM alone on %u of the cores, so that nothing is told of selectors there",
                                 sparsity->n_cells);
        return 0;
}

static int measure(Sparsity *sparsity) {
        int r;

        r = engine_init(&sparsity->engine, sparsity->device);
        if (r >= 0 && sparsity->all_paths)
                r = read_formats(sparsity);
        for (uint64_t round = 0; round < sparsity->rounds && r >= 0; round++)
                r = sparsity_run_loads(sparsity, (1u << CORES) - 1, BANK_ANY, sparsity->all_paths);
        if (r >= 0 && sparsity->all_paths)
                r = sparsity_run_tiles(sparsity, (1u << CORES) - 1, BANK_ANY);

        return r;
}

static int sparsity_run(Step *step, Verdict *ret) {
        const SparsityParameters *parameters = step_parameters(step);
        _cleanup_(sparsity_freep) Sparsity *sparsity = calloc(1, sizeof(*sparsity));
        Verdict verdict = VERDICT_PASSED;
        int r;

        if (!sparsity)
                return -ENOMEM;

        sparsity->step = step;
        sparsity->device = step_device(step);
        sparsity->all_paths = parameters && parameters->paths == SPARSITY_ALL;
        sparsity->rounds = parameters && parameters->rounds > 0 ? parameters->rounds : 1;
        for (unsigned core = 0; core < CORES; core++)
                sparsity->cores[core].bank = BANK_ANY;

        r = measure(sparsity);
        if (r >= 0)
                r = judge(sparsity, &verdict);
        if (r == -EREMOTEIO)
                return step_error(step, r, "core%u refused a sparse matmul: status %" PRIu32,
                                  sparsity->engine.refused, sparsity->engine.status);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

const Check check_sparsity = {
        .name = "sparsity",
        .summary = "what every element of the tensor engines selects, in all modes of structured sparsity",
        .reads = "the outputs of sparse matmuls on every core, and of dense ones between and where these are wrong",
        .codes = (const char *const[]){"sparsity-tag", "sparsity-lane", "sparsity-stale", "sparsity-order", "sparsity-select",
                                       "sparsity-mode", "sparsity-sums", NULL},
        .skips = "prerequisite: dense products are wrong or refused as well, or all columns from one on alike, so that selections cannot be read; or sums "
                 "are wrong in single banks of PSUM alone",
        .unit = LOCATION_CHIP,
        .disturbs = DISTURBS_CHIP,
        .deadline_sec = 60,
        .run = sparsity_run,
        .prepare = loads_prepare,
};
