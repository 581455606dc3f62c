/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/report.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX 320u

static void list_inputs(unsigned bits, char *text, size_t size) {
        size_t n = 0;

        (void) snprintf(text, size, "no input");
        for (unsigned bit = 0; bit < 32 && n < size; bit++)
                if (bits >> bit & 1)
                        n += (size_t) snprintf(text + n, size - n, "%s%u", n > 0 ? ", " : bits & (bits - 1) ? "inputs " : "input ", bit);
}

int sparse_location(const Step *step, unsigned core, unsigned row, unsigned slot, Location *ret) {
        Location where = *step_unit(step);
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0)
                r = location_append(&where, LOCATION_SPARSE, 0);
        if (r >= 0 && row < PE_ROWS)
                r = location_append(&where, LOCATION_SPARSE_ROW, row);
        if (r >= 0 && slot < PE_COLUMNS)
                r = location_append(&where, LOCATION_SPARSE_SLOT, slot);
        if (r < 0)
                return r;

        *ret = where;
        return 0;
}

static void say_place(unsigned core, const SparseDiagnosis *diagnosis, char *text, size_t size) {
        if (diagnosis->row == SPARSE_ALL && diagnosis->slot == SPARSE_ALL)
                (void) snprintf(text, size, "core%u", core);
        else if (diagnosis->row == SPARSE_ALL)
                (void) snprintf(text, size, "core%u, slot %u of all rows of the sparse path", core, diagnosis->slot);
        else if (diagnosis->slot == SPARSE_ALL)
                (void) snprintf(text, size, "core%u, row %u of the sparse path", core, diagnosis->row);
        else
                (void) snprintf(text, size, "core%u, sparse element in row %u, slot %u", core, diagnosis->row, diagnosis->slot);
}

static const char *code_of(SparseFault fault) {
        static const char *const codes[] = {
                [SPARSE_TAG] = "sparsity-tag",          [SPARSE_LANE] = "sparsity-lane",
                [SPARSE_STALE_LOADS] = "sparsity-stale", [SPARSE_STALE_SWITCHES] = "sparsity-stale",
                [SPARSE_STALE_DENSE] = "sparsity-stale", [SPARSE_ORDER] = "sparsity-order",
                [SPARSE_DECODER] = "sparsity-select",   [SPARSE_DEAD] = "sparsity-select",
                [SPARSE_OPEN] = "sparsity-select",      [SPARSE_OR] = "sparsity-select",
                [SPARSE_AND] = "sparsity-select",       [SPARSE_DATA] = "sparsity-select",
                [SPARSE_MODE] = "sparsity-mode",        [SPARSE_UNEXPLAINED] = "sparsity-select",
        };

        return codes[fault];
}

static void say_tag(const SparseDiagnosis *diagnosis, const char *when, char *text, size_t size) {
        size_t n = 0;

        for (unsigned bit = 0; bit < 4 && n < size; bit++)
                if (diagnosis->a >> bit & 1)
                        n += (size_t) snprintf(text + n, size - n, "%stag bit %u %sstuck at %u", n > 0 ? ", " : "", bit, when,
                                               diagnosis->b >> bit & 1);
}

static void say_mode(const SparseDiagnosis *diagnosis, const char *when, char *text, size_t size) {
        const char *name = sparse_mode_at(diagnosis->mode)->name;

        if (diagnosis->as < SPARSE_MODES)
                (void) snprintf(text, size, "mode %s is %staken for %s", name, when, sparse_mode_at(diagnosis->as)->name);
        else
                (void) snprintf(text, size, "mode %s %sselects wrongly all over the array", name, when);
}

static void say_fault(const SparseDiagnosis *d, char *text, size_t size) {
        const char *when = d->n_silent > 0 ? "at times " : "";

        switch (d->fault) {

        case SPARSE_TAG:
                say_tag(d, when, text, size);
                return;
        case SPARSE_LANE:
                (void) snprintf(text, size, "wire %u of the tags %sstuck at %u: tag bit %u of every fourth slot from %u on", d->a, when,
                                d->b, d->a % 4, d->a / 4);
                return;
        case SPARSE_STALE_LOADS:
                (void) snprintf(text, size, "the tag of a load is %snot taken over", when);
                return;
        case SPARSE_STALE_SWITCHES:
                (void) snprintf(text, size, "the tag of the first load in another mode is %snot taken over", when);
                return;
        case SPARSE_STALE_DENSE:
                (void) snprintf(text, size, "the tag of an earlier load %sacts on dense products", when);
                return;
        case SPARSE_ORDER:
                (void) snprintf(text, size, "the tags of rows %u and %u are %sswapped", d->a, d->b, when);
                return;
        case SPARSE_DECODER:
                (void) snprintf(text, size, "tag %u %sselects input %u", d->a, when, d->b);
                return;
        case SPARSE_DEAD:
                (void) snprintf(text, size, "input %u of the selector %sreads zero", d->a, when);
                return;
        case SPARSE_OPEN:
                (void) snprintf(text, size, "input %u of the selector is %slet through whatever the tag", d->a, when);
                return;
        case SPARSE_OR:
        case SPARSE_AND:
                (void) snprintf(text, size, "inputs %u and %u of the selector are %sbridged: wired-%s", d->a, d->b, when,
                                d->fault == SPARSE_OR ? "or" : "and");
                return;
        case SPARSE_DATA:
                (void) snprintf(text, size, "bit %u of input %u of the selector %sstuck at %u", d->b, d->a, when, d->value);
                return;
        case SPARSE_MODE:
                say_mode(d, when, text, size);
                return;
        case SPARSE_UNEXPLAINED:
                break;
        }

        (void) snprintf(text, size, "%zu selections in rows %u to %u, slots %u to %u are wrong, which no single fault explains",
                        d->n_selections, d->row, d->last_row, d->slot, d->last_slot);
}

int sparse_report(Step *step, Verdict *verdict, unsigned core, const SparseDiagnosis *diagnosis) {
        char place[96], fault[LINE_MAX], often[64] = "", expected[32], actual[96];
        Evidence evidence = { .has_count = true, .count = (double) diagnosis->n_selections,
                              .decided = { "sparsity_mismatched_selections", diagnosis->n_selections > 0 ? (double) diagnosis->n_selections : 1, 0 } };
        bool is_told = diagnosis->fault != SPARSE_UNEXPLAINED;
        Location where;
        int r;

        r = sparse_location(step, core, is_told ? diagnosis->row : SPARSE_ALL, is_told ? diagnosis->slot : SPARSE_ALL, &where);
        if (r < 0)
                return r;

        if (diagnosis->has_selection) {
                (void) snprintf(expected, sizeof(expected), "input %u", diagnosis->tag);
                list_inputs(diagnosis->selected, actual, sizeof(actual));
                evidence.expected = expected;
                evidence.actual = actual;
        }

        if (is_told)
                say_place(core, diagnosis, place, sizeof(place));
        else
                (void) snprintf(place, sizeof(place), "core%u", core);
        say_fault(diagnosis, fault, sizeof(fault));
        if (diagnosis->n_silent > 0)
                (void) snprintf(often, sizeof(often), "; shown by %zu of %zu loads", diagnosis->n_acted,
                                diagnosis->n_acted + diagnosis->n_silent);
        return step_finding(step, verdict, code_of(diagnosis->fault), &where, &evidence, "%s: %s%s", place, fault, often);
}
