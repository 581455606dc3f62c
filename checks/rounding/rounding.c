/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rounding
 *
 * Conversions from fp32 on the Vector, Scalar and GpSimd engines of every core, 128 lanes each: to nearest, all hard cases
 * bit for bit; stochastic, by counting alone with exact binomial tails (a mean says nothing about low bits, and a normal
 * approximation nothing about rare alarms), and by reading out the random words, which the published generator predicts. The
 * script is in script.h, what wrong answers mean in lanes.h, how often chance may raise an alarm in budget.h.
 *
 * What a sound engine answers was computed before any chip was asked, so a healthy engine costs one comparison.
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "checks/rounding/lanes.h"
#include "checks/rounding/retest.h"
#include "checks/step/step.h"

#define NSEC_PER_CONVERSION (128 / 123.0) /* of each lane */

static const LocationKind engine_kinds[_ENGINE_MAX] = { LOCATION_VECTOR, LOCATION_SCALAR, LOCATION_GPSIMD };

/* ---- a sound engine ---- */

/* What counting says of a sound engine is the same wherever it is met, so it is counted once. */
typedef struct SoundCount {
        unsigned script; /* its number */
        Least least;
        unsigned n_alarms; /* stage 1 alone */
} SoundCount;

static const SoundCount *sound_count(const Script *script) {
        static SoundCount known[_ENGINE_MAX];
        SoundCount *count = &known[script->engine];
        unsigned low[2] = { UINT_MAX, UINT_MAX }, high[2] = {};

        if (count->script == script->number)
                return count;
        *count = (SoundCount) { .script = script->number, .least.p_value = 1 };
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                for (unsigned place = 0; place < COIN_PLACES; place++) {
                        unsigned ups = script_sound_ups(script, lane, place);

                        low[place % 2] = ups < low[place % 2] ? ups : low[place % 2];
                        high[place % 2] = ups > high[place % 2] ? ups : high[place % 2];
                        count->n_alarms += budget_is_alarm(&script->budget, place, ups);
                }
        for (unsigned place = 0; place < 2; place++) { /* the least likely count lies at one of the ends */
                least_keep(&count->least, &script->budget, place, low[place]);
                least_keep(&count->least, &script->budget, place, high[place]);
        }

        return count;
}

/* The published generator may have bad luck with its seed: then the second stage says so, as it would of any other. */
static int judge_unlucky(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine engine, unsigned lane, unsigned place,
                         const Location *where) {
        const Script *script = session->scripts[engine];
        unsigned ups = script_sound_ups(script, lane, place);
        Location at = *where;
        Retest retest;
        int r;

        if (!budget_is_alarm(&script->budget, place, ups))
                return 0;
        r = retest_lane(session, core, engine, lane, place, ups, &retest);
        if (r >= 0)
                r = location_append(&at, LOCATION_ENGINE_LANE, lane);
        if (r < 0 || !retest.biased)
                return r;
        return step_finding(step, verdict, "rounding-bias", &at, &(Evidence) { .decided = retest.decided },
                            "%u of %u went up, and %" PRIu64 " of %" PRIu64 " with a fresh seed, probability %.2g",
                            ups, script->budget.each, retest.ups, retest.n, retest.p_value);
}

static int judge_sound(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine engine, const Location *where, Tally *tally) {
        const SoundCount *count = sound_count(session->scripts[engine]);
        int r = 0;

        if (count->least.p_value < tally->least.p_value)
                tally->least = count->least;
        tally->n_retests += count->n_alarms;
        for (unsigned i = 0; count->n_alarms > 0 && i < ENGINE_LANES * COIN_PLACES && r >= 0; i++)
                r = judge_unlucky(step, verdict, session, core, engine, i / COIN_PLACES, i % COIN_PLACES, where);
        return r;
}

static int locate(const Step *step, unsigned core, WireEngine engine, Location *ret) {
        Location where = *step_unit(step);
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0)
                r = location_append(&where, engine_kinds[engine], 0);
        if (r < 0)
                return r;

        *ret = where;
        return 0;
}

