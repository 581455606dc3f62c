/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every hypothesis is tried, the plainest first: on all answers, as a fault that is always there would have it, then on the wrong
 * passes alone, as one that comes and goes. What none explains is told by what was wrong: conversions without chance, counts, or
 * the generator.
 */

#include "checks/rounding/diagnose.h"

#include <string.h>

#include "checks/text/cleanup.h"

#define LAG_MAX       256u
#define LOCKED_MIN    6u /* elements that a word could tell apart, at least, to call it always the same one */
#define FIELD_DELTAS  8

typedef struct Search {
        const View *view;
        const States *before;
        bool always; /* the fault must explain the sound passes too */
        unsigned first_pass; /* of the first wrong answer */
} Search;

/* Passes that a hypothesis has to explain. STREAMS: also those that go on where another ended. */
static bool must_explain(const Search *search, unsigned pass, bool streams) {
        if (search->view->script->passes[pass].after > 0 && !streams && !search->always)
                return false; /* after a fault that went again the stream is anywhere */
        return search->always || search->view->wrong[pass];
}

static const uint32_t *own_words(const View *view, unsigned pass) {
        return view->words + view->at[pass];
}

/* ---- faults of the word, of the decision and of the result: words are those of the lane ---- */

static bool stands(const Search *search, const Hypothesis *h) {
        const View *view = search->view;

        if (!hypothesis_explains_one(h, view, search->first_pass, view->first, view->words[view->first]))
                return false;
        for (unsigned pass = 0; pass < view->script->n_passes; pass++)
                if (view->wrong[pass] && !hypothesis_explains(h, view, pass, own_words(view, pass)))
                        return false;
        for (unsigned pass = 0; pass < view->script->n_passes && search->always; pass++)
                if (!view->wrong[pass] && !hypothesis_explains(h, view, pass, own_words(view, pass)))
                        return false;

        return true;
}

/* Keeps the first that stands, and counts. */
static void consider(const Search *search, const Hypothesis *h, Hypothesis *found) {
        if (!stands(search, h))
                return;
        if (found->cause == CAUSE_NONE)
                *found = *h;
        else if (found->cause == h->cause)
                found->n_alike++;
}

static void search_plain(const Search *search, Hypothesis *found) {
        static const Cause plain[] = { CAUSE_NEAREST, CAUSE_SIGN, CAUSE_CARRY_LOST, CAUSE_FLUSHED };

        for (unsigned i = 0; i < ELEMENTS(plain); i++)
                consider(search, &(Hypothesis) { .cause = plain[i] }, found);
}

static void search_one_bit(const Search *search, Hypothesis *found) {
        for (unsigned i = 0; i < 64; i++)
                consider(search, &(Hypothesis) { .cause = CAUSE_STUCK_BIT, .bit = i / 2, .value = i % 2 }, found);
        for (unsigned i = 0; i < 64 && found->cause == CAUSE_NONE; i++)
                consider(search, &(Hypothesis) { .cause = CAUSE_RESULT_STUCK, .bit = i / 2, .value = i % 2 }, found);
}

static void search_width(const Search *search, Hypothesis *found) {
        for (unsigned bits = 31; bits > 0; bits--)
                consider(search, &(Hypothesis) { .cause = CAUSE_FEW_BITS, .bit = bits }, found);
        for (int delta = 1; delta <= FIELD_DELTAS && found->cause == CAUSE_NONE; delta++) {
                consider(search, &(Hypothesis) { .cause = CAUSE_WIDTH, .delta = -delta }, found);
                consider(search, &(Hypothesis) { .cause = CAUSE_WIDTH, .delta = delta }, found);
        }
        for (WireFormat format = FORMAT_BF16; format < _FORMAT_MAX && found->cause == CAUSE_NONE; format++)
                consider(search, &(Hypothesis) { .cause = CAUSE_FORMAT_WIDTH, .format = format }, found);
}

static void search_two_bits(const Search *search, Hypothesis *found) {
        for (unsigned bit = 1; bit < 32; bit++)
                for (unsigned other = 0; other < bit; other++)
                        for (unsigned way = 0; way < 3; way++)
                                consider(search, &(Hypothesis) { .cause = way < 2 ? CAUSE_TIED_BITS : CAUSE_SWAPPED_BITS, .bit = bit, .other = other,
                                                                 .value = way }, found);
}

