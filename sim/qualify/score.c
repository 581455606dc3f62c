/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Score: what was found against what is there. A finding counts for a fault where it stands at one of the places that a right
 * diagnosis of it has, around such a place, within it or across it, and where the chip (or server) it stands on was not passed.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/fleet/noise.h"
#include "sim/links/link.h"
#include "sim/qualify/place.h"
#include "sim/qualify/qualify.h"
#include "sim/qualify/statement.h"

static const char *const outcome_words[_OUTCOME_MAX] = {
        [OUTCOME_UNJUDGED]     = "could not be judged",
        [OUTCOME_MISSED]       = "missed",
        [OUTCOME_INCONCLUSIVE] = "missed (inconclusive)",
        [OUTCOME_MISPLACED]    = "misplaced",
        [OUTCOME_WRONG_CODE]   = "wrong code",
        [OUTCOME_LOCATED]      = "located",
};

const char *outcome_to_string(Outcome outcome) {
        return outcome_words[outcome];
}

/* NAME-intermittent says of a fault that it comes and goes, whatever else it is. */
static bool says_intermittent(const char *code) {
        const char *last = strrchr(code, '-');

        return last && strcmp(last, "-intermittent") == 0;
}

static bool is_right_code(const DrawnFault *fault, const char *code) {
        const Diagnosis *diagnosis = &fault->diagnosis;

        if (fault->comes_and_goes && says_intermittent(code))
                return true;
        for (const char *const *right = diagnosis->codes; right && *right; right++)
                if (strcmp(*right, code) == 0)
                        return true;
        return !diagnosis->codes;
}

/* Whether it stands where the far end of a link hears the fault: only what stays can be traced back to a transmitter. */
static bool is_at_far_end(const DrawnFault *fault, const ObservedFinding *finding) {
        int lane = location_index(&fault->at, LOCATION_LANE);
        Location far = fault->at;

        if (location_index(&far, LOCATION_LINK) < 0)
                return false;
        (void) location_truncate(&far, LOCATION_LINK);
        far = link_far_end(&far);
        if (lane >= 0)
                (void) location_append(&far, LOCATION_LANE, (unsigned) lane);
        return place_overlaps(&far, &finding->at);
}

/* What one finding is worth as the finding of FAULT; OUTCOME_MISSED: nothing. */
static Outcome judge_finding(const DrawnFault *fault, const ObservedFinding *finding) {
        bool near = place_overlaps(&fault->at, &finding->at) || is_at_far_end(fault, finding);

        for (unsigned i = 0; i < fault->diagnosis.n_places; i++) {
                const Location *place = &fault->diagnosis.places[i];

                if (location_equal(place, &finding->at))
                        return is_right_code(fault, finding->code) ? OUTCOME_LOCATED : OUTCOME_WRONG_CODE;
                near = near || place_overlaps(place, &finding->at);
        }
        return near ? OUTCOME_MISPLACED : OUTCOME_MISSED;
}

static void judge_unit(Injected *injected, const ObservedUnit *unit, Result result) {
        if (result != RESULT_FAILED && result != RESULT_WARNED)
                return;
        for (size_t i = 0; i < unit->n_findings; i++) {
                Outcome outcome = judge_finding(&injected->fault, &unit->findings[i]);

                if (outcome <= OUTCOME_INCONCLUSIVE || outcome <= injected->outcome)
                        continue;
                injected->outcome = outcome;
                injected->code = unit->findings[i].code;
                injected->found = unit->findings[i].at;
        }
}

/* A fault of a shared kind may be found wherever the scan looked, any other on its own chip. */
static void judge_fault(Injected *injected, const Observation *observation) {
        Location chip = injected->fault.at;
        const ObservedUnit *own;
        Result result;

        (void) location_truncate(&chip, LOCATION_CHIP);
        own = observation_find(observation, &chip);
        if (!own)
                return; /* nothing was said of it: unjudged */
        result = own->result;
        injected->outcome = result == RESULT_INCONCLUSIVE ? OUTCOME_INCONCLUSIVE : OUTCOME_MISSED;
        for (size_t i = 0; i < observation->n_units; i++) {
                const ObservedUnit *unit = &observation->units[i];

                if (unit == own || injected->fault.kind->is_shared)
                        judge_unit(injected, unit, unit->result);
        }
}

/* ---- parts without a fault ---- */

/* Whether the finding is of any fault of RUN, of which it names some part that the fault is in. */
static bool is_explained(const Qualification *qualification, const Run *run, const ObservedFinding *finding) {
        for (size_t i = 0; i < run->n; i++)
                if (judge_finding(&qualify_fault(qualification, run, i)->fault, finding) != OUTCOME_MISSED)
                        return true;
        return false;
}

