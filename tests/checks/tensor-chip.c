/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/checks/tensor-chip.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/tensor/memo.h"
#include "tests/checks/held.h"

extern const Model model_tensor;

struct Step {
        TensorChip *chip;
        Location unit;
        const void *parameters;
        TensorOutcome *outcome;
        Verdict beyond; /* what values beyond their limits come to */
};

static uint64_t mix(uint64_t x) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

bool fault_is_active(const Fault *fault, const Execution *execution) {
        if (execution->sag < fault->droop)
                return false;
        if (fault->persistence != PERSISTENCE_INTERMITTENT)
                return true;

        return (double) (mix(execution->number * 1000003 + fault->id) >> 11) * 0x1p-53 < fault->probability;
}

TensorSettings tensor_chip_settings;

TensorSettings chip_tensor(const Chip *chip) {
        return tensor_chip_settings;
}

static double cpu_now(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static void answer_attribute(TensorChip *chip, const WireCommand *command, WireCompletion *completion) {
        const Attribute *attribute = model_tensor.attributes;
        char text[ATTRIBUTE_TEXT_MAX];
        int r;

        while (attribute->path && (strlen(attribute->path) != command->in_bytes ||
                                   memcmp(attribute->path, chip->window + command->in_offset, command->in_bytes) != 0))
                attribute++;
        if (chip->formats && strcmp(attribute->path ? attribute->path : "", "assay/tensor/formats") == 0) {
                (void) snprintf(text, sizeof(text), "%s", chip->formats);
                completion->status = chip->formats[0] ? STATUS_NRT_SUCCESS : STATUS_NRT_QUEUE_EMPTY;
                completion->out_bytes = (uint32_t) strlen(text);
                memcpy(chip->window + command->out_offset, text, strlen(text));
                return;
        }
        if (!attribute->path) {
                completion->status = STATUS_NRT_QUEUE_EMPTY;
                return;
        }

        r = attribute->read(chip->states[0], NULL, 0, text, sizeof(text));
        assert(r >= 0 && strlen(text) <= command->out_bytes);
        memcpy(chip->window + command->out_offset, text, strlen(text));
        completion->out_bytes = (uint32_t) strlen(text);
}

#define OUT_NUMBERS ((size_t) PE_COLUMNS * MOVING_MAX)

static void tamper(TensorChip *chip, const WireCommand *command, WireCompletion *completion) {
        uint32_t *out = (uint32_t *) (chip->window + command->out_offset), *before = chip->before[command->unit], *now;

        if (chip->is_short)
                completion->out_bytes -= sizeof(uint32_t);
        if (!chip->repeats)
                return;

        now = malloc(OUT_NUMBERS * sizeof(uint32_t));
        assert(now);
        memcpy(now, out, command->out_bytes);
        if (before)
                memcpy(out, before, command->out_bytes);
        else
                before = chip->before[command->unit] = calloc(OUT_NUMBERS, sizeof(uint32_t));
        memcpy(before, now, command->out_bytes);
        free(now);
}

#define LINE ((size_t) 64)

/* One matmul, after which the window holds in one line of every column what it held before. */
static int lose_line(TensorChip *chip, Execution *execution) {
        const WireCommand *command = execution->command;
        size_t column_bytes = command->matmul.moving * sizeof(uint32_t), at = (chip->loses - 1) * LINE;
        uint8_t *before = malloc(command->out_bytes);
        int r;

        assert(before && at + LINE <= column_bytes);
        memcpy(before, execution->out, command->out_bytes);
        r = model_tensor.commands[COMMAND_MATMUL](chip->states[command->unit], execution);
        for (; at + LINE <= command->out_bytes; at += column_bytes)
                memcpy(execution->out + at, before + at, LINE);
        free(before);
        return r;
}

static void run_command(TensorChip *chip, const WireCommand *command, WireCompletion *completion) {
        Execution execution = {
                .command = command,
                .in = chip->window + command->in_offset,
                .out = chip->window + command->out_offset,
                .window = chip->window,
                .window_bytes = chip->window_bytes,
                .number = chip->numbers[command->unit]++,
                .completion = completion,
        };
        int r;

        assert(command->in_offset + command->in_bytes <= chip->window_bytes);
        assert(command->out_offset + command->out_bytes <= chip->window_bytes);
        assert(command->in_offset % WIRE_ALIGNMENT == 0 && command->out_offset % WIRE_ALIGNMENT == 0);

        if (command->type == COMMAND_ATTRIBUTE) {
                answer_attribute(chip, command, completion);
                return;
        }

        if (chip->watch)
                chip->watch(chip, command);
        chip->n_commands++;
        if (chip->n_commands == chip->fail_at) {
                completion->status = chip->fail_status;
                return;
        }
        if (chip->silent_from > 0 && chip->n_commands >= chip->silent_from) {
                completion->out_bytes = command->out_bytes;
                return;
        }

        if (chip->tampered >> command->unit & 1 && chip->refuses &&
            ((command->type == COMMAND_LOAD_STATIONARY && command->load.format == chip->refuses) ||
             (command->type == COMMAND_MATMUL && command->matmul.format == chip->refuses))) {
                completion->status = STATUS_NRT_UNSUPPORTED;
                return;
        }

        if (!model_tensor.commands[command->type]) {
                completion->status = STATUS_NRT_UNSUPPORTED; /* there is no SRAM */
                return;
        }

        if (chip->loses > 0 && command->type == COMMAND_MATMUL)
                r = lose_line(chip, &execution);
        else
                r = model_tensor.commands[command->type](chip->states[command->unit], &execution);
        assert(r == 0);
        if (chip->tampered >> command->unit & 1 && command->type == COMMAND_MATMUL && completion->status == STATUS_NRT_SUCCESS)
                tamper(chip, command, completion);
}

static int execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                   uint64_t deadline_usec) {
        TensorChip *chip = userdata;
        double begin = chip->measure ? cpu_now() : 0;

        for (size_t i = 0; i < n; i++) {
                completions[i] = (WireCompletion){};
                run_command(chip, &commands[i], &completions[i]);
                if (chip->break_at > 0 && chip->n_commands == chip->break_at)
                        return chip->break_error;
        }

        if (chip->measure)
                chip->model_sec += cpu_now() - begin;
        return 0;
}

