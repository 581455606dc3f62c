/* SPDX-License-Identifier: Apache-2.0 */

/* Health, version 2: see health-v2.h. This half prints. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/statement/health-v2.h"
#include "daemon/record/statement/statement.h"

/* ---- parts ---- */

static const char *path_below(const Location *where, const Location *subject, char text[static LOCATION_STRING_MAX + 1]) {
        const char *below;

        text[0] = '/';
        below = place_below(where, subject, text + 1);
        if (below == text + 1)
                return text;
        return *below ? below : ".";
}

/* How many bytes of TEXT stand before the digits at its end, and what these say; the whole length where there are none or too many. */
static size_t stem_of(const char *text, unsigned *ret_number) {
        size_t n = strlen(text), stem = n;

        while (stem > 0 && text[stem - 1] >= '0' && text[stem - 1] <= '9')
                stem--;
        if (stem == n || n - stem > 6 || (text[stem] == '0' && n - stem > 1) || stem == 0 || text[stem - 1] == '-')
                return n;
        *ret_number = (unsigned) strtoul(text + stem, NULL, 10);
        return stem;
}

/* "hbm0-3" in place of four that stand behind one another. */
typedef struct PartList {
        Printer *printer;
        char first[LOCATION_STRING_MAX + 1]; /* "": none waits */
        size_t stem;
        unsigned from, to;
} PartList;

static void part_list_flush(PartList *list) {
        char text[sizeof(list->first) + 16];

        if (list->first[0] == '\0')
                return;
        if (list->to > list->from)
                (void) snprintf(text, sizeof(text), "%s-%u", list->first, list->to);
        else
                (void) snprintf(text, sizeof(text), "%s", list->first);
        printer_string(list->printer, text);
        list->first[0] = '\0';
}

static void part_list_add(PartList *list, const char *path) {
        unsigned number = 0;
        size_t stem = stem_of(path, &number);
        bool counted = path[0] != '/' && path[stem] != '\0';

        if (list->first[0] && counted && list->stem == stem && strncmp(list->first, path, stem) == 0 && number == list->to + 1) {
                list->to = number;
                return;
        }
        part_list_flush(list);
        (void) snprintf(list->first, sizeof(list->first), "%s", path);
        list->stem = counted ? stem : SIZE_MAX;
        list->from = list->to = number;
}

/* ---- entries ---- */

/* A measurement of a step, and what decides where it stands. */
typedef struct Value {
        const Measurement *measurement;
        const RecordPromise *promise; /* NULL: it keeps none */
        bool is_count, is_printed;
} Value;

typedef struct Values {
        Printer *printer;
        const RecordStep *step;
        const Location *subject;
        size_t n;
        Value *values;
        const Measurement **alike; /* room for as many */
} Values;

static const char *relation_of(LimitType type) {
        static const char *const relations[_LIMIT_TYPE_MAX] = {
                [LIMIT_EQUAL] = "==",
                [LIMIT_LESS_THAN_OR_EQUAL] = "<=",
                [LIMIT_GREATER_THAN_OR_EQUAL] = ">=",
        };

        return relations[type];
}

static bool has_usual_unit(const Values *values, const Measurement *measurement) {
        return strcmp(measurement_unit(measurement), health_v2_unit(values->step->check, measurement->name)) == 0;
}

static bool have_one_name(const Value *a, const Value *b) {
        return a->is_count == b->is_count && strcmp(a->measurement->name, b->measurement->name) == 0;
}

/* At the subject itself there is one of a kind, so that a promise is its. */
static bool are_alike(const Value *one, const Value *other) {
        const Measurement *a = one->measurement, *b = other->measurement;

        return !one->promise && !other->promise && strcmp(measurement_unit(a), measurement_unit(b)) == 0 && a->limit_type == b->limit_type &&
               (a->limit_type == LIMIT_NONE || a->limit == b->limit) && a->series.statistic == b->series.statistic &&
               (a->series.statistic == STATISTIC_NONE || a->series.count == b->series.count);
}

static const RecordPromise *promise_of(const RecordHealth *health, const Measurement *measurement) {
        for (size_t i = 0; i < health->n_promises; i++)
                if (strcmp(health->promises[i].measurement, measurement->name) == 0 && location_equal(&measurement->where, &health->subject.where))
                        return &health->promises[i];
        return NULL;
}

