/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/statement.h"

/* What a verdict is in the words of a record: in-toto's result beside OCP's status. */
static const struct {
        const char *status, *result;
} step_words[_VERDICT_MAX] = {
        [VERDICT_PASSED]  = { "COMPLETE", "PASSED"       },
        [VERDICT_WARNED]  = { "COMPLETE", "WARNED"       },
        [VERDICT_FAILED]  = { "COMPLETE", "FAILED"       },
        [VERDICT_SKIPPED] = { "SKIP",     "INCONCLUSIVE" },
        [VERDICT_ERROR]   = { "ERROR",    "INCONCLUSIVE" },
};

const char *health_step_status(Verdict verdict) {
        return verdict >= 0 && verdict < _VERDICT_MAX ? step_words[verdict].status : "";
}

const char *health_step_result(Verdict verdict) {
        return verdict >= 0 && verdict < _VERDICT_MAX ? step_words[verdict].result : "";
}

/* The component types of OCP Test & Validation. Cells, rows and the pieces of engines are functions. */
static const char *component_type(LocationKind kind) {
        static const char *const types[_LOCATION_KIND_MAX] = {
                [LOCATION_SERVER] = "UNSPECIFIED", [LOCATION_CHIP] = "ASIC",          [LOCATION_NIC] = "CONNECTOR",
                [LOCATION_HBM] = "ASIC-SUBSYSTEM", [LOCATION_CHANNEL] = "ASIC-SUBSYSTEM", [LOCATION_PSEUDO_CHANNEL] = "ASIC-SUBSYSTEM",
                [LOCATION_DIE] = "ASIC-SUBSYSTEM", [LOCATION_SID] = "ASIC-SUBSYSTEM", [LOCATION_BANK_GROUP] = "ASIC-SUBSYSTEM",
                [LOCATION_BANK] = "ASIC-SUBSYSTEM", [LOCATION_CORE] = "ASIC-SUBSYSTEM",
                [LOCATION_DQ] = "BUS",             [LOCATION_LINK] = "BUS",           [LOCATION_LANE] = "BUS", [LOCATION_PATH] = "BUS",
        };

        return kind >= 0 && kind < _LOCATION_KIND_MAX ? types[kind] ?: "FUNCTION" : "UNSPECIFIED";
}

const char *place_below(const Location *where, const Location *subject, char text[static LOCATION_STRING_MAX]) {
        char above[LOCATION_STRING_MAX];
        size_t n = strlen(location_format(subject, above));

        (void) location_format(where, text);
        if (!location_contains(subject, where))
                return text;
        return text + n + (text[n] == '/');
}

void print_where(Printer *printer, const Location *where) {
        char path[LOCATION_STRING_MAX];
        const char *slash;

        (void) location_format(where, path);
        slash = strrchr(path, '/');
        printer_member_open(printer, "component", '{');
        printer_member(printer, "name", slash ? slash + 1 : path);
        printer_member(printer, "type", component_type(location_kind(where)));
        printer_member(printer, "location", path);
        printer_close(printer, '}');
}

/* A value that is no number is an error of the step (below) and cannot stand here. */
static void print_measurement(Printer *printer, const RecordStep *step, const Measurement *measurement, const Location *unit) {
        double limit = measurement->limit;

        printer_open(printer, '{');
        printer_member(printer, "name", measurement->name);
        printer_member_number(printer, "value", measurement->value);
        printer_member_always(printer, "unit", measurement_unit(measurement));
        if (measurement->limit_type != LIMIT_NONE) {
                printer_member_open(printer, "limits", '[');
                printer_open(printer, '{');
                printer_member(printer, "type", limit_type_to_string(measurement->limit_type));
                printer_member_number(printer, "value", limit);
                printer_close(printer, '}');
                printer_close(printer, ']');
                printer_member(printer, "result",
                               limit_holds(measurement->limit_type, measurement->value, limit) ? "PASSED"
                                                                                               : "FAILED");
        }
        if (measurement->series.statistic != STATISTIC_NONE) {
                printer_member(printer, "statistic", statistic_to_string(measurement->series.statistic));
                printer_member_unsigned(printer, "count", measurement->series.count);
        }
        if (reach_is_count(step, measurement, unit)) {
                printer_member_bool(printer, "isCoverage", true);
        }
        /* Most are of the subject itself, which need not be said again. */
        if (!location_equal(&measurement->where, unit))
                print_where(printer, &measurement->where);
        printer_close(printer, '}');
}

bool measurement_is_printable(const Measurement *measurement) {
        return isfinite(measurement->value) &&
               (measurement->limit_type == LIMIT_NONE || isfinite(measurement->limit));
}

const char *measurement_unit(const Measurement *measurement) {
        return measurement->unit && *measurement->unit ? measurement->unit : "1";
}

