/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sparsity
 *
 * Structured sparsity, which no dense test touches: in each of the seven M:N modes every element of every
 * tensor engine must select the input that its tag names. The whole selection matrix is read back with one
 * matmul per load. A wrong selection is told apart by all loads together: a tag bit that is stuck, an input
 * of a row's selectors that is dead, a mode that fails as such. Where dense products are wrong as well, the
 * array is to blame and not the sparse path: such columns are left to `systolic`, and without any other
 * finding the step is skipped for that prerequisite.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/device-tensor.h"
#include "checks/sparsity/diagnose.h"
#include "checks/sparsity/loads.h"
#include "checks/sparsity/parameters.h"
#include "checks/step.h"
#include "checks/systolic/array.h"

#define CONTROL_ROUNDS 3u /* of dense patterns, on a core that selected wrongly */
#define OUT_BYTES      (PE_COLUMNS * 96u * sizeof(uint32_t)) /* the largest */
#define VALUES_BYTES   (512u * 96u * sizeof(uint16_t))
#define LINE_MAX       256u

typedef struct Sparsity {
        Step *step;
        Device *device;
        bool all_paths;
        uint16_t *weights, *tags, *values; /* in the window */
        uint32_t *out[CORES];
        const uint16_t *sent_weights, *sent_values; /* what stands there */
        Selections cores[CORES];
        bool wrong[CORES];
        size_t n_compared, n_wrong;
        unsigned n_findings, n_spoilt; /* cores whose dense products are wrong */
        unsigned refused;              /* the core that did not do what it was told, after -EREMOTEIO */
        uint32_t status;               /* what it said */
} Sparsity;

static Sparsity *sparsity_done(Sparsity *sparsity) {
        for (unsigned core = 0; core < CORES; core++)
                for (unsigned i = 0; i < SPARSE_LOADS; i++)
                        free(sparsity->cores[core].out[i]);
        return NULL;
}

DEFINE_CLEANUP(Sparsity *, sparsity_done);

static int take_window(Sparsity *sparsity) {
        Device *device = sparsity->device;

        device_window_reset(device);
        sparsity->weights = device_window_take(device, PE_ROWS * PE_COLUMNS * sizeof(uint16_t));
        sparsity->tags = device_window_take(device,
                                            PE_ROWS * device_tag_words(PE_COLUMNS) * sizeof(uint16_t));
        sparsity->values = device_window_take(device, VALUES_BYTES);
        if (!sparsity->weights || !sparsity->tags || !sparsity->values)
                return -ENOSPC;

        for (unsigned core = 0; core < CORES; core++) {
                sparsity->out[core] = device_window_take(device, OUT_BYTES);
                if (!sparsity->out[core])
                        return -ENOSPC;
        }

        return 0;
}

/* ---- one load on all cores ---- */

/* A load and a matmul per core. Each mode has a bank of its own, 1 … 7: banks of one shape are cheap to
 * overwrite. */
static size_t load_commands(Sparsity *sparsity, const SparseLoad *load, WireCommand *commands) {
        const SparseMode *mode = load->mode;
        const WireLoad shape = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16, .flags = LOAD_SPARSE,
                                 .keep = (uint8_t) mode->keep, .group = (uint8_t) mode->group };
        const WireMatmul matmul = { .moving = (uint16_t) mode->moving, .bank = (uint8_t) (1 + sparse_mode_index(mode)),
                                    .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16 };
        size_t n = 0;

        if (sparsity->sent_weights != mode->weights)
                memcpy(sparsity->weights, mode->weights, PE_ROWS * PE_COLUMNS * sizeof(uint16_t));
        if (sparsity->sent_values != mode->values)
                memcpy(sparsity->values, mode->values, mode->rows * mode->moving * sizeof(uint16_t));
        memcpy(sparsity->tags, load->tags, PE_ROWS * device_tag_words(PE_COLUMNS) * sizeof(uint16_t));
        sparsity->sent_weights = mode->weights;
        sparsity->sent_values = mode->values;

        for (unsigned core = 0; core < CORES; core++) {
                commands[n++] = device_load_command(sparsity->device, core, shape, sparsity->weights, sparsity->tags);
                commands[n++] = device_matmul_command(sparsity->device, core, matmul, mode->rows, sparsity->values,
                                                      PE_COLUMNS, sparsity->out[core]);
        }

        return n;
}

