/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/view-untested.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/results/amount.h"

static const char *text(json_t *object, const char *key) {
        return json_string_value(json_object_get(object, key)) ?: "";
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

/* WORDS stand behind how many of UNIT they are said of; "{chip}", "1": of the chip or the server itself, without a number. NULL: any. */
typedef struct LeftOut {
        const char *why, *unit, *words;
        Reason reason; /* that the part has for it, of which WORDS say more; none: it can pass without */
        bool needs_others; /* a scan of more parts would test it */
} LeftOut;

static const LeftOut left_out[] = {
        { "out_of_scan", "{port}", "whose far end is not scanned together with this end, is in service or does not answer", .needs_others = true },
        { "out_of_scan", "{chip}", "a chip of the rings is not scanned, is in service or does not answer", .needs_others = true },
        { "out_of_scan", NULL, "not scanned, in service or without an answer", .needs_others = true },
        { "other_end", NULL, "with a cable whose other end is not known to be in the scan", .needs_others = true },
        { "undecided", NULL, "that the plan had no time for" },
        { "silent", NULL, "that stopped answering" },
        { "refused", NULL, "that refused" },
        { "flooded", NULL, "that got too much of what nobody asked for", REASON_AMBIGUOUS },
        { "either_end", "{chip}", "that may be as sound as the neighbour that it had wrong data with", REASON_AMBIGUOUS },
        { "either_end", "{port}", "that may be as sound as the port at the other end of its link", REASON_AMBIGUOUS },
        { "either_end", NULL, "that may be as sound as the one that they talked to", REASON_AMBIGUOUS },
        { "cables", NULL, "in rings in which cables end at wrong ports" },
        { "stopped", NULL, "in rings that did not come to their end" },
        { "together", NULL, "in no collective with all others of the UltraServer", .needs_others = true },
        { "large", NULL, "behind a link that is too slow for vectors of the planned length" },
        { "partners", "{adapter}", "of the server that were not asked for", .needs_others = true },
        { "partners", NULL, "without a sound neighbour to add with", REASON_AMBIGUOUS },
        { "other_servers", "1", "paths to and from other servers, none of which is scanned together with it", .needs_others = true },
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
        int r;

        json_array_foreach(measurements, i, measurement)
                if (strcmp(why_left_out(measurement), why_left_out(first)) == 0 && strcmp(text(measurement, "unit"), unit) == 0 &&
                    !is_told_before(measurements, i, place_of(measurement)))
                        sum += json_number_value(json_object_get(measurement, "value"));
        if (strcmp(unit, "{chip}") == 0)
                r = add_untested(view, text(step, "name"), why, "%s", kind->words);
        else
                r = add_untested(view, text(step, "name"), why, "%.15g %.*s%s %s", sum, (int) strlen(unit) - 2, unit + 1, sum == 1 ? "" : "s", kind->words);
        if (r >= 0)
                view->untested[view->n_untested - 1].needs_others = kind->needs_others;
        return r;
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

/* The step of a measurement of a server, by the check that its name begins with. */
static const char *step_of(json_t *tests, json_t *measurement) {
        json_t *test;
        size_t i;

        json_array_foreach(tests, i, test) {
                const char *check = text(test, "check");
                size_t n = strlen(check);

                if (n > 0 && strncmp(text(measurement, "name"), check, n) == 0 && text(measurement, "name")[n] == '_')
                        return text(test, "name");
        }
        return "";
}

/* Of a server itself. All else that it has of this is said of its chips or sums them up. */
static int read_left_out_of_server(View *view, json_t *predicate) {
        json_t *measurements = json_object_get(predicate, "measurements"), *measurement;
        size_t i;
        int r = 0;

        json_array_foreach(measurements, i, measurement) {
                const char *unit = text(measurement, "unit");
                const LeftOut *kind = left_out_find(why_left_out(measurement), unit);

                if (r >= 0 && kind && strcmp(unit, "1") == 0)
                        r = add_untested(view, step_of(json_object_get(predicate, "tests"), measurement), _REASON_INVALID, "%s", kind->words);
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

static int read_steps(View *view, json_t *steps) {
        json_t *step;
        size_t i;
        int r = 0;

        json_array_foreach(steps, i, step) {
                if (r >= 0)
                        r = read_left_out(view, step);
                if (r >= 0)
                        r = read_unproven(view, step);
        }
        return r;
}

int view_read_untested(View *view, json_t *predicate) {
        json_t *steps = json_object_get(predicate, "steps"), *untested = json_object_get(predicate, "untestedTests");
        int r;

        r = read_steps(view, steps);
        if (r >= 0)
                r = read_left_out_of_server(view, predicate);
        if (r >= 0)
                r = read_untested(view, untested, steps);
        if (r >= 0)
                r = read_shortfalls(view, untested);
        return r;
}
