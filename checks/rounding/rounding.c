/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rounding
 *
 * Conversions from fp32 on the Vector, Scalar and GpSimd engines of every core, 128 lanes each: to nearest, all hard cases
 * bit for bit; stochastic, first by counting alone with exact binomial tails (a mean says nothing about low bits, and a
 * normal approximation nothing about rare alarms), then by reading out every bit of 64 random words per lane, which the
 * published generator predicts. The script is in script.h, what the answers mean in diagnose.h.
 *
 * What a sound engine answers was computed before any chip was asked, so a healthy engine costs one comparison.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/device-rounding.h"
#include "checks/rounding/diagnose.h"
#include "checks/rounding/golden.h"
#include "checks/rounding/parameters.h"
#include "checks/rounding/script.h"
#include "checks/step.h"

/* Two counts are tested in each lane: of so many, how many are called biased by chance is at most this times alpha. */
#define LANE_TESTS (2.0 * CORES * _ENGINE_MAX * ENGINE_LANES)

#define STALE 0xa5 /* what the window holds before a core answers: an engine that writes nothing cannot pass */

static const LocationKind engine_kinds[_ENGINE_MAX] = { LOCATION_VECTOR, LOCATION_SCALAR, LOCATION_GPSIMD };

/* Where the passes of one core lie in the window. */
typedef struct Layout {
        const void *in_coin, *in_threshold[_ENGINE_MAX][2], *in_nearest[NEAREST_FORMATS];
        uint8_t *out; /* all answers of one core, one after another */
        size_t out_bytes;
        Answers *answers[_ENGINE_MAX];
        uint8_t *nearest[_ENGINE_MAX][NEAREST_FORMATS];
        unsigned n_formats;
} Layout;

typedef struct Tally {
        double compared, mismatched, p_value;
} Tally;

static void *put(Device *device, const void *bytes, size_t n) {
        void *piece = device_window_take(device, n);

        return piece ? memcpy(piece, bytes, n) : NULL;
}

static size_t nearest_bytes(unsigned index) {
        return (size_t) ENGINE_LANES * NEAREST_COUNT * device_convert_bytes(script_nearest(index)->format);
}

/* Inputs are written once: they are the same for all cores. */
static int lay_out(Device *device, const RoundingParameters *parameters, Layout *ret) {
        ret->n_formats = parameters->every_format ? NEAREST_FORMATS : 2;
        device_window_reset(device);

        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++) {
                const Script *script = script_get(engine, (uint32_t) parameters->seed);

                if (!script)
                        return -ENOMEM;
                if (engine == 0 && !(ret->in_coin = put(device, script->in_coin, sizeof(script->in_coin))))
                        return -ENOSPC;
                for (unsigned i = 0; i < 2; i++)
                        if (!(ret->in_threshold[engine][i] = put(device, script->in_threshold[i], sizeof(script->in_threshold[i]))))
                                return -ENOSPC;
        }
        for (unsigned i = 0; i < ret->n_formats; i++) {
                if (!script_nearest(i))
                        return -ENOMEM;
                if (!(ret->in_nearest[i] = put(device, script_nearest(i)->in, sizeof(script_nearest(i)->in))))
                        return -ENOSPC;
        }

        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++) {
                ret->answers[engine] = device_window_take(device, sizeof(Answers));
                for (unsigned i = 0; i < ret->n_formats; i++)
                        if (!(ret->nearest[engine][i] = device_window_take(device, nearest_bytes(i))))
                                return -ENOSPC;
                if (!ret->answers[engine])
                        return -ENOSPC;
        }
        ret->out = (uint8_t *) ret->answers[0];
        ret->out_bytes = (size_t) (ret->nearest[_ENGINE_MAX - 1][ret->n_formats - 1] - ret->out) + nearest_bytes(ret->n_formats - 1);
        return 0;
}

