/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/interval.h"

#include <math.h>

/* P(X = i) for X ~ Binomial(n, p). */
static double term(uint64_t i, uint64_t n, double p) {
        double choose = lgamma((double) n + 1) - lgamma((double) i + 1) - lgamma((double) (n - i) + 1);

        return exp(choose + (double) i * log(p) + (double) (n - i) * log1p(-p));
}

/* P(X ≤ k). */
static double at_most(uint64_t k, uint64_t n, double p) {
        double sum = 0;

        for (uint64_t i = 0; i <= k; i++)
                sum += term(i, n, p);
        return fmin(sum, 1);
}

/* The P at which P(X ≤ k) has fallen to TAIL. */
static double solve(uint64_t k, uint64_t n, double tail) {
        double low = 0, high = 1;

        for (unsigned i = 0; i < 60; i++) {
                double middle = (low + high) / 2;

                if (at_most(k, n, middle) > tail)
                        low = middle;
                else
                        high = middle;
        }
        return (low + high) / 2;
}

Interval interval_exact(uint64_t k, uint64_t n, double confidence) {
        double tail = (1 - confidence) / 2;

        return (Interval) {
                .low  = k == 0 ? 0 : solve(k - 1, n, 1 - tail),
                .high = k >= n ? 1 : solve(k, n, tail),
        };
}
