/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rounding
 *
 * Conversions from fp32 on the Vector, Scalar and GpSimd engines of every core, 128 lanes each: to nearest, all hard cases
 * bit for bit; stochastic, by counting alone with exact binomial tails (a mean says nothing about low bits, and a normal
 * approximation nothing about rare alarms), and by reading out the random words, which the published generator predicts. The
 * script is in script.h, what the answers mean in diagnose.h, how often chance may raise an alarm in budget.h.
 *
 * What a sound engine answers was computed before any chip was asked, so a healthy engine costs one comparison.
 */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "checks/rounding/diagnose.h"
#include "checks/rounding/parameters.h"
#include "checks/rounding/recover.h"
#include "checks/rounding/report.h"
#include "checks/rounding/retest.h"
#include "checks/rounding/session.h"
#include "checks/rounding/tosses.h"
#include "checks/step.h"

#define NSEC_PER_CONVERSION (128 / 123.0) /* of each lane */

static const LocationKind engine_kinds[_ENGINE_MAX] = { LOCATION_VECTOR, LOCATION_SCALAR, LOCATION_GPSIMD };

/* The least likely count of some lanes. */
typedef struct Least {
        unsigned ups; /* as at a quarter of the way up */
        double p_value;
} Least;

typedef struct Tally {
        double compared, mismatched, counted;
        Least least;
        unsigned n_retests;
} Tally;

static void keep_least(Least *least, const Budget *budget, unsigned place, unsigned ups) {
        double p_value = budget_p_value(budget, place, ups);

        if (p_value < least->p_value)
                *least = (Least) { place % 2 ? budget->each - ups : ups, p_value };
}

/* ---- an engine that is not as it should be ---- */

/* Passes of one engine, copied: the window may change under us. */
typedef struct Answers {
        const uint8_t *passes[SCRIPT_PASSES_MAX];
        States before;
        uint8_t bytes[];
} Answers;

static Answers *answers_copy(const Session *session, WireEngine engine) {
        const Script *script = session->scripts[engine];
        size_t n = 0, at = 0;
        Answers *answers;

        for (unsigned i = 0; i < script->n_passes; i++)
                n += script_out_bytes(script, i);
        answers = malloc(sizeof(*answers) + n);
        if (!answers)
                return NULL;

        memcpy(&answers->before, session->before[engine], sizeof(answers->before));
        for (unsigned i = 0; i < script->n_passes; i++) {
                answers->passes[i] = answers->bytes + at;
                memcpy(answers->bytes + at, session->out[engine][i], script_out_bytes(script, i));
                at += script_out_bytes(script, i);
        }
        return answers;
}

/* Counting has the last word where no cause is known, and only after a second count: see budget.h. */
static int judge_bias(Session *session, unsigned core, WireEngine engine, unsigned lane, LaneDiagnosis *d, Tally *tally) {
        Retest retest;
        int r;

        if (d->why.cause != CAUSE_BIAS)
                return 0;
        r = retest_lane(session, core, engine, lane, d->place, &retest);
        if (r < 0)
                return r;
        tally->n_retests++;
        if (!retest.biased)
                d->why.cause = CAUSE_GENERATOR;
        return 0;
}

/* What no hypothesis explains is read out: see recover.h. */
static int judge_words(Session *session, unsigned core, WireEngine engine, LaneDiagnosis diagnoses[static ENGINE_LANES]) {
        _cleanup_free_ Recovered *recovered = NULL;
        int r;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                LaneDiagnosis *d = &diagnoses[lane];
                unsigned other;

                if (d->why.cause != CAUSE_GENERATOR && d->why.cause != CAUSE_BIAS)
                        continue;
                if (!recovered) {
                        recovered = malloc(sizeof(*recovered));
                        if (!recovered)
                                return -ENOMEM;
                        r = recover_words(session, core, engine, session->scripts[engine]->passes[0].seed, recovered);
                        if (r < 0)
                                return r;
                }
                if (recovered_explain(recovered, engine, lane, d->words, sizeof(d->words), &other))
                        d->why.cause = other < ENGINE_LANES ? CAUSE_TWINS : CAUSE_GENERATOR;
        }

        return 0;
}

