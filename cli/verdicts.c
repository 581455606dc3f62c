/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/verdicts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/catalogue.h"
#include "cli/assayctl.h"
#include "cli/collectives.h"
#include "cli/coverage.h"
#include "cli/outcome.h"
#include "cli/pager.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/view.h"
#include "daemon/names.h"

#define SERVER_CHIPS 16

static bool is_health(const View *view) {
        return strcmp(view->type, RECORD_TYPE_HEALTH) == 0;
}

/* Links and adapters need others of the server: a scan of less than that can be repeated for ever. */
static const char *more_to_scan(const Outcome *outcome, const View *view) {
        size_t n = strcspn(view->where, "/"), chips = 0;

        for (size_t i = 0; i < outcome->n; i++)
                chips += is_health(outcome->views[i]) && strncmp(outcome->views[i]->where, view->where, n) == 0 &&
                                outcome->views[i]->where[n] == '/';
        return chips < SERVER_CHIPS ? "scan whole server" : "scan again";
}

/* Steps of a plan that test the same thing find the same fault: one thing to do. */
static bool told_before(const View *view, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (strcmp(view->findings[k].code, view->findings[i].code) == 0 &&
                    strcmp(view->findings[k].where, view->findings[i].where) == 0)
                        return true;

        return false;
}

