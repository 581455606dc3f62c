/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/scan-summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/results/amount.h"
#include "cli/results/coverage.h"
#include "cli/results/repairs.h"
#include "cli/results/untested.h"
#include "cli/terminal/say.h"

/* Prints the coverage that every chip that passed has had at the least. */
static void print_coverage(const Outcome *outcome) {
        _cleanup_free_ char *text = NULL;
        const View *view = NULL;
        json_t *item;
        size_t i, n;
        FILE *file;

        for (i = 0; i < outcome->n && !view; i++)
                if (view_is_health(outcome->views[i]) && outcome->views[i]->result == RESULT_PASSED)
                        view = outcome->views[i];
        if (!view || json_array_size(view->coverage) == 0)
                return;

        file = open_memstream(&text, &n);
        if (!file)
                return;
        json_array_foreach(view->coverage, i, item) {
                const char *name = json_string_value(json_object_get(item, "name")) ?: "?";
                char amount[AMOUNT_MAX];

                fprintf(file, "%s %s %s", i > 0 ? "," : "", name, amount_format(name, json_number_value(json_object_get(item, "promised")), amount));
        }
        if (fclose(file) == 0)
                say_words(0, "Covered on each chip that passed, at the least:%s", text);
        say_words(0, "How many faults of each kind may have escaped it: assayctl plans %s", view->plan);
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

/* A memory that is tested region by region is not all tested when a scan has passed. */
static void print_progress(const Outcome *outcome) {
        const char *where = NULL;
        Progress progress = {};
        char least[24] = "";

        for (size_t i = 0; i < outcome->n; i++) {
                const View *view = outcome->views[i];

                if (view_is_health(view)) {
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

void scan_summary_print(const Outcome *outcome, bool detailed) {
        print_coverage(outcome);
        for (size_t i = 0; i < outcome->n; i++)
                repairs_print(outcome->views[i], detailed);
        print_progress(outcome);
        untested_print(outcome);
        if (outcome->n > 0)
                printf("Records %" PRIu64 "–%" PRIu64 ". Check one: assayctl verify %" PRIu64 "\n", outcome->views[0]->index,
                       outcome->views[outcome->n - 1]->index, worth_a_check(outcome)->index);
}
