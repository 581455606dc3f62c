/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/untested.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/results/part-list.h"
#include "cli/terminal/say.h"

#define SERVER_CHIPS 16
#define AGAIN        "scan again"

/* A gap that several parts tell in the same words. */
typedef struct Group {
        const char *name;   /* of the test; in rows: the first one */
        const char *action; /* of rows */
        const char *reason;
        Result result;
        bool is_away;       /* of rows: their server cannot be reached */
        size_t least, most; /* tests of one part that it is said of */
        size_t n, n_allocated;
        const char **parts; /* each once, in the order of the outcome */
        bool is_told;
} Group;

typedef struct Groups {
        size_t n;
        Group *groups;
} Groups;

static void groups_done(Groups *groups) {
        for (size_t i = 0; i < groups->n; i++)
                free(groups->groups[i].parts);
        free(groups->groups);
}

static int add_part(Group *group, const char *part) {
        if (group->n == group->n_allocated) {
                size_t n = group->n_allocated > 0 ? 2 * group->n_allocated : 4;
                const char **more = reallocarray(group->parts, n, sizeof(*more));

                if (!more)
                        return -ENOMEM;
                group->parts = more;
                group->n_allocated = n;
        }
        group->parts[group->n++] = part;
        return 0;
}

/* NULL without memory. */
static Group *new_group(Groups *groups, Group group) {
        Group *more = reallocarray(groups->groups, groups->n + 1, sizeof(*more));

        if (!more)
                return NULL;
        groups->groups = more;
        more[groups->n] = group;
        return &more[groups->n++];
}

/* Why none of the steps of VIEW came to anything, where that is one and the same; else NULL. */
static const ViewUntested *untested_sole_reason(const View *view) {
        size_t n = json_array_size(json_object_get(json_object_get(view->statement, "predicate"), "steps"));

        if (view->n_findings > 0 || n == 0 || view->n_untested < n)
                return NULL;
        for (size_t i = 1; i < n; i++)
                if (strcmp(view->untested[i].reason, view->untested[0].reason) != 0)
                        return NULL;
        return &view->untested[0];
}

/* ---- lines ---- */

