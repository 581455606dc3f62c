/* SPDX-License-Identifier: Apache-2.0 */

/* The report for machines. Members are only ever added. */

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/fault.h"
#include "sim/qualify/escape.h"
#include "sim/qualify/interval.h"
#include "sim/qualify/qualify.h"
#include "sim/qualify/statement.h"

static json_t *interval_json(unsigned k, unsigned n) {
        Interval interval = interval_exact(k, n, QUALIFY_CONFIDENCE);

        return json_pack("[f, f]", interval.low, interval.high);
}

static void add_one(json_t *counts, const char *name) {
        (void) json_object_set_new(counts, name, json_integer(json_integer_value(json_object_get(counts, name)) + 1));
}

/* CODE → how many faults were called so. "missed" and "unjudged" are no codes of the catalogue. */
static json_t *confusion_json(const Injected *faults, unsigned n) {
        json_t *counts = json_object();

        for (unsigned i = 0; i < n; i++)
                if (!faults[i].fault.undetectable)
                        add_one(counts, faults[i].outcome == OUTCOME_UNJUDGED ? "unjudged" : faults[i].code ? faults[i].code : "missed");
        return counts;
}

static json_t *reasons_json(const Injected *faults, unsigned n) {
        json_t *counts = json_object();

        for (unsigned i = 0; i < n; i++)
                if (faults[i].fault.undetectable)
                        add_one(counts, faults[i].fault.undetectable);
        return counts;
}

static json_t *unfound_json(const Qualification *qualification, const Injected *faults) {
        json_t *list = json_array();

        for (unsigned i = 0; i < qualification->order->samples; i++) {
                const Injected *injected = &faults[i];
                char found[LOCATION_STRING_MAX] = "";
                const Run *run;

                if (injected->fault.undetectable || injected->outcome == OUTCOME_LOCATED || injected->outcome == OUTCOME_UNJUDGED)
                        continue;
                run = &qualification->runs[injected->run];
                if (injected->code)
                        (void) location_format(&injected->found, found);
                (void) json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s?, s:I, s:I}", "fault", injected->fault.text, "outcome",
                                                             outcome_to_string(injected->outcome), "code", injected->code, "found",
                                                             found[0] ? found : NULL, "scenario_seed", (json_int_t) run->seed, "scan_seed",
                                                             (json_int_t) run->worker_seed));
        }
        return list;
}

/* Of what comes and goes, alone in its chip: how often it was injected, how often it escaped, and n of (1 - p)^n with its interval. */
static json_t *escape_json(const Injected *faults, unsigned n) {
        Trial *trials = calloc(n, sizeof(*trials));
        json_t *json = json_object();
        size_t n_trials = 0, escaped = 0;
        Escape escape;

        for (unsigned i = 0; trials && i < n; i++)
                if (qualify_is_trial(&faults[i])) {
                        trials[n_trials] = (Trial) { faults[i].fault.probability, faults[i].outcome <= OUTCOME_INCONCLUSIVE };
                        escaped += trials[n_trials++].escaped;
                }
        if (n_trials > 0) {
                escape = escape_estimate(trials, n_trials);
                json_decref(json);
                json = json_pack("{s:i, s:i, s:f, s:[f, f]}", "injected", (int) n_trials, "escaped", (int) escaped, "commands",
                                 escape.commands, "interval", escape.low, escape.high);
        }
        free(trials);
        return json;
}

/* The plan's statement, null where there is none, and the share that escaped of each class that there was. */
static json_t *stated_json(const Qualification *qualification, const Injected *faults) {
        const ObservedEscape *statement = statement_find(qualification, faults->fault.kind);
        double confidence = statement_confidence(qualification, NULL);
        Measured measured[STATEMENT_CLASSES];
        json_t *shares;

        if (!statement)
                return json_null();
        shares = json_array();
        statement_measure(statement, faults, qualification->order->samples, measured);
        for (size_t i = 0; i < STATEMENT_CLASSES; i++) {
                Interval interval;
                bool worse = statement_is_exceeded(&measured[i], confidence, &interval);

                if (measured[i].n > 0)
                        (void) json_array_append_new(shares, json_pack("{s:[f, f], s:i, s:i, s:[f, f], s:f, s:b}", "p", measured[i].from, measured[i].to,
                                                                       "injected", (int) measured[i].n, "escaped", (int) measured[i].escaped,
                                                                       "interval", interval.low, interval.high, "bound", measured[i].bound,
                                                                       "worse", worse));
        }
        return json_pack("{s:f, s:f, s:o}", "always", statement->always, "commands", statement->commands, "shares", shares);
}

