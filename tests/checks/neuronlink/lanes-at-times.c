/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Lanes whose errors come and go, one on every port of a simulated server, through the whole check with what preflight and production give it: how many
 * are missed, held against what follows from how often they are there and how many errors they make then, worked out here; and how many are
 * said to suffer from another lane. No retest has a part in it, since there is none where nothing failed.
 *
 *     missed    a fault is there in each command with a chance of its own. Sums over how many of a look's commands had it, and over
 *               the errors that they made, give the chance that a lane passes
 *     named     a sound lane is called the aggressor where every pair of runs has errors in the right one; the chance of that, summed over
 *               all ways to get so many pairs, is 1 in 10,000 at the most
 *
 * usage: lanes-at-times [SCANS]   of each case, 64 lanes each (default 160: 10,240 lanes)
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/neuronlink/fabric.h"
#include "tests/checks/rehearsal.h"

#define SCANS_DEFAULT 160u
#define PORTS_XY      4u
#define SIGMAS        5.0
#define COUNTS        96u

typedef struct Case {
        const char *kind, *parameters; /* of the fault */
        double ratio; /* of errors that are alone, while it is there; 0: what is missed is not worked out */
        double probability;
        double promised; /* what the plan says is missed at most, in units/plans */
        bool production;
        bool whole; /* at the port, not at one of its lanes */
} Case;

static const NeuronlinkParameters production = {
        .bits = UINT64_C(4800000000000), .ber = 1e-12, .confidence = 0.99, .margin = 1e-13, .parts = 24, .polynomial = PRBS31,
};

static const Case cases[] = {
        { "bit-errors", "rate: 1e-8", 1e-8, 0.25, 0.057 },
        { "bit-errors", "rate: 1e-9", 1e-9, 0.25, 0.057 },
        { "bit-errors", "rate: 1e-9", 1e-9, 0.5, 0.001 },
        { "bit-errors", "rate: 3e-10", 3e-10, 0.5, 0.002 },
        { "bit-errors", "rate: 2e-10", 2e-10, 0.5, 0.004 },
        { "bit-errors", "rate: 1e-10", 1e-10, 0.5, 0.03 },
        { "bit-errors", "rate: 1e-10", 1e-10, 0.75, 0.003 },
        { "burst-errors", "rate: 2.1e-10, length: 8, density: 0.5", 0, 0.93, 0.001 },
        { "lane-dead", "level: low", 0, 0.1, 0.0382 },
        { "link-throttled", "share: 0.8", 0, 0.25, 0.057, .whole = true },
        { "eye-closed", "closing: 5", 0, 0.5, 0.07 }, /* 1e-11 in the middle */
        { "eye-closed", "closing: 5", 0, 0.75, 0.01 },
        { "bit-errors", "rate: 1e-10", 1e-10, 0.25, 0.001, true },
        { "bit-errors", "rate: 4e-12", 4e-12, 0.5, 0.001, true },
        { "eye-closed", "closing: 3.7", 0, 0.5, 0.03, true }, /* 1e-12 */
};

static unsigned n_tests, n_failed;

static void holds(bool held, const char *sentence) {
        n_failed += !held;
        printf("%sok %u - %s\n", held ? "" : "not ", ++n_tests, sentence);
}

/* ---- worked out ---- */

static double poisson(double mean, unsigned k) {
        return mean > 0 ? exp(k * log(mean) - mean - lgamma(k + 1.0)) : k == 0;
}

static double binomial(unsigned n, unsigned k, double p) {
        return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)) * pow(p, k) * pow(1 - p, n - k);
}

/* How likely a look of N_PARTS commands of BITS each adds COUNT errors. */
static double chance_of(const Case *one, unsigned n_parts, double bits, unsigned count) {
        double sum = 0;

        for (unsigned there = 0; there <= n_parts; there++)
                sum += binomial(n_parts, there, one->probability) * poisson(there * bits * one->ratio, count);
        return sum;
}

static double work_out_missed(const Case *one, const NeuronlinkParameters *parameters) {
        unsigned parts = (unsigned) parameters->parts;
        BerLooks plan, *looks = &plan;
        double undecided[COUNTS] = { 1 }, missed = 0;

        if (ber_plan(&plan, parameters->bits, parameters->ber, parameters->confidence, GOOD_LANE, FALSE_ALARM) < 0)
                abort();
        for (unsigned look = 0; look < looks->n; look++) {
                unsigned n_parts = look > 0 ? parts : 1;
                double bits = (double) (looks->bits[look] - (look > 0 ? looks->bits[look - 1] : 0)) / n_parts, next[COUNTS] = {};

                for (unsigned more = 0; more < COUNTS; more++) {
                        double chance = chance_of(one, n_parts, bits, more);

                        for (unsigned from = 0; from + more < COUNTS; from++)
                                next[from + more] += undecided[from] * chance;
                }
                for (unsigned k = 0; k < COUNTS; k++) {
                        BerOutcome outcome = ber_judge(looks, look, looks->bits[look], k, k);

                        missed += outcome == BER_PASSES ? next[k] : 0;
                        undecided[k] = outcome == BER_UNDECIDED ? next[k] : 0;
                }
        }

        return missed;
}

