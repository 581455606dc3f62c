/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/script.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "checks/rounding/cases.h"
#include "checks/text/cleanup.h"

#define ENTRIES_MAX    4u   /* parameters for which scripts are kept: those of a plan, and what is asked where it found something */
#define COIN_PASS      100u /* elements of a coin pass, unless so many are needed that there would be too many passes */
#define COIN_PASSES    32u
#define ONE_BF16       0x3f80u
#define SWEEP_COUNT    24u
#define SWEEPS_EACH    5u  /* seeds of each format; with every format */
#define STREAM_COUNT   256u
#define NEAREST_SHORT  32u /* of the formats with few cases: more passes are more chances to meet a fault that comes and goes */
#define NEAREST_LONG   256u

static const WireFormat formats[] = { FORMAT_BF16, FORMAT_FP8_E5M2, FORMAT_FP16, FORMAT_TF32, FORMAT_FP8_E4M3, FORMAT_FP8_E3M4 };
static const WireFormat sweeps_few[] = { FORMAT_FP8_E5M2, FORMAT_BF16, FORMAT_FP8_E5M2, FORMAT_FP8_E5M2, FORMAT_BF16, FORMAT_FP8_E5M2 };

/* splitmix64's finisher: what is drawn for an element is the same in both passes of a sweep. */
static uint64_t mix(uint64_t x) {
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* A stream of its own for each purpose: seeds follow from the plan's by a step that visits all of them. */
static uint32_t derive_seed(const RoundingParameters *parameters, unsigned number) {
        return (uint32_t) parameters->seed + number * 0x9e3779b1u;
}

/* Passes of one stream ask for its words one after another: where a lane's last question ended is kept. */
void script_words(WireEngine engine, unsigned lane, uint32_t seed, unsigned after, unsigned count, uint32_t *ret) {
        static struct {
                WireEngine engine;
                uint32_t seed;
                unsigned after; /* 0: nothing is known */
                GoldenLane generator;
        } last[ENGINE_LANES];
        GoldenLane generator = last[lane].generator;
        unsigned from = last[lane].after;

        if (from == 0 || from > after || last[lane].engine != engine || last[lane].seed != seed) {
                golden_lane_seed(&generator, engine, lane, seed);
                from = 0;
        }
        for (unsigned i = from; i < after; i++)
                (void) golden_lane_next(&generator);
        for (unsigned i = 0; i < count; i++)
                ret[i] = golden_lane_next(&generator);

        last[lane].engine = engine;
        last[lane].seed = seed;
        last[lane].after = after + count;
        last[lane].generator = generator;
}

/* ---- elements ---- */

static Element coin_element(const Pass *pass, unsigned i) {
        unsigned place = (pass->first + i) % COIN_PLACES;

        return element_between(pass->format, ONE_BF16, place % 2 ? 3 : 1, place >= 2);
}

static Element exact_element(WireFormat format, uint64_t draw) {
        switch (draw >> 8 & 7) {
        case 0: return element_special(format, draw >> 11 & 1, 0);
        case 1: return element_special(format, draw >> 11 & 1, 1 + (uint32_t) (draw >> 12 & 0x3fffff));
        case 2: return element_exact(format, 0, draw >> 11 & 1);
        default: return element_exact(format, (uint32_t) (draw >> 16) % golden_infinity(format), draw >> 11 & 1);
        }
}

static bool has_fewer_exponents(WireFormat format) {
        return format != FORMAT_BF16 && format != FORMAT_TF32;
}

/*
 * Of eight elements one is a number of the format, one carries, three lie below all numbers where that is possible. One lies anywhere,
 * for what is just up or just down for the right word cannot tell how far off a wrong one is.
 */
static Element sweep_element(const Pass *pass, unsigned lane, unsigned i, uint32_t word) {
        uint64_t draw = mix((uint64_t) pass->seed << 32 ^ lane << 16 ^ i);
        uint32_t infinity = golden_infinity(pass->format), one = infinity & ~(infinity << 1); /* 1 in the exponent's field */
        bool up = (draw & 1) ^ pass->exchanged, negative = draw >> 1 & 1;

        switch (i % 8) {
        case 1: case 4: case 6:
                if (has_fewer_exponents(pass->format))
                        return element_below_all(pass->format, word, up, negative);
                break;
        case 3:
                return element_at_word(pass->format, (uint32_t) (draw >> 32) % (infinity / one) * one + one - 1, word, up, negative);
        case 5:
                return element_anywhere(pass->format, 1 + (uint32_t) (draw >> 32) % (infinity - 1), (uint32_t) mix(draw), negative);
        case 7:
                return exact_element(pass->format, draw);
        default:
                break;
        }

        return element_at_word(pass->format, 1 + (uint32_t) (draw >> 32) % (infinity - 1), word, up, negative);
}

/* The lowest bit that shows is what few words show: it should have both values, and so it picks the side. */
static Element stream_element(const Pass *pass, uint32_t word) {
        uint32_t ones = ~word ? (uint32_t) __builtin_clz(~word) : 32, lowest = ones < 8 ? 8 - ones : 0;
        bool up = word >> lowest & 1;

        return element_below_all(pass->format, word, up, word >> 30 & 1);
}

/* The cases of a format, made once. */
static const Element *cases_of(WireFormat format, bool every, unsigned *ret_n) {
        static Element *made[_FORMAT_MAX][2];
        static unsigned n[_FORMAT_MAX][2];

        if (!made[format][every]) {
                made[format][every] = malloc(CASES_MAX * sizeof(Element));
                if (made[format][every])
                        n[format][every] = cases_make(format, every, made[format][every]);
        }
        *ret_n = n[format][every];
        return made[format][every];
}

static const Element *script_cases(const Script *script, const Pass *pass) {
        unsigned n;

        return cases_of(pass->format, script->parameters->every_value, &n);
}

void script_lane(const Script *script, unsigned number, unsigned lane, Element elements[static PASS_COUNT_MAX],
                 uint32_t words[static PASS_COUNT_MAX]) {
        const Pass *pass = &script->passes[number];
        const Element *cases = pass->method == PASS_NEAREST ? script_cases(script, pass) : NULL;

        if (pass_is_stochastic(pass))
                script_words(script->engine, lane, pass->seed, pass->after, pass->count, words);
        for (unsigned i = 0; i < pass->count; i++)
                switch (pass->method) {
                case PASS_COIN:
                        elements[i] = coin_element(pass, i);
                        break;
                case PASS_SWEEP:
                        elements[i] = sweep_element(pass, lane, i, words[i]);
                        break;
                case PASS_STREAM:
                        elements[i] = stream_element(pass, words[i]);
                        break;
                case PASS_NEAREST:
                        elements[i] = cases[pass->first + i];
                        break;
                case _PASS_METHOD_MAX:
                        break;
                }
}

/* ---- the list of passes ---- */

static void add_pass(Script *script, Pass pass) {
        assert(script->n_passes < SCRIPT_PASSES_MAX && pass.count <= PASS_COUNT_MAX);
        script->passes[script->n_passes++] = pass;
}

static void add_coins(Script *script) {
        unsigned n = COIN_PLACES * script->budget.each, count = n / COIN_PASSES + 1 > COIN_PASS ? n / COIN_PASSES + 1 : COIN_PASS;

        for (unsigned first = 0; first < n; first += count)
                add_pass(script, (Pass) { .method = PASS_COIN, .format = FORMAT_BF16, .first = first, .count = n - first < count ? n - first : count,
                                          .seed = derive_seed(script->parameters, script->n_passes) });
        script->n_coins = script->n_passes;
}

static void add_sweeps(Script *script) {
        bool every = script->parameters->every_format;
        unsigned n = every ? SWEEPS_EACH * ELEMENTS(formats) : ELEMENTS(sweeps_few);

        for (unsigned i = 0; i < n; i++) {
                Pass pass = { .method = PASS_SWEEP, .format = every ? formats[i % ELEMENTS(formats)] : sweeps_few[i], .count = SWEEP_COUNT,
                              .seed = derive_seed(script->parameters, 1000 + i) };

                add_pass(script, pass);
                pass.exchanged = true;
                add_pass(script, pass);
        }
}

static void add_stream(Script *script) {
        unsigned n = (unsigned) script->parameters->words;

        for (unsigned after = 0; after < n; after += STREAM_COUNT)
                add_pass(script, (Pass) { .method = PASS_STREAM, .format = FORMAT_FP8_E5M2, .after = after,
                                          .count = n - after < STREAM_COUNT ? n - after : STREAM_COUNT,
                                          .seed = derive_seed(script->parameters, 2000) });
}

static void add_resets(Script *script) {
        Pass pass = { .method = PASS_SWEEP, .format = FORMAT_FP8_E5M2, .count = SWEEP_COUNT };

        for (unsigned i = 0; i < script->parameters->resets; i++) {
                pass.exchanged = i % 2 != 0;
                pass.reset = true;
                pass.seed = 0;
                add_pass(script, pass);
                pass.reset = false;
                pass.seed = derive_seed(script->parameters, 3000 + i);
                add_pass(script, pass);
        }
}

static int add_nearest(Script *script) {
        unsigned n_formats = script->parameters->every_format ? ELEMENTS(formats) : 2;

        for (unsigned f = 0; f < n_formats; f++) {
                unsigned n, each;

                if (!cases_of(formats[f], script->parameters->every_value, &n))
                        return -ENOMEM;
                each = n > NEAREST_LONG ? NEAREST_LONG : NEAREST_SHORT;
                for (unsigned first = 0; first < n; first += each)
                        add_pass(script, (Pass) { .method = PASS_NEAREST, .format = formats[f], .first = first, .count = n - first < each ? n - first : each });
        }

        return 0;
}

/* ---- data ---- */

size_t script_in_bytes(const Script *script, unsigned pass) {
        return (size_t) ENGINE_LANES * script->passes[pass].count * sizeof(uint32_t);
}

size_t script_out_bytes(const Script *script, unsigned pass) {
        return (size_t) ENGINE_LANES * script->passes[pass].count * wire_format_bytes(script->passes[pass].format);
}

uint64_t script_conversions(const Script *script) {
        uint64_t n = 0;

        for (unsigned i = 0; i < script->n_passes; i++)
                n += (uint64_t) ENGINE_LANES * script->passes[i].count;
        return n;
}

unsigned script_sound_ups(const Script *script, unsigned lane, unsigned place) {
        Element e = coin_element(&script->passes[0], place); /* all at one place are alike */
        uint32_t up = golden_image(FORMAT_BF16, element_signed(FORMAT_BF16, &e, e.low + 1));
        unsigned ups = 0;

        for (unsigned pass = 0; pass < script->n_coins; pass++) {
                const Pass *p = &script->passes[pass];

                for (unsigned i = 0; i < p->count; i++)
                        ups += (p->first + i) % COIN_PLACES == place && golden_load(p->format, script->out[pass], (size_t) lane * p->count + i) == up;
        }

        return ups;
}

/* What every lane is given alike is made for one of them. */
static bool is_alike(const Pass *pass) {
        return pass->method == PASS_COIN || pass->method == PASS_NEAREST;
}

static float float_of(uint32_t bits) {
        float number;

        memcpy(&number, &bits, sizeof(number));
        return number;
}

static void fill_lane(Script *script, unsigned number, unsigned lane, const Element *elements, const uint32_t *words) {
        const Pass *pass = &script->passes[number];

        for (unsigned i = 0; i < pass->count; i++) {
                size_t at = (size_t) lane * pass->count + i;
                uint32_t answer = pass_is_stochastic(pass) ? element_answer(pass->format, &elements[i], words[i]) :
                                                             golden_nearest(pass->format, float_of(elements[i].bits));

                if (!script->in_is_shared[number])
                        script->in[number][at] = elements[i].bits;
                golden_store(pass->format, golden_image(pass->format, answer), script->out[number], at);
        }
}

/* To nearest all lanes answer alike as well. */
static void repeat_first_lane(Script *script, unsigned number) {
        size_t n_in = script_in_bytes(script, number) / ENGINE_LANES, n_out = script_out_bytes(script, number) / ENGINE_LANES;

        for (unsigned lane = 1; lane < ENGINE_LANES; lane++) {
                if (!script->in_is_shared[number])
                        memcpy((uint8_t *) script->in[number] + lane * n_in, script->in[number], n_in);
                memcpy(script->out[number] + lane * n_out, script->out[number], n_out);
        }
}

static int fill_pass(Script *script, const Script *first, unsigned number) {
        const Pass *pass = &script->passes[number];
        Element elements[PASS_COUNT_MAX];
        uint32_t words[PASS_COUNT_MAX];

        script->in_is_shared[number] = first && is_alike(pass);
        script->in[number] = script->in_is_shared[number] ? first->in[number] : malloc(script_in_bytes(script, number));
        script->out[number] = malloc(script_out_bytes(script, number));
        if (!script->in[number] || !script->out[number])
                return -ENOMEM;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                if (lane == 0 || !is_alike(pass))
                        script_lane(script, number, lane, elements, words);
                else if (pass->method == PASS_NEAREST)
                        break;
                else
                        script_words(script->engine, lane, pass->seed, 0, pass->count, words);
                fill_lane(script, number, lane, elements, words);
        }
        if (pass->method == PASS_NEAREST)
                repeat_first_lane(script, number);
        return 0;
}

