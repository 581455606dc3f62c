/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/diagnose.h"

#include <math.h>
#include <string.h>

#include "checks/cleanup.h"
#include "checks/rounding/tails.h"

#define MAGNITUDE_UP 0x3f81u /* bf16: 1.0 rounded up, without its sign */

static uint32_t answer(const Answers *answers, Pass pass, unsigned lane, unsigned i) {
        return pass == PASS_COIN ? answers->coin[lane][i] : answers->threshold[pass == PASS_BELOW][lane][i];
}

/* Of K rises of COIN_EACH at PLACE. There are few counts and thousands of lanes, so each is worked out once. */
static double coin_p_value(unsigned place, unsigned k) {
        static const double chances[] = { 0.25, 0.75 };
        static double known[ELEMENTS(chances)][COIN_EACH + 1]; /* 0: not yet; none is as small */

        if (known[place][k] <= 0)
                known[place][k] = binomial_p_value(k, COIN_EACH, chances[place]);
        return known[place][k];
}

double lane_p_value(const Answers *answers, unsigned lane, unsigned ups[2]) {
        ups[0] = ups[1] = 0;
        for (unsigned i = 0; i < COIN_COUNT; i++)
                ups[i / COIN_EACH] += (answers->coin[lane][i] & 0x7fffu) == MAGNITUDE_UP;

        return fmin(coin_p_value(0, ups[0]), coin_p_value(1, ups[1]));
}

typedef struct Hypothesis {
        bool nearest;
        uint32_t set, clear;
} Hypothesis;

static bool explains_pass(const Script *script, const Answers *answers, Pass pass, unsigned lane, const Hypothesis *h) {
        for (unsigned i = 0; i < script_count(pass); i++) {
                uint32_t expected = h->nearest ? script_predict_nearest(script, pass, lane, i) :
                                                 script_predict(script, pass, lane, i, h->set, h->clear);

                if (answer(answers, pass, lane, i) != expected)
                        return false;
        }

        return true;
}

/*
 * Each pass is one command, so a fault that comes and goes between commands leaves whole passes sound. A hypothesis
 * stands when every pass is either sound or as it says, and some pass is not sound.
 */
static bool explains(const Script *script, const Answers *answers, unsigned lane, const Hypothesis *h) {
        static const Hypothesis sound = {};
        bool seen = false;

        for (Pass pass = 0; pass < _PASS_MAX; pass++) {
                if (explains_pass(script, answers, pass, lane, &sound))
                        continue;
                if (!explains_pass(script, answers, pass, lane, h))
                        return false;
                seen = true;
        }

        return seen;
}

/* The one stuck bit that explains all answers; false where none or several do. */
static bool find_stuck_bit(const Script *script, const Answers *answers, unsigned lane, LaneDiagnosis *ret) {
        unsigned found = 0;

        for (unsigned bit = 0; bit < 32; bit++)
                for (unsigned value = 0; value < 2; value++) {
                        Hypothesis h = { .set = value ? 1u << bit : 0, .clear = value ? 0 : 1u << bit };

                        if (!explains(script, answers, lane, &h))
                                continue;
                        ret->bit = bit;
                        ret->value = value;
                        found++;
                }

        return found == 1;
}

static bool find_clone(const Answers *answers, unsigned lane, unsigned *ret) {
        for (unsigned other = 0; other < ENGINE_LANES; other++)
                if (other != lane && memcmp(answers->coin[lane], answers->coin[other], sizeof(answers->coin[lane])) == 0) {
                        *ret = other;
                        return true;
                }

        return false;
}

static void count_mismatches(const Script *script, const Answers *answers, unsigned lane, LaneDiagnosis *ret) {
        ret->n_mismatches = 0;
        ret->first = COIN_COUNT;
        for (Pass pass = 0; pass < _PASS_MAX; pass++)
                for (unsigned i = 0; i < script_count(pass); i++) {
                        if (answer(answers, pass, lane, i) == script_predict(script, pass, lane, i, 0, 0))
                                continue;
                        ret->n_mismatches++;
                        if (pass == PASS_COIN && ret->first == COIN_COUNT)
                                ret->first = i;
                }
}

void lane_diagnose(const Script *script, const Answers *answers, unsigned lane, double alpha, LaneDiagnosis *ret) {
        static const Hypothesis nearest = { .nearest = true };

        *ret = (LaneDiagnosis) {};
        ret->p_value = lane_p_value(answers, lane, ret->ups);
        count_mismatches(script, answers, lane, ret);

        if (ret->n_mismatches == 0)
                ret->cause = LANE_SOUND;
        else if (explains(script, answers, lane, &nearest))
                ret->cause = LANE_NEAREST;
        else if (find_stuck_bit(script, answers, lane, ret))
                ret->cause = LANE_STUCK_BIT;
        else if (find_clone(answers, lane, &ret->other))
                ret->cause = LANE_CLONED;
        else
                ret->cause = ret->p_value < alpha ? LANE_BIASED : LANE_OTHER;
}