static size_t add_engine(Device *device, const Layout *layout, const RoundingParameters *parameters, unsigned core, WireEngine engine,
                         WireCommand *commands) {
        Answers *answers = layout->answers[engine];
        size_t n = 0;

        commands[n++] = device_seed_command(core, engine, (uint32_t) parameters->seed);
        commands[n++] = device_convert_command(device, core, engine, FORMAT_BF16, CONVERT_STOCHASTIC, COIN_COUNT, layout->in_coin,
                                               answers->coin);
        for (unsigned i = 0; i < 2; i++) {
                commands[n++] = device_seed_command(core, engine, THRESHOLD_SEED(parameters->seed));
                commands[n++] = device_convert_command(device, core, engine, FORMAT_FP8_E5M2, CONVERT_STOCHASTIC, WORDS_COUNT,
                                                       layout->in_threshold[engine][i], answers->threshold[i]);
        }
        for (unsigned i = 0; i < layout->n_formats; i++)
                commands[n++] = device_convert_command(device, core, engine, script_nearest(i)->format, 0, NEAREST_COUNT,
                                                       layout->in_nearest[i], layout->nearest[engine][i]);
        return n;
}

static int run_core(Device *device, const Layout *layout, const RoundingParameters *parameters, unsigned core) {
        WireCommand commands[_ENGINE_MAX * (6 + NEAREST_FORMATS)];
        WireCompletion completions[ELEMENTS(commands)];
        size_t n = 0;
        int r;

        memset(layout->out, STALE, layout->out_bytes);
        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++)
                n += add_engine(device, layout, parameters, core, engine, commands + n);

        r = device_execute(device, commands, n, completions);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (commands[i].type == COMMAND_CONVERT && completions[i].out_bytes != commands[i].out_bytes)
                        return -EPROTO;
        return 0;
}

/* ---- judging ---- */

static int find_lane(Step *step, Verdict *verdict, const Location *engine, unsigned lane, const Script *script, const Answers *answers,
                     const LaneDiagnosis *d) {
        char expected[16], actual[16], address[32];
        Evidence evidence = { .has_count = true, .count = d->n_mismatches, .address = address, .expected = expected, .actual = actual };
        Location where = *engine;
        int r;

        r = location_append(&where, LOCATION_ENGINE_LANE, lane);
        if (r < 0)
                return r;
        if (d->first < COIN_COUNT) {
                snprintf(address, sizeof(address), "coin element %u", d->first);
                snprintf(expected, sizeof(expected), "0x%04x", script->out_coin[lane][d->first]);
                snprintf(actual, sizeof(actual), "0x%04x", answers->coin[lane][d->first]);
        } else
                evidence.address = evidence.expected = evidence.actual = NULL;

        switch (d->cause) {
        case LANE_NEAREST:
                return step_finding(step, verdict, "rounding-mode", &where, &evidence, "stochastic rounding rounds to nearest");
        case LANE_STUCK_BIT:
                return step_finding(step, verdict, "rounding-generator", &where, &evidence, "bit %u of the random word is stuck at %u",
                                    d->bit, d->value);
        case LANE_CLONED:
                return step_finding(step, verdict, "rounding-lanes", &where, &evidence, "the random stream is that of lane %u", d->other);
        case LANE_BIASED:
                return step_finding(step, verdict, "rounding-bias", &where, &evidence,
                                    "%u of %u went up at 1/4 and %u of %u at 3/4, probability %.2g", d->ups[0], COIN_EACH, d->ups[1],
                                    COIN_EACH, d->p_value);
        case LANE_OTHER:
                return step_finding(step, verdict, "rounding-generator", &where, &evidence,
                                    "%u of %u conversions are not those of the seeded generator; no single stuck bit explains them",
                                    d->n_mismatches, COIN_COUNT + 2 * WORDS_COUNT);
        case LANE_SOUND:
        case _LANE_CAUSE_MAX:
                break;
        }

        return 0;
}

/* All lanes round to nearest: that is the engine's mode, not 128 broken lanes. */
static bool whole_engine_is_nearest(const LaneDiagnosis diagnoses[static ENGINE_LANES]) {
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                if (diagnoses[lane].cause != LANE_NEAREST)
                        return false;

        return true;
}

