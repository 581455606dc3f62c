/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/neuronlink/prbs.h"

#include <limits.h>
#include <stdlib.h>

/* Bit i of taps: the bit sent i + 1 bits ago takes part in the next one. x^31 + x^28 + 1 has taps 31 and 28. */
static const struct {
        unsigned degree;
        uint32_t taps;
} polynomials[_PRBS_MAX] = {
        [PRBS7]  = { 7,  1u << 6 | 1u << 5 },
        [PRBS9]  = { 9,  1u << 8 | 1u << 4 },
        [PRBS11] = { 11, 1u << 10 | 1u << 8 },
        [PRBS13] = { 13, 1u << 12 | 1u << 11 | 1u << 1 | 1u << 0 },
        [PRBS15] = { 15, 1u << 14 | 1u << 13 },
        [PRBS20] = { 20, 1u << 19 | 1u << 2 },
        [PRBS23] = { 23, 1u << 22 | 1u << 17 },
        [PRBS31] = { 31, 1u << 30 | 1u << 27 },
};

static uint32_t mask_of(WirePrbs polynomial) {
        return (UINT32_C(1) << polynomials[polynomial].degree) - 1;
}

unsigned prbs_degree(WirePrbs polynomial) {
        return polynomials[polynomial].degree;
}

unsigned prbs_next(WirePrbs polynomial, uint32_t *state) {
        unsigned bit = (unsigned) __builtin_parity(*state & polynomials[polynomial].taps);

        *state = (*state << 1 | bit) & mask_of(polynomial);
        return bit;
}

/*
 * One bit later is a linear map A of the state, and A is a root of its own characteristic polynomial: A^n equals the
 * remainder of x^n, a sum of powers of A below k. Bit i of a remainder stands for A^i.
 */
static uint32_t times_x(uint32_t remainder, unsigned degree, uint32_t reduction) {
        uint64_t shifted = (uint64_t) remainder << 1;

        return (uint32_t) (shifted >> degree & 1 ? (shifted ^ UINT64_C(1) << degree) ^ reduction : shifted);
}

static uint32_t multiply(uint32_t a, uint32_t b, unsigned degree, uint32_t reduction) {
        uint32_t product = 0;

        for (unsigned i = degree; i-- > 0;) {
                product = times_x(product, degree, reduction);
                if (b >> i & 1)
                        product ^= a;
        }

        return product;
}

uint32_t prbs_jump(WirePrbs polynomial, uint32_t state, uint64_t bits) {
        unsigned degree = polynomials[polynomial].degree;
        uint32_t reduction = 0, power = 1, result = 0;

        /* s(n + k) = sum of s(n + k - 1 - i) over the taps i: x^k is the sum of x^(k - 1 - i). */
        for (unsigned i = 0; i < degree; i++)
                if (polynomials[polynomial].taps >> i & 1)
                        reduction |= UINT32_C(1) << (degree - 1 - i);

        for (unsigned i = 64; i-- > 0;) {
                power = multiply(power, power, degree, reduction);
                if (bits >> i & 1)
                        power = times_x(power, degree, reduction);
        }

        for (unsigned i = 0; i < degree; i++) {
                if (power >> i & 1)
                        result ^= state;
                (void) prbs_next(polynomial, &state);
        }

        return result;
}

static uint32_t start_of(uint32_t mask, uint64_t seed, unsigned lane) {
        uint64_t x = (seed ^ lane) + UINT64_C(0x9e3779b97f4a7c15);

        x ^= x >> 30;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
        x ^= x >> 27;
        x *= UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        x &= mask;
        return x == 0 ? 1 : (uint32_t) x;
}

uint32_t prbs_seed(WirePrbs polynomial, uint64_t seed, unsigned lane) {
        return start_of(mask_of(polynomial), seed, lane);
}

void prbs_seeds(WirePrbs polynomial, uint64_t seed, unsigned n, uint32_t *ret) {
        uint32_t mask = mask_of(polynomial);

        for (unsigned l = 0; l < n; l++)
                ret[l] = start_of(mask, seed, l);
}

/* Lanes by the lowest bits of where they start: of a state that is none of them, this says so at once. */
static void mark_starts(const uint32_t *starts, unsigned n_lanes, uint64_t ret[static 64]) {
        for (unsigned l = 0; l < n_lanes; l++)
                ret[starts[l] >> 6 & 63] |= UINT64_C(1) << (starts[l] & 63);
}

int prbs_whose(WirePrbs polynomial, uint64_t seed, unsigned n_lanes, unsigned own, uint32_t state, int *ret_skew) {
        uint64_t period = mask_of(polynomial), marks[64] = {};
        uint32_t starts[LINK_LANES_MAX];
        int whose = -1, best = INT_MAX;

        prbs_seeds(polynomial, seed, n_lanes, starts);
        mark_starts(starts, n_lanes, marks);

        /* What shows a lane's start some bits after the first is late by so many. */
        state = prbs_jump(polynomial, state & mask_of(polynomial), period - PRBS_SKEW_MAX % period);
        for (int late = -PRBS_SKEW_MAX; late <= PRBS_SKEW_MAX; late++, (void) prbs_next(polynomial, &state)) {
                if (!(marks[state >> 6 & 63] >> (state & 63) & 1))
                        continue;
                for (unsigned l = 0; l < n_lanes; l++) {
                        int rank = late == 0 ? 0 : abs(late) + (l == own ? 0 : PRBS_SKEW_MAX);

                        if (starts[l] != state || rank >= best)
                                continue;
                        best = rank;
                        whose = (int) l;
                        *ret_skew = late;
                }
        }

        return whose;
}