/* Findings on a chip with a fault, in parts where none is: whoever acts on them replaces or reseats what is sound. */
static int judge_strays(Qualification *qualification, const Run *run, Injected *injected, const ObservedUnit *unit) {
        const Injected *partner = injected->partner == SIZE_MAX ? NULL : &qualification->faults[injected->partner];
        const ObservedFinding *first = NULL;
        char at[LOCATION_STRING_MAX];

        for (size_t i = 0; i < unit->n_findings; i++) {
                if (is_explained(qualification, run, &unit->findings[i]))
                        continue;
                first = first ? first : &unit->findings[i];
                injected->strays++;
        }
        qualification->innocents += injected->strays;
        if (!first)
                return 0;
        return qualify_note(qualification, "innocent parts are named: %s at %s and %u others, beside %s%s%s; scenario seed %llu, scan seed %llu",
                            first->code, location_format(&first->at, at), injected->strays - 1, injected->fault.text,
                            partner ? " and " : "", partner ? partner->fault.text : "", (unsigned long long) run->seed,
                            (unsigned long long) run->worker_seed);
}

/* Of two faults in one chip the first is asked. */
static int judge_innocents(Qualification *qualification, const Run *run, const Observation *observation) {
        int r = 0;

        for (size_t i = 0; i < run->n && r >= 0; i++) {
                Injected *injected = qualify_fault(qualification, run, i);
                Location chip = injected->fault.at;
                const ObservedUnit *unit;

                (void) location_truncate(&chip, LOCATION_CHIP);
                unit = observation_find(observation, &chip);
                if (unit && (injected->partner == SIZE_MAX || &qualification->faults[injected->partner] > injected))
                        r = judge_strays(qualification, run, injected, unit);
        }
        return r;
}

static bool has_fault(const Qualification *qualification, const Run *run, const Location *chip) {
        for (size_t i = 0; i < run->n; i++)
                if (location_contains(chip, &qualify_fault(qualification, run, i)->fault.at))
                        return true;
        return false;
}

static int judge_healthy(Qualification *qualification, const Run *run, const ObservedUnit *unit, Result result) {
        char at[LOCATION_STRING_MAX];

        if (unit->n_findings > 0 || result == RESULT_FAILED || result == RESULT_WARNED)
                qualification->false_alarms++;
        else if (result != RESULT_PASSED)
                qualification->healthy_unjudged++;
        else
                return 0;
        if (unit->n_findings > 0)
                return qualify_note(qualification, "false alarm: %s at %s and %zu others, scenario seed %llu, scan seed %llu",
                                    unit->findings[0].code, location_format(&unit->findings[0].at, at), unit->n_findings - 1,
                                    (unsigned long long) run->seed, (unsigned long long) run->worker_seed);
        return qualify_note(qualification, "healthy and not passed: %s, scenario seed %llu, scan seed %llu",
                            location_format(&unit->at, at), (unsigned long long) run->seed, (unsigned long long) run->worker_seed);
}

static int add_budgets(Qualification *qualification, const Observation *observation) {
        qualification->budget_chips += CHIPS;
        for (size_t i = 0; i < observation->n_alarms; i++) {
                const ObservedAlarms *alarms = &observation->alarms[i];
                Budget *budgets;
                size_t k;

                for (k = 0; k < qualification->n_budgets && strcmp(qualification->budgets[k].name, alarms->name) != 0; k++)
                        ;
                if (k == qualification->n_budgets) {
                        budgets = reallocarray(qualification->budgets, k + 1, sizeof(*budgets));
                        if (!budgets)
                                return -ENOMEM;
                        qualification->budgets = budgets;
                        budgets[k] = (Budget) {};
                        (void) snprintf(budgets[k].name, sizeof(budgets[k].name), "%s", alarms->name);
                        qualification->n_budgets++;
                }
                qualification->budgets[k].sum += alarms->expected;
        }
        return 0;
}

/* Of a server that is all healthy also what is said of the server. */
static int judge_others(Qualification *qualification, const Run *run, const Observation *observation) {
        int r = run->n == 0 ? add_budgets(qualification, observation) : 0;

        for (size_t i = 0; i < observation->n_units && r >= 0; i++) {
                const ObservedUnit *unit = &observation->units[i];
                bool chip = location_kind(&unit->at) == LOCATION_CHIP;

                if (chip && run->n == 0)
                        qualification->device_sec += (double) unit->device_nsec * 1e-9;
                if (chip && !has_fault(qualification, run, &unit->at)) {
                        qualification->healthy_chips++;
                        r = judge_healthy(qualification, run, unit, unit->result);
                } else if (!chip && run->n == 0 && unit->n_findings > 0)
                        r = judge_healthy(qualification, run, unit, RESULT_FAILED);
        }
        return r;
}