/* Keeps what CORE answered, if it is not golden. */
static int keep(Sparsity *sparsity, unsigned core, unsigned index) {
        const SparseLoad *load = sparse_load_at(index);
        uint32_t **out = &sparsity->cores[core].out[index];

        sparsity->cores[core].ran[index] = true;
        sparsity->n_compared += (size_t) PE_ROWS * PE_COLUMNS;
        if (memcmp(sparsity->out[core], load->golden, load->n_bytes) == 0)
                return 0;

        sparsity->wrong[core] = true;
        *out = malloc(load->n_bytes);
        if (!*out)
                return -ENOMEM;
        memcpy(*out, sparsity->out[core], load->n_bytes);
        return 0;
}

/* A load that is not supported is the mode's finding; whatever else a core does not do keeps us from judging
 * it. */
static int judge_core_completions(Sparsity *sparsity, unsigned core, unsigned index,
                                  const WireCommand *commands, const WireCompletion *completions) {
        const SparseLoad *load = sparse_load_at(index);

        if (completions[0].status == STATUS_NRT_UNSUPPORTED) {
                sparsity->cores[core].refused[sparse_mode_index(load->mode)] = true;
                return 0;
        }

        for (size_t i = 0; i < 2; i++)
                if (completions[i].status != STATUS_NRT_SUCCESS) {
                        sparsity->refused = core;
                        sparsity->status = completions[i].status;
                        return -EREMOTEIO;
                }
        if (!device_matmul_is_complete(&commands[1], &completions[1]))
                return -EPROTO;

        return keep(sparsity, core, index);
}

