/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/judge.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/measurements.h"
#include "daemon/record/statement/statement.h"

bool judge_wrong(Judgement *judgement, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(judgement->wrong, sizeof(judgement->wrong), format, arguments);
        va_end(arguments);
        return false;
}

bool judge_run(const RecordRun *run, Judgement *ret) {
        return run->finished_usec + JUDGE_CLOCK_USEC >= run->started_usec || judge_wrong(ret, "the run ended before it began");
}

/* ---- a step ---- */

/* The catalogue says what a code means; a record may only call it worse. */
static Severity severity_of(const RecordDiagnosis *diagnosis) {
        const CatalogueEntry *entry = catalogue_find(diagnosis->code);

        return entry && entry->severity > diagnosis->severity ? entry->severity : diagnosis->severity;
}

static const MeasurementRow *row_of(const RecordStep *step, const Measurement *measurement) {
        return measurement_is_printable(measurement) ? measurement_find(step->check, measurement->name) : NULL;
}

/*
 * Nor does the record say what a value beyond its limit makes of STEP, where the limit is one that the check gives it. A step that could not judge
 * has left open what its values come to.
 */
static Severity severity_beyond(const RecordStep *step, const Measurement *measurement) {
        const MeasurementRow *row = step->check && verdict_is_judged(step->verdict) ? row_of(step, measurement) : NULL;
        bool is_its_limit = row && !measurement_wrong(row, measurement->unit, measurement->limit_type, measurement->limit);

        return is_its_limit ? row->beyond : SEVERITY_WARN;
}

/* Raises *evidence. A value that is none is within no limit. A server's step is told without its verdict: its values alone fail no server. */
static void raise_by(const RecordStep *step, bool is_own, Verdict *evidence) {
        for (size_t i = 0; i < step->n_measurements; i++) {
                const Measurement *measurement = &step->measurements[i];

                if (!limit_holds(measurement->limit_type, measurement->value, measurement->limit))
                        verdict_raise(evidence, is_own ? SEVERITY_WARN : severity_beyond(step, measurement));
        }
        for (size_t i = 0; i < step->n_diagnoses; i++)
                verdict_raise(evidence, severity_of(&step->diagnoses[i]));
}

static bool judge_diagnoses(const RecordStep *step, Judgement *ret) {
        for (size_t i = 0; i < step->n_diagnoses; i++)
                if (step->diagnoses[i].reproduced > step->diagnoses[i].runs)
                        return judge_wrong(ret, "%.60s was reproduced more often than it was looked for", step->diagnoses[i].code);
        return true;
}

/* A failure that was found is not undone by what kept the step from its end. */
static bool stands(Verdict verdict, Verdict evidence) {
        return verdict == VERDICT_FAILED || evidence == VERDICT_PASSED || (evidence == VERDICT_WARNED && verdict != VERDICT_PASSED);
}

bool judge_step(const RecordStep *step, bool is_own, Judgement *ret) {
        bool is_open = !verdict_is_judged(step->verdict), is_clear = step->verdict == VERDICT_PASSED || step->verdict == VERDICT_WARNED;
        const char *result = health_step_result(step->verdict);
        Verdict evidence = VERDICT_PASSED;
        RecordKnownRegions known;

        if (is_open != (step->reason != REASON_NONE))
                return judge_wrong(ret, "%.40s: a reason is %s", step->name, is_open ? "missing" : "given for what was tested");
        if (step->reason >= 0 && !reason_fits(step->reason, step->verdict)) /* later ones are let through */
                return judge_wrong(ret, "%.40s: %.40s is no reason for %s", step->name, reason_to_string(step->reason), health_step_status(step->verdict));
        if (!judge_diagnoses(step, ret))
                return false;
        raise_by(step, is_own, &evidence);
        if (!stands(step->verdict, evidence))
                return judge_wrong(ret, "%.40s: called %s in the face of its own evidence", step->name, result);
        if (is_clear && step->regions && *step->regions->failed)
                return judge_wrong(ret, "%.40s: called %s although regions have failed", step->name, result);
        if (step->regions && regions_known(step->regions, &known) < 0)
                return judge_wrong(ret, "%.40s: its regions are not those of its memory, or stand twice", step->name);
        return true;
}

/* ---- what a step must have measured ---- */