static int add_findings(Table *table, const View *view) {
        const char *result = result_to_string(view->result);
        char what[128];
        int r;

        for (size_t i = 0; i < view->n_findings; i++) {
                const ViewFinding *f = &view->findings[i];
                size_t n = strlen(view->where);
                const char *shown = strncmp(f->where, view->where, n) != 0 ? f->where :
                                    f->where[n] == '/'                     ? f->where + n + 1 :
                                    f->where[n] == '\0'                    ? "-" :
                                                                             f->where;

                if (told_before(view, i))
                        continue;
                r = table_row(table, (const char *[]) { view->where, result, f->code,
                                                        view_action(view, i, what, sizeof(what)),
                                                        options.json ? f->where : shown, f->message });
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Why none of its steps came to anything, where that is one and the same; else NULL. */
static const char *sole_reason(const View *view) {
        size_t n = json_array_size(json_object_get(json_object_get(view->statement, "predicate"), "steps"));

        if (view->n_findings > 0 || n == 0 || view->n_untested < n)
                return NULL;
        for (size_t i = 1; i < n; i++)
                if (strcmp(view->untested[i].reason, view->untested[0].reason) != 0)
                        return NULL;
        return view->untested[0].reason;
}

static bool is_of_server(const View *view, const char *server, size_t n) {
        return is_health(view) && strncmp(view->where, server, n) == 0 && view->where[n] == '/';
}

/* The same where all chips of its server that were scanned say that: one line tells of them. *ret_first: this is where it is told. */
static const char *server_reason(const Outcome *outcome, const View *view, bool *ret_first) {
        const char *reason = sole_reason(view);
        size_t n = strcspn(view->where, "/");
        const View *first = NULL;

        for (size_t i = 0; i < outcome->n && reason; i++) {
                const View *other = outcome->views[i];
                const char *why = is_of_server(other, view->where, n) ? sole_reason(other) : reason;

                if (is_of_server(other, view->where, n) && !first)
                        first = other;
                if (!why || strcmp(why, reason) != 0)
                        reason = NULL;
        }
        *ret_first = first == view;
        return reason;
}

/* One line where nothing was judged for one reason, for the chip or its whole server. */
static int add_row_of_all(Table *table, const Outcome *outcome, const View *view, const char *why) {
        char server[LOCATION_STRING_MAX];
        size_t n = MIN(strcspn(view->where, "/"), sizeof(server) - 1);
        bool is_first;
        const char *all = server_reason(outcome, view, &is_first);

        if (all && !is_first)
                return 0;
        memcpy(server, view->where, n);
        server[n] = '\0';
        return table_row(table, (const char *[]) { all ? server : view->where, result_to_string(view->result), "-", "scan again", "-", why });
}

static bool has_untested_steps(const View *view) {
        for (size_t i = 0; i < view->n_untested; i++)
                if (!view->untested[i].is_promise)
                        return true;
        return false;
}

/* Steps that were left out for one reason are one line, and the promises that were not kept by that none. */
static bool untested_told_before(const View *view, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (strcmp(view->untested[k].reason, view->untested[i].reason) == 0)
                        return true;
        return view->untested[i].is_promise && has_untested_steps(view);
}

static int add_untested_rows(Table *table, const Outcome *outcome, const View *view) {
        for (size_t i = 0; i < view->n_untested; i++) {
                const ViewUntested *untested = &view->untested[i];
                const char *what = untested->is_occupied ? "drain, then scan" : more_to_scan(outcome, view);
                char names[64];
                size_t n = 0;
                int r;

                if (!options.json && untested_told_before(view, i))
                        continue;
                for (size_t k = i; k < view->n_untested && !options.json; k++)
                        n += strcmp(view->untested[k].reason, untested->reason) == 0;
                (void) snprintf(names, sizeof(names), "%zu tests", n);
                r = table_row(table, (const char *[]) { view->where, result_to_string(view->result), "-", what, n > 1 ? names : untested->name,
                                                        untested->reason });
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_rows(Table *table, const Outcome *outcome, const View *view) {
        const char *result = result_to_string(view->result), *why = options.json ? NULL : sole_reason(view);
        int r;

        if (why)
                return add_row_of_all(table, outcome, view, why);

        r = add_findings(table, view);
        if (r < 0)
                return r;

        /* Not passed and nothing found: then what was not done is what there is to say. */
        if (view->n_findings == 0 && view->result != RESULT_PASSED) {
                r = add_untested_rows(table, outcome, view);
                if (r < 0)
                        return r;
        }

        return view->n_findings == 0 && view->n_untested == 0 && view->result != RESULT_PASSED ?
                        table_row(table, (const char *[]) { view->where, result, "-", "scan again", "-", "nothing was judged" }) : 0;
}

/* Groups what was left out by its reason: chips that say the same share a line. */
static void print_untested(const Outcome *outcome) {
        for (size_t i = 0; i < outcome->n; i++)
                for (size_t k = 0; k < outcome->views[i]->n_untested; k++) {
                        const ViewUntested *u = &outcome->views[i]->untested[k];
                        size_t same = 0;
                        bool first = true;

                        for (size_t j = 0; j < outcome->n; j++)
                                for (size_t l = 0; l < outcome->views[j]->n_untested; l++) {
                                        const ViewUntested *v = &outcome->views[j]->untested[l];

                                        if (strcmp(u->name, v->name) != 0 || strcmp(u->reason, v->reason) != 0)
                                                continue;
                                        same++;
                                        if (j < i || (j == i && l < k))
                                                first = false;
                                }
                        if (sole_reason(outcome->views[i])) /* nothing was tested, which the table says */
                                continue;
                        if (first && same > 1)
                                say_words(0, "Not tested: %s on %zu parts (%s)", u->name, same, u->reason);
                        else if (first)
                                say_words(0, "Not tested: %s on %s (%s)", u->name, outcome->views[i]->where, u->reason);
                }
}

/* Bytes are told as memory is sold. */
static void print_amount(FILE *file, const char *name, double amount) {
        static const struct {
                double bytes;
                const char *unit;
        } units[] = { { 1ull << 30, "GiB" }, { 1ull << 20, "MiB" } };

        for (size_t i = 0; strstr(name, "_bytes_") && i < ELEMENTS(units); i++)
                if (amount > 0 && fmod(amount, units[i].bytes) == 0) {
                        fprintf(file, "%g %s", amount / units[i].bytes, units[i].unit);
                        return;
                }
        fprintf(file, "%.15g", amount);
}

/* What every chip that passed has had at the least. */
static void print_coverage(const Outcome *outcome) {
        _cleanup_free_ char *text = NULL;
        const View *view = NULL;
        json_t *item;
        size_t i, n;
        FILE *file;

        for (i = 0; i < outcome->n && !view; i++)
                if (is_health(outcome->views[i]) && outcome->views[i]->result == RESULT_PASSED)
                        view = outcome->views[i];
        if (!view || json_array_size(view->coverage) == 0)
                return;

        file = open_memstream(&text, &n);
        if (!file)
                return;
        json_array_foreach(view->coverage, i, item) {
                const char *name = json_string_value(json_object_get(item, "name")) ?: "?";

                fprintf(file, "%s %s ", i > 0 ? "," : "", name);
                print_amount(file, name, json_number_value(json_object_get(item, "promised")));
        }
        if (fclose(file) == 0)
                say_words(0, "Covered on each chip that passed, at the least:%s", text);
        say_words(0, "How many faults of each kind may have escaped it: assayctl plans %s", view->plan);
}

/* The sum, or the most, of a measurement over the steps of a record. */
static void measured(const View *view, const char *name, double *ret_sum, double *ret_most) {
        json_t *steps = json_object_get(json_object_get(view->statement, "predicate"), "steps"), *step, *item;
        size_t i, k;

        *ret_sum = *ret_most = 0;
        json_array_foreach(steps, i, step)
                json_array_foreach(json_object_get(step, "measurements"), k, item) {
                        const char *found = json_string_value(json_object_get(item, "name"));
                        double value = json_number_value(json_object_get(item, "value"));

                        if (!found || strcmp(found, name) != 0)
                                continue;
                        *ret_sum += value;
                        *ret_most = MAX(*ret_most, value);
                }
}

/* What became of rows of memory, and what comes next. Each step proves all rows anew, and asks for those that it found. */
static void print_repairs(const Outcome *outcome) {
        for (size_t i = 0; i < outcome->n; i++) {
                const View *view = outcome->views[i];
                double asked, proven, unused;

                if (!is_health(view))
                        continue;
                measured(view, "hbm_repairs_requested", &asked, &unused);
                measured(view, "hbm_rows_proven", &unused, &proven);
                if (proven > 0)
                        say_words(0, "Repaired on %s: %g memory row%s, proven with the neighbours", view->where, proven, proven > 1 ? "s" : "");
                if (asked > 0)
                        say_words(0, "To be repaired on %s: %g memory row%s. Reset the chip, then scan it again: --plan %s", view->where, asked,
                               asked > 1 ? "s" : "", view->plan);
        }
}

typedef struct Progress {
        char step[64];
        unsigned least, most, total;
} Progress;

static int add_progress(const Coverage *coverage, void *userdata) {
        unsigned n = region_set_count(&coverage->known->tested), total = partition_regions(&coverage->known->partition);
        Progress *progress = userdata;

        if (progress->total == 0)
                *progress = (Progress) { .least = n, .most = n };
        (void) snprintf(progress->step, sizeof(progress->step), "%s", coverage->known->step);
        progress->least = n < progress->least ? n : progress->least;
        progress->most = n > progress->most ? n : progress->most;
        progress->total = total > progress->total ? total : progress->total;
        return 0;
}

/* What is tested region by region is not all tested when a scan has passed. */
static void print_progress(const Outcome *outcome) {
        const char *where = NULL;
        Progress progress = {};
        char least[24] = "";

        for (size_t i = 0; i < outcome->n; i++) {
                const View *view = outcome->views[i];

                if (is_health(view)) {
                        unsigned before = progress.total;

                        (void) coverage_read(view->statement, view->where, view->index, add_progress, &progress);
                        if (before == 0 && progress.total > 0)
                                where = view->where;
                }
        }
        if (!where)
                return;

        if (progress.least < progress.most)
                (void) snprintf(least, sizeof(least), "%u to ", progress.least);
        say_words(0, "Tested region by region: %s, by now %s%u of %u regions of a chip. Which, and when: assayctl coverage %.*s", progress.step, least,
                  progress.most, progress.total, (int) strcspn(where, "/"), where);
}

/* The last, but of a scan of a part of a server a chip's: the server's own cannot tell how it is. */
static const View *worth_a_check(const Outcome *outcome) {
        for (size_t i = outcome->n; i-- > 0;)
                if (outcome->views[i]->result >= 0 && outcome->views[i]->result != RESULT_INCONCLUSIVE)
                        return outcome->views[i];
        return outcome->views[outcome->n - 1];
}

/* "58 PASSED, 6 FAILED (chips)." */
static void print_counts(const Outcome *outcome) {
        size_t counts[_RESULT_MAX] = {};
        bool any = false;

        for (size_t i = 0; i < outcome->n; i++)
                if (is_health(outcome->views[i]))
                        counts[outcome->entries[i].result]++;
        for (size_t i = 0; i < _RESULT_MAX; i++)
                if (counts[i] > 0) {
                        printf("%s%zu %s", any ? ", " : "", counts[i], result_to_string((Result) i));
                        any = true;
                }
        printf("%s\n", any ? " (chips)." : "No record that verifies tells of a chip.");
}

static void print_summary(const Outcome *outcome) {
        print_counts(outcome);
        print_coverage(outcome);
        print_repairs(outcome);
        print_progress(outcome);
        print_untested(outcome);
        if (outcome->n > 0)
                printf("Records %" PRIu64 "–%" PRIu64 ". Check one: assayctl verify %" PRIu64 "\n", outcome->views[0]->index,
                       outcome->views[outcome->n - 1]->index, worth_a_check(outcome)->index);
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
        for (size_t i = 0; r >= 0 && i < outcome->n; i++) /* servers first: what concerns several chips is told once, there */
                if (!is_health(outcome->views[i]))
                        r = add_findings(table, outcome->views[i]);
        for (size_t i = 0; r >= 0 && i < outcome->n; i++)
                if (is_health(outcome->views[i]))
                        r = add_rows(table, outcome, outcome->views[i]);
        if (r >= 0)
                r = table_print(table);
        if (r < 0)
                return r;

        print_summary(outcome);
        for (size_t i = 0; detailed && r >= 0 && i < outcome->n; i++)
                if (is_health(outcome->views[i]))
                        r = collectives_print(outcome->views[i]->statement, outcome->views[i]->where);
        if (detailed && r >= 0) {
                putchar('\n');
                print_verdict(outcome, id); /* once more, below what is long */
        }
        return r;
}

int verdicts_print(sd_bus *bus, const OutcomeAsked *asked, bool detailed) {
        _cleanup_(outcome_freep) Outcome *outcome = NULL;
        _cleanup_free_ char *message = NULL;
        int r, status;

        r = outcome_read(bus, asked, &outcome);
        if (r != 0)
                return r;

        r = options.quiet && !options.json ? 0 : print(outcome, asked->id, detailed);
        if (reply_property_string(bus, asked->path, ASSAY_SCAN_INTERFACE, "Message", NULL, &message) >= 0 && *message)
                (void) complain(0, "%s", message);
        status = outcome_conclude(outcome);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : status;
}
