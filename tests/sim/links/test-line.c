/* SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "checks/text/cleanup.h"
#include "sim/links/line-events.h"
#include "sim/links/line.h"
#include "tests/draw.h"
#include "tests/sim/plain-line.h"

static uint8_t received[PLAIN_BITS_MAX];
static PlainSequence sent;

/* ---- exactly, where nothing is random ---- */

/* What arrives, bit by bit, with the events of a list in it. */
static void receive(const Line *line, const LineRun *run, const LineEvent *events, size_t n_events) {
        int64_t late = line->late;
        uint64_t silent = 0;
        size_t e = 0;

        plain_sequence(run->polynomial, plain_seed(run->polynomial, run->seed, line->source), 0, -PLAIN_MARGIN,
                       (int64_t) run->bits + PLAIN_MARGIN, &sent);
        for (uint64_t i = 0; i < run->bits; i++) {
                unsigned wrong = 0;

                for (; e < n_events && events[e].at == i; e++) {
                        late += events[e].slip;
                        wrong ^= events[e].slip == 0 && events[e].silent == 0;
                        if (events[e].silent > 0 && i + events[e].silent > silent)
                                silent = i + events[e].silent;
                }
                received[i] = (uint8_t) (line->inverted ^ (i < silent ? 0 : plain_bit(&sent, (int64_t) i - late) ^ wrong));
        }
}

static void assert_same(const WireLane *drawn, const WireLane *plain, const char *what, unsigned number) {
        if (memcmp(drawn, plain, sizeof(*drawn)) != 0)
                fail_msg("%s %u: %lu bits %lu errors %lu blocks %lu transitions %u resyncs %d slipped %x %u %u\nplain: "
                         "%lu bits %lu errors %lu blocks %lu transitions %u resyncs %d slipped %x %u %u", what, number,
                         drawn->bits, drawn->errors, drawn->errored_blocks, drawn->transitions, drawn->resyncs, drawn->slipped,
                         drawn->state, drawn->locked, drawn->inverted, plain->bits, plain->errors, plain->errored_blocks,
                         plain->transitions, plain->resyncs, plain->slipped, plain->state, plain->locked, plain->inverted);
}

static int by_bit(const void *a, const void *b) {
        const LineEvent *left = a, *right = b;

        return left->at < right->at ? -1 : left->at > right->at;
}

typedef enum Events { NONE, WRONG, BURSTS, SLIPS, SILENCES, ALL, _EVENTS_MAX } Events;

static size_t draw_events(Events which, uint64_t bits, LineEvent *ret) {
        size_t n = which == NONE ? 0 : draw() % 12;

        for (size_t i = 0; i < n; i++) {
                Events kind = which == ALL ? WRONG + draw() % 4 : which;
                uint64_t at = draw() % 4 == 0 ? draw() % 400 % bits : draw() % bits; /* the begin is worth more */

                ret[i] = (LineEvent) { .at = at };
                if (kind == SLIPS)
                        ret[i].slip = draw() % 8 == 0 ? (int) (draw() % 9) - 4 : draw() % 2 ? 1 : -1;
                if (kind == SILENCES && draw() % 4 == 0) /* just as a lock is due */
                        ret[i].at = (LINK_LOCK_BITS + draw() % 40) % bits;
                if (kind == SILENCES)
                        ret[i].silent = 1 + draw() % (draw() % 2 ? 40 : 4000);
                if (kind == BURSTS) /* every other bit of so many, and more */
                        for (unsigned k = draw() % 300; k > 0 && i + 1 < 4000; k--, n++)
                                ret[++i] = (LineEvent) { .at = at + draw() % 600 };
        }
        for (size_t i = 0; i < n; i++)
                if (which != WRONG && which != BURSTS && ret[i].slip == 0 && ret[i].silent == 0 && which == SLIPS)
                        ret[i].slip = 1; /* no slip by nothing */
        qsort(ret, n, sizeof(*ret), by_bit);
        return n;
}

