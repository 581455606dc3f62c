/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/location.h"
#include "checks/topology.h"
#include "cli/amount.h"
#include "daemon/record/record.h"

View *view_free(View *view) {
        if (!view)
                return NULL;

        json_decref(view->statement);
        for (size_t i = 0; i < view->n_untested; i++)
                free(view->untested[i].reason);
        free(view->findings);
        free(view->untested);
        free(view);
        return NULL;
}

static const char *text(json_t *object, const char *key) {
        return json_string_value(json_object_get(object, key)) ?: "";
}

#define SHARED "suspect-station" /* the code by which a worker sums up what it found at each chip */

static int add_finding(View *view, const char *step, json_t *diagnosis) {
        json_t *component = json_object_get(diagnosis, "component"), *notes = json_object_get(diagnosis, "annotations");
        ViewFinding *more;

        /* PASS diagnoses are what was found to be in order: nothing to do about them. */
        if (strcmp(text(diagnosis, "type"), "PASS") == 0)
                return 0;

        more = reallocarray(view->findings, view->n_findings + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        view->findings = more;
        view->findings[view->n_findings++] = (ViewFinding) {
                .step        = step ?: text(diagnosis, "step"),
                .code        = text(diagnosis, "verdict"),
                .where       = json_string_value(json_object_get(component, "location")) ?: view->where,
                .message     = text(diagnosis, "message"),
                .replaceable = json_string_value(json_object_get(notes, "replaceable")),
                .action      = action_from_string(json_string_value(json_object_get(notes, "action"))),
                .shared      = strcmp(text(diagnosis, "verdict"), SHARED) == 0 ? json_string_value(json_object_get(notes, "actual")) : NULL,
        };
        return 0;
}

static int add_untested(View *view, const char *name, Reason why, const char *format, ...) __attribute__((format(printf, 4, 5)));

static int add_untested(View *view, const char *name, Reason why, const char *format, ...) {
        ViewUntested *more;
        va_list arguments;
        char *reason;
        int r;

        more = reallocarray(view->untested, view->n_untested + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        view->untested = more;

        va_start(arguments, format);
        r = vasprintf(&reason, format, arguments);
        va_end(arguments);
        if (r < 0)
                return -ENOMEM;

        view->untested[view->n_untested++] = (ViewUntested) { .name = name, .reason = reason, .why = why };
        return 0;
}

/* WORDS stand behind how many of UNIT they are said of; "{chip}": of the chip itself, without a number. NULL: any. */
typedef struct LeftOut {
        const char *why, *unit, *words;
        Reason reason; /* that the part has for it, of which WORDS say more; none: it can pass without */
} LeftOut;

static const LeftOut left_out[] = {
        { "out_of_scan", "{port}", "whose far end is not scanned together with this end, is in service or does not answer" },
        { "out_of_scan", "{chip}", "a chip of the rings is not scanned, is in service or does not answer" },
        { "out_of_scan", NULL, "not scanned, in service or without an answer" },
        { "other_end", NULL, "with a cable whose other end is not known to be in the scan" },
        { "undecided", NULL, "that the plan had no time for" },
        { "silent", NULL, "that stopped answering" },
        { "refused", NULL, "that refused" },
        { "flooded", NULL, "that got too much of what nobody asked for", REASON_AMBIGUOUS },
        { "either_end", NULL, "that may be as sound as the one that they talked to", REASON_AMBIGUOUS },
        { "cables", NULL, "in rings in which cables end at wrong ports" },
        { "stopped", NULL, "in rings that did not come to their end" },
        { "together", NULL, "in no collective with all others of the UltraServer" },
        { "large", NULL, "behind a link that is too slow for vectors of the planned length" },
        { "partners", "{adapter}", "of the server that were not asked for" },
        { "partners", NULL, "without a sound neighbour to add with", REASON_AMBIGUOUS },
};

/* A check names what it left out within its step by measurements that are called CHECK_untested_WHY, each at its place. */
static const char *why_left_out(json_t *measurement) {
        static const char infix[] = "_untested_";
        const char *found = strstr(text(measurement, "name"), infix);

        return found && json_number_value(json_object_get(measurement, "value")) > 0 ? found + strlen(infix) : "";
}

static const char *place_of(json_t *measurement) {
        return text(json_object_get(measurement, "component"), "location");
}

static const LeftOut *left_out_find(const char *why, const char *unit) {
        for (size_t i = 0; i < ELEMENTS(left_out); i++)
                if (strcmp(left_out[i].why, why) == 0 && (!left_out[i].unit || strcmp(left_out[i].unit, unit) == 0))
                        return &left_out[i];
        return NULL;
}

/* Whether a measurement before INDEX leaves out the same kind of thing for the same reason; at WHERE, or where NULL at any place. */
static bool is_told_before(json_t *measurements, size_t index, const char *where) {
        json_t *measurement = json_array_get(measurements, index), *before;
        size_t i;

        json_array_foreach(measurements, i, before)
                if (i < index && strcmp(why_left_out(before), why_left_out(measurement)) == 0 &&
                    strcmp(text(before, "unit"), text(measurement, "unit")) == 0 && (!where || strcmp(place_of(before), where) == 0))
                        return true;
        return false;
}

/* Of what steps on several servers tell of one place, that place counts once. */
static int add_left_out(View *view, json_t *step, json_t *first, const LeftOut *kind) {
        Reason why = kind->reason != REASON_NONE ? kind->reason : _REASON_INVALID;
        json_t *measurements = json_object_get(step, "measurements"), *measurement;
        const char *unit = text(first, "unit"); /* {port} */
        double sum = 0;
        size_t i;

        if (strcmp(unit, "{chip}") == 0)
                return add_untested(view, text(step, "name"), why, "%s", kind->words);
        json_array_foreach(measurements, i, measurement)
                if (strcmp(why_left_out(measurement), why_left_out(first)) == 0 && strcmp(text(measurement, "unit"), unit) == 0 &&
                    !is_told_before(measurements, i, place_of(measurement)))
                        sum += json_number_value(json_object_get(measurement, "value"));
        return add_untested(view, text(step, "name"), why, "%.15g %.*s%s %s", sum, (int) strlen(unit) - 2, unit + 1, sum == 1 ? "" : "s", kind->words);
}

static int read_left_out(View *view, json_t *step) {
        json_t *measurements = json_object_get(step, "measurements"), *measurement;
        size_t i;
        int r = 0;

        json_array_foreach(measurements, i, measurement) {
                const char *unit = text(measurement, "unit");
                const LeftOut *kind = left_out_find(why_left_out(measurement), unit);

                if (r >= 0 && kind && strlen(unit) > 2 && unit[0] == '{' && !is_told_before(measurements, i, NULL))
                        r = add_left_out(view, step, measurement, kind);
        }
        return r;
}

/* Regions that were left alone, because reading did not tell them from live data. */
static int read_unproven(View *view, json_t *step) {
        json_t *regions = json_object_get(step, "regions");
        const char *unproven = text(regions, "unproven");

        if (*unproven == '\0')
                return 0;
        return add_untested(view, text(step, "name"), _REASON_INVALID, "region%s %s: %s", unproven[strspn(unproven, "0123456789")] ? "s" : "", unproven,
                            text(regions, "because"));
}

/* STEP NULL: each names its own, as those of a server do. */
static int add_findings(View *view, const char *step, json_t *diagnoses) {
        json_t *diagnosis;
        size_t i;
        int r;

        json_array_foreach(diagnoses, i, diagnosis) {
                r = add_finding(view, step, diagnosis);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_steps(View *view, json_t *steps) {
        json_t *step;
        size_t i;
        int r;

        json_array_foreach(steps, i, step) {
                json_t *nsec = json_object_get(step, "deviceNanoseconds");

                view->device_sec += (json_is_string(nsec) ? strtod(json_string_value(nsec), NULL) : json_number_value(nsec)) / 1e9;
                r = read_left_out(view, step);
                if (r >= 0)
                        r = read_unproven(view, step);
                if (r < 0)
                        return r;
                r = add_findings(view, text(step, "name"), json_object_get(step, "diagnoses"));
                if (r < 0)
                        return r;
        }

        return 0;
}

/* The sentence a step gave for itself, where it gave one, says more than the word. */
static const char *reason_of(json_t *steps, json_t *untested) {
        json_t *step;
        size_t i;

        json_array_foreach(steps, i, step)
                if (strcmp(text(step, "name"), text(untested, "name")) == 0 && *text(step, "message"))
                        return text(step, "message");
        return reason_to_words(reason_from_string(text(untested, "reason"))) ?: text(untested, "reason");
}

/* Whether what the step left out has been told for this reason, in words that say more than the reason. */
static bool is_told(const View *view, const char *name, Reason why) {
        for (size_t i = 0; i < view->n_untested; i++)
                if (view->untested[i].why == why && why >= 0 && strcmp(view->untested[i].name, name) == 0)
                        return true;
        return false;
}

static int read_untested(View *view, json_t *list, json_t *steps) {
        json_t *item;
        size_t i;
        int r = 0;

        json_array_foreach(list, i, item) {
                Reason why = reason_from_string(text(item, "reason"));

                if (r >= 0 && !is_told(view, text(item, "name"), why))
                        r = add_untested(view, text(item, "name"), why, "%s", reason_of(steps, item));
        }
        return r;
}

/* A step that was not run names what it would have counted. */
static bool is_implied(json_t *untested, const char *measurement) {
        json_t *item, *name;
        size_t i, k;

        json_array_foreach(untested, i, item)
                json_array_foreach(json_object_get(item, "coverage"), k, name)
                        if (strcmp(json_string_value(name) ?: "", measurement) == 0)
                                return true;
        return false;
}

/* A promise that was not kept is why a chip without findings did not pass. */
static int read_shortfalls(View *view, json_t *untested) {
        json_t *item;
        size_t i;

        int r;

        json_array_foreach(view->coverage, i, item) {
                char had[AMOUNT_MAX], wanted[AMOUNT_MAX];
                const char *name = text(item, "name");
                double reached = json_number_value(json_object_get(item, "reached"));
                double promised = json_number_value(json_object_get(item, "promised"));

                if (reached >= promised)
                        continue;
                r = add_untested(view, name, _REASON_INVALID, "%s of %s that the plan promises", amount_format(name, reached, had),
                                 amount_format(name, promised, wanted));
                if (r < 0)
                        return r;
                view->untested[view->n_untested - 1].is_promise = true;
                view->untested[view->n_untested - 1].is_implied = is_implied(untested, name);
        }

        return 0;
}

static const char *subject_path(json_t *statement, json_t *predicate) {
        const char *path = text(json_object_get(predicate, "location"), "path");

        return *path ? path : text(json_array_get(json_object_get(statement, "subject"), 0), "name");
}

/* As the device said; one that is away has said nothing, and sits where it does in every server of its kind. */
static void read_tray(View *view, json_t *predicate) {
        const char *tray = text(json_object_get(predicate, "location"), "tray");
        Location where;
        int chip;

        if (*tray)
                (void) snprintf(view->tray, sizeof(view->tray), "%s", tray);
        else if (location_parse(view->where, &where, NULL, NULL) >= 0 && (chip = location_index(&where, LOCATION_CHIP)) >= 0)
                (void) snprintf(view->tray, sizeof(view->tray), "tray %u", topology_tray((unsigned) chip));
}

int view_new(const char *payload, size_t n, View **ret) {
        _cleanup_(view_freep) View *view = calloc(1, sizeof(*view));
        json_t *predicate;
        int r;

        if (!view)
                return -ENOMEM;

        view->statement = json_loadb(payload, n, JSON_REJECT_DUPLICATES, NULL);
        predicate = json_object_get(view->statement, "predicate");
        if (!predicate)
                return -EBADMSG;

        view->type = text(view->statement, "predicateType");
        view->where = subject_path(view->statement, predicate);
        read_tray(view, predicate);
        view->index = (uint64_t) json_integer_value(json_object_get(json_object_get(predicate, "log"), "index"));
        view->plan = text(json_array_get(json_object_get(predicate, "configuration"), 0), "name");
        view->run = text(json_object_get(predicate, "run"), "id");
        view->result = result_from_string(text(predicate, "result"));
        view->coverage = json_object_get(predicate, "coverage");

        r = read_steps(view, json_object_get(predicate, "steps"));
        if (r >= 0)
                r = add_findings(view, NULL, json_object_get(predicate, "diagnoses"));
        if (r < 0)
                return r;
        r = read_untested(view, json_object_get(predicate, "untestedTests"), json_object_get(predicate, "steps"));
        if (r >= 0)
                r = read_shortfalls(view, json_object_get(predicate, "untestedTests"));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(view);
        return 0;
}

void view_measured(const View *view, const char *name, double *ret_sum, double *ret_most) {
        json_t *steps = json_object_get(json_object_get(view->statement, "predicate"), "steps"), *step, *item;
        size_t i, k;

        *ret_sum = *ret_most = 0;
        json_array_foreach(steps, i, step)
                json_array_foreach(json_object_get(step, "measurements"), k, item) {
                        double value = json_number_value(json_object_get(item, "value"));

                        if (strcmp(text(item, "name"), name) != 0)
                                continue;
                        *ret_sum += value;
                        *ret_most = MAX(*ret_most, value);
                }
}

void view_set_server(View *view, const View *server) {
        size_t n = strlen(server->where);

        if (view_is_health(view) && !view_is_health(server) && strcmp(view->run, server->run) == 0 && strncmp(view->where, server->where, n) == 0 &&
            view->where[n] == '/')
                view->server = server;
}

bool view_is_health(const View *view) {
        return strcmp(view->type, RECORD_TYPE_HEALTH) == 0;
}

static const char *place_below(const View *view, const char *where) {
        size_t n = strlen(view->where);

        return strncmp(where, view->where, n) != 0 ? where : where[n] == '/' ? where + n + 1 : where[n] == '\0' ? "" : where;
}

const char *view_place(const View *view, size_t i, char *buffer, size_t size) {
        const char *place = place_below(view, view->findings[i].where);
        char action[128];
        bool is_repaired = view_cause(view, i)->action == ACTION_REPAIR_MEMORY; /* by commands: nobody goes there */
        bool needs_tray = *view->tray && !is_repaired && !strstr(view_action(view, i, action, sizeof(action)), view->tray);

        (void) snprintf(buffer, size, "%s%s%s", needs_tray ? view->tray : "", needs_tray && *place ? ": " : "", *place || needs_tray ? place : "-");
        return buffer;
}

const char *view_message(const View *view, size_t i) {
        const char *message = view->findings[i].message, *place = place_below(view, view->findings[i].where);
        size_t n = strlen(place);

        if (n == 0 || strncmp(message, place, n) != 0 || !strchr(" :", message[n]))
                return message;
        return message + n + strspn(message + n, " :");
}
