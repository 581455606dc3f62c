/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the rounding check calls chance, on generators that are right: the published one, seeded as a chip seeds its lanes, written
 * down once more (tests/sim/plain-rounding.h).
 *
 *     alarms       so many lane tests as a fleet makes: how often the first stage asks for a second one, held against what the exact
 *                  tails say, and that the second one clears every lane
 *     uniform      p-values. Those of a discrete statistic T are not uniform; P(T > t) + V × P(T = t) is, with V uniform and
 *                  independent of T. Kolmogorov and Smirnov decide, at a level that no right tail reaches by chance
 *     wrong tails  the same on tails as people get them wrong, which must be seen: else the test above shows nothing
 *     sequential   both errors of the sequential test stay below what is asked of it
 *
 * usage: uniform-rounding [LANES]   lane tests of "alarms" (default 10 000 000: twenty seconds)
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/rounding/budget.h"
#include "checks/statistics/sprt.h"
#include "checks/statistics/tails.h"
#include "checks/text/cleanup.h"
#include "tests/sim/plain-rounding.h"

#define LANES_DEFAULT 10000000u
#define P_VALUES      20000u
#define CHANCE        1e-9 /* that this test calls something right wrong, each time it decides; the seeds are fixed besides */

static unsigned n_tests, n_failed;

static void holds(bool held, const char *sentence) {
        n_failed += !held;
        printf("%sok %u - %s\n", held ? "" : "not ", ++n_tests, sentence);
}

/* The lane NUMBER of all lanes of all engines under all seeds. */
static PlainGenerator lane_of(uint64_t number) {
        return plain_seed((unsigned) (number % _ENGINE_MAX), (unsigned) (number / _ENGINE_MAX % ENGINE_LANES),
                          (uint32_t) (number / _ENGINE_MAX / ENGINE_LANES));
}

/* How many of N numbers that lie at FRACTION between two others go up. */
static unsigned count_up(PlainGenerator *lane, unsigned n, double fraction) {
        double least = ldexp(1 - fraction, 32); /* words from here on round up */
        unsigned up = 0;

        for (unsigned i = 0; i < n; i++)
                up += plain_xorwow(lane) >= least;
        return up;
}

/* ---- alarms ---- */

/* One stage at one place, exactly: the sum over all counts that are alarms. */
static double chance_of_alarm(const Budget *budget) {
        double sum = 0;

        for (unsigned k = 0; k <= budget->each; k++)
                if (budget_is_alarm(budget, 0, k))
                        sum += binomial_at_most(k, budget->each, 0.25) - (k ? binomial_at_most(k - 1, budget->each, 0.25) : 0);
        return sum;
}

static bool is_alarm(const Budget *budget, PlainGenerator *lane, unsigned place) {
        return budget_is_alarm(budget, place, count_up(lane, budget->each, place % 2 ? 0.75 : 0.25));
}

/* FOUND of N at a chance of P each. */
static bool is_likely(uint64_t found, uint64_t n, double p) {
        return fmin(binomial_at_most(found, n, p), binomial_at_least(found, n, p)) > CHANCE;
}

static void check_alarms(const RoundingParameters *parameters, uint64_t lanes) {
        uint64_t first = 0, second = 0, tests = lanes * COIN_PLACES;
        Budget budget;
        double chance;

        budget_make(parameters, &budget);
        for (uint64_t number = 0; number < lanes; number++) {
                PlainGenerator lane = lane_of(number), again;

                for (unsigned place = 0; place < COIN_PLACES; place++) {
                        if (!is_alarm(&budget, &lane, place))
                                continue;
                        first++;
                        again = lane_of(number + (UINT64_C(1) << 31) * _ENGINE_MAX * ENGINE_LANES); /* a fresh seed */
                        second += is_alarm(&budget, &again, place);
                }
        }

        chance = chance_of_alarm(&budget);
        printf("# bias %g: %llu lane tests of %u × %u conversions: %llu asked for a second one, %.3g expected; alarms %llu, %.2g expected\n",
               parameters->bias, (unsigned long long) lanes, COIN_PLACES, budget.each, (unsigned long long) first, chance * (double) tests,
               (unsigned long long) second, chance * chance * (double) tests);
        holds(is_likely(first, tests, chance), "as many ask for a second stage as the tails say");
        holds(is_likely(second, tests, chance * chance), "as many raise an alarm as the tails say");
        if (budget.alpha * (double) tests < 0.01)
                holds(second == 0, "which is none");
        holds(chance <= budget.alpha_stage, "a stage keeps to what the budget allows it");
}

