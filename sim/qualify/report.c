/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Report: one line to a kind, what its faults were called, and each fault that was not found as the line of a scenario that has it.
 */

#include <inttypes.h>
#include <string.h>

#include "sim/chip/fault.h"
#include "sim/fleet/noise.h"
#include "sim/qualify/interval.h"
#include "sim/qualify/qualify.h"

/* The faults of each kind stand one after the other. */
static size_t n_kinds(const Qualification *qualification) {
        return qualification->order->samples > 0 ? qualification->n_faults / qualification->order->samples : 0;
}

static const Injected *faults_of(const Qualification *qualification, size_t kind) {
        return &qualification->faults[kind * qualification->order->samples];
}

/* COLUMN: blanks before it; then those before the next. */
static void print_share(FILE *out, unsigned k, unsigned n, int *column) {
        Interval interval = interval_exact(k, n, QUALIFY_CONFIDENCE);
        char text[32] = "-";

        if (n > 0)
                (void) snprintf(text, sizeof(text), "%.1f (%.1f-%.1f)", 100.0 * k / n, 100 * interval.low, 100 * interval.high);
        fprintf(out, "%*s%s", *column, "", text);
        *column = 22 - (int) strlen(text);
}

static void print_kinds(const Qualification *qualification, FILE *out) {
        fprintf(out, "%-34s %-9s %8s %8s %7s %8s %9s %6s %12s %8s  %-20s  %s\n", "KIND", "FAMILY", "INJECTED", "DETECTED", "LOCATED",
                "MISNAMED", "MISPLACED", "MISSED", "UNDETECTABLE", "UNJUDGED", "DETECTED % (95 %)", "LOCATED % (95 %)");
        for (size_t i = 0; i < n_kinds(qualification); i++) {
                KindScore score = qualify_kind_score(faults_of(qualification, i), qualification->order->samples);
                unsigned n = score.injected - score.undetectable - score.unjudged;
                int column = 2;

                fprintf(out, "%-34s %-9s %8u %8u %7u %8u %9u %6u %12u %8u", score.kind->name, fault_family_words[score.kind->family],
                        score.injected, score.detected, score.located, score.wrong_code, score.misplaced, score.missed,
                        score.undetectable, score.unjudged);
                print_share(out, score.detected, n, &column);
                print_share(out, score.located, n, &column);
                fprintf(out, "\n");
        }
}

/* What was said of one fault in the matrix. */
static const char *called(const Injected *injected) {
        if (injected->fault.undetectable)
                return "(undetectable)";
        if (injected->outcome == OUTCOME_UNJUDGED)
                return "(unjudged)";
        return injected->code ? injected->code : "(missed)";
}

static const char *undetectable(const Injected *injected) {
        return injected->fault.undetectable ?: "";
}

/* How many of N faults have the text that fault K has; 0 where one before it has it, too. */
static unsigned count_alike(const Injected *faults, unsigned n, unsigned k, const char *(*text)(const Injected *injected)) {
        unsigned count = 0;

        for (unsigned i = 0; i < n; i++) {
                if (strcmp(text(&faults[i]), text(&faults[k])) != 0)
                        continue;
                if (i < k)
                        return 0;
                count++;
        }
        return count;
}

static void print_confusion(const Qualification *qualification, FILE *out) {
        unsigned samples = qualification->order->samples;

        fprintf(out, "\nWhat the faults of each kind were called:\n");
        for (size_t i = 0; i < n_kinds(qualification); i++) {
                const Injected *faults = faults_of(qualification, i);

                fprintf(out, "  %-34s", faults->fault.kind->name);
                for (unsigned k = 0; k < samples; k++) {
                        unsigned n = count_alike(faults, samples, k, called);

                        if (n > 0)
                                fprintf(out, "  %s %u", called(&faults[k]), n);
                }
                fprintf(out, "\n");
        }
}