/* A value that needs no limit may be given one later. Where it has none although its check gives it one, it still is no less than such a limit can be. */
static bool judge_limit(const RecordStep *step, const Measurement *measurement, const MeasurementRow *row, Judgement *ret) {
        const char *wrong = NULL;

        if (row->limit_type != LIMIT_NONE)
                wrong = measurement_wrong(row, measurement_unit(measurement), measurement->limit_type, measurement->limit)
                                ?: measurement_impossible(row, measurement->value, measurement->series.statistic);
        else if (row->least > 0 && measurement->value < row->least)
                wrong = "a step that passed or warned has counted some";
        if (!wrong && measurement->limit_type == LIMIT_NONE && row->limit_type == LIMIT_GREATER_THAN_OR_EQUAL && measurement->value < row->least)
                wrong = "a value is less than any limit that it can have";
        return !wrong || judge_wrong(ret, "%.40s: %.60s: %s", step->name, measurement->name, wrong);
}

/* STEP's value of number INDEX, which has a limit, is the only one of its part; of a kind that each step has, it is of the step's chip or of a part of it. */
static bool judge_place(const RecordStep *step, size_t index, MeasurementDuty duty, const Location *chip, Judgement *ret) {
        const Measurement *measurement = &step->measurements[index];

        if (duty == MEASUREMENT_EACH && !location_contains(chip, &measurement->where))
                return judge_wrong(ret, "%.40s: %.60s is of no part of the chip", step->name, measurement->name);
        for (size_t i = 0; i < index; i++) {
                const Measurement *other = &step->measurements[i];

                if (location_equal(&other->where, &measurement->where) && other->series.statistic == measurement->series.statistic &&
                    measurement_is_printable(other) && strcmp(other->name, measurement->name) == 0)
                        return judge_wrong(ret, "%.40s: %.60s is said twice of one part", step->name, measurement->name);
        }
        return true;
}

static bool judge_limits(const RecordStep *step, const Location *chip, Judgement *ret) {
        const char *result = health_step_result(step->verdict);
        size_t n;
        const MeasurementRow *rows = measurement_rows(step->check, &n);
        bool has_limit = false, is_said[MEASUREMENTS_OF_CHECK_MAX] = {};

        assert(n <= ELEMENTS(is_said));
        for (size_t i = 0; i < step->n_measurements; i++) {
                const MeasurementRow *row = row_of(step, &step->measurements[i]);
                const Series *series = &step->measurements[i].series;

                if (!row)
                        continue;
                if (!judge_limit(step, &step->measurements[i], row, ret) ||
                    (row->duty != MEASUREMENT_BEYOND && row->limit_type != LIMIT_NONE && !judge_place(step, i, row->duty, chip, ret)))
                        return false;
                /* The most of no values is no value. */
                if (row >= rows && row < rows + n && (series->statistic == STATISTIC_NONE || series->count > 0)) {
                        is_said[row - rows] = true;
                        has_limit = has_limit || (row->limit_type != LIMIT_NONE && step->measurements[i].limit_type != LIMIT_NONE);
                }
        }
        for (size_t i = 0; i < n; i++)
                if (rows[i].duty == MEASUREMENT_EACH && !is_said[i])
                        return judge_wrong(ret, "%.40s: called %s without a value of %.60s", step->name, result, rows[i].name);
        return n == 0 || has_limit || judge_wrong(ret, "%.40s: called %s without a value that has a limit", step->name, result);
}

/* Of STEP, which passed or warned: its regions do not tell otherwise, and it counted as many as they are. */
static bool judge_counts(const RecordStep *step, const RecordKnownRegions *known, const Location *chip, Judgement *ret) {
        unsigned n = partition_regions(&known->partition), n_occupied = region_set_count(&known->occupied), n_unproven = region_set_count(&known->unproven);
        const struct {
                const char *name;
                unsigned least, most;
        } counts[] = {
                { "hbm_regions",          n,          n                                },
                { "hbm_regions_tested",   1,          region_set_count(&known->tested) },
                { "hbm_regions_occupied", n_occupied, n_occupied                       },
                { "hbm_regions_unproven", n_unproven, n_unproven                       },
        };

        if (region_set_count(&known->altered) > 0 || (step->verdict == VERDICT_PASSED && region_set_count(&known->suspicious) > 0))
                return judge_wrong(ret, "%.40s: called %s although regions are not as they were left", step->name, health_step_result(step->verdict));
        if (known->n_tests == 0)
                return judge_wrong(ret, "%.40s: called %s, and no region was tested", step->name, health_step_result(step->verdict));
        for (size_t i = 0; i < step->n_measurements; i++)
                for (size_t k = 0; k < ELEMENTS(counts); k++) {
                        const Measurement *measurement = &step->measurements[i];

                        if (measurement_is_printable(measurement) && strcmp(measurement->name, counts[k].name) == 0 && location_equal(&measurement->where, chip) &&
                            (measurement->value < counts[k].least || measurement->value > counts[k].most))
                                return judge_wrong(ret, "%.40s: %.60s is not what its regions come to", step->name, measurement->name);
                }
        return true;
}