static void test_the_checker_equals_one_that_sees_every_bit(void **state) {
        static const char *const names[_EVENTS_MAX] = { "none", "wrong", "bursts", "slips", "silences", "all" };
        const unsigned cases = getenv("ASSAY_LINE_CASES") ? (unsigned) atoi(getenv("ASSAY_LINE_CASES")) : 40;
        static LineEvent events[8000];
        unsigned resyncs = 0, slipped = 0, unlocked = 0, inverted = 0;

        for (unsigned p = 0; p < _PRBS_MAX; p++)
                for (Events which = NONE; which < _EVENTS_MAX; which++)
                        for (unsigned c = 0; c < cases; c++) {
                                LineRun run = { .polynomial = (WirePrbs) p, .seed = draw(), .bits = 1 + draw() % 6000 };
                                size_t n = draw_events(which, run.bits, events);
                                WireLane drawn, plain;
                                Dice dice = {};
                                Line line;

                                line_send(&line, 1, 0);
                                line.source = (uint8_t) (draw() % 32);
                                line.inverted = draw() % 4 == 0;
                                line.late = (int64_t) (draw() % 3) * (draw() % 1000);
                                receive(&line, &run, events, n);
                                plain_check(run.polynomial, received, (int64_t) run.bits, &plain);
                                line_check_events(&line, &run, events, n, UINT64_MAX, &dice, &drawn);
                                if (!plain.locked)
                                        drawn.state = plain.state; /* of a line that does not carry: below */
                                assert_same(&drawn, &plain, names[which], p * 1000 + c);
                                resyncs += plain.resyncs;
                                slipped += plain.slipped != 0;
                                unlocked += !plain.locked;
                                inverted += plain.inverted;
                        }

        /* That it was worth it. */
        assert_true(resyncs > 10 * cases && slipped > 5 * cases && unlocked > cases && inverted > 5 * cases);
}

static void test_sound_and_idle_lines_are_what_they_are(void **state) {
        for (unsigned p = 0; p < _PRBS_MAX; p++)
                for (unsigned c = 0; c < 40; c++) {
                        LineRun run = { .polynomial = (WirePrbs) p, .seed = draw(), .bits = 1 + draw() % (c % 2 ? 200 : 20000) };
                        WireLane drawn, plain;
                        Line line;

                        line_send(&line, 1, c % 5 == 0);
                        line.source = (uint8_t) (draw() % 32);
                        line.high = c % 10 == 0;
                        line.inverted = line.carries && draw() % 4 == 0;
                        line.late = line.carries ? (int64_t) (draw() % 3) * (draw() % 1000) : 0;
                        receive(&line, &run, NULL, 0);
                        if (!line.carries)
                                memset(received, line.high, run.bits);
                        plain_check(run.polynomial, received, (int64_t) run.bits, &plain);
                        line_check_sound(&line, &run, &drawn);
                        if (line.carries && !plain.locked)
                                drawn.state = plain.state;
                        assert_same(&drawn, &plain, "sound", p * 1000 + c);
                }
}

/* ---- in distribution, where something is ---- */

/*
 * Two samples of RUNS each, drawn and run bit by bit, of four figures of a lane. They are of one distribution where their empirical
 * distributions are nowhere further apart than Kolmogorov and Smirnov allow; with the seeds fixed a right model cannot fail by chance,
 * and one whose draws were others would with a probability of 1e-6 for each figure (less, as figures are discrete). Means are held to
 * 5.5 standard errors of their difference (4e-8), which sees smaller shifts.
 */
#define RUNS       800
#define KS_ALPHA   1e-6
#define SIGMAS     5.5
#define N_FIGURES  5u

typedef struct Sampled {
        double figures[N_FIGURES][RUNS];
} Sampled;

static void sample(Sampled *sampled, unsigned number, const WireLane *lane) {
        const double figures[N_FIGURES] = {
                (double) lane->errors, (double) lane->errored_blocks, (double) (lane->errors - lane->errored_blocks),
                (double) lane->bits, (double) lane->resyncs,
        };

        for (unsigned f = 0; f < N_FIGURES; f++)
                sampled->figures[f][number] = figures[f];
}

static int by_value(const void *a, const void *b) {
        double left = *(const double *) a, right = *(const double *) b;

        return left < right ? -1 : left > right;
}

static double furthest_apart(double *a, double *b) {
        double furthest = 0;
        size_t i = 0, k = 0;

        qsort(a, RUNS, sizeof(*a), by_value);
        qsort(b, RUNS, sizeof(*b), by_value);
        while (i < RUNS && k < RUNS) {
                double value = a[i] < b[k] ? a[i] : b[k];

                while (i < RUNS && a[i] <= value)
                        i++;
                while (k < RUNS && b[k] <= value)
                        k++;
                furthest = fmax(furthest, fabs((double) i - (double) k) / RUNS);
        }
        return furthest;
}

static void moments(const double *values, double *ret_mean, double *ret_variance) {
        double sum = 0, squares = 0;

        for (unsigned i = 0; i < RUNS; i++)
                sum += values[i];
        for (unsigned i = 0; i < RUNS; i++)
                squares += (values[i] - sum / RUNS) * (values[i] - sum / RUNS);
        *ret_mean = sum / RUNS;
        *ret_variance = squares / (RUNS - 1);
}