void print_measurements(Printer *printer, const RecordStep *steps, size_t n, const Location *unit) {
        size_t n_measurements = 0;

        for (size_t k = 0; k < n; k++)
                n_measurements += steps[k].n_measurements;
        if (n_measurements == 0)
                return;

        printer_member_open(printer, "measurements", '[');
        for (size_t k = 0; k < n; k++)
                for (size_t i = 0; i < steps[k].n_measurements; i++)
                        if (measurement_is_printable(&steps[k].measurements[i]))
                                print_measurement(printer, &steps[k], &steps[k].measurements[i], unit);
        printer_close(printer, ']');
}

static void print_error(Printer *printer, const char *symptom, const char *message) {
        printer_open(printer, '{');
        printer_member(printer, "symptom", symptom);
        printer_member(printer, "message", message);
        printer_close(printer, '}');
}

/* What kept the step from judging, and values that are none. */
void print_errors(Printer *printer, const RecordStep *step) {
        size_t began = printer_member_open(printer, "errors", '[');

        if (step->verdict == VERDICT_ERROR)
                print_error(printer, reason_to_string(step->reason), step->message);
        for (size_t i = 0; i < step->n_measurements; i++)
                if (!measurement_is_printable(&step->measurements[i]))
                        print_error(printer, ERROR_NOT_A_NUMBER, step->measurements[i].name);
        printer_close_unless_empty(printer, began, ']');
}

/* STEP: its name, NULL where the diagnosis stands in it. */
static void print_diagnosis(Printer *printer, const RecordDiagnosis *diagnosis, const char *step) {
        printer_open(printer, '{');
        printer_member(printer, "step", step);
        printer_member(printer, "verdict", diagnosis->code);
        printer_member(printer, "type", severity_to_ocp(diagnosis->severity));
        print_where(printer, &diagnosis->where);
        printer_member(printer, "message", diagnosis->message);
        printer_member_unsigned(printer, "reproduced", diagnosis->reproduced);
        printer_member_unsigned(printer, "runs", diagnosis->runs);
        printer_member_open(printer, "annotations", '{');
        printer_member(printer, "action", diagnosis->action);
        printer_member(printer, "address", diagnosis->address);
        printer_member(printer, "expected", diagnosis->expected);
        printer_member(printer, "actual", diagnosis->actual);
        printer_member(printer, "farEnd", diagnosis->far_end);
        printer_member(printer, "replaceable", diagnosis->replaceable);
        if (isfinite(diagnosis->count) && diagnosis->count >= 0)
                printer_member_number(printer, "count", diagnosis->count);
        if (isfinite(diagnosis->confidence) && diagnosis->confidence >= 0)
                printer_member_number(printer, "confidence", diagnosis->confidence);
        printer_close(printer, '}');
        printer_close(printer, '}');
}

void print_diagnoses(Printer *printer, const RecordStep *steps, size_t n, bool named) {
        size_t began = printer_member_open(printer, "diagnoses", '[');

        for (size_t k = 0; k < n; k++)
                for (size_t i = 0; i < steps[k].n_diagnoses; i++)
                        print_diagnosis(printer, &steps[k].diagnoses[i], named ? steps[k].name : NULL);
        printer_close_unless_empty(printer, began, ']');
}

void print_regions(Printer *printer, const RecordRegions *regions) {
        printer_member_open(printer, "regions", '{');
        printer_member(printer, "partition", regions->partition);
        printer_member_unsigned(printer, "total", regions->total);
        printer_member_unsigned(printer, "position", regions->position);
        timestamp_print(printer, "since", regions->since_usec);
        printer_member_always(printer, "occupied", regions->occupied);
        printer_member(printer, "unproven", regions->unproven);
        printer_member(printer, "because", regions->because);
        printer_member(printer, "altered", regions->altered);
        printer_member(printer, "suspicious", regions->suspicious);
        printer_member(printer, "joined", regions->joined);
        printer_member(printer, "together", regions->together);
        printer_member_always(printer, "failed", regions->failed);
        printer_member_open(printer, "tested", '[');
        for (size_t i = 0; i < regions->n_tests; i++) {
                printer_open(printer, '{');
                timestamp_print(printer, "on", regions->tests[i].usec);
                printer_member(printer, "run", regions->tests[i].run);
                printer_member(printer, "regions", regions->tests[i].regions);
                printer_close(printer, '}');
        }
        printer_close(printer, ']');
        printer_close(printer, '}');
}

const RecordStep *health_find_step(const RecordHealth *health, const char *name) {
        for (size_t i = 0; i < health->n_steps; i++)
                if (strcmp(health->steps[i].name, name) == 0)
                        return &health->steps[i];
        return NULL;
}

const char *health_status(const RecordHealth *health) {
        const char *status = health->n_steps > 0 ? "COMPLETE" : "ERROR";

        if (health->result != RESULT_INCONCLUSIVE)
                return "COMPLETE";
        for (size_t i = 0; i < health->n_steps; i++) {
                const RecordStep *step = &health->steps[i];

                if (!step->required)
                        continue;
                if (step->verdict == VERDICT_ERROR)
                        return "ERROR";
                if (step->verdict == VERDICT_SKIPPED)
                        status = "SKIP";
        }
        return status;
}