static int keep_escapes(Qualification *qualification, const Observation *observation) {
        size_t n = observation->n_escapes;

        if (qualification->escapes || n == 0)
                return 0;
        qualification->escapes = calloc(n, sizeof(*qualification->escapes));
        if (!qualification->escapes)
                return -ENOMEM;
        memcpy(qualification->escapes, observation->escapes, n * sizeof(*qualification->escapes));
        qualification->n_escapes = n;
        return 0;
}

static size_t count_chips(const Observation *observation) {
        size_t n = 0;

        for (size_t i = 0; observation && i < observation->n_units; i++)
                n += location_kind(&observation->units[i].at) == LOCATION_CHIP;
        return n;
}

int qualify_score(Qualification *qualification, const Run *run, const Observation *observation, const char *why) {
        size_t wanted = run->ring ? 4u * CHIPS : CHIPS;
        int r;

        if (!observation || observation->broken || count_chips(observation) != wanted) {
                qualification->n_unjudged_runs++;
                return qualify_note(qualification, "could not be judged: %s; scenario seed %llu, scan seed %llu, %s",
                                    why ? why : "the worker gave up, or left chips out", (unsigned long long) run->seed,
                                    (unsigned long long) run->worker_seed, run->n > 0 ? qualify_fault(qualification, run, 0)->fault.text : "healthy");
        }
        for (size_t i = 0; i < run->n; i++)
                judge_fault(qualify_fault(qualification, run, i), observation);
        r = keep_escapes(qualification, observation);
        if (r >= 0)
                r = judge_innocents(qualification, run, observation);
        return r < 0 || run->shared ? r : judge_others(qualification, run, observation);
}

/* ---- sums ---- */

static void count_outcome(KindScore *score, const Injected *injected) {
        switch (injected->outcome) {
        case OUTCOME_UNJUDGED:
        case _OUTCOME_MAX:
                score->unjudged++;
                return;
        case OUTCOME_INCONCLUSIVE:
                score->inconclusive++;
                score->missed++;
                return;
        case OUTCOME_MISSED:
                score->missed++;
                return;
        case OUTCOME_MISPLACED:
                score->misplaced++;
                break;
        case OUTCOME_WRONG_CODE:
                score->wrong_code++;
                break;
        case OUTCOME_LOCATED:
                score->located++;
                break;
        }
        score->detected++;
}

KindScore qualify_kind_score(const Injected *faults, size_t n) {
        KindScore score = { .kind = faults[0].fault.kind };

        for (size_t i = 0; i < n; i++) {
                score.injected++;
                score.strays += faults[i].strays;
                if (faults[i].fault.undetectable) {
                        score.undetectable++;
                        score.undetectable_found += faults[i].outcome > OUTCOME_INCONCLUSIVE;
                } else
                        count_outcome(&score, &faults[i]);
        }
        return score;
}

bool qualify_is_trial(const Injected *injected) {
        return injected->fault.comes_and_goes && injected->fault.probability < 1 && !injected->fault.undetectable &&
               injected->outcome != OUTCOME_UNJUDGED && injected->partner == SIZE_MAX;
}

PairScore qualify_pair_score(const Qualification *qualification) {
        PairScore score = {};

        for (size_t i = 0; i < qualification->n_faults; i++) {
                const Injected *a = &qualification->faults[i], *b;
                unsigned found;

                if (a->partner == SIZE_MAX || a->partner < i)
                        continue;
                b = &qualification->faults[a->partner];
                score.pairs++;
                found = (a->outcome > OUTCOME_INCONCLUSIVE) + (b->outcome > OUTCOME_INCONCLUSIVE);
                if (a->outcome == OUTCOME_UNJUDGED || b->outcome == OUTCOME_UNJUDGED || a->fault.undetectable || b->fault.undetectable)
                        score.unjudged++;
                else if (found == 2)
                        score.both++;
                else if (found == 1)
                        score.one++;
                else
                        score.none++;
        }
        return score;
}

double qualify_scan_sec(const Qualification *qualification) {
        return qualification->budget_chips > 0 ? qualification->device_sec / (double) qualification->budget_chips : 0;
}

double qualify_upsets(const Qualification *qualification) {
        return NOISE_SOFT_ERRORS / 3600 * qualify_scan_sec(qualification) * QUALIFY_FLEET;
}

int qualify_status(const Qualification *qualification) {
        bool unjudged = qualification->n_unjudged_runs > 0 || qualification->healthy_unjudged > 0;

        for (size_t i = 0; i < qualification->n_faults; i++)
                unjudged = unjudged || qualification->faults[i].outcome == OUTCOME_UNJUDGED;
        if (qualification->false_alarms + qualification->innocents > 0 || statement_has_failed(qualification))
                return STATUS_FAILED;
        return unjudged ? STATUS_CANNOT_TELL : STATUS_PASSED;
}