static void assert_one_distribution(Sampled *drawn, Sampled *plain, const char *what) {
        static const char *const names[N_FIGURES] = { "errors", "errored blocks", "errors beyond the first of a block", "bits", "resyncs" };
        double allowed = sqrt(-log(KS_ALPHA / 2) / 2) * sqrt(2.0 / RUNS);

        for (unsigned f = 0; f < N_FIGURES; f++) {
                double mean[2], variance[2], apart;

                moments(drawn->figures[f], &mean[0], &variance[0]);
                moments(plain->figures[f], &mean[1], &variance[1]);
                apart = furthest_apart(drawn->figures[f], plain->figures[f]);
                if (apart > allowed || fabs(mean[0] - mean[1]) > SIGMAS * sqrt((variance[0] + variance[1]) / RUNS) + 1e-9)
                        fail_msg("%s, %s: %g apart (%g allowed), means %g and %g, variances %g and %g", what, names[f], apart, allowed,
                                 mean[0], mean[1], variance[0], variance[1]);
        }
}

/* What a trouble does to the bits of a line, one after another. */
typedef struct Plain {
        double rate;
        LineTrouble trouble; /* rate 0: none */
        bool bad;            /* in a burst */
        int64_t late;
} Plain;

/* Crosstalk is felt at bits at which the other lane is not what it was a bit before. */
static unsigned disturb(Plain *plain, const PlainSequence *other, int64_t i, uint64_t *random) {
        const LineTrouble *trouble = &plain->trouble;
        unsigned wrong = plain_uniform(random) < plain->rate;

        if (trouble->rate == 0)
                return wrong;
        if (trouble->kind == LINE_CROSSTALK)
                return wrong ^ (plain_bit(other, i - trouble->from_late) != plain_bit(other, i - trouble->from_late - 1) &&
                                plain_uniform(random) < trouble->rate);
        if (trouble->kind == LINE_SLIPS) {
                plain->late += plain_uniform(random) < trouble->rate ? trouble->slip : 0;
                return wrong;
        }
        /* Gilbert and Elliott: a chain of two states. */
        plain->bad = plain->bad ? plain_uniform(random) >= 1 / trouble->length : plain_uniform(random) < trouble->rate;
        return wrong ^ (plain->bad && plain_uniform(random) < trouble->density);
}

static void run_plainly(const LineRun *run, Plain plain, uint64_t *random, WireLane *ret) {
        static PlainSequence other;

        int64_t n = (int64_t) run->bits;

        plain_sequence(run->polynomial, plain_seed(run->polynomial, run->seed, 3), 0, -200, n + 200, &sent);
        if (plain.trouble.kind == LINE_CROSSTALK)
                plain_sequence(run->polynomial, plain_seed(run->polynomial, run->seed, plain.trouble.from), 0, -200, n, &other);
        for (int64_t i = 0; i < n; i++) {
                unsigned wrong = disturb(&plain, &other, i, random);

                received[i] = (uint8_t) (plain_bit(&sent, i - plain.late) ^ wrong);
        }
        plain_check(run->polynomial, received, n, ret);
}

static void run_drawn(const LineRun *run, const Plain *plain, uint64_t number, WireLane *ret) {
        Dice dice = { number };
        Line line;

        line_send(&line, 1, 0);
        line.source = 3;
        line_add_rate(&line, plain->rate);
        if (plain->trouble.rate > 0)
                line_add_trouble(&line, plain->trouble);
        assert_int_equal(line_check(&line, run, dice_gap(&dice, line.rate), &dice, ret), 0);
}

