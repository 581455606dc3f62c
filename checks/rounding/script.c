/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "checks/rounding/golden.h"

/* 1.0 in the two formats, and how many bits of the fp32 significand each discards. */
#define ONE_BF16     0x3f80u
#define ONE_E5M2     0x3cu
#define CUT_BF16     16u
#define CUT_E5M2     21u
#define UNIT         0x1p-23f /* the last bit of an fp32 above 1 */

static const WireFormat nearest_formats[NEAREST_FORMATS] = { FORMAT_BF16, FORMAT_FP8_E5M2, FORMAT_FP16, FORMAT_FP8_E4M3, FORMAT_FP8_E3M4 };

unsigned script_count(Pass pass) {
        return pass == PASS_COIN ? COIN_COUNT : WORDS_COUNT;
}

/* ---- stochastic passes ---- */

/* How far up element I of the coin lies, as a 16-bit fraction, and its sign: one of four is turned over. */
static uint32_t coin_fraction(unsigned i) {
        return i < COIN_EACH ? 1u << 14 : 3u << 14;
}

static bool coin_negative(unsigned i) {
        return i % 4 == 3;
}

/* For a word whose top 21 bits are R, the fraction 2^21 - R is the least that rounds up. */
static uint32_t threshold_fraction(uint32_t word, Pass pass) {
        uint32_t r = word >> (32 - CUT_E5M2), least = (1u << CUT_E5M2) - r;

        if (pass == PASS_ABOVE)
                return r == 0 ? least - 1 : least; /* nothing below a whole step rounds up on 0 */
        return least - 1;
}

static uint32_t answer(const Script *script, Pass pass, unsigned lane, unsigned i, uint32_t word) {
        if (pass == PASS_COIN) {
                bool up = coin_fraction(i) + (word >> (32 - CUT_BF16)) >= 1u << CUT_BF16;

                return (ONE_BF16 + up) | (coin_negative(i) ? 0x8000u : 0);
        }

        return ONE_E5M2 + (threshold_fraction(script->words[pass][lane][i], pass) + (word >> (32 - CUT_E5M2)) >= 1u << CUT_E5M2);
}

uint32_t script_predict(const Script *script, Pass pass, unsigned lane, unsigned i, uint32_t set, uint32_t clear) {
        return answer(script, pass, lane, i, (script->words[pass][lane][i] | set) & ~clear);
}

uint32_t script_predict_nearest(const Script *script, Pass pass, unsigned lane, unsigned i) {
        if (pass == PASS_COIN)
                return golden_nearest(FORMAT_BF16, script->in_coin[lane][i]);
        return golden_nearest(FORMAT_FP8_E5M2, script->in_threshold[pass == PASS_BELOW][lane][i]);
}

static void write_coin(Script *script, unsigned lane) {
        GoldenLane generator;

        golden_lane_seed(&generator, script->engine, lane, script->seed);
        for (unsigned i = 0; i < COIN_COUNT; i++) {
                float value = 1 + (float) coin_fraction(i) * UNIT;

                script->words[PASS_COIN][lane][i] = golden_lane_next(&generator);
                script->in_coin[lane][i] = coin_negative(i) ? -value : value;
                script->out_coin[lane][i] = (uint16_t) script_predict(script, PASS_COIN, lane, i, 0, 0);
        }
}

static void write_thresholds(Script *script, unsigned lane) {
        GoldenLane generator;

        golden_lane_seed(&generator, script->engine, lane, THRESHOLD_SEED(script->seed));
        for (unsigned i = 0; i < WORDS_COUNT; i++) {
                uint32_t word = golden_lane_next(&generator);

                for (Pass pass = PASS_ABOVE; pass <= PASS_BELOW; pass++) {
                        script->words[pass][lane][i] = word;
                        script->in_threshold[pass == PASS_BELOW][lane][i] = 1 + (float) threshold_fraction(word, pass) * UNIT;
                        script->out_threshold[pass == PASS_BELOW][lane][i] = (uint8_t) script_predict(script, pass, lane, i, 0, 0);
                }
        }
}

const Script *script_get(WireEngine engine, uint32_t seed) {
        static Script *made[_ENGINE_MAX];

        if (made[engine] && made[engine]->seed == seed)
                return made[engine];

        if (!made[engine])
                made[engine] = malloc(sizeof(*made[engine]));
        if (!made[engine])
                return NULL;

        made[engine]->seed = seed;
        made[engine]->engine = engine;
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                write_coin(made[engine], lane);
                write_thresholds(made[engine], lane);
        }
        return made[engine];
}

/* ---- nearest ---- */

/* Landmarks of a format: patterns whose surroundings go wrong first. */
static unsigned landmarks(WireFormat format, uint32_t ret[9]) {
        uint32_t infinity = golden_infinity(format), normal = 1, one = golden_nearest(format, 1);

        while (golden_value(format, normal + 1) - golden_value(format, normal) == golden_value(format, 1))
                normal++; /* the last pattern whose step is the subnormal one */

        memcpy(ret, (uint32_t[9]) { 0, 1, 2, normal / 2, normal, one - 1, one, one + 1, infinity - 1 }, 9 * sizeof(*ret));
        return 9;
}

/* Places between a pattern and the next: on it, a quarter, just below, on and above the middle, three quarters. */
static float between(double low, double step, unsigned place) {
        float middle = (float) (low + step / 2);

        switch (place) {
        case 0: return (float) low;
        case 1: return (float) (low + step / 4);
        case 2: return nextafterf(middle, 0);
        case 3: return middle;
        case 4: return nextafterf(middle, INFINITY);
        default: return (float) (low + step * 3 / 4);
        }
}

static unsigned fill_cases(WireFormat format, float cases[NEAREST_COUNT]) {
        static const float specials[] = { 0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f, 0x1.fffffep127f, -0x1.fffffep127f };
        uint32_t marks[9];
        unsigned n = 0;

        for (unsigned m = 0; m < landmarks(format, marks); m++) {
                double low = golden_value(format, marks[m]);
                double step = marks[m] + 1 < golden_infinity(format) ? golden_value(format, marks[m] + 1) - low :
                                                                       low - golden_value(format, marks[m] - 1);

                for (unsigned place = 0; place < 6; place++) {
                        cases[n++] = between(low, step, place);
                        cases[n++] = -between(low, step, place);
                }
        }
        for (unsigned i = 0; i < ELEMENTS(specials); i++)
                cases[n++] = specials[i];
        return n;
}

static void make_nearest(NearestScript *script, WireFormat format) {
        float cases[NEAREST_COUNT];
        unsigned n = fill_cases(format, cases);

        script->format = format;
        for (unsigned i = 0; i < NEAREST_COUNT; i++) {
                float value = cases[i % n];

                script->expected[i] = golden_nearest(format, value);
                for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                        unsigned at = lane * NEAREST_COUNT + i;

                        script->in[lane][i] = value;
                        if (golden_sign(format) > 0xff)
                                memcpy(script->out + 2 * at, &(uint16_t) { (uint16_t) script->expected[i] }, 2);
                        else
                                script->out[at] = (uint8_t) script->expected[i];
                }
        }
}

const NearestScript *script_nearest(unsigned index) {
        static NearestScript *made[NEAREST_FORMATS];

        if (!made[index]) {
                made[index] = malloc(sizeof(*made[index]));
                if (made[index])
                        make_nearest(made[index], nearest_formats[index]);
        }
        return made[index];
}