/*
 * How likely a sound lane is named beside one that is wrong in a run with chance P, by itself: nothing while all were quiet, then of at most twice
 * as many pairs so many with errors in the loud run alone, before one has them in the quiet run.
 */
static double work_out_named(double p) {
        double proofs[CROSSTALK_PROOFS + 1] = { 1 - p }, named = 0;

        for (unsigned pair = 0; pair < 2 * CROSSTALK_PROOFS; pair++)
                for (unsigned k = CROSSTALK_PROOFS; k-- > 0;) {
                        proofs[k + 1] += proofs[k] * p * (1 - p);
                        proofs[k] *= (1 - p) * (1 - p);
                        if (k + 1 == CROSSTALK_PROOFS) {
                                named += proofs[CROSSTALK_PROOFS];
                                proofs[CROSSTALK_PROOFS] = 0;
                        }
                }

        return named;
}

/* ---- played ---- */

typedef struct Count {
        unsigned lanes, missed, named;
} Count;

static char *scenario_of(const Case *one, unsigned seed, char *text, size_t size) {
        static const char *const ports[PORTS_XY] = { "x+", "x-", "y+", "y-" };
        size_t n = (size_t) snprintf(text, size, "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults:\n", seed);

        for (unsigned i = 0; i < CHIPS * PORTS_XY; i++)
                n += (size_t) snprintf(text + n, size - n,
                                       "  - {at: trn-0/chip%u/link-%s%s, kind: %s, %s, persistence: intermittent, probability: %g}\n",
                                       i / PORTS_XY, ports[i % PORTS_XY], one->whole ? "" : "/lane7", one->kind, one->parameters, one->probability);
        return text;
}

static void play(const Case *one, const NeuronlinkParameters *parameters, unsigned seed, Count *count) {
        static char text[1 << 14];
        _cleanup_rehearsal_ Step *step = rehearsal_new(scenario_of(one, seed, text, sizeof(text)), "neuronlink", "trn-0");
        Verdict verdict = _VERDICT_INVALID;
        unsigned n_seen = 0;

        memcpy(step->parameters, parameters, sizeof(*parameters));
        if (rehearsal_run(step, &verdict) < 0)
                abort();
        for (size_t i = 0; i < step->n_said; i++) {
                n_seen += one->whole ? !strstr(step->said[i].at, "/lane") : !!strstr(step->said[i].at, "/lane7");
                count->named += strcmp(step->said[i].code, "link-crosstalk") == 0;
        }
        count->lanes += CHIPS * PORTS_XY;
        count->missed += CHIPS * PORTS_XY - n_seen;
}

static bool is_at_most(unsigned counted, double expected) {
        return counted <= expected + SIGMAS * sqrt(expected) + 1;
}

static void test_case(const Case *one, unsigned scans) {
        const NeuronlinkParameters *parameters = one->production ? &production : *check_word_find("neuronlink")->parameters_defaults;
        double expected = work_out_missed(one, parameters), named = work_out_named(one->probability), lanes;
        char name[128], sentence[256];
        Count count = {};

        for (unsigned i = 0; i < scans; i++)
                play(one, parameters, i + 1, &count);
        lanes = count.lanes;
        (void) snprintf(name, sizeof(name), "%s, %s {%s} there with %g", one->production ? "production" : "preflight", one->kind, one->parameters,
                        one->probability);
        printf("# %s: %u lanes, missed %u (%.3g %%), ", name, count.lanes, count.missed, 100 * count.missed / lanes);
        if (one->ratio > 0)
                printf("%.3g %% worked out, ", 100 * expected);
        printf("named beside a sound lane %u (%.2g worked out)\n", count.named, named * lanes);

        (void) snprintf(sentence, sizeof(sentence), "%s: missed as often as worked out", name);
        if (one->ratio > 0)
                holds(fabs(count.missed - expected * lanes) <= SIGMAS * sqrt(expected * lanes) + 1, sentence);
        (void) snprintf(sentence, sizeof(sentence), "%s: no more often than the plan says", name);
        holds((one->ratio <= 0 || expected <= one->promised) && is_at_most(count.missed, one->promised * lanes), sentence);
        (void) snprintf(sentence, sizeof(sentence), "%s: a sound lane is named beside it by that chance alone", name);
        holds(is_at_most(count.named, named * lanes), sentence);
}

int main(int argc, char **argv) {
        unsigned scans = argc > 1 ? (unsigned) strtoul(argv[1], NULL, 10) : SCANS_DEFAULT;
        double most = 0;

        for (double p = 0.01; p < 1; p += 0.01)
                most = fmax(most, work_out_named(p));
        printf("# a sound lane is named beside one that comes and goes with a chance of %.2g at the most\n", most);
        holds(most < 1e-4, "by chance a sound lane is named once in 10,000 such lanes at the most");
        for (size_t i = 0; i < ELEMENTS(cases); i++)
                test_case(&cases[i], scans);
        printf("1..%u\n", n_tests);
        return n_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