/* What is not even words that can be told is looked at as coins: see tosses.h. */
static int judge_tosses(Session *session, unsigned core, WireEngine engine, LaneDiagnosis diagnoses[static ENGINE_LANES]) {
        _cleanup_free_ Tosses *tosses = NULL;
        int r;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                LaneDiagnosis *d = &diagnoses[lane];
                unsigned other;

                if (d->why.cause != CAUSE_GENERATOR || d->words[0])
                        continue;
                if (!tosses) {
                        tosses = malloc(sizeof(*tosses));
                        if (!tosses)
                                return -ENOMEM;
                        r = tosses_draw(session, core, engine, tosses);
                        if (r < 0)
                                return r;
                }
                if (tosses_explain(tosses, lane, d->words, sizeof(d->words), &other) && other < ENGINE_LANES)
                        d->why.cause = CAUSE_TWINS;
        }

        return 0;
}

static int judge_lanes(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine engine, const Location *where, Tally *tally) {
        const Script *script = session->scripts[engine];
        _cleanup_free_ LaneDiagnosis *diagnoses = calloc(ENGINE_LANES, sizeof(*diagnoses));
        _cleanup_free_ Answers *answers = answers_copy(session, engine);
        bool wrong = false;
        int r = 0;

        if (!diagnoses || !answers)
                return -ENOMEM;
        for (unsigned lane = 0; lane < ENGINE_LANES && r >= 0; lane++) {
                _cleanup_(view_freep) View *view = NULL;

                r = view_make(script, answers->passes, lane, &view);
                if (r < 0)
                        return r;
                tally->mismatched += view->n_mismatches;
                if (view->n_mismatches == 0)
                        continue;
                wrong = true;
                lane_diagnose(view, &answers->before, &diagnoses[lane]);
                keep_least(&tally->least, &script->budget, diagnoses[lane].place, diagnoses[lane].ups[diagnoses[lane].place]);
        }
        if (r >= 0 && !wrong) {
                tally->mismatched++;
                return step_finding(step, verdict, "rounding-generator", where, NULL,
                                    "conversions were wrong when they were compared, and changed before they were read again");
        }
        if (r >= 0)
                r = judge_words(session, core, engine, diagnoses);
        for (unsigned lane = 0; lane < ENGINE_LANES && r >= 0; lane++)
                r = judge_bias(session, core, engine, lane, &diagnoses[lane], tally);
        if (r >= 0)
                r = judge_tosses(session, core, engine, diagnoses);
        if (r < 0)
                return r;

        return report_engine(step, verdict, where, &script->budget, diagnoses);
}

/* ---- one that is ---- */

/* What counting says of a sound engine is the same wherever it is met, so it is counted once. */
typedef struct SoundCount {
        const Script *script;
        Least least;
        unsigned n_alarms; /* stage 1 alone */
        unsigned lane, place; /* of the first */
} SoundCount;

static const SoundCount *sound_count(const Script *script) {
        static SoundCount known[_ENGINE_MAX];
        SoundCount *count = &known[script->engine];

        unsigned low[2] = { UINT_MAX, UINT_MAX }, high[2] = {};

        if (count->script == script)
                return count;
        *count = (SoundCount) { .script = script, .least.p_value = 1 };
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                for (unsigned place = 0; place < COIN_PLACES; place++) {
                        unsigned ups = script_sound_ups(script, lane, place);

                        low[place % 2] = ups < low[place % 2] ? ups : low[place % 2];
                        high[place % 2] = ups > high[place % 2] ? ups : high[place % 2];
                        if (budget_is_alarm(&script->budget, place, ups) && count->n_alarms++ == 0) {
                                count->lane = lane;
                                count->place = place;
                        }
                }
        for (unsigned place = 0; place < 2; place++) { /* the least likely count lies at one of the ends */
                keep_least(&count->least, &script->budget, place, low[place]);
                keep_least(&count->least, &script->budget, place, high[place]);
        }

        return count;
}

/* The published generator may have bad luck with its seed: then the second stage says so, as it would of any other. */
static int judge_sound(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine engine, const Location *where, Tally *tally) {
        const SoundCount *count = sound_count(session->scripts[engine]);
        Location lane = *where;
        Retest retest;
        int r;

        if (count->least.p_value < tally->least.p_value)
                tally->least = count->least;
        if (count->n_alarms == 0)
                return 0;
        r = retest_lane(session, core, engine, count->lane, count->place, &retest);
        if (r < 0)
                return r;
        tally->n_retests++;
        if (!retest.biased)
                return 0;
        r = location_append(&lane, LOCATION_ENGINE_LANE, count->lane);
        if (r < 0)
                return r;
        return step_finding(step, verdict, "rounding-bias", &lane, NULL, "%u of %u went up in the second count, probability %.2g", (unsigned) retest.ups,
                            (unsigned) retest.n, retest.p_value);
}