/* ---- faults of the stream ---- */

/* Whether one and the same word explains all answers of PASS. */
static bool is_locked(const View *view, unsigned pass) {
        const Pass *p = &view->script->passes[pass];
        uint64_t least = 0, most = UINT32_MAX;
        unsigned n = 0;

        for (unsigned i = view->at[pass]; i < view->at[pass + 1]; i++) {
                const Element *e = &view->elements[i];
                uint64_t threshold = element_threshold(e);

                if (view->answers[i] == golden_image(p->format, element_signed(p->format, e, e->low + 1)) && threshold <= UINT32_MAX)
                        least = threshold > least ? threshold : least;
                else if (view->answers[i] != golden_image(p->format, element_signed(p->format, e, e->low)))
                        return false;
                else if (threshold <= most)
                        most = threshold - 1;
                n += threshold <= UINT32_MAX;
        }

        return n >= LOCKED_MIN && least <= most;
}

static void search_locked(const Search *search, Hypothesis *found) {
        const View *view = search->view;

        for (unsigned pass = 0; pass < view->script->n_passes; pass++)
                if (pass_is_stochastic(&view->script->passes[pass])) {
                        if (must_explain(search, pass, false) && !is_locked(view, pass))
                                return;
                } else if (view->wrong[pass])
                        return;
        found->cause = CAUSE_LOCKED;
}

/* What a generator that begins anew after N words gives. Passes of one stream lie side by side, so its words do. */
static bool is_cycle(const Search *search, unsigned n) {
        const View *view = search->view;
        const Pass *first = &view->script->passes[search->first_pass];
        const uint32_t *from = own_words(view, search->first_pass) - first->after;
        uint32_t words[PASS_COUNT_MAX];
        static const Hypothesis sound = {};

        if (must_explain(search, search->first_pass, false) &&
            !hypothesis_explains_one(&sound, view, search->first_pass, view->first, from[(unsigned) (view->words + view->first - from) % n]))
                return false;
        for (unsigned pass = 0; pass < view->script->n_passes; pass++) {
                const Pass *p = &view->script->passes[pass];
                const uint32_t *own = own_words(view, pass) - p->after;

                if (!must_explain(search, pass, false) || (p->after + p->count <= n && !view->wrong[pass]))
                        continue;
                for (unsigned i = 0; i < p->count; i++)
                        words[i] = own[(p->after + i) % n];
                if (!hypothesis_explains(&sound, view, pass, words))
                        return false;
        }

        return true;
}

static void search_cycle(const Search *search, Hypothesis *found) {
        const View *view = search->view;
        unsigned longest = 0;

        for (unsigned pass = 0; pass < view->script->n_passes; pass++) {
                const Pass *p = &view->script->passes[pass];

                if (view->wrong[pass] && !pass_is_stochastic(p))
                        return;
                if (view->wrong[pass] && p->after + p->count > longest)
                        longest = p->after + p->count;
        }
        for (unsigned n = longest; n-- > 1;) /* a multiple of the cycle explains no more than the cycle */
                if (is_cycle(search, n))
                        *found = (Hypothesis) { .cause = CAUSE_CYCLE, .words = n };
}

static bool is_stream_of(const Search *search, unsigned lane, unsigned lag) {
        const View *view = search->view;
        uint32_t words[PASS_COUNT_MAX];
        static const Hypothesis sound = {};

        for (unsigned pass = 0; pass < view->script->n_passes; pass++) {
                const Pass *p = &view->script->passes[pass];

                if (!must_explain(search, pass, true))
                        continue;
                if (!pass_is_stochastic(p) && view->wrong[pass])
                        return false;
                script_words(view->script->engine, lane, p->seed, p->after + lag, p->count, words);
                if (!hypothesis_explains(&sound, view, pass, words))
                        return false;
        }

        return true;
}