/* ---- uniform ---- */

typedef double Tail(uint64_t k, uint64_t n, double p);

typedef struct Statistic {
        uint64_t n;
        double p; /* n 0: the mean of a Poisson count */
} Statistic;

static uint64_t draw_poisson(PlainGenerator *lane, double mean) {
        double wait = 0;
        uint64_t n = 0;

        for (;; n++) { /* arrivals before MEAN, an exponential apart */
                wait -= log((plain_xorwow(lane) + 0.5) * 0x1p-32);
                if (wait > mean)
                        return n;
        }
}

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return x < y ? -1 : x > y;
}

/* The chance that so many uniform numbers lie so far from the diagonal, or further (the bound of Massart 1990, two-sided). */
static double kolmogorov_smirnov(double *values, unsigned n) {
        double distance = 0;

        qsort(values, n, sizeof(*values), compare);
        for (unsigned i = 0; i < n; i++) {
                distance = fmax(distance, values[i] - (double) i / n);
                distance = fmax(distance, (double) (i + 1) / n - values[i]);
        }
        return fmin(1, 2 * exp(-2.0 * n * distance * distance));
}

/*
 * Of P_VALUES lanes. TAIL is P(T ≥ k), or where BELOW P(T ≤ k); RANDOMISED: as said above, else as it is. BIAS is added to the
 * probability of the coins, and to the tail's not.
 */
static double uniformity(const Statistic *statistic, Tail *tail, bool below, bool randomised, double bias) {
        static double values[P_VALUES];

        for (unsigned i = 0; i < P_VALUES; i++) {
                PlainGenerator lane = lane_of(i * UINT64_C(1009)), dice = plain_seed(7, i % ENGINE_LANES, i);
                uint64_t k = statistic->n ? count_up(&lane, (unsigned) statistic->n, statistic->p + bias) : draw_poisson(&lane, statistic->p + bias);
                double own = tail(k, statistic->n, statistic->p), further;

                if (below)
                        further = k > 0 ? tail(k - 1, statistic->n, statistic->p) : 0;
                else
                        further = statistic->n && k == statistic->n ? 0 : tail(k + 1, statistic->n, statistic->p);
                values[i] = randomised ? further + (own - further) * ((plain_xorwow(&dice) + 0.5) * 0x1p-32) : own;
        }
        return kolmogorov_smirnov(values, P_VALUES);
}

static double at_most(uint64_t k, uint64_t n, double p) {
        return n ? binomial_at_most(k, n, p) : poisson_at_most(k, p);
}

static double at_least(uint64_t k, uint64_t n, double p) {
        return n ? binomial_at_least(k, n, p) : poisson_at_least(k, p);
}

static void check_uniform(const Statistic *statistics, size_t n) {
        double least = 1;

        for (size_t i = 0; i < n; i++) {
                double below = uniformity(&statistics[i], at_most, true, true, 0), above = uniformity(&statistics[i], at_least, false, true, 0);

                printf("# n %llu, p %g: Kolmogorov-Smirnov says %.2g of randomised lower, %.2g of upper tails\n",
                       (unsigned long long) statistics[i].n, statistics[i].p, below, above);
                least = fmin(least, fmin(below, above));
        }
        holds(least > CHANCE, "randomised p-values of lanes are uniform");
}

/* A two-sided p-value is at most A with a probability of at most A, at every A that it takes. */
static void check_two_sided(unsigned n, double p) {
        bool valid = true;

        for (unsigned k = 0; k <= n; k++) {
                double value = binomial_p_value(k, n, p), sum = 0;

                for (unsigned i = 0; i <= n; i++)
                        if (binomial_p_value(i, n, p) <= value)
                                sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) + (n - i) * log1p(-p));
                valid = valid && sum <= value * (1 + 1e-9);
        }
        holds(valid, "no two-sided p-value is smaller than its chance");
}

/* ---- wrong tails ---- */

static double without_its_own(uint64_t k, uint64_t n, double p) {
        return at_least(k, n, p) - (at_most(k, n, p) - (k ? at_most(k - 1, n, p) : 0));
}