/* The engines from FIRST on that answered together: to name what is wrong with one takes the window, so it comes last. */
static int judge_engines(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine first, Tally *tally) {
        Answers *wrong[_ENGINE_MAX] = {};
        WireEngine end = first + session->at_once;
        Location where[_ENGINE_MAX];
        int r = 0;

        for (WireEngine engine = first; engine < end && r >= 0; engine++) {
                const Script *script = session->scripts[engine];

                tally->compared += (double) script_conversions(script);
                tally->counted += (double) COIN_PLACES * script->budget.each * ENGINE_LANES;
                r = locate(step, core, engine, &where[engine]);
                if (r >= 0 && session_is_sound(session, engine))
                        r = judge_sound(step, verdict, session, core, engine, &where[engine], tally);
                else if (r >= 0) {
                        wrong[engine] = answers_copy(session, engine);
                        r = wrong[engine] ? 0 : -ENOMEM;
                }
        }
        for (WireEngine engine = first; engine < end && r >= 0; engine++)
                if (wrong[engine])
                        r = lanes_judge(step, verdict, session, core, engine, &where[engine], wrong[engine], tally);
        for (WireEngine engine = first; engine < end; engine++)
                (void) answers_free(wrong[engine]);

        return r;
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

        r = step_note(step, "rounding_seed", (double) session->scripts[0]->parameters->seed, "1", NULL);
        if (r >= 0)
                r = step_note(step, "rounding_conversions_compared", tally->compared, "{conversion}", NULL);
        if (r >= 0)
                r = step_measure(step, "rounding_mismatched_conversions", tally->mismatched, "{conversion}", LIMIT_EQUAL, 0, NULL);
        if (r >= 0)
                r = note_counting(step, &session->scripts[0]->budget, tally);
        return r;
}

static int rounding_run(Step *step, Verdict *ret) {
        const RoundingParameters parameters = rounding_parameters_of_step(step_parameters(step), step_seed(step));
        _cleanup_free_ Session *session = calloc(1, sizeof(*session));
        Verdict verdict = VERDICT_PASSED;
        Tally tally = { .least.p_value = 1 };
        double needed_sec;
        int r;

        if (!session)
                return -ENOMEM;
        r = session_open(session, step_device(step), &parameters);
        if (r < 0)
                return r;
        needed_sec = _ENGINE_MAX * (double) script_conversions(session->scripts[0]) / ENGINE_LANES * NSEC_PER_CONVERSION * 1e-9;
        if (needed_sec > step_budget_sec(step))
                return step_skip(step, ret, REASON_BUDGET, "%u conversions a lane at each place need %.3g s of device time, and %.3g s are left",
                                 session->scripts[0]->budget.each, needed_sec, step_budget_sec(step));

        for (unsigned core = 0; core < CORES && r >= 0; core++) {
                for (WireEngine first = 0; first < _ENGINE_MAX && r >= 0; first += session->at_once) {
                        r = session_run(session, core, first);
                        if (r >= 0)
                                r = judge_engines(step, &verdict, session, core, first, &tally);
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

static void rounding_prepare(const void *given, uint64_t seed) {
        const RoundingParameters parameters = rounding_parameters_of_step(given, seed);

        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++) {
                const Script *script = script_get(engine, &parameters);

                if (script)
                        (void) sound_count(script);
        }
}

const Check check_rounding = {
        .name         = "rounding",
        .summary      = "conversions of the Vector, Scalar and GpSimd engines, to nearest and stochastic, lane by lane",
        .reads        = "convert, seed and state of the generators, resets of the core, on 8 cores × 3 engines × 128 lanes",
        .codes        = (const char *const[]) { "rounding-nearest", "rounding-mode", "rounding-generator", "rounding-bias", "rounding-lanes",
                                                "rounding-seed", "rounding-width", "rounding-sign", NULL },
        .skips        = "budget: the conversions that the budget of false alarms asks for take longer than the plan has device time left",
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CORE,
        .deadline_sec = 30,
        .prepare_for  = rounding_prepare,
        .run          = rounding_run,
};