static void test_drawn_lanes_are_distributed_as_lanes_run_bit_by_bit(void **state) {
        static const struct {
                const char *what;
                WirePrbs polynomial;
                uint64_t bits;
                Plain plain;
        } cases[] = {
                { "few errors", PRBS31, 8000, { .rate = 0.001 } },
                { "many errors, counted in blocks", PRBS31, 20000, { .rate = 0.008 } },
                { "as many as a lane can lock with", PRBS15, 12000, { .rate = 0.04 } },
                { "short bursts", PRBS23, 8000, { .trouble = { LINE_BURSTS, .rate = 0.0005, .length = 8, .density = 0.5 } } },
                { "bursts that end a lock", PRBS9, 12000, { .trouble = { LINE_BURSTS, .rate = 0.0002, .length = 900, .density = 0.5 } } },
                { "bursts and errors", PRBS20, 8000, { .rate = 0.005, .trouble = { LINE_BURSTS, .rate = 0.0005, .length = 60, .density = 0.3 } } },
                { "slips", PRBS31, 12000, { .trouble = { LINE_SLIPS, .rate = 0.0002, .slip = 1 } } },
                { "slips and errors", PRBS11, 12000, { .rate = 0.003, .trouble = { LINE_SLIPS, .rate = 0.0002, .slip = -1 } } },
                { "crosstalk", PRBS7, 8000, { .trouble = { LINE_CROSSTALK, .rate = 0.002, .from = 9, .from_late = 5 } } },
                { "much crosstalk", PRBS13, 20000, { .trouble = { LINE_CROSSTALK, .rate = 0.01, .from = 9 } } },
        };
        static Sampled drawn, plain;

        for (size_t c = 0; c < ELEMENTS(cases); c++) {
                uint64_t random = 88172645463325252u + c;

                for (unsigned i = 0; i < RUNS; i++) {
                        LineRun run = { .polynomial = cases[c].polynomial, .seed = i, .bits = cases[c].bits };
                        WireLane lane;

                        run_drawn(&run, &cases[c].plain, dice_mix(c * RUNS + i), &lane);
                        sample(&drawn, i, &lane);
                        run.seed += RUNS;
                        run_plainly(&run, cases[c].plain, &random, &lane);
                        sample(&plain, i, &lane);
                }
                assert_one_distribution(&drawn, &plain, cases[c].what);
        }
}

/* Where it is a matter of waiting until enough bits are right: the wait is as long as it should be. */
static void test_a_lane_near_its_limit_takes_time_to_lock(void **state) {
        const double rate = 0.08, window = 7 + LINK_LOCK_BITS;
        double expected = (pow(1 - rate, -window) - 1) / rate, sum = 0; /* until so many right ones in a row, their time included */
        const unsigned runs = 400;

        for (unsigned i = 0; i < runs; i++) {
                LineRun run = { .polynomial = PRBS7, .seed = i, .bits = (uint64_t) (60 * expected) };
                Plain plain = { .rate = rate };
                WireLane lane;

                run_drawn(&run, &plain, i, &lane);
                assert_int_equal(lane.locked, 1); /* but for e^-60 */
                sum += (double) (run.bits - lane.bits) + window;
        }
        assert_true(fabs(sum / runs / expected - 1) < 5 / sqrt(runs));
}

/* ---- against the formulas, where nobody can run so many bits ---- */

/* VALUES are of the normal distribution of that mean and variance: nowhere further apart than Kolmogorov allows, both tails as full as they
 * should be, and mean and variance within 5 standard errors. */
static void assert_normal(const double *values, double mean, double variance, const char *what, const char *figure) {
        const double tail = 0.5 * erfc(2 / sqrt(2)) * RUNS, allowed = sqrt(-log(KS_ALPHA / 2) / 2 / RUNS);
        double sorted[RUNS], apart = 0, own_mean, own_variance;
        unsigned low = 0, high = 0;

        memcpy(sorted, values, sizeof(sorted));
        qsort(sorted, RUNS, sizeof(*sorted), by_value);
        for (unsigned i = 0; i < RUNS; i++) {
                double z = (sorted[i] - mean) / sqrt(variance), below = 0.5 * erfc(-z / sqrt(2));

                apart = fmax(apart, fmax(fabs(below - (double) i / RUNS), fabs(below - (double) (i + 1) / RUNS)));
                low += z < -2;
                high += z > 2;
        }
        moments(values, &own_mean, &own_variance);
        if (apart > allowed || fabs(low - tail) > 5 * sqrt(tail) || fabs(high - tail) > 5 * sqrt(tail) ||
            fabs(own_mean - mean) > 5 * sqrt(variance / RUNS) || fabs(own_variance / variance - 1) > 5 * sqrt(2.0 / RUNS))
                fail_msg("%s, %s: %g apart (%g allowed), %u and %u in the tails (%g), mean %.9g for %.9g, variance %g for %g", what, figure,
                         apart, allowed, low, high, tail, own_mean, mean, own_variance, variance);
}

