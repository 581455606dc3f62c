/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The sequential test of lanes, played with errors that are drawn: as many sound lanes as a fleet has, and lanes for which both of its
 * errors happen often enough to be counted. What the check works out for itself (checks/statistics/ber.h) is held against it.
 *
 *     sound     lanes of 1e-15 under both plans: how many need a second look, how many are failed, against what is expected of each
 *     worse     lanes a thousand times worse, for which a false alarm is no longer rare: counted within five sigma of the sum over all
 *               ways to one, worked out here step by step
 *     at limit  lanes exactly at the limit: as many pass as the confidence leaves, no more
 *     others    lanes from a fiftieth of the limit to twice it, of which assay-run(8) says how likely they fail: as many do
 *
 * usage: healthy-lanes [LANES]   sound lanes under each plan (default 64 000 000: those of 400,000 chips)
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/statistics/ber.h"

#define LANES_DEFAULT 64000000u
#define LANES_OTHER   200000u
#define GOOD          1e-15
#define ALARM         1e-12
#define SIGMAS        5.0 /* one in 1.7 million by chance, and the seed is fixed */
#define COUNTS        64u

typedef struct Sweep {
        const char *name;
        uint64_t bits;
        double limit;
} Sweep;

typedef struct Outcomes {
        uint64_t lanes, again, failed, undecided;
} Outcomes;

static unsigned n_tests, n_failed;

static void holds(bool held, const char *sweep, const char *sentence) {
        n_failed += !held;
        printf("%sok %u - %s: %s\n", held ? "" : "not ", ++n_tests, sweep, sentence);
}

