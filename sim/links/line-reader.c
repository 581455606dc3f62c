/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/line-reader.h"

#include <math.h>
#include <sys/param.h>

#include "sim/links/line-prbs.h"

#define SINGLE_MAX 64.0  /* wrong bits of a stretch, up to which each of them is drawn, … */
#define BLOCKS_MAX 1024u /* … and blocks: what many of them come to is normal */

Pattern pattern_begin(WirePrbs polynomial, uint32_t start) {
        return (Pattern) { .polynomial = polynomial, .start = start, .state = start };
}

uint32_t pattern_state(Pattern *pattern, int64_t index) {
        uint64_t mask = line_prbs_period(pattern->polynomial);

        if (index == pattern->index)
                pattern->state = (uint32_t) (((uint64_t) pattern->state << 1 |
                                              line_prbs_next_bit(pattern->polynomial, pattern->state)) & mask);
        else if (index != pattern->index - 1)
                pattern->state = line_prbs_jump(pattern->polynomial, pattern->start, index + 1);
        pattern->index = index + 1;
        return pattern->state;
}

unsigned pattern_bit(Pattern *pattern, int64_t index) {
        return pattern_state(pattern, index) & 1;
}

/* ---- what happens ---- */

static uint64_t add_gap(uint64_t at, uint64_t gap) {
        return gap < UINT64_MAX - at ? at + gap : UINT64_MAX;
}

static void look_ahead(Reader *reader) {
        reader->next = reader->n_events > 0 ? reader->events[0].at : UINT64_MAX;
        for (unsigned i = 0; i < reader->n_noises; i++)
                reader->next = MIN(reader->next, reader->noises[i].next);
}

static void look_for_break(Reader *reader) {
        reader->next_break = UINT64_MAX;
        for (size_t i = 0; i < reader->n_events; i++)
                if (reader->events[i].slip != 0 || reader->events[i].silent > 0) {
                        reader->next_break = reader->events[i].at;
                        break;
                }
}

/* Of 2^k - 1 bits of a maximal sequence 2^(k - 1) are not what the one before is. */
static double toggling(WirePrbs polynomial) {
        double period = (double) line_prbs_period(polynomial);

        return (period + 1) / 2 / period;
}

/* FIRST: the first bit that is wrong. */
static void add_noise(Reader *reader, const LineRun *run, double rate, uint64_t first, const LineTrouble *crosstalk) {
        Noise *noise = &reader->noises[reader->n_noises++];

        *noise = (Noise) { .rate = rate, .next = first, .crosstalk = crosstalk };
        reader->rate += crosstalk ? rate * toggling(run->polynomial) : rate;
        if (crosstalk)
                noise->other = pattern_begin(run->polynomial, line_prbs_seed(run->polynomial, run->seed, crosstalk->from));
}

Reader reader_begin(const Line *line, const LineRun *run, const LineEvent *events, size_t n_events, uint64_t first, Dice dice) {
        Reader reader = {
                .line = line, .events = events, .n_events = n_events, .late = line->late, .dice = dice,
                .pattern = pattern_begin(run->polynomial, line_prbs_seed(run->polynomial, run->seed, line->source)),
        };

        if (line->rate > 0)
                add_noise(&reader, run, line->rate, first, NULL);
        for (unsigned i = 0; i < line->n_troubles; i++)
                if (line->troubles[i].kind == LINE_CROSSTALK)
                        add_noise(&reader, run, line->troubles[i].rate, dice_gap(&reader.dice, line->troubles[i].rate),
                                  &line->troubles[i]);
        look_ahead(&reader);
        look_for_break(&reader);
        return reader;
}

static unsigned noise_take(Reader *reader, Noise *noise) {
        int64_t other;
        uint64_t at = noise->next;

        noise->next = add_gap(at + 1, dice_gap(&reader->dice, noise->rate));
        if (!noise->crosstalk)
                return 1;

        other = (int64_t) at - noise->crosstalk->from_late;
        return pattern_bit(&noise->other, other - 1) ^ pattern_bit(&noise->other, other);
}

