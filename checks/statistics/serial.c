/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/statistics/serial.h"

#include <math.h>
#include <string.h>

#include "checks/statistics/tails.h"

static bool bit_at(const uint64_t *bits, size_t i) {
        return bits[i / 64] >> (i % 64) & 1;
}

double serial_p_value(uint64_t agreements, uint64_t n) {
        return binomial_p_value(agreements, n, 0.5);
}

uint64_t serial_agreements(const uint64_t *a, const uint64_t *b, size_t n, unsigned lag) {
        uint64_t agreements = 0;

        for (size_t i = 0; i + lag < n; i += 64) {
                size_t left = n - lag - i, from = i + lag, shift = from % 64;
                uint64_t other = b[from / 64] >> shift, differ;

                if (shift > 0 && left > 64 - shift)
                        other |= b[from / 64 + 1] << (64 - shift);
                differ = a[i / 64] ^ other;
                if (left < 64)
                        differ |= UINT64_MAX << left;
                agreements += 64 - (uint64_t) __builtin_popcountll(differ);
        }

        return agreements;
}

/* Massey, "Shift-register synthesis and BCH decoding" (1969), over two elements. */
unsigned serial_complexity(const uint64_t *bits, size_t n) {
        bool c[SERIAL_COMPLEXITY_BITS + 1] = { true }, b[SERIAL_COMPLEXITY_BITS + 1] = { true }, before[SERIAL_COMPLEXITY_BITS + 1];
        size_t length = 0, since = 1;

        for (size_t i = 0; i < n; i++) {
                bool wrong = bit_at(bits, i);

                for (size_t j = 1; j <= length; j++)
                        wrong ^= c[j] && bit_at(bits, i - j);
                if (!wrong) {
                        since++;
                        continue;
                }
                memcpy(before, c, sizeof(before));
                for (size_t j = 0; j + since <= n; j++)
                        c[j + since] ^= b[j];
                if (2 * length > i) {
                        since++;
                        continue;
                }
                length = i + 1 - length;
                memcpy(b, before, sizeof(b));
                since = 1;
        }

        return (unsigned) length;
}

/* Of the 2^n sequences, 2^min(2 n - 2 l, 2 l - 1) have complexity l > 0 and one has 0 (Rueppel 1986). */
static double complexity_p_value(unsigned length, unsigned n) {
        double sum = ldexp(1, -(int) n);

        for (unsigned l = 1; l <= length; l++)
                sum += ldexp(1, (int) (2 * l <= n ? 2 * l - 1 : 2 * n - 2 * l) - (int) n);
        return fmin(sum, 1);
}

static void keep_least(Serial *least, SerialTest test, unsigned lag, uint64_t value, uint64_t n, double p_value) {
        if (p_value < least->p_value)
                *least = (Serial) { test, lag, value, n, p_value };
}

Serial serial_test(const uint64_t *bits, size_t n) {
        Serial least = { .p_value = INFINITY };
        uint64_t ones = 0;
        unsigned length;

        for (size_t i = 0; i < n; i++)
                ones += bit_at(bits, i);
        keep_least(&least, SERIAL_ONES, 0, ones, n, serial_p_value(ones, n));
        for (unsigned lag = 1; lag <= SERIAL_LAGS; lag++) {
                uint64_t agreements = serial_agreements(bits, bits, n, lag), pairs = n - lag;

                if (lag == 1)
                        keep_least(&least, SERIAL_RUNS, 1, pairs - agreements, pairs, serial_p_value(agreements, pairs));
                else
                        keep_least(&least, SERIAL_AUTOCORRELATION, lag, agreements, pairs, serial_p_value(agreements, pairs));
        }
        length = serial_complexity(bits, SERIAL_COMPLEXITY_BITS);
        keep_least(&least, SERIAL_COMPLEXITY, 0, length, SERIAL_COMPLEXITY_BITS, complexity_p_value(length, SERIAL_COMPLEXITY_BITS));
        return least;
}
