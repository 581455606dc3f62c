/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A lane of which every bit is made, and the checker of wire-link.h written down as it reads. Slow, and shares nothing with sim/: what
 * the drawn model says is held against it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/wire/wire.h"

#define PLAIN_BITS_MAX 40000
#define PLAIN_MARGIN   4096 /* bits before the first and behind the last that a late or early pattern needs */
#define PLAIN_PHASES   300

/* b(n) = the sum of b(n - tap): ITU-T O.150 and its kin, by their exponents. */
static const unsigned plain_taps[_PRBS_MAX][5] = {
        [PRBS7] = { 7, 6 }, [PRBS9] = { 9, 5 }, [PRBS11] = { 11, 9 }, [PRBS13] = { 13, 12, 2, 1 }, [PRBS15] = { 15, 14 },
        [PRBS20] = { 20, 3 }, [PRBS23] = { 23, 18 }, [PRBS31] = { 31, 28 },
};

/* Numbers for the plain model alone: xorshift64* (Vigna 2014). */
static inline double plain_uniform(uint64_t *x) {
        *x ^= *x >> 12;
        *x ^= *x << 25;
        *x ^= *x >> 27;
        return (double) (*x * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

/* The sequence before and behind bit 0; index through plain_bit(). */
typedef struct PlainSequence {
        uint8_t bits[PLAIN_BITS_MAX + 2 * PLAIN_MARGIN];
} PlainSequence;

static inline unsigned plain_bit(const PlainSequence *sequence, int64_t index) {
        return sequence->bits[index + PLAIN_MARGIN];
}

/* From the state before bit AT, whose bit i was sent i + 1 bits earlier: forwards to END, and backwards to FIRST by the same sum. */
static inline void plain_sequence(WirePrbs polynomial, uint32_t state, int64_t at, int64_t first, int64_t end, PlainSequence *ret) {
        const unsigned *taps = plain_taps[polynomial];
        uint8_t *b = ret->bits + PLAIN_MARGIN;

        for (unsigned i = 0; i < taps[0]; i++)
                b[at - 1 - (int64_t) i] = state >> i & 1;
        for (int64_t n = at; n < end; n++) {
                b[n] = 0;
                for (unsigned t = 0; t < 4 && taps[t] > 0; t++)
                        b[n] ^= b[n - taps[t]];
        }
        for (int64_t n = at - 1; n - (int64_t) taps[0] >= first; n--) {
                uint8_t oldest = b[n];

                for (unsigned t = 1; t < 4 && taps[t] > 0; t++)
                        oldest ^= b[n - taps[t]];
                b[n - taps[0]] = oldest;
        }
}

static inline uint32_t plain_seed(WirePrbs polynomial, uint64_t of, unsigned lane) {
        uint64_t x = (of ^ lane) + 0x9e3779b97f4a7c15u; /* splitmix64 */
        uint32_t low;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        low = (uint32_t) ((x ^ x >> 31) % (UINT64_C(1) << plain_taps[polynomial][0]));
        return low == 0 ? 1 : low;
}

/* ---- the checker ---- */

typedef struct PlainLock {
        int64_t p;
        bool inverted;
        uint32_t state; /* uninverted, the k bits from p on, the newest in bit 0 */
} PlainLock;

static inline bool plain_acquire(WirePrbs polynomial, const uint8_t *line, int64_t n, int64_t from, PlainLock *ret) {
        const unsigned *taps = plain_taps[polynomial];
        int64_t k = taps[0];

        for (int64_t p = from; p + k + LINK_LOCK_BITS <= n; p++) {
                unsigned right = 0, wrong = 0;
                uint32_t state = 0;

                for (int64_t i = p + k; i < p + k + LINK_LOCK_BITS && (right == 0 || wrong == 0); i++) {
                        unsigned predicted = 0;

                        for (unsigned t = 0; t < 4 && taps[t] > 0; t++)
                                predicted ^= line[i - taps[t]];
                        right += predicted == line[i];
                        wrong += predicted != line[i];
                }
                if (right > 0 && wrong > 0)
                        continue;
                for (int64_t i = p; i < p + k; i++)
                        state = state << 1 | (line[i] ^ (wrong > 0));
                if (state == 0)
                        continue;
                *ret = (PlainLock) { p, wrong > 0, state };
                return true;
        }

        return false;
}

/* By how many bits what was locked to at LOCK is late against the pattern that ran on from the lock before, which is EXPECTED. */
static inline int plain_slip(const PlainSequence *expected, const PlainSequence *found, int64_t p, unsigned k) {
        for (int d = 0; d <= PLAIN_PHASES; d++)
                for (int sign = -1; sign <= 1; sign += 2) {
                        unsigned same = 0;

                        while (same < k && plain_bit(expected, p + same - sign * d) == plain_bit(found, p + same))
                                same++;
                        if (same == k)
                                return sign * d;
                }

        abort();
}

static inline void plain_check(WirePrbs polynomial, const uint8_t *line, int64_t n, WireLane *ret) {
        unsigned k = plain_taps[polynomial][0];
        PlainSequence expected, before;
        int64_t from = 0;
        PlainLock lock;

        *ret = (WireLane) {};
        for (int64_t i = 1; i < n && ret->transitions < LINK_TRANSITIONS_MAX; i++)
                ret->transitions += line[i] != line[i - 1];

        while (plain_acquire(polynomial, line, n, from, &lock)) {
                if (ret->locked)
                        before = expected;
                plain_sequence(polynomial, lock.state, lock.p + k, ret->locked ? lock.p - PLAIN_PHASES : -(int64_t) k, n + PLAIN_PHASES, &expected);
                if (ret->locked) {
                        ret->resyncs++;
                        ret->slipped += plain_slip(&before, &expected, lock.p, k);
                } else {
                        ret->locked = 1;
                        ret->inverted = lock.inverted;
                        for (unsigned i = 0; i < k; i++)
                                ret->state |= (uint32_t) plain_bit(&expected, -1 - (int64_t) i) << i;
                }

                for (from = lock.p + k; from < n;) {
                        int64_t end = from + LINK_BLOCK_BITS < n ? from + LINK_BLOCK_BITS : n;
                        unsigned wrong = 0;

                        for (; from < end; from++)
                                wrong += (line[from] ^ lock.inverted) != plain_bit(&expected, from);
                        ret->errors += wrong;
                        ret->errored_blocks += wrong > 0;
                        if (wrong >= LINK_LOSS_ERRORS)
                                break;
                }
                ret->bits += (uint64_t) (from - lock.p);
        }

        if (!ret->locked && ret->transitions == 0)
                ret->state = line[0] ? UINT32_MAX : 0;
}