static double lower_as_upper(uint64_t k, uint64_t n, double p) {
        return 1 - at_most(k, n, p); /* without its own term, as it is mostly written */
}

static double normal(uint64_t k, uint64_t n, double p) {
        return erfc(((double) k - (double) n * p) / sqrt(2 * (double) n * p * (1 - p))) / 2;
}

static double folded(uint64_t k, uint64_t n, double p) {
        return binomial_p_value(k, n, p);
}

static void check_wrong(const Statistic *coin) {
        static const struct {
                const char *what;
                Tail *tail;
                bool plain;
                double bias;
        } wrong[] = {
                { "plain p-values, not randomised, are seen not to be uniform", at_least, true, 0 },
                { "a tail without its own term is seen", without_its_own, false, 0 },
                { "a lower tail taken from one is seen", lower_as_upper, false, 0 },
                { "a normal approximation is seen", normal, false, 0 },
                { "two tails folded into one are seen", folded, false, 0 },
                { "a bias of 1/40 is seen", at_least, false, 0.025 },
        };

        for (size_t i = 0; i < ELEMENTS(wrong); i++) {
                double p = uniformity(coin, wrong[i].tail, false, !wrong[i].plain, wrong[i].bias);

                printf("# Kolmogorov-Smirnov says %.2g\n", p);
                holds(p < CHANCE, wrong[i].what);
        }
}

/* ---- sequential ---- */

/* How many of N lanes get ANSWER where numbers lie at P. *mean: conversions it took. */
static unsigned count_answers(unsigned n, SprtAnswer answer, double sound, double biased, double alarm, double missed, double p, double *mean) {
        unsigned found = 0;
        double total = 0;

        for (unsigned i = 0; i < n; i++) {
                PlainGenerator lane = lane_of(i * UINT64_C(499));
                Sprt sprt;

                sprt_start(&sprt, sound, biased, alarm, missed);
                while (sprt.answer == SPRT_UNDECIDED)
                        (void) sprt_add(&sprt, (int) count_up(&lane, 1, p));
                found += sprt.answer == answer;
                total += (double) sprt.n;
        }
        *mean = total / n;
        return found;
}

static void check_sequential(void) {
        static const double sound = 0.25, biased = 0.1875, alarm = 0.01, missed = 0.02;
        double mean[2];
        unsigned alarms = count_answers(P_VALUES, SPRT_BIASED, sound, biased, alarm, missed, sound, &mean[0]);
        unsigned passed = count_answers(P_VALUES, SPRT_SOUND, sound, biased, alarm, missed, biased, &mean[1]);

        printf("# sequential: %u of %u sound lanes alarm (%g asked), %u biased ones pass (%g asked); after %.0f and %.0f conversions\n", alarms,
               P_VALUES, alarm, passed, missed, mean[0], mean[1]);
        holds(binomial_at_least(alarms, P_VALUES, alarm / (1 - missed)) > CHANCE, "the sequential test raises no more alarms than asked");
        holds(binomial_at_least(passed, P_VALUES, missed / (1 - alarm)) > CHANCE, "and overlooks no more than asked");
        holds(alarms > 0 && passed > 0, "and both happen, so that they are counted");
}

int main(int argc, char *argv[]) {
        uint64_t lanes = argc > 1 ? strtoull(argv[1], NULL, 10) : LANES_DEFAULT;
        RoundingParameters parameters = { .false_alarms = 0.01, .fleet = 400000, .bias = 0.25 };
        Statistic statistics[] = { { 0, 0.25 }, { 105, 0.75 }, { 128, 0.5 }, { 2048, 0x1p-8 }, { 0, 2.5 }, { 0, 40 } };
        Budget budget;

        budget_make(&parameters, &budget);
        statistics[0].n = budget.each;

        check_alarms(&parameters, lanes);
        parameters.bias = 0.0625;
        check_alarms(&parameters, lanes / 20);
        parameters.bias = 0.25;
        parameters.false_alarms = 1e6; /* so many that they are counted */
        check_alarms(&parameters, lanes / 20);
        check_uniform(statistics, ELEMENTS(statistics));
        check_two_sided(budget.each, 0.25);
        check_wrong(&statistics[0]);
        check_sequential();

        printf("1..%u\n", n_tests);
        return n_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
