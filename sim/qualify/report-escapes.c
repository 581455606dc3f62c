/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Intermittent faults by kind and by the share of commands in which they act: how many escaped, and the number of commands that a plan
 * so asks of it (escape.h), which is what a plan states in its text. What waits for a trigger, and two faults in one chip.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/fault.h"
#include "sim/qualify/escape.h"
#include "sim/qualify/qualify.h"

/* Shares of commands; what always acts says nothing of how often it is asked. */
static const double bins[] = { 0, 0.05, 0.1, 0.2, 0.5, 1 };

#define BINS (ELEMENTS(bins) - 1)

typedef struct Count {
        unsigned n, escaped;
} Count;

static bool escaped(const Injected *injected) {
        return injected->outcome <= OUTCOME_INCONCLUSIVE;
}

static void print_count(const Count *count, FILE *out) {
        char text[32] = "-";

        if (count->n > 0)
                (void) snprintf(text, sizeof(text), "%u/%u", count->escaped, count->n);
        fprintf(out, " %9s", text);
}

static void print_estimate(const Trial *trials, size_t n, FILE *out) {
        Escape escape = escape_estimate(trials, n);

        if (escape.high >= ESCAPE_COMMANDS_MAX)
                fprintf(out, "  %.2g or more\n", escape.low);
        else if (escape.low <= 0)
                fprintf(out, "  %.2g or fewer\n", escape.high);
        else
                fprintf(out, "  %.2g (%.2g-%.2g)\n", escape.commands, escape.low, escape.high);
}

static size_t list_trials(const Injected *faults, unsigned n, Trial *trials, Count counted[static BINS]) {
        size_t n_trials = 0;

        for (unsigned i = 0; i < n; i++) {
                double p = faults[i].fault.probability;

                if (!qualify_is_trial(&faults[i]))
                        continue;
                for (size_t b = 0; b < BINS; b++)
                        if (p >= bins[b] && p < bins[b + 1]) {
                                counted[b].n++;
                                counted[b].escaped += escaped(&faults[i]);
                        }
                trials[n_trials++] = (Trial) { p, escaped(&faults[i]) };
        }
        return n_trials;
}

static void print_kind(const Injected *faults, unsigned n, Trial *trials, FILE *out) {
        Count counted[BINS] = {};
        size_t n_trials = list_trials(faults, n, trials, counted);

        if (n_trials == 0)
                return;
        fprintf(out, "  %-34s", faults->fault.kind->name);
        for (size_t b = 0; b < BINS; b++)
                print_count(&counted[b], out);
        print_estimate(trials, n_trials, out);
}

void qualify_print_escapes(const Qualification *qualification, FILE *out) {
        unsigned samples = qualification->order->samples;
        _cleanup_free_ Trial *trials = calloc(samples, sizeof(*trials));

        if (!trials)
                return;
        fprintf(out, "\nEscaped of those that act in a share p of the commands, and n, where (1 - p)^n of them escape (95 %%):\n  %-34s %9s %9s %9s %9s %9s  %s\n",
                "KIND", "p < 0.05", "< 0.1", "< 0.2", "< 0.5", "to 1", "n");
        for (size_t i = 0; i < qualification->n_faults; i += samples)
                print_kind(&qualification->faults[i], samples, trials, out);
}

void qualify_print_triggers(const Qualification *qualification, FILE *out) {
        static const struct {
                unsigned trigger;
                const char *name;
        } triggers[] = { { TRIGGER_TEMPERATURE, "above" }, { TRIGGER_ACTIVITY, "after-commands" }, { TRIGGER_DROOP, "droop" } };

        fprintf(out, "\nEscaped of those that are always there (but for what comes and goes), by what they wait for:\n ");
        for (size_t t = 0; t < ELEMENTS(triggers); t++) {
                Count count = {};

                for (size_t i = 0; i < qualification->n_faults; i++) {
                        const Injected *injected = &qualification->faults[i];

                        if (!(injected->fault.triggers & triggers[t].trigger) || injected->fault.comes_and_goes ||
                            injected->fault.undetectable || injected->outcome == OUTCOME_UNJUDGED)
                                continue;
                        count.n++;
                        count.escaped += escaped(injected);
                }
                fprintf(out, " %s %u of %u%s", triggers[t].name, count.escaped, count.n, t + 1 < ELEMENTS(triggers) ? "," : "\n");
        }
}

void qualify_print_pairs(const Qualification *qualification, FILE *out) {
        PairScore score = qualify_pair_score(qualification);

        fprintf(out, "\nTwo faults in one chip: %u pairs; both found %u, one %u, none %u, not judged or undetectable %u\n", score.pairs,
                score.both, score.one, score.none, score.unjudged);
}
