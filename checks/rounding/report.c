/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX       256u
/* So many lanes are no coincidence: with the same code; alike in every particular, where it shows too rarely for the others. */
#define ENGINE_PART    (ENGINE_LANES - ENGINE_LANES / 8)
#define ENGINE_ALIKE   16u

typedef struct Told {
        const LaneDiagnosis *d;
        const Hypothesis *h;
        const Budget *budget;
} Told;

static int tell_stuck(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "bit %u of the random word is stuck at %u", t->h->bit, t->h->value);
}

static int tell_tied(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "bits %u and %u of the random word are tied: both are the %s of the two", t->h->bit, t->h->other,
                        t->h->value ? "or" : "and");
}

static int tell_swapped(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "bits %u and %u of the random word are swapped", t->h->bit, t->h->other);
}

static int tell_few_bits(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "only the upper %u bits of the random word are used", t->h->bit);
}

static int tell_width(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "the random word is added in a field %d bit%s too %s", abs(t->h->delta), abs(t->h->delta) > 1 ? "s" : "",
                        t->h->delta < 0 ? "short" : "long");
}

static int tell_format(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "the random word is added as it is for the format %s", wire_format_words[t->h->format]);
}

static int tell_cycle(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "the random words begin anew after %u", t->h->words);
}

static int tell_lane(const Told *t, char *text) {
        if (t->h->lag == 0)
                return snprintf(text, TEXT_MAX, "the random stream is that of lane %u", t->h->other);
        return snprintf(text, TEXT_MAX, "the random stream is that of lane %u, %u words ahead", t->h->other, t->h->lag);
}

static int tell_unseeded(const Told *t, char *text) {
        static const char *const words[] = {
                [OCCASION_SEED] = "the seed is not taken: the generator goes on as it was",
                [OCCASION_RESET] = "a reset leaves the generator as it was",
                [OCCASION_FIRST] = "the first seed after a reset is not taken: the generator goes on as it was",
        };

        return snprintf(text, TEXT_MAX, "%s", words[t->h->value]);
}

static int tell_result(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "bit %u of the result is stuck at %u", t->h->bit, t->h->value);
}

static int tell_conversion(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "%u of %u conversions are wrong, also where nothing is random", t->d->n_mismatches, t->d->n_conversions);
}

static int tell_bias(const Told *t, char *text) {
        return snprintf(text, TEXT_MAX, "%u of %u %s numbers went up at %s, probability %.2g; then %s", t->d->ups[t->d->place], t->budget->each,
                        t->d->place < 2 ? "positive" : "negative", t->d->place % 2 ? "3/4" : "1/4", t->d->p_value, t->d->words);
}

static int tell_generator(const Told *t, char *text) {
        if (t->d->words[0])
                return snprintf(text, TEXT_MAX, "not the seeded generator: %s", t->d->words);
        return snprintf(text, TEXT_MAX, "%u of %u conversions are not those of the seeded generator, for no cause that is known",
                        t->d->n_mismatches, t->d->n_conversions);
}

static const struct {
        const char *code, *words; /* or, where numbers belong in it, told by: */
        int (*tell)(const Told *told, char *text);
} causes[_CAUSE_MAX] = {
        [CAUSE_NEAREST]      = { "rounding-mode", "stochastic rounding rounds to nearest", NULL },
        [CAUSE_STOCHASTIC]   = { "rounding-mode", "rounding to nearest is stochastic", NULL },
        [CAUSE_STUCK_BIT]    = { "rounding-generator", NULL, tell_stuck },
        [CAUSE_TIED_BITS]    = { "rounding-generator", NULL, tell_tied },
        [CAUSE_SWAPPED_BITS] = { "rounding-generator", NULL, tell_swapped },
        [CAUSE_FEW_BITS]     = { "rounding-width", NULL, tell_few_bits },
        [CAUSE_WIDTH]        = { "rounding-width", NULL, tell_width },
        [CAUSE_FORMAT_WIDTH] = { "rounding-width", NULL, tell_format },
        [CAUSE_SIGN]         = { "rounding-sign", "negative numbers are rounded the other way", NULL },
        [CAUSE_LOCKED]       = { "rounding-generator", "the generator stands still: it gives the same word again and again", NULL },
        [CAUSE_CYCLE]        = { "rounding-generator", NULL, tell_cycle },
        [CAUSE_OTHER_LANE]   = { "rounding-lanes", NULL, tell_lane },
        [CAUSE_UNSEEDED]     = { "rounding-seed", NULL, tell_unseeded },
        [CAUSE_RESULT_STUCK] = { "rounding-nearest", NULL, tell_result },
        [CAUSE_CARRY_LOST]   = { "rounding-nearest", "a carry of rounding up does not reach the exponent", NULL },
        [CAUSE_FLUSHED]      = { "rounding-nearest", "results below the normal range are zero", NULL },
        [CAUSE_CONVERSION]   = { "rounding-nearest", NULL, tell_conversion },
        [CAUSE_BIAS]         = { "rounding-bias", NULL, tell_bias },
        [CAUSE_TWINS]        = { "rounding-lanes", NULL, tell_generator },
        [CAUSE_GENERATOR]    = { "rounding-generator", NULL, tell_generator },
};