static json_t *kind_json(const Qualification *qualification, const Injected *faults) {
        unsigned n = qualification->order->samples, judged;
        KindScore score = qualify_kind_score(faults, n);
        json_t *counts, *rest;

        judged = score.injected - score.undetectable - score.unjudged;
        counts = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "kind", score.kind->name, "family",
                           fault_family_words[score.kind->family], "injected", (int) score.injected, "detected", (int) score.detected,
                           "located", (int) score.located, "wrong_code", (int) score.wrong_code, "misplaced", (int) score.misplaced,
                           "missed", (int) score.missed, "inconclusive", (int) score.inconclusive, "undetectable",
                           (int) score.undetectable, "undetectable_found", (int) score.undetectable_found, "unjudged",
                           (int) score.unjudged, "strays", (int) score.strays);
        rest = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "escape", escape_json(faults, n), "stated", stated_json(qualification, faults), "detected_interval", interval_json(score.detected, judged), "located_interval",
                         interval_json(score.located, judged), "confusion", confusion_json(faults, n), "undetectable_reasons",
                         reasons_json(faults, n), "unfound", unfound_json(qualification, faults));
        if (counts && rest)
                (void) json_object_update(counts, rest);
        json_decref(rest);
        return counts;
}

static json_t *fleet_json(const Qualification *qualification) {
        json_t *tests = json_array();
        double sum = 0;

        for (size_t i = 0; i < qualification->n_budgets; i++) {
                double chip = qualification->budgets[i].sum / (double) qualification->budget_chips;

                sum += chip;
                (void) json_array_append_new(tests, json_pack("{s:s, s:f, s:f}", "measurement", qualification->budgets[i].name, "per_chip", chip,
                                                              "expected", chip * QUALIFY_FLEET));
        }
        return json_pack("{s:i, s:f, s:o, s:f, s:f}", "chips", (int) QUALIFY_FLEET, "expected_false_alarms", sum * QUALIFY_FLEET, "tests", tests,
                         "scan_seconds", qualify_scan_sec(qualification), "expected_soft_errors", qualify_upsets(qualification));
}

static json_t *notes_json(const Qualification *qualification) {
        json_t *notes = json_array();

        for (size_t i = 0; i < qualification->n_notes; i++)
                (void) json_array_append_new(notes, json_string(qualification->notes[i]));
        return notes;
}

int qualify_print_json(const Qualification *qualification, FILE *out) {
        unsigned samples = qualification->order->samples;
        PairScore pairs = qualify_pair_score(qualification);
        json_t *kinds = json_array(), *whole;
        Interval alarms = interval_exact(qualification->false_alarms, qualification->healthy_chips, QUALIFY_CONFIDENCE);
        int r;

        for (size_t i = 0; samples > 0 && i < qualification->n_faults; i += samples)
                (void) json_array_append_new(kinds, kind_json(qualification, &qualification->faults[i]));
        /* JSON has no integers beyond 2^63 that every reader takes: the command line allows no larger seed. */
        whole = json_pack("{s:s, s:I, s:i, s:I, s:{s:i, s:i, s:i, s:i, s:i}, s:o, s:{s:I, s:I, s:I, s:[f, f]}, s:o, s:o}", "plan", qualification->order->plan, "seed",
                          (json_int_t) qualification->order->seed, "samples", (int) samples, "innocents", (json_int_t) qualification->innocents,
                          "pairs", "pairs", (int) pairs.pairs, "both", (int) pairs.both, "one", (int) pairs.one, "none", (int) pairs.none,
                          "unjudged", (int) pairs.unjudged, "kinds", kinds, "healthy", "chips",
                          (json_int_t) qualification->healthy_chips, "false_alarms", (json_int_t) qualification->false_alarms, "unjudged",
                          (json_int_t) qualification->healthy_unjudged, "interval", alarms.low, alarms.high, "fleet",
                          fleet_json(qualification), "notes", notes_json(qualification));
        if (!whole)
                return -ENOMEM;
        r = json_dumpf(whole, out, JSON_INDENT(2)) < 0 || fputc('\n', out) == EOF ? -EIO : 0;
        json_decref(whole);
        return r;
}