static double uniform(uint64_t *state) {
        uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return (double) ((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* By inversion; MEAN stays small here. */
static unsigned draw_poisson(uint64_t *state, double mean) {
        double term = exp(-mean), sum = term, u = uniform(state);
        unsigned k = 0;

        while (u >= sum && k < COUNTS) {
                term *= mean / ++k;
                sum += term;
        }
        return k;
}

static double look_mean(const BerLooks *looks, unsigned look, double ratio) {
        return (double) (looks->bits[look] - (look > 0 ? looks->bits[look - 1] : 0)) * ratio;
}

static Outcomes play(const BerLooks *looks, double ratio, uint64_t lanes, uint64_t seed) {
        Outcomes outcomes = { .lanes = lanes };
        double none[BER_LOOKS_MAX];

        for (unsigned i = 0; i < looks->n; i++)
                none[i] = exp(-look_mean(looks, i, ratio));

        for (uint64_t lane = 0; lane < lanes; lane++) {
                BerOutcome outcome = BER_UNDECIDED;
                uint64_t errors = 0;
                unsigned i;

                for (i = 0; i < looks->n && outcome == BER_UNDECIDED; i++) {
                        uint64_t peek = seed;

                        /* Most lanes make no error: one comparison says so, with the number that would be drawn by. */
                        if (uniform(&peek) >= none[i])
                                errors += draw_poisson(&seed, look_mean(looks, i, ratio));
                        else
                                seed = peek;
                        outcome = ber_judge(looks, i, looks->bits[i], errors, errors);
                }
                outcomes.again += i > 2;
                outcomes.failed += outcome == BER_FAILS;
                outcomes.undecided += outcome == BER_UNDECIDED;
        }
        return outcomes;
}

/* All ways a count can go, with their chances. */
static void work_out(const BerLooks *looks, double ratio, double *ret_failed, double *ret_passed) {
        double chance[COUNTS] = { 1 };

        *ret_failed = *ret_passed = 0;
        for (unsigned i = 0; i < looks->n; i++) {
                double next[COUNTS] = {}, mean = look_mean(looks, i, ratio);

                for (unsigned from = 0; from < COUNTS; from++)
                        for (unsigned to = from; to < COUNTS; to++)
                                next[to] += chance[from] * exp((to - from) * log(mean) - mean - lgamma(to - from + 1.0));
                for (unsigned k = 0; k < COUNTS; k++) {
                        BerOutcome outcome = ber_judge(looks, i, looks->bits[i], k, k);

                        *ret_failed += outcome == BER_FAILS ? next[k] : 0;
                        *ret_passed += outcome == BER_PASSES ? next[k] : 0;
                        chance[k] = outcome == BER_UNDECIDED ? next[k] : 0;
                }
        }
}

static bool is_near(uint64_t counted, double lanes, double chance) {
        return fabs((double) counted - lanes * chance) <= SIGMAS * sqrt(lanes * chance * (1 - chance)) + 1;
}

static void print(const Sweep *sweep, const char *what, const Outcomes *outcomes, double failed) {
        printf("# %s, %s: %llu lanes, %llu looked at again, %llu failed (%.3g expected), %llu undecided\n", sweep->name, what,
               (unsigned long long) outcomes->lanes, (unsigned long long) outcomes->again, (unsigned long long) outcomes->failed,
               (double) outcomes->lanes * failed, (unsigned long long) outcomes->undecided);
}

/* How likely lanes fail that are neither sound nor at the limit; the last look decides of each. */
static void test_characteristic(const Sweep *sweep, const BerLooks *looks) {
        static const double shares[] = { 0.02, 0.05, 0.1, 0.2, 0.4, 1, 2 };
        bool all_near = true, all_decided = true;

        for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
                double failed, passed;
                Outcomes outcomes;

                work_out(looks, shares[i] * sweep->limit, &failed, &passed);
                outcomes = play(looks, shares[i] * sweep->limit, LANES_OTHER, 4 + i);
                printf("# %s, %.3g: %.4g %% fail, worked out %.4g %%\n", sweep->name, shares[i] * sweep->limit,
                       100.0 * (double) outcomes.failed / LANES_OTHER, 100 * failed);
                all_near = all_near && is_near(outcomes.failed, LANES_OTHER, failed);
                all_decided = all_decided && outcomes.undecided == 0;
        }
        holds(all_near, sweep->name, "of lanes between sound ones and twice the limit as many fail as worked out");
        holds(all_decided, sweep->name, "and all are decided");
}

static void test_sweep(const Sweep *sweep, uint64_t lanes) {
        double failed, passed, worse = GOOD, error_free;
        Outcomes outcomes;
        BerLooks looks;

        if (ber_plan(&looks, sweep->bits, sweep->limit, 0.99, GOOD, ALARM) < 0) {
                holds(false, sweep->name, "can be planned");
                return;
        }

        work_out(&looks, GOOD, &failed, &passed);
        outcomes = play(&looks, GOOD, lanes, 1);
        print(sweep, "sound", &outcomes, failed);
        error_free = exp(-(double) looks.bits[1] * GOOD);
        holds(failed <= looks.false_alarm && looks.false_alarm <= ALARM, sweep->name, "false alarms are no more likely than it says");
        holds(outcomes.failed == 0 && outcomes.undecided == 0, sweep->name, "no sound lane is failed, all are decided");
        holds(looks.passes[1] > 0 || is_near(outcomes.again, (double) lanes, 1 - error_free), sweep->name,
              "as many are looked at again as make an error");

        while (failed < 1e-3 && worse < sweep->limit) {
                worse *= 1.5;
                work_out(&looks, worse, &failed, &passed);
        }
        outcomes = play(&looks, worse, LANES_OTHER, 2);
        print(sweep, "worse", &outcomes, failed);
        holds(outcomes.failed > 0 && is_near(outcomes.failed, LANES_OTHER, failed), sweep->name, "lanes that are worse fail as often as they should");

        work_out(&looks, sweep->limit, &failed, &passed);
        outcomes = play(&looks, sweep->limit, LANES_OTHER, 3);
        print(sweep, "at the limit", &outcomes, failed);
        printf("# %s, passes at the limit: %.4g %%, at most %.4g %%\n", sweep->name, passed * 100, looks.missed * 100);
        holds(passed <= looks.missed && looks.missed <= 0.01, sweep->name, "at the limit no more pass than it says");
        holds(is_near(LANES_OTHER - outcomes.failed - outcomes.undecided, LANES_OTHER, passed), sweep->name, "and as many do");
        test_characteristic(sweep, &looks);
}

int main(int argc, char **argv) {
        static const Sweep sweeps[] = {
                { "preflight", UINT64_C(95000000000), 5e-11 },
                { "production", UINT64_C(4800000000000), 1e-12 },
        };
        uint64_t lanes = argc > 1 ? strtoull(argv[1], NULL, 10) : LANES_DEFAULT;

        for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
                test_sweep(&sweeps[i], lanes);
        printf("1..%u\n", n_tests);
        return n_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