static const char *code_of(const LaneDiagnosis *d) {
        return causes[d->why.cause].code;
}

static void describe(const LaneDiagnosis *d, const Budget *budget, char text[static TEXT_MAX]) {
        Told told = { d, &d->why, budget };
        size_t n;

        if (!causes[d->why.cause].tell) {
                (void) snprintf(text, TEXT_MAX, "%s", causes[d->why.cause].words);
                return;
        }
        (void) causes[d->why.cause].tell(&told, text);
        n = strlen(text);
        if (d->why.n_alike == 1)
                (void) snprintf(text + n, TEXT_MAX - n, " (or another that looks the same)");
        else if (d->why.n_alike > 1)
                (void) snprintf(text + n, TEXT_MAX - n, " (or one of %u others that look the same)", d->why.n_alike);
}

static int report(Step *step, Verdict *verdict, const Location *where, const Budget *budget, const LaneDiagnosis *d, uint64_t n_mismatches) {
        char address[64], expected[16], actual[16], text[TEXT_MAX];
        Evidence evidence = { .has_count = true, .count = n_mismatches, .address = address, .expected = expected, .actual = actual,
                              .decided = { "rounding_mismatched_conversions", (double) n_mismatches, 0 } };

        (void) snprintf(address, sizeof(address), "binary32 0x%08" PRIx32 " to %s", d->in, wire_format_words[d->format]);
        (void) snprintf(expected, sizeof(expected), "0x%0*" PRIx32, 2 * (int) wire_format_bytes(d->format), d->expected);
        (void) snprintf(actual, sizeof(actual), "0x%0*" PRIx32, 2 * (int) wire_format_bytes(d->format), d->actual);
        describe(d, budget, text);
        return step_finding(step, verdict, code_of(d), where, &evidence, "%s%s", d->intermittent ? "at times " : "", text);
}

static bool is_alike(const LaneDiagnosis *a, const LaneDiagnosis *b) {
        const Hypothesis *h = &a->why, *g = &b->why;

        return h->cause == g->cause && h->bit == g->bit && h->other == g->other && h->value == g->value && h->delta == g->delta &&
                        h->format == g->format && h->lag == g->lag && h->words == g->words;
}

/* The lane that most others are like. */
static unsigned most_alike(const LaneDiagnosis diagnoses[static ENGINE_LANES], unsigned *ret_n) {
        unsigned most = 0, lane_of_most = 0;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                unsigned n = 0;

                for (unsigned other = 0; other < ENGINE_LANES; other++)
                        n += diagnoses[lane].why.cause != CAUSE_NONE && is_alike(&diagnoses[lane], &diagnoses[other]);
                if (n > most) {
                        most = n;
                        lane_of_most = lane;
                }
        }

        *ret_n = most;
        return lane_of_most;
}

/* Lanes with the code of LIKE: one that shows it rarely may be told otherwise in its particulars. */
static unsigned count_code(const LaneDiagnosis diagnoses[static ENGINE_LANES], const LaneDiagnosis *like) {
        unsigned n = 0;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                n += diagnoses[lane].why.cause != CAUSE_NONE && strcmp(code_of(&diagnoses[lane]), code_of(like)) == 0;
        return n;
}

/* Lower bits decide only after words with leading ones. */
static bool shows_rarely(const Hypothesis *h) {
        switch ((int) h->cause) {
        case CAUSE_STUCK_BIT:
                return h->bit < 8;
        case CAUSE_TIED_BITS: case CAUSE_SWAPPED_BITS:
                return h->bit < 8 || h->other < 8;
        case CAUSE_FEW_BITS:
                return h->bit > 24;
        default:
                return false;
        }
}

int report_engine(Step *step, Verdict *verdict, const Location *engine, const Budget *budget, const LaneDiagnosis diagnoses[static ENGINE_LANES]) {
        unsigned n_alike;
        const LaneDiagnosis *like = &diagnoses[most_alike(diagnoses, &n_alike)];
        uint64_t n_mismatches = 0;
        int r = 0;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                n_mismatches += diagnoses[lane].n_mismatches;
        if (like->why.cause != CAUSE_NONE && ((shows_rarely(&like->why) && n_alike >= ENGINE_ALIKE) || count_code(diagnoses, like) >= ENGINE_PART))
                return report(step, verdict, engine, budget, like, n_mismatches);

        for (unsigned lane = 0; lane < ENGINE_LANES && r >= 0; lane++) {
                Location where = *engine;

                if (diagnoses[lane].why.cause == CAUSE_NONE)
                        continue;
                r = location_append(&where, LOCATION_ENGINE_LANE, lane);
                if (r >= 0)
                        r = report(step, verdict, &where, budget, &diagnoses[lane], diagnoses[lane].n_mismatches);
        }

        return r;
}