/* One number where all N that are alike are the same. */
static void print_numbers(const Values *values, size_t n) {
        bool same = true;

        for (size_t i = 1; i < n; i++)
                same = same && values->alike[i]->value == values->alike[0]->value;
        if (!same)
                printer_open(values->printer, '[');
        for (size_t i = 0; i < (same ? 1 : n); i++)
                printer_number(values->printer, values->alike[i]->value);
        if (!same)
                printer_close(values->printer, ']');
}

static void print_parts(const Values *values, size_t n) {
        const Measurement *first = values->alike[0];
        PartList list = { .printer = values->printer };
        char path[LOCATION_STRING_MAX + 1];
        bool elsewhere = n > 1 || !location_equal(&first->where, values->subject);

        if (first->series.statistic == STATISTIC_NONE && !elsewhere)
                return;
        printer_open(values->printer, '{');
        if (first->series.statistic != STATISTIC_NONE)
                printer_member_unsigned(values->printer, statistic_to_string(first->series.statistic), first->series.count);
        if (elsewhere) {
                printer_member_open(values->printer, "at", '[');
                for (size_t i = 0; i < n; i++)
                        part_list_add(&list, path_below(&values->alike[i]->where, values->subject, path));
                part_list_flush(&list);
                printer_close(values->printer, ']');
        }
        printer_close(values->printer, '}');
}

static void print_list(const Values *values, const RecordPromise *promise, size_t n) {
        const Measurement *first = values->alike[0];
        Printer *printer = values->printer;

        printer_open(printer, '[');
        print_numbers(values, n);
        if (!has_usual_unit(values, first))
                printer_string(printer, measurement_unit(first));
        if (first->limit_type != LIMIT_NONE) {
                printer_string(printer, relation_of(first->limit_type));
                printer_number(printer, first->limit);
        }
        if (promise) {
                printer_string(printer, "of");
                printer_number(printer, promise->promised);
        }
        print_parts(values, n);
        printer_close(printer, ']');
}

/* FIRST and those behind it that are alike and have its name. */
static void print_entry(const Values *values, Value *first) {
        const Measurement *measurement = first->measurement;
        size_t n = 0;

        for (Value *value = first; value < values->values + values->n; value++)
                if (value == first || (have_one_name(value, first) && are_alike(value, first))) {
                        values->alike[n++] = value->measurement;
                        value->is_printed = true;
                }
        if (n == 1 && measurement->limit_type == LIMIT_NONE && measurement->series.statistic == STATISTIC_NONE && !first->promise &&
            location_equal(&measurement->where, values->subject) && has_usual_unit(values, measurement))
                printer_number(values->printer, measurement->value);
        else
                print_list(values, first->promise, n);
}

/* Without its check's word, see health-v2.h. */
static void print_name(const Values *values, const char *name) {
        char text[256];
        size_t n = 0;

        for (const char *check = values->step->check; check[n] && n < sizeof(text); n++)
                if (name[n] != (check[n] == '-' ? '_' : check[n]))
                        break;
        if (values->step->check[n] == '\0' && name[n] == '_' && name[n + 1] != '\0' && name[n + 1] != '/') {
                printer_key(values->printer, name + n + 1);
                return;
        }
        n = strnlen(name, sizeof(text) - 2);
        text[0] = '/';
        memcpy(text + 1, name, n);
        printer_key_of(values->printer, text, n + 1);
}

/* All that have the name of FIRST, none of which is printed yet. */
static void print_named(const Values *values, Value *first) {
        Value *end = values->values + values->n;
        bool several = false;

        for (const Value *value = first + 1; value < end; value++)
                several = several || (have_one_name(value, first) && !are_alike(value, first));
        print_name(values, first->measurement->name);
        if (several) {
                printer_open(values->printer, '{');
                printer_member_open(values->printer, "each", '[');
        }
        for (Value *value = first; value < end; value++)
                if (!value->is_printed && have_one_name(value, first))
                        print_entry(values, value);
        if (several)
                printer_text(values->printer, "]}");
}

/* KEY: the counted ones, or all others. */
static void print_values(const Values *values, const char *key, bool is_count) {
        size_t began = printer_member_open(values->printer, key, '{');

        for (size_t i = 0; i < values->n; i++)
                if (!values->values[i].is_printed && values->values[i].is_count == is_count)
                        print_named(values, &values->values[i]);
        printer_close_unless_empty(values->printer, began, '}');
}