/* All that happens at reader->next, which is not before reader->at. Returns whether the bit is wrong. */
static unsigned happen(Reader *reader) {
        uint64_t at = reader->next;
        unsigned wrong = 0;
        bool broke = false;

        for (; reader->n_events > 0 && reader->events[0].at == at; reader->events++, reader->n_events--) {
                const LineEvent *event = &reader->events[0];

                reader->late += event->slip;
                if (event->silent > 0)
                        reader->silent = MAX(reader->silent, at + event->silent);
                wrong ^= event->slip == 0 && event->silent == 0;
                broke |= event->slip != 0 || event->silent > 0;
        }
        for (unsigned i = 0; i < reader->n_noises; i++)
                if (reader->noises[i].next == at)
                        wrong ^= noise_take(reader, &reader->noises[i]);

        look_ahead(reader);
        if (broke)
                look_for_break(reader);
        return wrong;
}

/* ---- reading ---- */

unsigned reader_next(Reader *reader) {
        uint64_t at = reader->at++;
        unsigned wrong = reader->next == at ? happen(reader) : 0;

        if (at < reader->silent)
                return reader->line->inverted;
        return pattern_bit(&reader->pattern, (int64_t) at - reader->late) ^ wrong ^ reader->line->inverted;
}

uint64_t reader_count(Reader *reader, uint64_t end) {
        uint64_t wrong = 0;

        while (reader->next < end)
                wrong += happen(reader);
        reader->at = end;
        return wrong;
}

void reader_pass(Reader *reader, uint64_t at) {
        for (unsigned i = 0; i < reader->n_noises; i++)
                reader->noises[i].next = add_gap(at, dice_gap(&reader->dice, reader->noises[i].rate));
        look_ahead(reader);
        reader->at = at;
}

/* How many bits follow on the first wrong one in a block that has one: its mean and variance. */
static void rest_of_block(double rate, double *ret_mean, double *ret_variance) {
        double weight = 1, sum = 0, mean = 0, square = 0;

        for (unsigned i = 0; i < LINK_BLOCK_BITS; i++, weight *= 1 - rate) {
                double rest = LINK_BLOCK_BITS - 1 - i;

                sum += weight;
                mean += weight * rest;
                square += weight * rest * rest;
        }
        *ret_mean = mean / sum;
        *ret_variance = square / sum - *ret_mean * *ret_mean;
}

/* Too many to draw each: how many blocks have a wrong bit; behind the first one of each the rest are wrong as any. */
static uint64_t count_many(Reader *reader, uint64_t n_blocks, uint64_t *ret_errored) {
        double spoiled = -expm1(LINK_BLOCK_BITS * log1p(-reader->rate)), mean, variance, rest;
        uint64_t errored;

        errored = dice_binomial(&reader->dice, n_blocks, spoiled);
        rest_of_block(reader->rate, &mean, &variance);
        rest = (double) errored * mean + dice_normal(&reader->dice) * sqrt((double) errored * variance);
        *ret_errored = errored;
        return errored + dice_binomial(&reader->dice, (uint64_t) fmax(rint(rest), 0), reader->rate);
}

uint64_t reader_count_blocks(Reader *reader, uint64_t end, uint64_t *ret_errored) {
        uint64_t begin = reader->at, n_blocks = (end - begin) / LINK_BLOCK_BITS, last = UINT64_MAX, errors = 0, errored = 0;

        if (n_blocks > BLOCKS_MAX && reader->rate * (double) (end - begin) > SINGLE_MAX) {
                errors = count_many(reader, n_blocks, ret_errored);
                reader_pass(reader, end);
                return errors;
        }

        while (reader->next < end) {
                uint64_t block = (reader->next - begin) / LINK_BLOCK_BITS;

                if (happen(reader) == 0)
                        continue;
                errors++;
                errored += block != last;
                last = block;
        }
        reader->at = end;
        *ret_errored = errored;
        return errors;
}