static bool judge_regions(const RecordStep *step, bool is_clear, const Location *chip, Judgement *ret) {
        RecordKnownRegions known;

        if (!step->regions || regions_known(step->regions, &known) < 0) /* see judge_step() */
                return true;
        if (step->regions->total != partition_regions(&known.partition))
                return judge_wrong(ret, "%.40s: its regions are more or fewer than its memory is cut into", step->name);
        return !is_clear || judge_counts(step, &known, chip, ret);
}

bool judge_values(const RecordStep *step, const Location *chip, Judgement *ret) {
        bool is_clear = step->verdict == VERDICT_PASSED || step->verdict == VERDICT_WARNED;

        return judge_regions(step, is_clear, chip, ret) && (!is_clear || judge_limits(step, chip, ret));
}

bool judge_chip_values(const RecordHealth *chip, Judgement *ret) {
        for (size_t i = 0; i < chip->n_steps; i++)
                if (!judge_values(&chip->steps[i], &chip->subject.where, ret))
                        return false;
        return true;
}

/* ---- a chip ---- */

static bool judge_steps(const RecordHealth *chip, Fold *fold, Judgement *ret) {
        for (size_t i = 0; i < chip->n_steps; i++) {
                const RecordStep *step = &chip->steps[i];

                for (size_t k = 0; k < i; k++)
                        if (strcmp(chip->steps[k].name, step->name) == 0)
                                return judge_wrong(ret, "two steps are called %.60s", step->name);
                if (!judge_step(step, false, ret))
                        return false;
                fold_step(fold, step->verdict, step->required);
        }
        return true;
}

/* The most that a step which ran to its end measured of the chip itself; 0 where none did. */
static double measured(const RecordHealth *chip, const char *name) {
        double most = 0;

        for (size_t i = 0; i < chip->n_steps; i++) {
                const RecordStep *step = &chip->steps[i];

                for (size_t k = 0; verdict_is_judged(step->verdict) && k < step->n_measurements; k++) {
                        const Measurement *measurement = &step->measurements[k];

                        if (measurement->value > most && measurement_is_printable(measurement) && strcmp(measurement->name, name) == 0 &&
                            location_equal(&measurement->where, &chip->subject.where))
                                most = measurement->value;
                }
        }
        return most;
}

static bool judge_promises(const RecordHealth *chip, Fold *fold, Judgement *ret) {
        for (size_t i = 0; i < chip->n_promises; i++) {
                const RecordPromise *promise = &chip->promises[i];

                for (size_t k = 0; k < i; k++)
                        if (strcmp(chip->promises[k].measurement, promise->measurement) == 0)
                                return judge_wrong(ret, "%.60s is promised twice", promise->measurement);
                if (promise->reached > measured(chip, promise->measurement))
                        return judge_wrong(ret, "%.60s is called reached beyond what was measured", promise->measurement);
                fold_coverage(fold, promise->reached, promise->promised);
        }
        return true;
}

static bool judge_kind(const Location *where, bool is_server, Judgement *ret) {
        char path[LOCATION_STRING_MAX];

        if (*where->server && location_kind(where) != (is_server ? LOCATION_SERVER : LOCATION_CHIP))
                return judge_wrong(ret, "%.80s is no %s", location_format(where, path), is_server ? "server" : "chip");
        return true;
}

bool judge_chip(const RecordHealth *chip, Judgement *ret) {
        Fold fold = {};

        if (!judge_kind(&chip->subject.where, false, ret) || !judge_steps(chip, &fold, ret) || !judge_promises(chip, &fold, ret))
                return false;
        if (chip->result != fold_result(&fold))
                return judge_wrong(ret, "the result is called %s, its steps and coverage come to %s", result_to_string(chip->result),
                                   result_to_string(fold_result(&fold)));
        return true;
}

/* ---- a server ---- */

/* What is said of a product may be more than what is known of it, and never less. */
size_t judge_chips_of(const RecordSubject *server, size_t stated) {
        static const struct {
                const char *product;
                size_t chips;
        } servers[] = { { "Trn2", 16 } };

        for (size_t i = 0; i < ELEMENTS(servers); i++)
                if (server->product && strcmp(servers[i].product, server->product) == 0)
                        return stated > servers[i].chips ? stated : servers[i].chips;
        return stated;
}

