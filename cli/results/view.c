/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/vocabulary/location.h"
#include "checks/vocabulary/topology.h"
#include "cli/results/view-untested.h"
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
                r = add_findings(view, text(step, "name"), json_object_get(step, "diagnoses"));
                if (r < 0)
                        return r;
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

        (void) record_statement_read(payload, n, &view->statement);
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
        if (r >= 0)
                r = view_read_untested(view, predicate);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(view);
        return 0;
}

bool view_measured(const View *view, const char *name, double *ret_sum, double *ret_most) {
        json_t *steps = json_object_get(json_object_get(view->statement, "predicate"), "steps"), *step, *item;
        bool any = false;
        size_t i, k;

        *ret_sum = *ret_most = 0;
        json_array_foreach(steps, i, step)
                json_array_foreach(json_object_get(step, "measurements"), k, item) {
                        double value = json_number_value(json_object_get(item, "value"));

                        if (strcmp(text(item, "name"), name) != 0)
                                continue;
                        *ret_sum += value;
                        *ret_most = MAX(*ret_most, value);
                        any = true;
                }
        return any;
}

void view_set_server(View *view, const View *server) {
        size_t n = strlen(server->where);

        if (view_is_health(view) && !view_is_health(server) && strcmp(view->run, server->run) == 0 && strncmp(view->where, server->where, n) == 0 &&
            view->where[n] == '/')
                view->server = server;
}

bool view_is_health(const View *view) {
        return record_type_is_health(view->type);
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