static Script *script_free(Script *script) {
        for (unsigned i = 0; script && i < script->n_passes; i++) {
                if (!script->in_is_shared[i])
                        free(script->in[i]);
                free(script->out[i]);
        }
        free(script);
        return NULL;
}

DEFINE_CLEANUP(Script *, script_free);

static Script *script_make(WireEngine engine, const RoundingParameters *parameters, const Script *first) {
        static unsigned n_made;
        _cleanup_(script_freep) Script *script = calloc(1, sizeof(*script));

        if (!script)
                return NULL;
        script->number = ++n_made;
        script->engine = engine;
        script->parameters = parameters;
        budget_make(parameters, &script->budget);
        add_coins(script);
        add_sweeps(script);
        add_stream(script);
        add_resets(script);
        if (add_nearest(script) < 0)
                return NULL;
        for (unsigned i = 0; i < script->n_passes; i++)
                if (fill_pass(script, first, i) < 0)
                        return NULL;

        return TAKE_PTR(script);
}

const Script *script_get(WireEngine engine, const RoundingParameters *parameters) {
        static struct {
                RoundingParameters parameters;
                Script *scripts[_ENGINE_MAX];
        } made[ENTRIES_MAX];
        static unsigned next;
        unsigned at = 0;

        while (at < ENTRIES_MAX && !(made[at].scripts[0] && memcmp(&made[at].parameters, parameters, sizeof(*parameters)) == 0))
                at++;
        if (at == ENTRIES_MAX) {
                at = next++ % ENTRIES_MAX;
                for (WireEngine e = _ENGINE_MAX; e-- > 0;) /* the first last: others borrow from it */
                        made[at].scripts[e] = script_free(made[at].scripts[e]);
                made[at].parameters = *parameters;
        }
        for (WireEngine e = 0; e <= engine; e++)
                if (!made[at].scripts[e])
                        made[at].scripts[e] = script_make(e, &made[at].parameters, e > 0 ? made[at].scripts[0] : NULL);

        return made[at].scripts[engine];
}
