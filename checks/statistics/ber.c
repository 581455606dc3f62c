/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/statistics/ber.h"

#include <errno.h>
#include <math.h>

#include "checks/wire/wire-link.h"

#define EVENTS_MAX 64                   /* more do not pass at any look */
#define TINY       1e-18                /* of a sum: no longer matters */

/* ln k! beyond Stirling's formula. */
static double stirling_rest(double k) {
        double kk = k * k;

        if (k < 16)
                return lgamma(k + 1) - (k + 0.5) * log(k) + k - 0.5 * log(2 * M_PI);

        return (1 / 12.0 - (1 / 360.0 - (1 / 1260.0 - 1 / (1680.0 * kk)) / kk) / kk) / k;
}

/* k ln(k / nb) - k + nb without the loss of digits where both are large and near. */
static double deviance(double k, double nb) {
        double d = (k - nb) / (k + nb), sum = (k - nb) * d, term = 2 * k * d;

        if (fabs(d) >= 0.1)
                return k * log(k / nb) - k + nb;

        for (unsigned i = 3; i < 200; i += 2) {
                term *= d * d;
                if (fabs(term / i) <= fabs(sum) * 1e-17)
                        break;
                sum += term / i;
        }

        return sum;
}

/* The chance of K where NB are expected, by the saddle point: C. Loader, Fast and Accurate Computation of Binomial Probabilities, 2000. */
static double poisson(double nb, uint64_t count) {
        double k = (double) count;

        return count == 0 ? exp(-nb) : exp(-stirling_rest(k) - deviance(k, nb)) / sqrt(2 * M_PI * k);
}

double ber_confidence(double nb, uint64_t errors) {
        double k = (double) errors, term, sum = 0;

        if (!(nb > 0))
                return 0;

        if (k + 1 >= nb) { /* the tail, which is the smaller part: its terms shrink from the first */
                for (term = poisson(nb, errors + 1), k += 2; term > sum * TINY && term > 0; k++) {
                        sum += term;
                        term *= nb / k;
                }
                return sum;
        }
        for (term = poisson(nb, errors); term > sum * TINY && term > 0; k--) {
                sum += term;
                term *= k / nb;
        }
        return sum < 1 ? 1 - sum : 0;
}

double ber_required(double confidence, uint64_t errors) {
        double low = 0, high = 1;

        while (ber_confidence(high, errors) < confidence)
                high *= 2;
        for (unsigned i = 0; i < 200 && high - low > 1e-12 * high; i++) {
                double middle = (low + high) / 2;

                if (ber_confidence(middle, errors) < confidence)
                        low = middle;
                else
                        high = middle;
        }

        return high;
}

void ber_interval(uint64_t bits, uint64_t errors, double confidence, double *ret_low, double *ret_high) {
        *ret_low = ber_required((1 - confidence) / 2, errors - 1) / (double) bits;
        *ret_high = ber_required((1 + confidence) / 2, errors) / (double) bits;
}

unsigned ber_certain(double nb, double chance) {
        unsigned k = nb < 1 ? 1 : (unsigned) fmin(nb, BER_ERRORS_MAX - 1) + 1;

        while (k < BER_ERRORS_MAX && ber_confidence(nb, k - 1) >= chance)
                k++;

        return k;
}

/* ---- looks ---- */

/* How likely a lane at the limit is still undecided with so many. */
typedef struct Undecided {
        double chance[EVENTS_MAX];
} Undecided;

static void count_on(Undecided *undecided, double nb) {
        Undecided next = {};
        double term = exp(-nb);

        for (unsigned more = 0; more < EVENTS_MAX; more++) {
                for (unsigned k = 0; k + more < EVENTS_MAX; k++)
                        next.chance[k + more] += undecided->chance[k] * term;
                term *= nb / (more + 1);
        }

        *undecided = next;
}

/* The most that may pass now, where this CHANCE is left for it. Those leave. */
static int pass_within(Undecided *undecided, double *chance) {
        int passes = -1;

        while (passes + 1 < EVENTS_MAX && undecided->chance[passes + 1] <= *chance) {
                *chance -= undecided->chance[++passes];
                undecided->chance[passes] = 0;
        }

        return passes;
}

int ber_plan(BerLooks *ret, uint64_t bits, double limit, double confidence, double good, double false_alarm) {
        Undecided undecided = { { 1 } };
        double left = 1 - confidence;

        *ret = (BerLooks) { .n = BER_LOOKS_MAX, .limit = limit };
        for (unsigned i = 0; i < ret->n; i++) {
                uint64_t before = i > 0 ? ret->bits[i - 1] : 0;

                ret->bits[i] = i > 0 ? bits * i : ber_short_bits(bits);
                count_on(&undecided, (double) (ret->bits[i] - before) * limit);
                ret->passes[i] = pass_within(&undecided, &left);
                ret->fails[i] = ber_certain((double) ret->bits[i] * good, false_alarm / ret->n);
                if ((int) ret->fails[i] <= ret->passes[i])
                        ret->fails[i] = (unsigned) ret->passes[i] + 1;
                ret->false_alarm += ber_confidence((double) ret->bits[i] * good, ret->fails[i] - 1);
        }

        if (ret->passes[1] < 0 || (double) bits * limit > BER_NB_MAX)
                return -ERANGE;
        ret->missed = 1 - confidence - left;
        return 0;
}

BerOutcome ber_judge(const BerLooks *looks, unsigned look, uint64_t bits, uint64_t least, uint64_t most) {
        unsigned reached = look;

        if (least >= looks->fails[look])
                return BER_FAILS;

        /* With fewer bits than asked for it may only pass as at the last look that they reach: that many events by then are fewer still. */
        while (reached > 0 && bits < looks->bits[reached])
                reached--;
        if (bits >= looks->bits[reached] && looks->passes[reached] >= 0 && most <= (unsigned) looks->passes[reached])
                return BER_PASSES;

        return look + 1 == looks->n && most >= looks->fails[look] ? BER_FAILS : BER_UNDECIDED;
}

/* ---- bursts ---- */

bool ber_is_bursty(uint64_t bits, uint64_t errors, uint64_t blocks) {
        double n_blocks = (double) bits / LINK_BLOCK_BITS, expected;

        if (errors < 2)
                return false;

        /* Blocks with errors, were these spread over all. Beside it three quarters is no play of chance. */
        expected = -n_blocks * expm1(-(double) errors / n_blocks);
        return (double) blocks < 0.75 * expected;
}

uint64_t ber_least(uint64_t bits, uint64_t errors, uint64_t blocks) {
        return ber_is_bursty(bits, errors, blocks) ? (blocks + BER_BURST_BLOCKS - 1) / BER_BURST_BLOCKS : blocks;
}