static const DeviceTransport transport = { .execute = execute };

void tensor_chip_init(TensorChip *chip) {
        int r;

        *chip = (TensorChip){ .window_bytes = 8u << 20 };
        chip->window = aligned_alloc(4096, chip->window_bytes);
        assert(chip->window);
        memset(chip->window, 0, chip->window_bytes);
        for (unsigned core = 0; core < CORES; core++) {
                chip->states[core] = calloc(1, model_tensor.state_size);
                assert(chip->states[core]);
                r = model_tensor.init(chip->states[core], NULL, core);
                assert(r >= 0);
        }

        r = device_new(&transport, chip, "us0-0", 0, chip->window, chip->window_bytes, &chip->device);
        assert(r >= 0);
}

void tensor_chip_done(TensorChip *chip) {
        (void) device_free(chip->device);
        for (unsigned core = 0; core < CORES; core++) {
                model_tensor.done(chip->states[core]);
                free(chip->before[core]);
                free(chip->states[core]);
        }
        free(chip->window);
        memo_forget();
}

void tensor_chip_inject(TensorChip *chip, const char *kind, const char *where, TensorParameters parameters,
                        double probability) {
        Fault *fault = &chip->faults[chip->n_faults];
        char text[LOCATION_STRING_MAX];
        int r;

        assert(chip->n_faults < TENSOR_FAULTS_MAX);

        chip->parameters[chip->n_faults] = parameters;
        *fault = (Fault){
                .id = chip->n_faults,
                .persistence = probability < 1 ? PERSISTENCE_INTERMITTENT : PERSISTENCE_PERMANENT,
                .probability = probability,
                .droop = chip->droop,
                .parameters = &chip->parameters[chip->n_faults],
        };
        for (const FaultKind *const *table = model_tensor.faults; *table; table++)
                for (const FaultKind *k = *table; k->name; k++)
                        if (strcmp(k->name, kind) == 0)
                                fault->kind = k;
        assert(fault->kind);

        (void) snprintf(text, sizeof(text), "us0-0/chip0/%s", where);
        r = location_parse(text, &fault->at, NULL, NULL);
        assert(r >= 0);
        r = model_tensor.inject(chip->states[location_index(&fault->at, LOCATION_CORE)], fault);
        assert(r >= 0);
        chip->n_faults++;
}

void tensor_chip_heal(TensorChip *chip) {
        for (size_t i = 0; i < chip->n_faults; i++)
                model_tensor.heal(chip->states[location_index(&chip->faults[i].at, LOCATION_CORE)],
                                  &chip->faults[i]);
        chip->n_faults = 0;
}

void tensor_chip_run(TensorChip *chip, const Check *check, const void *parameters, TensorOutcome *ret) {
        Step step = { .chip = chip, .parameters = parameters, .outcome = ret };
        int r;

        *ret = (TensorOutcome){ .verdict = _VERDICT_INVALID };
        r = location_parse("us0-0/chip0", &step.unit, NULL, NULL);
        assert(r >= 0);
        ret->error = check->run(&step, &ret->verdict);
}

/* ---- the step ---- */

uint64_t step_seed(const Step *step) {
        return 1;
}

Device *step_device(Step *step) {
        return step->chip->device;
}

const Location *step_unit(const Step *step) {
        return &step->unit;
}

const void *step_parameters(const Step *step) {
        return step->parameters;
}

int step_measure(Step *step, const char *name, double value, const char *unit, LimitType type, double limit,
                 const Location *where) {
        bool beyond = !limit_holds(type, value, limit);

        held_value(name, unit, value, type, limit, &step->beyond);
        step->outcome->n_beyond += beyond;
        return beyond;
}

int step_note(Step *step, const char *name, double value, const char *unit, const Location *where) {
        return 0;
}

int step_finding(Step *step, Verdict *verdict, const char *code, const Location *where,
                 const Evidence *evidence, const char *format, ...) {
        TensorFinding *finding = &step->outcome->findings[step->outcome->n_findings];
        va_list arguments;

        assert(catalogue_find(code));
        assert(step->outcome->n_findings < TENSOR_FINDINGS_MAX);
        step->outcome->n_findings++;

        finding->reproduced = evidence && evidence->tried > 0 ? evidence->seen : 1;
        finding->runs = evidence && evidence->tried > 0 ? evidence->tried : 1;
        (void) snprintf(finding->code, sizeof(finding->code), "%s", code);
        (void) location_format(where, finding->where);
        va_start(arguments, format);
        (void) vsnprintf(finding->message, sizeof(finding->message), format, arguments);
        va_end(arguments);
        held_finding(code, evidence ? &evidence->decided : NULL, step->beyond);
        verdict_raise(verdict, catalogue_find(code)->severity);
        return 0;
}

int step_skip(Step *step, Verdict *ret, Reason reason, const char *format, ...) {
        *ret = VERDICT_SKIPPED;
        return 0;
}

int step_error(Step *step, int error, const char *format, ...) {
        return error;
}
