/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Intermittent faults by kind and by the share of commands in which they act: how many escaped, and the number of commands that a plan
 * so asks of it (escape.h), which is what a plan states in its text. What waits for a trigger, and two faults in one chip.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/fault.h"
#include "sim/qualify/escape.h"
#include "sim/qualify/qualify.h"
#include "sim/qualify/statement.h"

static bool escaped(const Injected *injected) {
        return injected->outcome <= OUTCOME_INCONCLUSIVE;
}

static void print_estimate(const Trial *trials, size_t n, FILE *out) {
        Escape escape = n > 0 ? escape_estimate(trials, n) : (Escape) {};
        char text[40] = "-";

        if (n > 0 && escape.high >= ESCAPE_COMMANDS_MAX)
                (void) snprintf(text, sizeof(text), "%.2g or more", escape.low);
        else if (n > 0 && escape.low <= 0)
                (void) snprintf(text, sizeof(text), "%.2g or fewer", escape.high);
        else if (n > 0)
                (void) snprintf(text, sizeof(text), "%.2g (%.2g-%.2g)", escape.commands, escape.low, escape.high);
        fprintf(out, "  %-18s", text);
}

static void print_statement(const ObservedEscape *statement, FILE *out) {
        if (!statement)
                fprintf(out, "  nothing\n");
        else if (statement->always >= 1)
                fprintf(out, "  all\n");
        else if (statement->always > 0)
                fprintf(out, "  n %.3g, %.3g %% always\n", statement->commands, 100 * statement->always);
        else
                fprintf(out, "  n %.3g\n", statement->commands);
}

static size_t list_trials(const Injected *faults, unsigned n, Trial *trials) {
        size_t n_trials = 0;

        for (unsigned i = 0; i < n; i++)
                if (qualify_is_trial(&faults[i]))
                        trials[n_trials++] = (Trial) { faults[i].fault.probability, escaped(&faults[i]) };
        return n_trials;
}

static void print_kind(const Qualification *qualification, const Injected *faults, Trial *trials, FILE *out) {
        const ObservedEscape *statement = statement_find(qualification, faults->fault.kind);
        unsigned samples = qualification->order->samples;
        Measured measured[STATEMENT_CLASSES];

        statement_measure(statement, faults, samples, measured);
        fprintf(out, "  %-34s", faults->fault.kind->name);
        for (size_t i = 0; i < STATEMENT_CLASSES; i++) {
                char text[32] = "-";

                if (measured[i].n > 0)
                        (void) snprintf(text, sizeof(text), "%u/%u", measured[i].escaped, measured[i].n);
                fprintf(out, " %9s", text);
        }
        print_estimate(trials, list_trials(faults, samples, trials), out);
        print_statement(statement, out);
}

static void print_exceeded(const Qualification *qualification, FILE *out) {
        unsigned samples = qualification->order->samples, n, n_worse = 0;
        double confidence = statement_confidence(qualification, &n);

        for (size_t i = 0; i < qualification->n_faults; i += samples) {
                const Injected *faults = &qualification->faults[i];
                const ObservedEscape *statement = statement_find(qualification, faults->fault.kind);
                Measured measured[STATEMENT_CLASSES];
                Interval interval;

                statement_measure(statement, faults, samples, measured);
                for (size_t k = 0; statement && k < STATEMENT_CLASSES; k++) {
                        const Measured *own = &measured[k];
                        char share[40] = "always there";

                        if (!statement_is_exceeded(own, confidence, &interval))
                                continue;
                        if (own->from < 1)
                                (void) snprintf(share, sizeof(share), "p %.2g to %.2g", own->from, own->to);
                        fprintf(out, "%s  %s, %s: %u of %u escaped, %.3g %% (%.3g-%.3g); stated: at most %.3g %%\n",
                                n_worse++ == 0 ? "\nWorse than the plan states:\n" : "", faults->fault.kind->name, share, own->escaped, own->n,
                                100.0 * own->escaped / own->n, 100 * interval.low, 100 * interval.high, 100 * own->bound);
                }
        }
        fprintf(out, "\n%u of %u shares that escaped are worse than the plan states (intervals of 95 %% for all of them together).\n", n_worse, n);
}

static void print_unstated(const Qualification *qualification, FILE *out) {
        unsigned samples = qualification->order->samples;
        bool any = false;

        for (size_t i = 0; i < qualification->n_faults; i += samples) {
                const Injected *faults = &qualification->faults[i];
                KindScore score = qualify_kind_score(faults, samples);

                if (statement_find(qualification, score.kind))
                        continue;
                fprintf(out, "%s  %s: %u of %u missed\n", any ? "" : "\nThe plan states nothing of:\n", score.kind->name, score.missed,
                        score.injected - score.undetectable - score.unjudged);
                any = true;
        }
}

void qualify_print_escapes(const Qualification *qualification, FILE *out) {
        unsigned samples = qualification->order->samples;
        _cleanup_free_ Trial *trials = calloc(samples, sizeof(*trials));

        if (!trials)
                return;
        fprintf(out, "\nEscaped, by the share p of the commands in which they act; n, where (1 - p)^n escape (95 %%), and what the plan states at the most:\n"
                "  %-34s %9s %9s %9s %9s %9s %9s  %-18s  %s\n", "KIND", "always", "p < 0.05", "< 0.1", "< 0.2", "< 0.5", "to 1", "n", "STATED");
        for (size_t i = 0; i < qualification->n_faults; i += samples)
                print_kind(qualification, &qualification->faults[i], trials, out);
        print_exceeded(qualification, out);
        print_unstated(qualification, out);
}

void qualify_print_triggers(const Qualification *qualification, FILE *out) {
        static const struct {
                unsigned trigger;
                const char *name;
        } triggers[] = { { TRIGGER_TEMPERATURE, "above" }, { TRIGGER_ACTIVITY, "after-commands" }, { TRIGGER_DROOP, "droop" } };

        fprintf(out, "\nEscaped of those that are always there (but for what comes and goes), by what they wait for:\n ");
        for (size_t t = 0; t < ELEMENTS(triggers); t++) {
                unsigned n = 0, n_escaped = 0;

                for (size_t i = 0; i < qualification->n_faults; i++) {
                        const Injected *injected = &qualification->faults[i];

                        if (!(injected->fault.triggers & triggers[t].trigger) || injected->fault.comes_and_goes ||
                            injected->fault.undetectable || injected->outcome == OUTCOME_UNJUDGED)
                                continue;
                        n++;
                        n_escaped += escaped(injected);
                }
                fprintf(out, " %s %u of %u%s", triggers[t].name, n_escaped, n, t + 1 < ELEMENTS(triggers) ? "," : "\n");
        }
}

void qualify_print_pairs(const Qualification *qualification, FILE *out) {
        PairScore score = qualify_pair_score(qualification);

        fprintf(out, "\nTwo faults in one chip: %u pairs; both found %u, one %u, none %u, not judged or undetectable %u\n", score.pairs,
                score.both, score.one, score.none, score.unjudged);
}
