/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/fleet/sheet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct SheetStep {
        StepSaid said;
        double *reached; /* of each promise; NULL: nothing */
} SheetStep;

typedef struct SheetUnit {
        Location at;
        SheetStep steps[SHEET_STEPS_MAX];
} SheetUnit;

struct Sheet {
        size_t n_units, n_steps, n_promises;
        SheetUnit **units;
        char names[SHEET_STEPS_MAX][STREAM_STEP_NAME_MAX];
        bool optional[SHEET_STEPS_MAX]; /* its ends say so; one that nowhere ended is required */
        Promise promises[STREAM_PROMISES_MAX];
        char promised[STREAM_PROMISES_MAX][STREAM_STEP_NAME_MAX];
};

int sheet_new(Sheet **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

Sheet *sheet_free(Sheet *sheet) {
        for (size_t i = 0; sheet && i < sheet->n_units; i++) {
                for (size_t k = 0; k < sheet->n_steps; k++)
                        free(sheet->units[i]->steps[k].reached);
                free(sheet->units[i]);
        }
        if (sheet)
                free(sheet->units);
        free(sheet);
        return NULL;
}

/* ---- what is said ---- */

static SheetUnit *find_unit(const Sheet *sheet, const Location *at) {
        for (size_t i = 0; i < sheet->n_units; i++)
                if (location_equal(&sheet->units[i]->at, at))
                        return sheet->units[i];
        return NULL;
}

static int add_unit(Sheet *sheet, const Location *at) {
        SheetUnit **units;

        if (find_unit(sheet, at))
                return -EPROTO;
        units = reallocarray(sheet->units, sheet->n_units + 1, sizeof(SheetUnit *));
        if (!units)
                return -ENOMEM;
        sheet->units = units;
        units[sheet->n_units] = calloc(1, sizeof(SheetUnit));
        if (!units[sheet->n_units])
                return -ENOMEM;
        units[sheet->n_units++]->at = *at;
        return 0;
}

/* Streams of several servers are of one plan: its promises are told in each of them. */
static void take_promises(Sheet *sheet, const Event *event) {
        for (size_t i = 0; i < event->n_promises && i < STREAM_PROMISES_MAX; i++) {
                memcpy(sheet->promised[i], event->promises[i].measurement, strnlen(event->promises[i].measurement, STREAM_STEP_NAME_MAX - 1));
                sheet->promises[i] = (Promise) { sheet->promised[i], event->promises[i].value };
                sheet->n_promises = i + 1 > sheet->n_promises ? i + 1 : sheet->n_promises;
        }
}

/* The number of a step, which is new where nobody named it before. */
static int step_of(Sheet *sheet, const char *name) {
        for (size_t i = 0; i < sheet->n_steps; i++)
                if (strcmp(sheet->names[i], name) == 0)
                        return (int) i;
        if (sheet->n_steps == SHEET_STEPS_MAX)
                return -E2BIG;
        memcpy(sheet->names[sheet->n_steps], name, strnlen(name, STREAM_STEP_NAME_MAX - 1));
        return (int) sheet->n_steps++;
}

/* Findings of a chip's step about other places stay with the chip; those of a server's step belong to the chip that they are about. */
static SheetStep *holder_of(const Sheet *sheet, SheetUnit *unit, int step, const Location *where) {
        Location chip = *where;
        SheetUnit *holder = NULL;

        if (location_kind(&unit->at) != LOCATION_CHIP) {
                (void) location_truncate(&chip, location_index(where, LOCATION_CHIP) >= 0 ? LOCATION_CHIP : LOCATION_SERVER);
                holder = find_unit(sheet, &chip);
        }
        return &(holder ? holder : unit)->steps[step];
}

static int take_measurement(const Sheet *sheet, SheetUnit *unit, int index, const Measurement *measurement) {
        SheetStep *step = holder_of(sheet, unit, index, &measurement->where);

        if (measurement->limit_type != LIMIT_NONE && !limit_holds(measurement->limit_type, measurement->value, measurement->limit))
                step->said.beyond = true;
        for (size_t i = 0; i < sheet->n_promises; i++) {
                if (strcmp(sheet->promises[i].measurement, measurement->name) != 0 || location_kind(&measurement->where) != LOCATION_CHIP)
                        continue;
                if (!step->reached)
                        step->reached = calloc(STREAM_PROMISES_MAX, sizeof(*step->reached));
                if (!step->reached)
                        return -ENOMEM;
                step->reached[i] = fmax(step->reached[i], measurement->value);
        }
        return 0;
}

static void take_finding(const Sheet *sheet, SheetUnit *unit, int step, const Finding *finding) {
        verdict_raise(&holder_of(sheet, unit, step, &finding->where)->said.found, finding->severity);
        if (finding->severity == SEVERITY_FAIL && location_kind(&unit->at) == LOCATION_SERVER && strcmp(unit->at.server, finding->where.server) != 0)
                unit->steps[step].said.failed_elsewhere = true;
}

static int take_part(const Sheet *sheet, int step, const Event *event) {
        SheetUnit *chip = find_unit(sheet, &event->part);

        if (!chip)
                return -EPROTO;
        chip->steps[step].said.has_part = true;
        chip->steps[step].said.part = event->verdict;
        return 0;
}

static int take_in_step(Sheet *sheet, const Event *event) {
        Location at;
        SheetUnit *unit = location_parse(event->unit, &at, NULL, NULL) < 0 ? NULL : find_unit(sheet, &at);
        int step = unit ? step_of(sheet, event->step) : -EPROTO;

        if (step < 0)
                return step;
        unit->steps[step].said.begun = true;
        if (event->type == EVENT_MEASUREMENT)
                return take_measurement(sheet, unit, step, &event->measurement);
        if (event->type == EVENT_FINDING)
                take_finding(sheet, unit, step, &event->finding);
        if (event->type == EVENT_PART_DONE)
                return take_part(sheet, step, event);
        if (event->type == EVENT_STEP_END) {
                unit->steps[step].said.ended = true;
                unit->steps[step].said.verdict = event->end.verdict;
                sheet->optional[step] = !event->end.required;
        }
        return 0;
}

int sheet_event(Sheet *sheet, const Event *event) {
        switch (event->type) {
        case EVENT_RUN_START:
                take_promises(sheet, event);
                return 0;
        case EVENT_HARDWARE:
                return add_unit(sheet, &event->hardware.where);
        case EVENT_STEP_START:
        case EVENT_MEASUREMENT:
        case EVENT_FINDING:
        case EVENT_PART_DONE:
        case EVENT_STEP_END:
                return take_in_step(sheet, event);
        case EVENT_PROGRESS:
        case EVENT_REGIONS:
        case EVENT_PARTICULARS:
        case EVENT_ERROR:
        case EVENT_LOG:
        case EVENT_RUN_END:
        case _EVENT_TYPE_MAX:
                return 0;
        }
        return 0;
}

/* ---- what follows ---- */

static Result judge_chip(const Sheet *sheet, const SheetUnit *unit) {
        double reached[STREAM_PROMISES_MAX] = {};
        Location server = unit->at;
        const SheetUnit *host;
        Fold fold = {};

        (void) location_truncate(&server, LOCATION_SERVER);
        host = find_unit(sheet, &server);
        for (size_t i = 0; i < sheet->n_steps; i++) {
                const SheetStep *step = &unit->steps[i];
                Verdict verdict = verdict_of_step(&step->said, host ? &host->steps[i].said : &(StepSaid) {});

                fold_step(&fold, verdict, !sheet->optional[i]);
                for (size_t p = 0; step->reached && verdict_is_judged(verdict) && p < sheet->n_promises; p++)
                        reached[p] = fmax(reached[p], step->reached[p]);
        }
        for (size_t p = 0; p < sheet->n_promises; p++)
                fold_coverage(&fold, reached[p], sheet->promises[p].value);
        return fold_result(&fold);
}

Result sheet_result(const Sheet *sheet, const Location *at) {
        const SheetUnit *unit = find_unit(sheet, at);
        Result result = RESULT_PASSED;

        if (!unit)
                return RESULT_INCONCLUSIVE;
        if (location_kind(at) == LOCATION_CHIP)
                return judge_chip(sheet, unit);

        for (size_t i = 0; i < sheet->n_units; i++)
                if (sheet->units[i] != unit && location_contains(at, &sheet->units[i]->at))
                        result = result_worst(result, judge_chip(sheet, sheet->units[i]));
        for (size_t i = 0; i < sheet->n_steps; i++)
                result = result_worst(result, result_of_server_step(&unit->steps[i].said));
        return result;
}