static int judge_stochastic(Step *step, Verdict *verdict, const Location *engine, const Script *script, const Answers *answers, double alpha,
                            Tally *tally) {
        LaneDiagnosis diagnoses[ENGINE_LANES];
        int r = 0;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                lane_diagnose(script, answers, lane, alpha, &diagnoses[lane]);
                tally->p_value = fmin(tally->p_value, diagnoses[lane].p_value);
                tally->mismatched += diagnoses[lane].n_mismatches;
        }

        if (whole_engine_is_nearest(diagnoses))
                return step_finding(step, verdict, "rounding-mode", engine, NULL, "stochastic rounding rounds to nearest on all 128 lanes");
        for (unsigned lane = 0; lane < ENGINE_LANES && r >= 0; lane++)
                r = find_lane(step, verdict, engine, lane, script, answers, &diagnoses[lane]);
        return r;
}

static uint32_t nearest_answer(const NearestScript *script, const uint8_t *answers, unsigned at) {
        uint16_t wide;

        if (device_convert_bytes(script->format) == 1)
                return answers[at];
        memcpy(&wide, answers + 2 * at, sizeof(wide));
        return wide;
}

static int judge_nearest(Step *step, Verdict *verdict, const Location *engine, const NearestScript *script, const uint8_t *answers,
                         Tally *tally) {
        unsigned first = 0, n = 0, n_lanes = 0;
        char expected[16], actual[16], address[48];
        Location where = *engine;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                unsigned before = n;

                for (unsigned i = 0; i < NEAREST_COUNT; i++) {
                        if (nearest_answer(script, answers, lane * NEAREST_COUNT + i) == script->expected[i])
                                continue;
                        if (n++ == 0)
                                first = lane * NEAREST_COUNT + i;
                }
                n_lanes += n > before;
        }

        tally->mismatched += n;
        if (n_lanes == 1 && location_append(&where, LOCATION_ENGINE_LANE, first / NEAREST_COUNT) < 0)
                return -EINVAL;
        snprintf(address, sizeof(address), "fp32 %a to format %d", (double) script->in[0][first % NEAREST_COUNT], (int) script->format);
        snprintf(expected, sizeof(expected), "0x%04" PRIx32, script->expected[first % NEAREST_COUNT]);
        snprintf(actual, sizeof(actual), "0x%04" PRIx32, nearest_answer(script, answers, first));
        return step_finding(step, verdict, "rounding-nearest", &where,
                            &(Evidence) { .address = address, .expected = expected, .actual = actual, .has_count = true, .count = n },
                            "%u of %u conversions to nearest are wrong, on %u lanes", n, ENGINE_LANES * NEAREST_COUNT, n_lanes);
}

/* The smallest p-value of a sound engine: the same wherever it is met, so counted once. */
static double sound_p_value(const Script *script) {
        static double known[_ENGINE_MAX];
        static uint32_t seeds[_ENGINE_MAX];
        static bool have[_ENGINE_MAX];
        unsigned ups[2];

        if (!have[script->engine] || seeds[script->engine] != script->seed) {
                Answers *answers = malloc(sizeof(*answers));
                double p = 1;

                if (!answers)
                        return NAN;
                memcpy(answers->coin, script->out_coin, sizeof(answers->coin));
                for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                        p = fmin(p, lane_p_value(answers, lane, ups));
                free(answers);
                known[script->engine] = p;
                seeds[script->engine] = script->seed;
                have[script->engine] = true;
        }

        return known[script->engine];
}

static bool answers_are_sound(const Script *script, const Answers *answers) {
        return memcmp(answers->coin, script->out_coin, sizeof(answers->coin)) == 0 &&
                        memcmp(answers->threshold, script->out_threshold, sizeof(answers->threshold)) == 0;
}