static void print_undetectable(const Qualification *qualification, FILE *out) {
        unsigned samples = qualification->order->samples;
        bool any = false;

        for (size_t i = 0; i < qualification->n_faults; i++) {
                const Injected *faults = faults_of(qualification, i / samples);
                const char *why = undetectable(&qualification->faults[i]);
                unsigned n = *why ? count_alike(faults, samples, (unsigned) (i % samples), undetectable) : 0, found = 0;

                if (n == 0)
                        continue;
                for (unsigned k = 0; k < samples; k++)
                        found += strcmp(undetectable(&faults[k]), why) == 0 && faults[k].outcome > OUTCOME_INCONCLUSIVE;
                fprintf(out, "%s  %-34s %u of %u: %s", any ? "" : "\nUndetectable by themselves, whatever a plan does:\n",
                        faults->fault.kind->name, n, samples, why);
                if (found > 0)
                        fprintf(out, " (%u of them were found all the same)", found);
                fprintf(out, "\n");
                any = true;
        }
}

static void print_unfound(const Qualification *qualification, FILE *out) {
        char at[LOCATION_STRING_MAX];
        bool any = false;

        for (size_t i = 0; i < qualification->n_faults; i++) {
                const Injected *injected = &qualification->faults[i];
                const Run *run;

                if (injected->fault.undetectable || injected->outcome == OUTCOME_LOCATED || injected->outcome == OUTCOME_UNJUDGED)
                        continue;
                run = &qualification->runs[injected->run];
                fprintf(out, "%s  - %s # %s", any ? "" : "\nNot found, or not located exactly, as lines for a scenario:\n",
                        injected->fault.text, outcome_to_string(injected->outcome));
                if (injected->code)
                        fprintf(out, ": %s at %s", injected->code, location_format(&injected->found, at));
                if (injected->partner != SIZE_MAX)
                        fprintf(out, "; beside %s", qualification->faults[injected->partner].fault.text);
                fprintf(out, "; scenario seed %" PRIu64 ", scan seed %" PRIu64 "\n", run->seed, run->worker_seed);
                any = true;
        }
}

static void print_healthy(const Qualification *qualification, FILE *out) {
        Interval interval = interval_exact(qualification->false_alarms, qualification->healthy_chips, QUALIFY_CONFIDENCE);
        double sum = 0;

        fprintf(out, "\nHealthy: %" PRIu64 " chips, %" PRIu64 " false alarms", qualification->healthy_chips, qualification->false_alarms);
        if (qualification->healthy_chips > 0)
                fprintf(out, " (95 %%: at most %.2g a chip)", interval.high);
        fprintf(out, ", %" PRIu64 " not judged\n", qualification->healthy_unjudged);
        if (qualification->budget_chips > 0)
                fprintf(out, "  particles, %.2g an hour and chip: %.2g bits flipped in a scan of %u chips that takes %.3g s of each; warned of, not failed\n",
                        NOISE_SOFT_ERRORS, qualify_upsets(qualification), QUALIFY_FLEET, qualify_scan_sec(qualification));
        for (size_t i = 0; i < qualification->n_budgets; i++) {
                double chip = qualification->budgets[i].sum / (double) qualification->budget_chips;

                sum += chip;
                fprintf(out, "  by computation, %s: %.2g a chip, %.2g in a scan of %u chips\n", qualification->budgets[i].name, chip,
                        chip * QUALIFY_FLEET, QUALIFY_FLEET);
        }
        if (qualification->n_budgets > 0)
                fprintf(out, "  by computation, all: %.2g false alarms in a scan of %u chips\n", sum * QUALIFY_FLEET, QUALIFY_FLEET);
}

void qualify_print(const Qualification *qualification, FILE *out) {
        fprintf(out, "plan %s, seed %" PRIu64 ", %zu faults of %zu kinds in %zu scans\n\n", qualification->order->plan,
                qualification->order->seed, qualification->n_faults, n_kinds(qualification), qualification->n_runs);
        if (qualification->n_faults > 0) {
                print_kinds(qualification, out);
                print_confusion(qualification, out);
                qualify_print_escapes(qualification, out);
                qualify_print_triggers(qualification, out);
                qualify_print_pairs(qualification, out);
        }
        print_undetectable(qualification, out);
        print_unfound(qualification, out);
        print_healthy(qualification, out);
        fprintf(out, "Innocent parts named on chips with a fault: %" PRIu64 "\n", qualification->innocents);
        for (size_t i = 0; i < qualification->n_notes; i++)
                fprintf(out, "%s  %s\n", i == 0 ? "\nTo look at:\n" : "", qualification->notes[i]);
}