static void print_measured(Printer *printer, const RecordHealth *health, const RecordStep *step) {
        _cleanup_free_ Value *all = calloc(step->n_measurements + 1, sizeof(*all));
        _cleanup_free_ const Measurement **alike = calloc(step->n_measurements + 1, sizeof(*alike));
        Values values = { printer, step, &health->subject.where, 0, all, alike };

        if (!all || !alike) {
                printer->error = -ENOMEM;
                return;
        }
        for (size_t i = 0; i < step->n_measurements; i++) {
                const Measurement *measurement = &step->measurements[i];

                if (measurement_is_printable(measurement))
                        all[values.n++] = (Value) { measurement, promise_of(health, measurement), reach_is_count(step, measurement, values.subject), false };
        }
        print_values(&values, "counted", true);
        print_values(&values, "measured", false);
}

/* ---- steps ---- */

static void print_open_promises(Printer *printer, const RecordHealth *health, const RecordStep *step) {
        size_t began = printer_member_open(printer, "open", '[');

        for (size_t i = 0; i < health->n_promises && !verdict_is_judged(step->verdict); i++)
                if (step_counts(step, health->promises[i].measurement) && promise_is_open(&health->promises[i]))
                        printer_string(printer, health->promises[i].measurement);
        printer_close_unless_empty(printer, began, ']');
}

/* A clock that was set in between tells no span. */
static void print_span(Printer *printer, const RecordRun *run, const RecordStep *step) {
        if (step->began_usec == 0 || step->began_usec < run->started_usec || step->ended_usec < step->began_usec || step->ended_usec > run->finished_usec)
                return;
        printer_member_open(printer, "ms", '[');
        printer_unsigned(printer, (step->began_usec - run->started_usec) / 1000);
        printer_unsigned(printer, (step->ended_usec - run->started_usec) / 1000);
        printer_close(printer, ']');
}

static void print_step(Printer *printer, const RecordRun *run, const RecordHealth *health, const RecordStep *step) {
        printer_member_open(printer, step->name, '{');
        if (strcmp(step->check, step->name) != 0)
                printer_member_always(printer, "check", step->check);
        printer_member(printer, "result", health_step_result(step->verdict));
        if (!verdict_is_judged(step->verdict))
                printer_member(printer, "status", health_step_status(step->verdict));
        if (!step->required) {
                printer_member_bool(printer, "required", false);
        }
        print_span(printer, run, step);
        printer_member(printer, "reason", reason_to_string(step->reason));
        printer_member(printer, "message", step->message);
        print_open_promises(printer, health, step);
        if (step->regions)
                print_regions(printer, step->regions);
        print_measured(printer, health, step);
        print_errors(printer, step);
        print_diagnoses(printer, step, 1, false);
        printer_close(printer, '}');
}

/* ---- coverage ---- */

/* How much of PROMISE the steps say was reached, and whether one of them says what was promised. */
static double reached_of(const RecordHealth *health, const RecordPromise *promise, bool *ret_told) {
        double reached = 0;

        *ret_told = false;
        for (size_t i = 0; i < health->n_steps; i++)
                for (size_t k = 0; k < health->steps[i].n_measurements; k++) {
                        const Measurement *measurement = &health->steps[i].measurements[k];

                        if (!measurement_is_printable(measurement) || promise_of(health, measurement) != promise)
                                continue;
                        *ret_told = true;
                        if (verdict_is_judged(health->steps[i].verdict) && measurement->value > reached)
                                reached = measurement->value;
                }
        return reached;
}

static void print_coverage(Printer *printer, const RecordHealth *health) {
        size_t began = printer_member_open(printer, "coverage", '{');

        for (size_t i = 0; i < health->n_promises; i++) {
                const RecordPromise *promise = &health->promises[i];
                bool told;

                if (reached_of(health, promise, &told) == promise->reached && told)
                        continue;
                printer_member_open(printer, promise->measurement, '[');
                printer_number(printer, promise->reached);
                printer_number(printer, promise->promised);
                printer_close(printer, ']');
        }
        printer_close_unless_empty(printer, began, '}');
}

static void print_earlier(Printer *printer, const char *key, const RecordEarlier *earlier) {
        if (earlier->is_told)
                printer_member_unsigned(printer, key, earlier->index);
}

void health_v2_print(Printer *printer, const RecordRun *run, const RecordHealth *health) {
        print_earlier(printer, "earlier", &health->earlier);
        print_earlier(printer, "standing", &health->standing);
        if (strcmp(health_status(health), "COMPLETE") != 0)
                printer_member(printer, "status", health_status(health));
        printer_member(printer, "result", result_to_string(health->result));
        printer_member_open(printer, "steps", '{');
        for (size_t i = 0; i < health->n_steps; i++)
                print_step(printer, run, health, &health->steps[i]);
        printer_close(printer, '}');
        print_coverage(printer, health);
}