/* One pass tells which lane it may be and how far ahead, the others whether it is. */
static void search_lanes(const Search *search, Hypothesis *found) {
        const View *view = search->view;
        uint32_t words[LAG_MAX + PASS_COUNT_MAX];
        static const Hypothesis sound = {};
        unsigned pass = 0;

        while (pass < view->script->n_passes && !(view->wrong[pass] && view->script->passes[pass].after == 0))
                pass++;
        if (pass == view->script->n_passes || !pass_is_stochastic(&view->script->passes[pass]))
                return;
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                const Pass *p = &view->script->passes[pass];

                script_words(view->script->engine, lane, p->seed, 0, LAG_MAX + p->count, words);
                for (unsigned lag = lane == view->lane; lag < LAG_MAX; lag++)
                        if (hypothesis_explains(&sound, view, pass, words + lag) && is_stream_of(search, lane, lag)) {
                                *found = (Hypothesis) { .cause = CAUSE_OTHER_LANE, .other = lane, .lag = lag };
                                return;
                        }
        }
}

static Occasion occasion_of(const Script *script, unsigned pass) {
        if (script->passes[pass].reset)
                return OCCASION_RESET;
        return pass > 0 && script->passes[pass - 1].reset ? OCCASION_FIRST : OCCASION_SEED;
}

/* Of all wrong passes; what is not one of the others alone is any seed. The scan's first seed may be the first after a reset, too. */
static Occasion find_occasion(const View *view) {
        bool seen[OCCASION_FIRST + 1] = {};

        for (unsigned pass = 1; pass < view->script->n_passes; pass++)
                if (view->wrong[pass])
                        seen[occasion_of(view->script, pass)] = true;
        if (seen[OCCASION_SEED] || seen[OCCASION_RESET] == seen[OCCASION_FIRST])
                return OCCASION_SEED;
        return seen[OCCASION_RESET] ? OCCASION_RESET : OCCASION_FIRST;
}

/* Each pass goes on from where the one before it ended, or from its seed where that was taken. */
static void search_unseeded(const Search *search, Hypothesis *found) {
        const View *view = search->view;
        static const Hypothesis sound = {};
        GoldenLane state;
        bool seen = false;

        if (!search->before)
                return;
        state = search->before->lanes[view->lane];
        for (unsigned pass = 0; pass < view->script->n_passes && pass_is_stochastic(&view->script->passes[pass]); pass++) {
                const Pass *p = &view->script->passes[pass];
                uint32_t words[PASS_COUNT_MAX];
                GoldenLane on = state;

                for (unsigned i = 0; i < p->count; i++)
                        words[i] = golden_lane_next(&on);
                if (hypothesis_explains(&sound, view, pass, words)) {
                        seen = seen || view->wrong[pass];
                        state = on;
                        continue;
                }
                if (view->wrong[pass])
                        return;
                golden_lane_seed(&state, view->script->engine, view->lane, p->seed);
                for (unsigned i = 0; i < p->after + p->count; i++)
                        (void) golden_lane_next(&state);
        }
        for (unsigned pass = 0; pass < view->script->n_passes; pass++)
                if (view->wrong[pass] && !pass_is_stochastic(&view->script->passes[pass]))
                        return;
        if (seen)
                *found = (Hypothesis) { .cause = CAUSE_UNSEEDED, .value = find_occasion(view) };
}

/* ---- where nothing is random ---- */

/* Each wrong answer is the other neighbour of its number, and chance alone would take it: not ties only. */
static bool is_stochastic_nearest(const View *view) {
        bool seen = false;

        for (unsigned pass = 0; pass < view->script->n_passes; pass++) {
                const Pass *p = &view->script->passes[pass];

                if (!view->wrong[pass])
                        continue;
                if (pass_is_stochastic(p))
                        return false;
                for (unsigned i = view->at[pass]; i < view->at[pass + 1]; i++) {
                        const Element *e = &view->elements[i];
                        uint32_t low = golden_image(p->format, element_signed(p->format, e, e->low));
                        uint32_t high = golden_image(p->format, element_signed(p->format, e, e->low + 1));

                        if (view->answers[i] == view->sound[i])
                                continue;
                        if (e->fraction == 0 || e->d == 0 || (view->answers[i] != low && view->answers[i] != high))
                                return false;
                        seen = seen || e->d > 32 || e->fraction != 1u << (e->d - 1);
                }
        }

        return seen;
}

