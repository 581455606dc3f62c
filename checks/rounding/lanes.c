/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/lanes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/rounding/recover.h"
#include "checks/rounding/report.h"
#include "checks/rounding/retest.h"
#include "checks/rounding/tosses.h"

struct Answers {
        const Script *script;
        const uint8_t *passes[SCRIPT_PASSES_MAX];
        States before;
        uint8_t bytes[];
};

Answers *answers_copy(const Session *session, WireEngine engine) {
        const Script *script = session->scripts[engine];
        size_t n = 0, at = 0;
        Answers *answers;

        for (unsigned i = 0; i < script->n_passes; i++)
                n += script_out_bytes(script, i);
        answers = malloc(sizeof(*answers) + n);
        if (!answers)
                return NULL;

        answers->script = script;
        memcpy(&answers->before, session->before[engine], sizeof(answers->before));
        for (unsigned i = 0; i < script->n_passes; i++) {
                answers->passes[i] = answers->bytes + at;
                memcpy(answers->bytes + at, session->out[engine][i], script_out_bytes(script, i));
                at += script_out_bytes(script, i);
        }
        return answers;
}

Answers *answers_free(Answers *answers) {
        free(answers);
        return NULL;
}

static bool lane_is_sound(const Answers *answers, unsigned lane) {
        for (unsigned i = 0; i < answers->script->n_passes; i++) {
                size_t n = script_out_bytes(answers->script, i) / ENGINE_LANES;

                if (memcmp(answers->passes[i] + lane * n, answers->script->out[i] + lane * n, n) != 0)
                        return false;
        }

        return true;
}

/* Lanes that answered as they should keep the diagnosis they have. */
static int diagnose_lanes(const Answers *answers, LaneDiagnosis diagnoses[static ENGINE_LANES]) {
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                _cleanup_(view_freep) View *view = NULL;
                int r;

                if (lane_is_sound(answers, lane))
                        continue;
                r = view_make(answers->script, answers->passes, lane, &view);
                if (r < 0)
                        return r;
                lane_diagnose(view, &answers->before, &diagnoses[lane]);
        }

        return 0;
}

/* What a short script showed may have many causes: before one is named the engine answers all that this check can ask. */
static int look_closer(Session *session, unsigned core, WireEngine engine, LaneDiagnosis diagnoses[static ENGINE_LANES]) {
        const RoundingParameters asked = *session->scripts[engine]->parameters;
        _cleanup_(answers_freep) Answers *answers = NULL;
        RoundingParameters all = asked;
        int r;

        all.words = asked.words < ROUNDING_WORDS_DEFAULT ? ROUNDING_WORDS_DEFAULT : asked.words;
        all.resets = asked.resets < ROUNDING_RESETS_DEFAULT ? ROUNDING_RESETS_DEFAULT : asked.resets;
        all.every_format = true;
        if (all.words == asked.words && all.resets == asked.resets && asked.every_format)
                return 0;

        r = session_open(session, session->device, &all);
        if (r == -ENOSPC) /* named by what there is */
                return session_open(session, session->device, &asked);
        if (r >= 0)
                r = session_run(session, core, engine - engine % session->at_once);
        if (r < 0)
                return r;
        answers = answers_copy(session, engine);
        if (!answers)
                return -ENOMEM;
        r = diagnose_lanes(answers, diagnoses);
        if (r < 0)
                return r;
        return session_open(session, session->device, &asked);
}

/* Counting has the last word where no cause is known, and only after a second count: see budget.h. */
static int judge_bias(Session *session, unsigned core, WireEngine engine, unsigned lane, LaneDiagnosis *d, Tally *tally) {
        Retest retest;
        int r;

        if (d->why.cause != CAUSE_BIAS)
                return 0;
        r = retest_lane(session, core, engine, lane, d->place, d->ups[d->place], &retest);
        if (r < 0)
                return r;
        tally->n_retests++;
        if (!retest.biased)
                d->why.cause = CAUSE_GENERATOR;
        else
                (void) snprintf(d->words, sizeof(d->words), "%" PRIu64 " of %" PRIu64 " with a fresh seed, probability %.2g", retest.ups, retest.n,
                                retest.p_value);
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

int lanes_judge(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine engine, const Location *where,
                const Answers *answers, Tally *tally) {
        _cleanup_free_ LaneDiagnosis *diagnoses = calloc(ENGINE_LANES, sizeof(*diagnoses));
        bool wrong = false;
        int r;

        if (!diagnoses)
                return -ENOMEM;
        r = diagnose_lanes(answers, diagnoses);
        if (r < 0)
                return r;
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                const LaneDiagnosis *d = &diagnoses[lane];

                if (d->n_mismatches == 0)
                        continue;
                wrong = true;
                tally->mismatched += d->n_mismatches;
                least_keep(&tally->least, &session->scripts[engine]->budget, d->place, d->ups[d->place]);
        }
        if (!wrong) {
                tally->mismatched++;
                return step_finding(step, verdict, "rounding-generator", where, &(Evidence) { .decided = { "rounding_mismatched_conversions", 1, 0 } },
                                    "conversions were wrong when they were compared, and changed before they were read again");
        }
        r = look_closer(session, core, engine, diagnoses);
        if (r >= 0)
                r = judge_words(session, core, engine, diagnoses);
        for (unsigned lane = 0; lane < ENGINE_LANES && r >= 0; lane++)
                r = judge_bias(session, core, engine, lane, &diagnoses[lane], tally);
        if (r >= 0)
                r = judge_tosses(session, core, engine, diagnoses);
        if (r < 0)
                return r;

        return report_engine(step, verdict, where, &session->scripts[engine]->budget, diagnoses);
}
