/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/verdicts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/reply.h"
#include "cli/results/collectives.h"
#include "cli/results/outcome.h"
#include "cli/results/part-list.h"
#include "cli/results/scan-context.h"
#include "cli/results/scan-stands.h"
#include "cli/results/scan-summary.h"
#include "cli/results/untested.h"
#include "cli/results/view.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"
#include "daemon/names.h"

/* Steps of a plan that test the same thing find the same fault: one thing to do. */
static bool told_before(const View *view, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (strcmp(view->findings[k].code, view->findings[i].code) == 0 &&
                    strcmp(view->findings[k].where, view->findings[i].where) == 0)
                        return true;

        return false;
}

static bool finds_the_same(const View *view, const ViewFinding *finding) {
        for (size_t i = 0; i < view->n_findings; i++)
                if (strcmp(view->findings[i].code, finding->code) == 0 && strcmp(view->findings[i].message, finding->message) == 0)
                        return true;
        return false;
}

/*
 * A move of a cable between two servers is told at both, in the same words: made twice it is undone. So it is one row, at the first of them.
 * PARTS is filled with all; *ret_first: this is that row.
 */
static void sum_up_servers(const Outcome *outcome, const View *view, const ViewFinding *finding, char parts[static PART_LIST_MAX], bool *ret_first) {
        const View *first = NULL;
        size_t n = 0, used = 0;

        for (size_t i = 0; i < outcome->n; i++) {
                const View *other = outcome->views[i];

                if (view_is_health(other) || !finds_the_same(other, finding))
                        continue;
                first = first ?: other;
                if (used + strlen(other->where) + 2 < PART_LIST_MAX)
                        used += (size_t) snprintf(parts + used, PART_LIST_MAX - used, "%s%s", n++ > 0 ? "," : "", other->where);
        }
        *ret_first = first == view;
}

static int add_findings(Table *table, const Outcome *outcome, const View *view) {
        char parts[PART_LIST_MAX], what[128], where[LOCATION_STRING_MAX + 32];
        int r = 0;

        for (size_t i = 0; r >= 0 && i < view->n_findings; i++) {
                const ViewFinding *f = &view->findings[i];
                bool is_first = true;

                if (told_before(view, i) || view_shared(view, i))
                        continue;
                (void) snprintf(parts, sizeof(parts), "%s", view->where);
                if (!view_is_health(view))
                        sum_up_servers(outcome, view, f, parts, &is_first);
                if (is_first)
                        r = table_row(table, (const char *[]) { parts, result_to_string(view->result), f->code, view_action(view, i, what, sizeof(what)),
                                                                view_place(view, i, where, sizeof(where)), view_message(view, i) });
        }
        return r;
}

/* Servers first: what concerns several chips is told once, there. Then the worst chips, and last those of which nothing can be told. */
static int add_rows(Table *table, const Outcome *outcome) {
        static const Result order[] = { RESULT_FAILED, RESULT_WARNED, RESULT_INCONCLUSIVE, RESULT_PASSED };
        int r = 0;

        for (size_t health = 0; health < 2; health++)
                for (size_t k = 0; k < ELEMENTS(order); k++)
                        for (size_t i = 0; r >= 0 && i < outcome->n; i++)
                                if (view_is_health(outcome->views[i]) == (health == 1) && outcome->views[i]->result == order[k])
                                        r = add_findings(table, outcome, outcome->views[i]);
        return r < 0 ? r : untested_add_rows(table, outcome);
}

/* "58 PASSED, 6 FAILED (chips)." */
static void print_counts(const Outcome *outcome) {
        size_t counts[_RESULT_MAX] = {};
        bool any = false;

        for (size_t i = 0; i < outcome->n; i++)
                if (view_is_health(outcome->views[i]))
                        counts[outcome->entries[i].result]++;
        for (size_t i = 0; i < _RESULT_MAX; i++)
                if (counts[i] > 0) {
                        printf("%s%zu %s", any ? ", " : "", counts[i], result_to_string((Result) i));
                        any = true;
                }
        printf("%s\n", any ? " (chips)." : "No record that verifies tells of a chip.");
}

/* "Scan 3 (preflight): FAILED, 58 PASSED, 6 FAILED (chips)." */
static void print_verdict(const Outcome *outcome, uint64_t id) {
        say(stdout, "Scan %" PRIu64 "%s%s%s: %s, ", id, outcome->n > 0 ? " (" : "", outcome->n > 0 ? outcome->views[0]->plan : "",
            outcome->n > 0 ? ")" : "", result_to_string(outcome->result));
        print_counts(outcome);
}

static json_t *records_json(const Outcome *outcome) {
        json_t *list = json_array();

        for (size_t i = 0; i < outcome->n; i++)
                (void) json_array_append(list, outcome->views[i]->statement);
        return list;
}

static int print_details(const Outcome *outcome) {
        int r = 0;

        for (size_t i = 0; i < outcome->n; i++)
                if (!view_is_health(outcome->views[i]))
                        scan_context_print(outcome->views[i]->statement, outcome->views[i]->where);
        for (size_t i = 0; r >= 0 && i < outcome->n; i++)
                if (view_is_health(outcome->views[i]))
                        r = collectives_print(outcome->views[i]->statement, outcome->views[i]->where);
        return r;
}

static int print(const Outcome *outcome, uint64_t id, bool detailed) {
        static const TableColumn columns[] = {
                { "PART",    "part",    false, false },
                { "VERDICT", "verdict", false, false },
                { "FINDING", "code",    false, false },
                { "DO",      "action",  false, false },
                { "WHERE",   "where",   false, true  },
                { "WHAT",    "message", false, true  },
                {},
        };
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        if (options.json) {
                _cleanup_(json_decrefp) json_t *object =
                                json_pack("{s:I, s:s, s:o}", "scan", (json_int_t) id, "result",
                                          result_to_string(outcome->result), "statements", records_json(outcome));

                return !object || json_dumpf(object, stdout, JSON_INDENT(2)) < 0 ? -EIO : (putchar('\n'), 0);
        }

        if (detailed)
                print_verdict(outcome, id);
        r = table_new(columns, &table);
        if (r >= 0)
                r = add_rows(table, outcome);
        if (r >= 0)
                r = table_print(table);
        if (r < 0)
                return r;

        if (!detailed)
                print_counts(outcome);
        scan_summary_print(outcome, detailed);
        return detailed ? print_details(outcome) : 0;
}

int verdicts_print(sd_bus *bus, const OutcomeAsked *asked, bool detailed) {
        _cleanup_(outcome_freep) Outcome *outcome = NULL;
        _cleanup_free_ char *message = NULL;
        int r, status;

        r = outcome_read(bus, asked, &outcome);
        if (r != 0)
                return r;

        r = options.quiet && !options.json ? 0 : print(outcome, asked->id, detailed);
        if (r >= 0 && !options.quiet && !options.json && !detailed)
                scan_stands_print(bus, outcome);
        if (reply_property_string(bus, asked->path, ASSAY_SCAN_INTERFACE, "Message", NULL, &message) >= 0 && *message)
                (void) complain(0, "%s", message);
        status = outcome_conclude(outcome);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : status;
}