/* Whether many numbers of PASS lie where chance shows: a quarter of the step or more above, and no tie. */
static bool shows_chance(const View *view, unsigned pass) {
        unsigned n = 0;

        for (unsigned i = view->at[pass]; i < view->at[pass + 1]; i++) {
                const Element *e = &view->elements[i];

                n += e->d > 2 && e->d <= 24 && e->fraction >= 1u << (e->d - 2) && e->fraction != 1u << (e->d - 1);
        }

        return n >= 10; /* all as to nearest by chance: less than 0.75^10 */
}

static bool is_intermittent_nearest(const View *view) {
        for (unsigned pass = 0; pass < view->script->n_passes; pass++)
                if (!pass_is_stochastic(&view->script->passes[pass]) && !view->wrong[pass] && shows_chance(view, pass))
                        return true;

        return false;
}

/* Wrong where no random word can matter. */
static bool is_wrong_without_chance(const View *view) {
        for (unsigned i = 0; i < view->at[view->script->n_passes]; i++)
                if (view->answers[i] != view->sound[i] &&
                    (!pass_is_stochastic(&view->script->passes[view_pass_of(view, i)]) || view->elements[i].fraction == 0))
                        return true;

        return false;
}

static bool is_seeded_at_times(const View *view, Occasion occasion) {
        for (unsigned pass = 0; pass < view->script->n_passes; pass++) {
                Occasion own = occasion_of(view->script, pass);

                if (pass_is_stochastic(&view->script->passes[pass]) && view->script->passes[pass].after == 0 && !view->wrong[pass] &&
                    (own == occasion || (own == OCCASION_FIRST && occasion == OCCASION_SEED)))
                        return true;
        }

        return false;
}

/* ---- all together ---- */

static void search_all(const Search *search, Hypothesis *found) {
        static void (*const searches[])(const Search *search, Hypothesis *found) = {
                search_plain, search_one_bit, search_width, search_two_bits, search_locked, search_unseeded, search_cycle, search_lanes,
        };

        for (unsigned i = 0; i < ELEMENTS(searches) && found->cause == CAUSE_NONE; i++)
                searches[i](search, found);
}

static void count_coins(const View *view, LaneDiagnosis *ret) {
        const Budget *budget = &view->script->budget;

        ret->p_value = 1;
        for (unsigned place = 0; place < COIN_PLACES; place++) {
                double p;

                ret->ups[place] = view_ups(view, place);
                p = budget_p_value(budget, place, ret->ups[place]);
                if (p < ret->p_value) {
                        ret->p_value = p;
                        ret->place = place;
                }
        }
}

void lane_diagnose(const View *view, const States *before, LaneDiagnosis *ret) {
        const Script *script = view->script;
        unsigned pass = view_pass_of(view, view->first);

        *ret = (LaneDiagnosis) {
                .n_mismatches = view->n_mismatches, .n_conversions = view->at[script->n_passes], .format = script->passes[pass].format,
                .in = view->elements[view->first].bits, .expected = view->sound[view->first], .actual = view->answers[view->first],
        };
        count_coins(view, ret);

        search_all(&(Search) { view, before, .always = true, .first_pass = pass }, &ret->why);
        ret->intermittent = ret->why.cause == CAUSE_UNSEEDED && is_seeded_at_times(view, (Occasion) ret->why.value);
        if (ret->why.cause != CAUSE_NONE)
                return;
        search_all(&(Search) { view, before, .always = false, .first_pass = pass }, &ret->why);
        ret->intermittent = ret->why.cause != CAUSE_NONE;
        if (ret->why.cause != CAUSE_NONE)
                return;

        if (is_stochastic_nearest(view)) {
                ret->why.cause = CAUSE_STOCHASTIC;
                ret->intermittent = is_intermittent_nearest(view);
        } else if (is_wrong_without_chance(view))
                ret->why.cause = CAUSE_CONVERSION;
        else if (budget_is_alarm(&script->budget, ret->place, ret->ups[ret->place]))
                ret->why.cause = CAUSE_BIAS;
        else
                ret->why.cause = CAUSE_GENERATOR;
}