static int run_load(Sparsity *sparsity, unsigned index) {
        WireCompletion completions[2 * CORES] = {};
        WireCommand commands[2 * CORES];
        size_t n;
        int r;

        n = load_commands(sparsity, sparse_load_at(index), commands);
        r = device_execute(sparsity->device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        for (unsigned core = 0; core < CORES; core++) {
                r = judge_core_completions(sparsity, core, index, &commands[2 * core],
                                           &completions[2 * core]);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int run_loads(Sparsity *sparsity) {
        for (unsigned i = 0; i < SPARSE_LOADS; i++) {
                int r;

                if (!sparsity->all_paths && !sparse_load_is_for_bits(i))
                        continue;

                r = run_load(sparsity, i);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- what it means ---- */

static void list_bits(unsigned bits, char *text, size_t size) {
        size_t n = 0;

        text[0] = '\0';
        for (unsigned bit = 0; bit < 32 && n < size; bit++)
                if (bits >> bit & 1)
                        n += (size_t) snprintf(text + n, size - n, "%s%u", n > 0 ? ", " : "", bit);
}

static int locate(const Sparsity *sparsity, unsigned core, const SparseDiagnosis *diagnosis, Location *ret) {
        Location where = *step_unit(sparsity->step);
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0)
                r = location_append(&where, LOCATION_SPARSE, 0);
        if (r >= 0 && (diagnosis->fault == SPARSE_TAG || diagnosis->fault == SPARSE_INPUTS))
                r = location_append(&where, LOCATION_SPARSE_ROW, diagnosis->row);
        if (r >= 0 && diagnosis->fault == SPARSE_TAG)
                r = location_append(&where, LOCATION_SPARSE_SLOT, diagnosis->slot);
        if (r < 0)
                return r;

        *ret = where;
        return 0;
}

/* Returns the code. */
static const char *describe(unsigned core, const SparseDiagnosis *diagnosis, char text[static LINE_MAX]) {
        char bits[80];

        list_bits(diagnosis->bits, bits, sizeof(bits));

        switch (diagnosis->fault) {

        case SPARSE_TAG:
                (void) snprintf(text, LINE_MAX,
                                "core%u, sparse element in row %u, slot %u: tag bit %s%s %sstuck at %u",
                                core, diagnosis->row, diagnosis->slot,
                                __builtin_popcount(diagnosis->bits) > 1 ? "one of " : "", bits,
                                diagnosis->intermittent ? "at times " : "", diagnosis->value);
                return "sparsity-tag";

        case SPARSE_INPUTS:
                (void) snprintf(text, LINE_MAX,
                                "core%u, row %u of the sparse path: input %s of the selectors reads zero",
                                core, diagnosis->row, bits);
                return "sparsity-select";

        case SPARSE_MODE:
                (void) snprintf(text, LINE_MAX, "core%u: mode %s selects wrongly all over the array", core,
                                sparse_mode_at(diagnosis->mode)->name);
                return "sparsity-mode";

        case SPARSE_UNEXPLAINED:
                break;
        }

        (void) snprintf(text, LINE_MAX,
                        "core%u: %zu selections in rows %u to %u, slots %u to %u are wrong, which no stuck bit explains",
                        core, diagnosis->n_selections, diagnosis->row, diagnosis->last_row, diagnosis->slot,
                        diagnosis->last_slot);
        return "sparsity-select";
}

static int report(Sparsity *sparsity, Verdict *verdict, unsigned core, const SparseDiagnosis *diagnosis) {
        char text[LINE_MAX], expected[32], actual[96];
        Evidence evidence = { .has_count = true, .count = (double) diagnosis->n_selections };
        const char *code;
        Location where;
        int r;

        r = locate(sparsity, core, diagnosis, &where);
        if (r < 0)
                return r;

        if (diagnosis->fault != SPARSE_MODE) {
                (void) snprintf(expected, sizeof(expected), "input %u", diagnosis->tag);
                list_bits(diagnosis->selected, actual, sizeof(actual));
                evidence.expected = expected;
                evidence.actual = diagnosis->selected == 0 ? "no input" : actual;
        }

        code = describe(core, diagnosis, text);
        sparsity->n_findings++;
        sparsity->n_wrong += diagnosis->n_selections;
        return step_finding(sparsity->step, verdict, code, &where, &evidence, "%s", text);
}

static int report_refused(Sparsity *sparsity, Verdict *verdict, unsigned core) {
        SparseDiagnosis diagnosis = { .fault = SPARSE_MODE };
        Location where;
        int r;

        for (unsigned i = 0; i < SPARSE_MODES; i++) {
                if (!sparsity->cores[core].refused[i])
                        continue;

                r = locate(sparsity, core, &diagnosis, &where);
                if (r < 0)
                        return r;

                sparsity->n_findings++;
                r = step_finding(sparsity->step, verdict, "sparsity-mode", &where, NULL,
                                 "core%u: mode %s is refused", core, sparse_mode_at(i)->name);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Which columns of which cores are wrong without any sparsity. */
static int find_spoilt(Sparsity *sparsity, bool spoilt[static CORES][PE_COLUMNS]) {
        _cleanup_(array_donep) Array *array = &(Array){};
        unsigned mask = 0;
        int r;

        for (unsigned core = 0; core < CORES; core++)
                mask |= (unsigned) sparsity->wrong[core] << core;
        if (mask == 0)
                return 0;

        device_window_reset(sparsity->device);
        r = array_init(array, sparsity->device);
        for (unsigned round = 0; round < CONTROL_ROUNDS && r >= 0; round++)
                r = array_measure(array, mask, PATTERNS);
        if (r < 0) {
                sparsity->refused = array->refused;
                sparsity->status = device_status(sparsity->device);
                return r;
        }

        for (unsigned core = 0; core < CORES; core++) {
                const Observation *observation = &array->cores[core];

                sparsity->n_spoilt += !observation_is_golden(observation);
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        spoilt[core][column] = observation->miswired[column];
                        for (unsigned i = 0; i < ONE_HOT; i++)
                                spoilt[core][column] = spoilt[core][column] ||
                                                       observation_column(observation, i, column);
                }
        }

        return 0;
}

static int judge_core(Sparsity *sparsity, unsigned core, const bool spoilt[static PE_COLUMNS],
                      Verdict *verdict) {
        SparseDiagnosis diagnoses[SPARSE_DIAGNOSES_MAX];
        size_t n;
        int r;

        r = report_refused(sparsity, verdict, core);
        if (r < 0 || !sparsity->wrong[core])
                return r;

        n = sparse_diagnose(&sparsity->cores[core], spoilt, diagnoses);
        for (size_t i = 0; i < n; i++) {
                r = report(sparsity, verdict, core, &diagnoses[i]);
                if (r < 0)
                        return r;
        }

        /* The answer changed while it was read: nothing is left to show, and still it was wrong. */
        if (n == 0 && !memchr(spoilt, true, PE_COLUMNS)) {
                SparseDiagnosis unexplained = { .fault = SPARSE_UNEXPLAINED,
                                                .last_row = PE_ROWS - 1,
                                                .last_slot = PE_COLUMNS - 1,
                                                .n_selections = 1 };

                return report(sparsity, verdict, core, &unexplained);
        }

        return 0;
}

static int judge(Sparsity *sparsity, Verdict *verdict) {
        bool spoilt[CORES][PE_COLUMNS] = {};
        int r;

        r = find_spoilt(sparsity, spoilt);
        if (r < 0)
                return r;

        for (unsigned core = 0; core < CORES; core++) {
                r = judge_core(sparsity, core, spoilt[core], verdict);
                if (r < 0)
                        return r;
        }

        r = step_note(sparsity->step, "sparsity_selections_compared", (double) sparsity->n_compared,
                      "{selection}", NULL);
        if (r < 0)
                return r;
        r = step_measure(sparsity->step, "sparsity_mismatched_selections", (double) sparsity->n_wrong,
                         "{selection}", LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r < 0)
                return r;

        if (sparsity->n_findings == 0 && sparsity->n_spoilt > 0)
                return step_skip(
                                sparsity->step, verdict, REASON_PREREQUISITE,
                                "dense products are wrong on %u of the cores, so that selections cannot be read there",
                                sparsity->n_spoilt);
        return 0;
}

static int sparsity_run(Step *step, Verdict *ret) {
        const SparsityParameters *parameters = step_parameters(step);
        _cleanup_(sparsity_donep) Sparsity *sparsity = &(Sparsity){
                .step = step,
                .device = step_device(step),
                .all_paths = parameters && parameters->paths == SPARSITY_ALL,
        };
        Verdict verdict = VERDICT_PASSED;
        int r;

        r = take_window(sparsity);
        if (r >= 0)
                r = run_loads(sparsity);
        if (r >= 0)
                r = judge(sparsity, &verdict);
        if (r == -EREMOTEIO)
                return step_error(step, r, "core%u refused a sparse matmul: status %" PRIu32,
                                  sparsity->refused, sparsity->status);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

static void sparsity_prepare(void) {
        loads_prepare();
        patterns_prepare();
}

const Check check_sparsity = {
        .name = "sparsity",
        .summary = "what every element of the tensor engines selects, in all modes of structured sparsity",
        .reads = "the outputs of sparse bf16 matmuls on every core, of dense ones where these are wrong",
        .codes = (const char *const[]){"sparsity-tag", "sparsity-select", "sparsity-mode", NULL},
        .skips = "prerequisite: dense products are wrong as well, so that selections cannot be read",
        .unit = LOCATION_CHIP,
        .disturbs = DISTURBS_CHIP,
        .deadline_sec = 60,
        .run = sparsity_run,
        .prepare = sparsity_prepare,
};