/*
 * A roll-up does not tell which step a value is of, so its name leads to its row; nor whether that step could judge, so what would fail a step, or is
 * not as its row says, leaves the server open.
 */
static Result judge_own_value(const Measurement *measurement) {
        const MeasurementRow *row = measurement_is_printable(measurement) ? measurement_named(measurement->name) : NULL;
        bool is_limited = row && row->limit_type != LIMIT_NONE;

        if (is_limited && (measurement_wrong(row, measurement_unit(measurement), measurement->limit_type, measurement->limit) ||
                           measurement_impossible(row, measurement->value, measurement->series.statistic)))
                return RESULT_INCONCLUSIVE;
        if (limit_holds(measurement->limit_type, measurement->value, measurement->limit))
                return RESULT_PASSED;
        return is_limited && row->beyond == SEVERITY_FAIL ? RESULT_INCONCLUSIVE : RESULT_WARNED;
}

Result judge_own(const RecordScan *scan) {
        static const Result results[] = { [VERDICT_PASSED] = RESULT_PASSED, [VERDICT_WARNED] = RESULT_WARNED, [VERDICT_FAILED] = RESULT_FAILED };
        Result worst = RESULT_PASSED;

        for (size_t i = 0; i < scan->n_steps; i++) {
                Verdict found = VERDICT_PASSED;

                for (size_t k = 0; k < scan->steps[i].n_measurements; k++)
                        worst = result_worst(worst, judge_own_value(&scan->steps[i].measurements[k]));
                for (size_t k = 0; k < scan->steps[i].n_diagnoses; k++)
                        verdict_raise(&found, severity_of(&scan->steps[i].diagnoses[k]));
                worst = result_worst(worst, results[found]);
        }
        return worst;
}

static bool judge_component(const RecordScan *scan, size_t i, Judgement *ret) {
        const Location *where = &scan->chips[i].subject.where;
        const char *server = *scan->server.where.server ? scan->server.where.server : scan->chips[0].subject.where.server;
        char path[LOCATION_STRING_MAX];

        if (location_kind(where) != LOCATION_CHIP || strcmp(where->server, server) != 0)
                return judge_wrong(ret, "%.60s is no chip of the server", location_format(where, path));
        for (size_t k = 0; k < i; k++)
                if (location_equal(&scan->chips[k].subject.where, where))
                        return judge_wrong(ret, "%.60s or its record is named twice", location_format(where, path));
        return true;
}

/* What lies in no chip lies in the server all the same. */
static bool judge_own_places(const RecordScan *scan, Judgement *ret) {
        const char *server = *scan->server.where.server || scan->n_chips == 0 ? scan->server.where.server : scan->chips[0].subject.where.server;

        for (size_t i = 0; *server && i < scan->n_steps; i++) {
                const RecordStep *step = &scan->steps[i];

                for (size_t k = 0; k < step->n_measurements; k++)
                        if (strcmp(step->measurements[k].where.server, server) != 0)
                                return judge_wrong(ret, "%.60s is of another server", step->measurements[k].name);
                for (size_t k = 0; k < step->n_diagnoses; k++)
                        if (strcmp(step->diagnoses[k].where.server, server) != 0)
                                return judge_wrong(ret, "%.60s is of another server", step->diagnoses[k].code);
        }
        return true;
}

bool judge_server(const RecordScan *scan, Judgement *ret) {
        bool is_part = scan->n_chips == 0 || scan->n_chips < judge_chips_of(&scan->server, scan->n_chips_of_server);
        Result worst = result_worst(is_part ? RESULT_INCONCLUSIVE : RESULT_PASSED, judge_own(scan));

        if (!judge_kind(&scan->server.where, true, ret) || !judge_own_places(scan, ret))
                return false;
        for (size_t i = 0; i < scan->n_steps; i++)
                if (!judge_diagnoses(&scan->steps[i], ret))
                        return false;
        if (scan->n_chips_of_server > 0 && scan->n_chips > scan->n_chips_of_server)
                return judge_wrong(ret, "it tells of %zu chips, and says that the server has %zu", scan->n_chips, scan->n_chips_of_server);
        for (size_t i = 0; i < scan->n_chips; i++) {
                if (!judge_component(scan, i, ret))
                        return false;
                worst = result_worst(worst, scan->chips[i].result);
        }
        if (result_worst(scan->result, worst) != scan->result)
                return judge_wrong(ret, "the result is called %s, its chips and its own evidence come to %s", result_to_string(scan->result),
                                   result_to_string(worst));
        return true;
}