static int group_lines(const Outcome *outcome, Groups *ret) {
        for (size_t i = 0; i < outcome->n; i++) {
                const View *view = outcome->views[i];

                for (size_t k = 0; k < view->n_untested && !untested_sole_reason(view); k++) {
                        const ViewUntested *untested = &view->untested[k];
                        Group *group = NULL;

                        if (untested->is_implied)
                                continue;
                        for (size_t j = 0; j < ret->n && !group; j++)
                                if (strcmp(ret->groups[j].name, untested->name) == 0 && strcmp(ret->groups[j].reason, untested->reason) == 0)
                                        group = &ret->groups[j];
                        if (!group)
                                group = new_group(ret, (Group) { .name = untested->name, .reason = untested->reason });
                        if (!group || add_part(group, view->where) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

/* Whether the same is said of the same parts. */
static bool is_alike(const Group *a, const Group *b) {
        if (a->n != b->n || strcmp(a->reason, b->reason) != 0)
                return false;
        for (size_t i = 0; i < a->n; i++)
                if (strcmp(a->parts[i], b->parts[i]) != 0)
                        return false;
        return true;
}

static const char *noun_of(const Group *group) {
        for (size_t i = 0; i < group->n; i++)
                if (!strstr(group->parts[i], "/chip"))
                        return "parts";
        return "chips";
}

/* All tests of which the same is said share a line. */
static void print_line(const Groups *groups, size_t first) {
        const Group *group = &groups->groups[first];
        char parts[PART_LIST_MAX], count[32];
        char *names = NULL;
        size_t n_names;
        FILE *file = open_memstream(&names, &n_names);

        if (!file)
                return;
        for (size_t i = first; i < groups->n; i++)
                if (i == first || (!groups->groups[i].is_told && is_alike(group, &groups->groups[i]))) {
                        fprintf(file, "%s%s", i == first ? "" : ", ", groups->groups[i].name);
                        groups->groups[i].is_told = true;
                }
        (void) part_list_format(group->parts, group->n, parts);
        (void) snprintf(count, sizeof(count), "%zu %s", group->n, noun_of(group));
        if (fclose(file) == 0)
                say_words(0, "Not tested: %s on %s (%s)", names, strstr(parts, " and ") ? count : parts, group->reason);
        free(names);
}

void untested_print(const Outcome *outcome) {
        _cleanup_(groups_done) Groups groups = {};

        if (group_lines(outcome, &groups) < 0)
                return;
        for (size_t i = 0; i < groups.n; i++)
                if (!groups.groups[i].is_told)
                        print_line(&groups, i);
}

/* ---- rows ---- */

/* Links and adapters need others of the server: a scan of less than that can be repeated for ever. */
static const char *more_to_scan(const Outcome *outcome, const View *view) {
        size_t n = strcspn(view->where, "/"), chips = 0;

        for (size_t i = 0; i < outcome->n; i++)
                chips += view_is_health(outcome->views[i]) && strncmp(outcome->views[i]->where, view->where, n) == 0 &&
                                outcome->views[i]->where[n] == '/';
        return chips < SERVER_CHIPS ? "scan whole server" : AGAIN;
}

/* In records of before there was a reason for it, by the sentences of that time. */
static bool was_out_of_reach(const ViewUntested *untested) {
        static const char *const words[] = { "the server cannot be reached", " does not answer: ", " answers, and has no server ", "the server went away during the scan" };

        for (size_t i = 0; i < ELEMENTS(words) && (untested->why == REASON_DEVICE_ERROR || untested->why == REASON_PREREQUISITE); i++)
                if (strstr(untested->reason, words[i]))
                        return true;
        return false;
}

static bool is_out_of_reach(const ViewUntested *untested) {
        return untested->why == REASON_DEVICE_UNREACHABLE || was_out_of_reach(untested);
}

/* OTHERWISE: where nothing about UNTESTED tells more. */
static const char *action_of(const ViewUntested *untested, const char *otherwise) {
        static const char *const actions[_REASON_MAX] = {
                [REASON_OCCUPIED] = "drain, then scan",
                [REASON_CLAIMED]  = "wait, then scan",
                [REASON_BUDGET]   = "raise the budget",
        };

        if (untested->why >= 0 && untested->why < _REASON_MAX && actions[untested->why])
                return actions[untested->why];
        if (is_out_of_reach(untested))
                return "see to server";
        return untested->needs_others && strcmp(otherwise, AGAIN) == 0 ? "scan with the others" : otherwise;
}

static bool has_untested_steps(const View *view) {
        for (size_t i = 0; i < view->n_untested; i++)
                if (!view->untested[i].is_promise)
                        return true;
        return false;
}

/* Whether something that no scan of more parts would change was left out, too: it is to be seen to first, and others may pass with the rest. */
static bool has_own_gaps(const View *view) {
        for (size_t i = 0; i < view->n_untested; i++)
                if (!view->untested[i].is_promise && !view->untested[i].needs_others)
                        return true;
        return false;
}

/* Steps that were left out for one reason are told once, and the promises that were not kept by that not at all. */
static bool is_told_elsewhere(const View *view, size_t i) {
        if (view->untested[i].needs_others && has_own_gaps(view))
                return true;
        for (size_t k = 0; k < i; k++)
                if (strcmp(view->untested[k].reason, view->untested[i].reason) == 0)
                        return true;
        return view->untested[i].is_promise && has_untested_steps(view);
}

/* Parts share a row where they are to be handled alike, and where it is one test, that is the same, unless the server explains them all. */
static Group *find_row(const Groups *groups, const Group *wanted) {
        for (size_t i = 0; i < groups->n; i++) {
                Group *group = &groups->groups[i];

                if (group->result == wanted->result && strcmp(group->action, wanted->action) == 0 && strcmp(group->reason, wanted->reason) == 0 &&
                    (group->is_away ||
                     ((group->most > 1) == (wanted->most > 1) && (group->most > 1 || strcmp(group->name, wanted->name) == 0))))
                        return group;
        }
        return NULL;
}

static int group_rows_of(const Outcome *outcome, const View *view, Groups *groups) {
        for (size_t i = 0; i < view->n_untested; i++) {
                const ViewUntested *untested = &view->untested[i];
                Group wanted = { .name = untested->name, .reason = untested->reason, .result = view->result,
                                 .is_away = is_out_of_reach(untested) };
                Group *group;

                if (is_told_elsewhere(view, i))
                        continue;
                wanted.action = action_of(untested, more_to_scan(outcome, view));
                for (size_t k = i; k < view->n_untested; k++)
                        wanted.most += strcmp(view->untested[k].reason, untested->reason) == 0;
                wanted.least = wanted.most;
                group = find_row(groups, &wanted) ?: new_group(groups, wanted);
                if (!group || add_part(group, view->where) < 0)
                        return -ENOMEM;
                if (strcmp(group->name, wanted.name) != 0)
                        group->name = "1 test each"; /* where none has more */
                group->least = wanted.least < group->least ? wanted.least : group->least;
                group->most = wanted.most > group->most ? wanted.most : group->most;
        }
        return 0;
}

static int add_row(Table *table, const Group *group) {
        char parts[PART_LIST_MAX], tests[64];

        if (group->most == 1)
                (void) snprintf(tests, sizeof(tests), "%s", group->name);
        else if (group->least == group->most)
                (void) snprintf(tests, sizeof(tests), "%zu tests", group->most);
        else
                (void) snprintf(tests, sizeof(tests), "%zu to %zu tests", group->least, group->most);
        return table_row(table, (const char *[]) { part_list_format(group->parts, group->n, parts), result_to_string(group->result), "-", group->action,
                                                   tests, group->reason });
}

static bool is_of_server(const View *view, const char *server, size_t n) {
        return view_is_health(view) && strncmp(view->where, server, n) == 0 && view->where[n] == '/';
}

/* Whether all chips of its server that were scanned say what VIEW says for all of its steps. *ret_first: this is where it is told. */
static bool is_of_all(const Outcome *outcome, const View *view, bool *ret_first) {
        const char *reason = untested_sole_reason(view)->reason;
        size_t n = strcspn(view->where, "/");
        const View *first = NULL;

        for (size_t i = 0; i < outcome->n; i++) {
                const ViewUntested *sole;

                if (!is_of_server(outcome->views[i], view->where, n))
                        continue;
                first = first ?: outcome->views[i];
                sole = untested_sole_reason(outcome->views[i]);
                if (!sole || strcmp(sole->reason, reason) != 0)
                        return false;
        }
        *ret_first = first == view;
        return true;
}

/* One row for the whole server, of whose chips nothing was judged for one reason: that of the first, VIEW. */
static int add_row_of_all(Table *table, const Outcome *outcome, const View *view) {
        const ViewUntested *sole = untested_sole_reason(view);
        bool is_away = is_out_of_reach(sole);
        char server[LOCATION_STRING_MAX], what[512];
        size_t n;

        n = strcspn(view->where, "/");
        n = n < sizeof(server) ? n : sizeof(server) - 1;
        memcpy(server, view->where, n);
        server[n] = '\0';
        (void) snprintf(what, sizeof(what), "%s%s", sole->reason, is_away ? "; is it on, its name right in assayd.yaml, its simulator up?" : "");
        return table_row(table, (const char *[]) { server, result_to_string(view->result), "-",
                                                   action_of(sole, more_to_scan(outcome, view)), "-", what });
}

static bool has_nothing_but_gaps(const View *view) {
        return view_is_health(view) && view->n_findings == 0 && view->result != RESULT_PASSED;
}

int untested_add_rows(Table *table, const Outcome *outcome) {
        _cleanup_(groups_done) Groups groups = {};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < outcome->n; i++) {
                const View *view = outcome->views[i];
                bool is_first;

                if (!has_nothing_but_gaps(view))
                        continue;
                if (untested_sole_reason(view) && is_of_all(outcome, view, &is_first))
                        r = is_first ? add_row_of_all(table, outcome, view) : 0;
                else if (view->n_untested > 0)
                        r = group_rows_of(outcome, view, &groups);
                else
                        r = table_row(table, (const char *[]) { view->where, result_to_string(view->result), "-", AGAIN, "-", "nothing was judged" });
        }
        for (size_t i = 0; r >= 0 && i < groups.n; i++)
                r = add_row(table, &groups.groups[i]);
        return r;
}

/* ---- of one record ---- */

/* Whether who asked for the scan left out what this part is tested with. */
static bool was_asked_for_alone(const View *view) {
        json_t *steps = json_object_get(json_object_get(view->statement, "predicate"), "steps"), *step;
        double chips, unused;
        char name[96];
        size_t i;

        for (i = 0; i < view->n_untested; i++)
                if (view->untested[i].why == REASON_NOT_REQUESTED)
                        return true;
        json_array_foreach(steps, i, step) {
                (void) snprintf(name, sizeof(name), "%s_chips_not_requested", json_string_value(json_object_get(step, "check")) ?: "");
                view_measured(view, name, &chips, &unused);
                if (chips > 0)
                        return true;
        }
        return false;
}

static bool is_asked_before(const View *view, size_t index, const char *action, const char *otherwise) {
        for (size_t i = 0; i < index; i++)
                if (!is_told_elsewhere(view, i) && strcmp(action_of(&view->untested[i], otherwise), action) == 0)
                        return true;
        return false;
}

void untested_print_actions(const View *view) {
        const char *otherwise = was_asked_for_alone(view) ? "scan whole server" : AGAIN;

        if (!has_nothing_but_gaps(view))
                return;
        if (view->n_untested == 0)
                say(stdout, "To do: %s\n", otherwise);
        for (size_t i = 0; i < view->n_untested; i++) {
                const char *action = action_of(&view->untested[i], otherwise);

                if (!is_told_elsewhere(view, i) && !is_asked_before(view, i, action, otherwise))
                        say(stdout, "To do: %s\n", action);
        }
}
