/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/statistics/chance.h"

#include <math.h>

#define ROUNDS_MAX 1000
#define PRECISION  1e-14
#define BISECTIONS 60

/* The regularised lower incomplete gamma function by its series; good for x < a + 1. */
static double gamma_series(double a, double x) {
        double term = 1 / a, sum = term;

        for (int i = 1; i < ROUNDS_MAX && fabs(term) > fabs(sum) * PRECISION; i++) {
                term *= x / (a + i);
                sum += term;
        }

        return sum * exp(a * log(x) - x - lgamma(a));
}

/* The upper one by its continued fraction (Lentz); good for x ≥ a + 1. */
static double gamma_fraction(double a, double x) {
        double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;

        for (int i = 1; i < ROUNDS_MAX; i++) {
                double an = -i * (i - a), factor;

                b += 2;
                d = an * d + b;
                d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
                c = b + an / c;
                c = fabs(c) < 1e-300 ? 1e-300 : c;
                factor = d * c;
                h *= factor;
                if (fabs(factor - 1) < PRECISION)
                        break;
        }

        return h * exp(a * log(x) - x - lgamma(a));
}

double chance_chi_square(double x, unsigned df) {
        double a = df / 2.0;

        if (df == 0 || !(x > 0))
                return 1;
        return x / 2 < a + 1 ? 1 - gamma_series(a, x / 2) : gamma_fraction(a, x / 2);
}

double chance_even(const uint32_t *counts, size_t n) {
        double total = 0, x = 0;

        for (size_t i = 0; i < n; i++)
                total += counts[i];
        if (n < 2 || total == 0)
                return 1;
        for (size_t i = 0; i < n; i++)
                x += (counts[i] - total / (double) n) * (counts[i] - total / (double) n) / (total / (double) n);
        return chance_chi_square(x, (unsigned) (n - 1));
}

/* P(at least K of N) at rate P. */
static double tail(unsigned k, unsigned n, double p) {
        double sum = 0;

        for (unsigned i = k; i <= n; i++)
                sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) + (n - i) * log1p(-p));
        return sum;
}

/* The rate at which at least K of N come with probability WANTED: it rises with the rate. */
static double rate_of(unsigned k, unsigned n, double wanted) {
        double low = 0, high = 1;

        for (int i = 0; i < BISECTIONS; i++) {
                double middle = (low + high) / 2;

                if (tail(k, n, middle) < wanted)
                        low = middle;
                else
                        high = middle;
        }

        return (low + high) / 2;
}

void chance_interval(unsigned k, unsigned n, double *ret_low, double *ret_high) {
        *ret_low = k == 0 ? 0 : rate_of(k, n, 0.025);
        *ret_high = k == n ? 1 : rate_of(k + 1, n, 0.975);
}
