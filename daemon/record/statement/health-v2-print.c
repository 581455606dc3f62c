/* SPDX-License-Identifier: Apache-2.0 */

/* Health, version 2: see health-v2.h. This half prints. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/statement/health-v2.h"
#include "daemon/record/statement/statement.h"

/* ---- parts ---- */

static const char *path_below(const Location *where, const Location *subject, char text[static LOCATION_STRING_MAX + 1]) {
        char above[LOCATION_STRING_MAX];

        if (location_equal(where, subject))
                return ".";
        if (!location_contains(subject, where)) {
                text[0] = '/';
                (void) location_format(where, text + 1);
                return text;
        }
        (void) location_format(where, text);
        return text + strlen(location_format(subject, above)) + 1;
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

/* The measurements of a step, and which of them have been printed. */
typedef struct Entries {
        Printer *printer;
        const RecordHealth *health;
        const RecordStep *step;
        bool *done;
} Entries;

static const char *relation_of(LimitType type) {
        static const char *const relations[_LIMIT_TYPE_MAX] = {
                [LIMIT_EQUAL] = "==",
                [LIMIT_LESS_THAN_OR_EQUAL] = "<=",
                [LIMIT_GREATER_THAN_OR_EQUAL] = ">=",
        };

        return relations[type];
}

static bool has_usual_unit(const RecordStep *step, const RecordMeasurement *measurement) {
        return strcmp(measurement->unit && *measurement->unit ? measurement->unit : "1", health_v2_unit(step->check, measurement->name)) == 0;
}

static bool is_alike(const RecordMeasurement *a, const RecordMeasurement *b) {
        return strcmp(a->unit && *a->unit ? a->unit : "1", b->unit && *b->unit ? b->unit : "1") == 0 && a->limit_type == b->limit_type && (a->limit_type == LIMIT_NONE || a->limit == b->limit) &&
               a->series.statistic == b->series.statistic && (a->series.statistic == STATISTIC_NONE || a->series.count == b->series.count);
}

static bool is_named(const Entries *entries, size_t i, const RecordMeasurement *like, bool counted) {
        const RecordMeasurement *measurement = &entries->step->measurements[i];

        return !entries->done[i] && measurement_is_printable(measurement) && strcmp(measurement->name, like->name) == 0 &&
               reach_is_count(entries->step, measurement, &entries->health->subject.where) == counted;
}

static const RecordPromise *promise_of(const RecordHealth *health, const RecordMeasurement *measurement) {
        for (size_t i = 0; i < health->n_promises; i++)
                if (strcmp(health->promises[i].measurement, measurement->name) == 0 && location_equal(&measurement->where, &health->subject.where))
                        return &health->promises[i];
        return NULL;
}

/* Those of MEMBERS, N of them: one number where all are the same. */
static void print_values(const Entries *entries, const size_t *members, size_t n) {
        const RecordMeasurement *all = entries->step->measurements;
        bool same = true;

        for (size_t i = 1; i < n; i++)
                same = same && all[members[i]].value == all[members[0]].value;
        if (!same)
                printer_open(entries->printer, '[');
        for (size_t i = 0; i < (same ? 1 : n); i++)
                printer_number(entries->printer, all[members[i]].value);
        if (!same)
                printer_close(entries->printer, ']');
}

static void print_parts(const Entries *entries, const size_t *members, size_t n) {
        const RecordMeasurement *first = &entries->step->measurements[members[0]];
        const Location *subject = &entries->health->subject.where;
        PartList list = { .printer = entries->printer };
        char path[LOCATION_STRING_MAX + 1];
        bool elsewhere = n > 1 || !location_equal(&first->where, subject);

        if (first->series.statistic == STATISTIC_NONE && !elsewhere)
                return;
        printer_open(entries->printer, '{');
        if (first->series.statistic != STATISTIC_NONE)
                printer_member_unsigned(entries->printer, statistic_to_string(first->series.statistic), first->series.count);
        if (elsewhere) {
                printer_key(entries->printer, "at");
                printer_open(entries->printer, '[');
                for (size_t i = 0; i < n; i++)
                        part_list_add(&list, path_below(&entries->step->measurements[members[i]].where, subject, path));
                part_list_flush(&list);
                printer_close(entries->printer, ']');
        }
        printer_close(entries->printer, '}');
}

static void print_entry(const Entries *entries, const size_t *members, size_t n) {
        const RecordMeasurement *first = &entries->step->measurements[members[0]];
        const RecordPromise *promise = promise_of(entries->health, first);
        bool is_bare = n == 1 && first->limit_type == LIMIT_NONE && first->series.statistic == STATISTIC_NONE && has_usual_unit(entries->step, first) && !promise &&
                       location_equal(&first->where, &entries->health->subject.where);

        if (is_bare) {
                printer_number(entries->printer, first->value);
                return;
        }
        printer_open(entries->printer, '[');
        print_values(entries, members, n);
        if (!has_usual_unit(entries->step, first))
                printer_string(entries->printer, first->unit && *first->unit ? first->unit : "1");
        if (first->limit_type != LIMIT_NONE) {
                printer_string(entries->printer, relation_of(first->limit_type));
                printer_number(entries->printer, first->limit);
        }
        if (promise) {
                printer_string(entries->printer, "of");
                printer_number(entries->printer, promise->promised);
        }
        print_parts(entries, members, n);
        printer_close(entries->printer, ']');
}

/* Measurements from FIRST on that are alike and have not been printed; these are, then. At the subject itself there is one of a kind, so that a promise is its. */
static size_t take_alike(const Entries *entries, size_t first, bool counted, size_t *members) {
        const RecordMeasurement *all = entries->step->measurements;
        size_t n = 0;

        for (size_t i = first; i < entries->step->n_measurements; i++) {
                bool apart = promise_of(entries->health, &all[i]) != NULL;

                if (!is_named(entries, i, &all[first], counted) || !is_alike(&all[i], &all[first]) || (n > 0 && (apart || promise_of(entries->health, &all[first]))))
                        continue;
                members[n++] = i;
        }
        for (size_t i = 0; i < n; i++)
                entries->done[members[i]] = true;
        return n;
}

/* Without its check's word, see health-v2.h. */
static void print_name(const Entries *entries, const char *name) {
        char text[256];
        size_t n = 0;

        for (const char *check = entries->step->check; check[n] && n < sizeof(text); n++)
                if (name[n] != (check[n] == '-' ? '_' : check[n]))
                        break;
        if (entries->step->check[n] == '\0' && name[n] == '_' && name[n + 1] != '\0' && name[n + 1] != '/') {
                printer_key(entries->printer, name + n + 1);
                return;
        }
        (void) snprintf(text, sizeof(text), "/%s", name);
        printer_key(entries->printer, text);
}

/* All of the name of measurement FIRST. */
static void print_named(const Entries *entries, size_t first, bool counted, size_t *members) {
        size_t n = take_alike(entries, first, counted, members), next = first;
        bool several = false;

        for (size_t i = first; i < entries->step->n_measurements; i++)
                several = several || is_named(entries, i, &entries->step->measurements[first], counted);
        print_name(entries, entries->step->measurements[first].name);
        if (!several) {
                print_entry(entries, members, n);
                return;
        }
        printer_open(entries->printer, '{');
        printer_key(entries->printer, "each");
        printer_open(entries->printer, '[');
        print_entry(entries, members, n);
        for (; next < entries->step->n_measurements; next++)
                if (is_named(entries, next, &entries->step->measurements[first], counted)) {
                        n = take_alike(entries, next, counted, members);
                        print_entry(entries, members, n);
                }
        printer_close(entries->printer, ']');
        printer_close(entries->printer, '}');
}

/* KEY: the counted ones, or all others. */
static void print_entries(const Entries *entries, const char *key, bool counted, size_t *members) {
        bool any = false;

        for (size_t i = 0; i < entries->step->n_measurements; i++) {
                if (!is_named(entries, i, &entries->step->measurements[i], counted))
                        continue;
                if (!any) {
                        printer_key(entries->printer, key);
                        printer_open(entries->printer, '{');
                        any = true;
                }
                print_named(entries, i, counted, members);
        }
        if (any)
                printer_close(entries->printer, '}');
}

static void print_all_entries(Printer *printer, const RecordHealth *health, const RecordStep *step) {
        _cleanup_free_ bool *done = calloc(step->n_measurements + 1, sizeof(*done));
        _cleanup_free_ size_t *members = calloc(step->n_measurements + 1, sizeof(*members));
        Entries entries = { printer, health, step, done };

        if (!done || !members) {
                printer->error = -ENOMEM;
                return;
        }
        print_entries(&entries, "counted", true, members);
        print_entries(&entries, "measured", false, members);
}

/* ---- steps ---- */

static void print_open_promises(Printer *printer, const RecordHealth *health, const RecordStep *step) {
        bool any = false;

        for (size_t i = 0; i < health->n_promises && !verdict_is_judged(step->verdict); i++) {
                const char *const *counted = step->counts;

                while (counted && *counted && strcmp(*counted, health->promises[i].measurement) != 0)
                        counted++;
                if (!counted || !*counted || health->promises[i].reached >= health->promises[i].promised)
                        continue;
                if (!any) {
                        printer_key(printer, "open");
                        printer_open(printer, '[');
                        any = true;
                }
                printer_string(printer, health->promises[i].measurement);
        }
        if (any)
                printer_close(printer, ']');
}

/* A clock that was set in between tells no span. */
static void print_span(Printer *printer, const RecordRun *run, const RecordStep *step) {
        if (step->began_usec == 0 || step->began_usec < run->started_usec || step->ended_usec < step->began_usec || step->ended_usec > run->finished_usec)
                return;
        printer_key(printer, "ms");
        printer_open(printer, '[');
        printer_unsigned(printer, (step->began_usec - run->started_usec) / 1000);
        printer_unsigned(printer, (step->ended_usec - run->started_usec) / 1000);
        printer_close(printer, ']');
}

static void print_step(Printer *printer, const RecordRun *run, const RecordHealth *health, const RecordStep *step) {
        printer_key(printer, step->name);
        printer_open(printer, '{');
        if (strcmp(step->check, step->name) != 0)
                printer_member_always(printer, "check", step->check);
        printer_member(printer, "result", health_step_result(step->verdict));
        if (!verdict_is_judged(step->verdict))
                printer_member(printer, "status", health_step_status(step->verdict));
        if (!step->required) {
                printer_key(printer, "required");
                printer_bool(printer, false);
        }
        print_span(printer, run, step);
        printer_member(printer, "reason", reason_to_string(step->reason));
        printer_member(printer, "message", step->message);
        print_open_promises(printer, health, step);
        if (step->regions)
                print_regions(printer, step->regions);
        print_all_entries(printer, health, step);
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
                        const RecordMeasurement *measurement = &health->steps[i].measurements[k];

                        if (!measurement_is_printable(measurement) || promise_of(health, measurement) != promise)
                                continue;
                        *ret_told = true;
                        if (verdict_is_judged(health->steps[i].verdict) && measurement->value > reached)
                                reached = measurement->value;
                }
        return reached;
}

static void print_coverage(Printer *printer, const RecordHealth *health) {
        bool any = false;

        for (size_t i = 0; i < health->n_promises; i++) {
                const RecordPromise *promise = &health->promises[i];
                bool told;

                if (reached_of(health, promise, &told) == promise->reached && told)
                        continue;
                if (!any) {
                        printer_key(printer, "coverage");
                        printer_open(printer, '{');
                        any = true;
                }
                printer_key(printer, promise->measurement);
                printer_open(printer, '[');
                printer_number(printer, promise->reached);
                printer_number(printer, promise->promised);
                printer_close(printer, ']');
        }
        if (any)
                printer_close(printer, '}');
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
        printer_key(printer, "steps");
        printer_open(printer, '{');
        for (size_t i = 0; i < health->n_steps; i++)
                print_step(printer, run, health, &health->steps[i]);
        printer_close(printer, '}');
        print_coverage(printer, health);
}