static int judge_engine(Step *step, Verdict *verdict, const Layout *layout, const RoundingParameters *parameters, unsigned core,
                        WireEngine engine, Tally *tally) {
        const Script *script = script_get(engine, (uint32_t) parameters->seed);
        Location where = *step_unit(step);
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0)
                r = location_append(&where, engine_kinds[engine], 0);
        if (r < 0)
                return r;

        tally->compared += ENGINE_LANES * (COIN_COUNT + 2 * WORDS_COUNT + layout->n_formats * NEAREST_COUNT);
        if (answers_are_sound(script, layout->answers[engine]))
                tally->p_value = fmin(tally->p_value, sound_p_value(script));
        else {
                /* Judged from a copy: the window may change under us. */
                _cleanup_free_ Answers *copy = malloc(sizeof(*copy));

                if (!copy)
                        return -ENOMEM;
                memcpy(copy, layout->answers[engine], sizeof(*copy));
                r = judge_stochastic(step, verdict, &where, script, copy, parameters->alpha, tally);
        }

        for (unsigned i = 0; i < layout->n_formats && r >= 0; i++)
                if (memcmp(layout->nearest[engine][i], script_nearest(i)->out, nearest_bytes(i)) != 0)
                        r = judge_nearest(step, verdict, &where, script_nearest(i), layout->nearest[engine][i], tally);
        return r;
}

static int rounding_run(Step *step, Verdict *ret) {
        const RoundingParameters *parameters = step_parameters(step);
        Device *device = step_device(step);
        Verdict verdict = VERDICT_PASSED;
        Tally tally = { .p_value = 1 };
        Layout layout = {};
        int r;

        r = lay_out(device, parameters, &layout);
        for (unsigned core = 0; core < CORES && r >= 0; core++) {
                r = run_core(device, &layout, parameters, core);
                for (WireEngine engine = 0; engine < _ENGINE_MAX && r >= 0; engine++)
                        r = judge_engine(step, &verdict, &layout, parameters, core, engine, &tally);
                step_progress(step, (core + 1) * 100 / CORES);
        }
        if (r < 0)
                return r;

        r = step_note(step, "rounding_conversions_compared", tally.compared, "{conversion}", NULL);
        if (r >= 0)
                r = step_measure(step, "rounding_mismatched_conversions", tally.mismatched, "{conversion}", LIMIT_EQUAL, 0, NULL);
        if (r > 0 && verdict == VERDICT_PASSED) /* the window changed between two looks at it: no reason to pass */
                r = step_finding(step, &verdict, "rounding-generator", NULL, NULL, "%.0f conversions differ", tally.mismatched);
        if (r >= 0)
                r = step_note(step, "rounding_false_alarms", LANE_TESTS * parameters->alpha, "1", NULL);
        if (r >= 0)
                r = step_measure(step, "rounding_p_value", tally.p_value, "1", LIMIT_GREATER_THAN_OR_EQUAL, parameters->alpha, NULL);
        if (r > 0 && verdict == VERDICT_PASSED)
                r = step_finding(step, &verdict, "rounding-bias", NULL, NULL, "probability %.2g", tally.p_value);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

/* With the parameters that plans give by default; another seed is worked out by the child that needs it. */
static void rounding_prepare(void) {
        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++) {
                const Script *script = script_get(engine, ROUNDING_SEED_DEFAULT);

                if (script)
                        (void) sound_p_value(script);
        }
        for (unsigned i = 0; i < NEAREST_FORMATS; i++)
                (void) script_nearest(i);
}

const Check check_rounding = {
        .name         = "rounding",
        .summary      = "conversions of the Vector, Scalar and GpSimd engines, to nearest and stochastic, lane by lane",
        .reads        = "convert, seed of the generators, on 8 cores × 3 engines × 128 lanes",
        .codes        = (const char *const[]) { "rounding-nearest", "rounding-mode", "rounding-generator", "rounding-bias", "rounding-lanes",
                                                "rounding-seed", "rounding-width", "rounding-sign", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CORE,
        .deadline_sec = 30,
        .prepare      = rounding_prepare,
        .run          = rounding_run,
};