static void test_large_counts_are_binomial(void **state) {
        static const struct {
                const char *what;
                WirePrbs polynomial;
                double bits;
                Plain plain;
                double rate; /* what a bit is wrong with by the formulas */
        } cases[] = {
                { "some hundred", PRBS31, 0x1p40, { .rate = 0x1p-31 }, 0x1p-31 },
                { "thousands", PRBS31, 0x1p47, { .rate = 0x1p-31 }, 0x1p-31 },
                { "beyond 2^32", PRBS23, 0x1p50, { .rate = 0x1p-10 }, 0x1p-10 },
                { "nearly all blocks", PRBS15, 0x1p44, { .rate = 0.02 }, 0.02 },
                /* A period has 127 bits, at 64 of which it toggles. */
                { "crosstalk", PRBS7, 0x1p44, { .trouble = { LINE_CROSSTALK, .rate = 0x1p-12, .from = 9 } }, 0x1p-12 * 64 / 127 },
        };
        static double errors[RUNS], blocks[RUNS], rests[RUNS];

        for (size_t c = 0; c < ELEMENTS(cases); c++) {
                double p = cases[c].rate, n = cases[c].bits, n_blocks = n / LINK_BLOCK_BITS, m = LINK_BLOCK_BITS * p;
                double spoiled = -expm1(LINK_BLOCK_BITS * log1p(-p)), sound = 1 - spoiled;

                for (unsigned i = 0; i < RUNS; i++) {
                        LineRun run = { .polynomial = cases[c].polynomial, .seed = i, .bits = (uint64_t) n };
                        WireLane lane;

                        run_drawn(&run, &cases[c].plain, dice_mix(c * RUNS + i), &lane);
                        assert_int_equal(lane.resyncs, 0);
                        errors[i] = (double) lane.errors;
                        blocks[i] = (double) lane.errored_blocks;
                        rests[i] = (double) (lane.errors - lane.errored_blocks);
                }
                assert_normal(errors, n * p, n * p * (1 - p), cases[c].what, "errors");
                assert_normal(blocks, n_blocks * spoiled, n_blocks * spoiled * sound, cases[c].what, "errored blocks");
                /* Of one block: those beyond the first vary by what both vary by, less twice what they have in common, m × sound. */
                if (n_blocks * (m - spoiled) > 50)
                        assert_normal(rests, n_blocks * (m - spoiled), n_blocks * (m * (1 - p) + spoiled * sound - 2 * m * sound),
                                      cases[c].what, "errors beyond the first of a block");
        }
}

/* Three errors are expected in 1e13 bits: none as often as Poisson says, and so many more. */
static void test_small_counts_are_poisson(void **state) {
        const unsigned runs = 20000;
        double term = exp(-3), square = 0;
        unsigned counted[12] = {};

        for (unsigned i = 0; i < runs; i++) {
                LineRun run = { .polynomial = PRBS31, .seed = i, .bits = UINT64_C(10000000000000) };
                Plain plain = { .rate = 3e-13 };
                WireLane lane;

                run_drawn(&run, &plain, dice_mix(i), &lane);
                assert_true(lane.errored_blocks == lane.errors && lane.bits == run.bits);
                counted[lane.errors < 11 ? lane.errors : 11]++;
        }
        for (unsigned k = 0; k < 11; k++) {
                square += (counted[k] - runs * term) * (counted[k] - runs * term) / (runs * term);
                term *= 3.0 / (k + 1);
        }
        assert_true(counted[11] > 0 && counted[11] < 20); /* 5.8 of 20,000 */
        assert_true(square < 52);                         /* of 11: 1e-6 */
}

/* Beyond so many events the rest is taken to go as what was drawn. */
static void test_troubles_without_end_are_bounded(void **state) {
        LineRun run = { .polynomial = PRBS31, .seed = 1, .bits = UINT64_C(1) << 50 };
        Plain plain = { .trouble = { LINE_SLIPS, .rate = 1e-8, .slip = 1 } };
        WireLane lane;

        run_drawn(&run, &plain, 1, &lane);
        assert_in_range(lane.resyncs, (uint64_t) (0x1p50 * 1e-8 * 0.98), (uint64_t) (0x1p50 * 1e-8 * 1.02));
        assert_true(lane.bits <= run.bits && lane.bits > run.bits / 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_checker_equals_one_that_sees_every_bit),
                cmocka_unit_test(test_sound_and_idle_lines_are_what_they_are),
                cmocka_unit_test(test_drawn_lanes_are_distributed_as_lanes_run_bit_by_bit),
                cmocka_unit_test(test_a_lane_near_its_limit_takes_time_to_lock),
                cmocka_unit_test(test_large_counts_are_binomial),
                cmocka_unit_test(test_small_counts_are_poisson),
                cmocka_unit_test(test_troubles_without_end_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