static int judge_engine(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine engine, Tally *tally) {
        const Script *script = session->scripts[engine];
        Location where = *step_unit(step);
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0)
                r = location_append(&where, engine_kinds[engine], 0);
        if (r < 0)
                return r;

        tally->compared += (double) script_conversions(script);
        tally->counted += (double) COIN_PLACES * script->budget.each * ENGINE_LANES;
        if (session_is_sound(session, engine))
                return judge_sound(step, verdict, session, core, engine, &where, tally);
        return judge_lanes(step, verdict, session, core, engine, &where, tally);
}

/* ---- what the record says ---- */

/* Test: two-sided exact binomial of each lane at four places, in two stages. Statistic: how many went up, where that is least likely. */
static int note_counting(Step *step, const Budget *budget, const Tally *tally) {
        int r;

        r = step_note(step, "rounding_binomial_samples", budget->each, "{conversion}", NULL);
        if (r >= 0)
                r = step_note(step, "rounding_binomial_counted", tally->counted, "{conversion}", NULL);
        if (r >= 0)
                r = step_note(step, "rounding_binomial_low", budget->low, "{conversion}", NULL);
        if (r >= 0)
                r = step_note(step, "rounding_binomial_high", budget->high, "{conversion}", NULL);
        if (r >= 0)
                r = step_note(step, "rounding_binomial_retests", tally->n_retests, "{lane}", NULL);
        if (r >= 0)
                r = step_note(step, "rounding_false_alarms", BUDGET_TESTS * budget->alpha, "1", NULL);
        if (r >= 0)
                r = step_note(step, "rounding_binomial_ups", tally->least.ups, "{conversion}", NULL);
        /* Without a limit: the first stage alone decides nothing, and a limit here would be a second way to a false alarm. */
        if (r >= 0)
                r = step_note(step, "rounding_p_value", tally->least.p_value, "1", NULL);
        return r;
}

static int note_all(Step *step, const Session *session, const Tally *tally) {
        int r;

        r = step_note(step, "rounding_conversions_compared", tally->compared, "{conversion}", NULL);
        if (r >= 0)
                r = step_measure(step, "rounding_mismatched_conversions", tally->mismatched, "{conversion}", LIMIT_EQUAL, 0, NULL);
        if (r >= 0)
                r = note_counting(step, &session->scripts[0]->budget, tally);
        return r;
}

static int rounding_run(Step *step, Verdict *ret) {
        const RoundingParameters *parameters = step_parameters(step);
        _cleanup_free_ Session *session = calloc(1, sizeof(*session));
        Verdict verdict = VERDICT_PASSED;
        Tally tally = { .least.p_value = 1 };
        double needed_sec;
        int r;

        if (!session)
                return -ENOMEM;
        r = session_open(session, step_device(step), parameters);
        if (r < 0)
                return r;
        needed_sec = _ENGINE_MAX * (double) script_conversions(session->scripts[0]) / ENGINE_LANES * NSEC_PER_CONVERSION * 1e-9;
        if (needed_sec > step_budget_sec(step))
                return step_skip(step, ret, REASON_BUDGET, "%u conversions a lane at each place need %.3g s of device time, and %.3g s are left",
                                 session->scripts[0]->budget.each, needed_sec, step_budget_sec(step));

        for (unsigned core = 0; core < CORES && r >= 0; core++) {
                for (WireEngine engine = 0; engine < _ENGINE_MAX && r >= 0; engine++) {
                        if (engine % session->at_once == 0)
                                r = session_run(session, core, engine);
                        if (r >= 0)
                                r = judge_engine(step, &verdict, session, core, engine, &tally);
                }
                step_progress(step, (core + 1) * 100 / CORES);
        }
        if (r >= 0)
                r = note_all(step, session, &tally);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

static void rounding_prepare(const void *parameters) {
        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++) {
                const Script *script = script_get(engine, parameters);

                if (script)
                        (void) sound_count(script);
        }
}

const Check check_rounding = {
        .name         = "rounding",
        .summary      = "conversions of the Vector, Scalar and GpSimd engines, to nearest and stochastic, lane by lane",
        .reads        = "convert, seed and state of the generators, on 8 cores × 3 engines × 128 lanes",
        .codes        = (const char *const[]) { "rounding-nearest", "rounding-mode", "rounding-generator", "rounding-bias", "rounding-lanes",
                                                "rounding-seed", "rounding-width", "rounding-sign", NULL },
        .skips        = "budget: the conversions that the budget of false alarms asks for take longer than the plan has device time left",
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CORE,
        .deadline_sec = 30,
        .prepare_for  = rounding_prepare,
        .run          = rounding_run,
};
