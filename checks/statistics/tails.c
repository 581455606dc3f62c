/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/statistics/tails.h"

#include <math.h>

#define LOG_SQRT_2PI 0.918938533204672741780329736405617639861L
#define ENOUGH       1e-20L /* terms below this part of the sum change nothing in a double */

/*
 * One term by C. Loader, "Fast and accurate computation of binomial probabilities" (2000): the powers are taken relative to the
 * mean, so that nothing large is subtracted from anything large, as it is among three lgamma().
 */

/* log n! without its Stirling part: log(n!) - log(sqrt(2 pi n) (n/e)^n). */
static long double stirling_error(long double n) {
        long double square = n * n;

        if (n < 1)
                return 0; /* 0!, whose root and power the callers leave out */
        if (n <= 24) { /* the series does not reach */
                long double product = 1;

                for (long double i = 2; i <= n; i++)
                        product *= i;
                return logl(product) - (n + 0.5L) * logl(n) + n - LOG_SQRT_2PI;
        }
        return (1 / 12.0L - (1 / 360.0L - (1 / 1260.0L - (1 / 1680.0L - (1 / 1188.0L - 691 / 360360.0L / square) / square) / square) / square) /
                                            square) / n;
}

/* x log(x / mean) + mean - x. */
static long double deviance(long double x, long double mean) {
        long double v = (x - mean) / (x + mean), power, sum, next;

        if (x <= 0)
                return mean;
        if (fabsl(v) > 0.1L)
                return x * logl(x / mean) + mean - x;

        /* Near the mean the three terms cancel: log(x / mean) = 2 artanh(v). */
        sum = (x - mean) * v;
        power = 2 * x * v;
        for (long double i = 3;; i += 2) {
                power *= v * v;
                next = sum + power / i;
                if (next == sum)
                        return sum;
                sum = next;
        }
}

static long double binomial_term(uint64_t k, uint64_t n, long double p) {
        long double up = (long double) k, all = (long double) n, down = all - up, log_term;

        if (k == 0)
                return expl(all * log1pl(-p));
        if (k == n)
                return expl(all * logl(p));

        log_term = stirling_error(all) - stirling_error(up) - stirling_error(down) - deviance(up, all * p) - deviance(down, all * (1 - p));
        return expl(log_term - LOG_SQRT_2PI) * sqrtl(all / (up * down));
}

/* From K away from the mean each term is a known part of the one before, and the parts only get smaller. */
static long double binomial_tail(uint64_t k, uint64_t n, long double p, int way) {
        long double odds = way < 0 ? (1 - p) / p : p / (1 - p), part = 1, sum = 1;

        for (uint64_t i = way < 0 ? k : n - k; i > 0 && part > ENOUGH * sum; i--) {
                /* On the way up I counts what is left of n - k: the picture is the same in a mirror. */
                part *= odds * (long double) i / (long double) (n - i + 1);
                sum += part;
        }
        return binomial_term(k, n, p) * sum;
}

double binomial_at_most(uint64_t k, uint64_t n, double p) {
        if (k >= n)
                return 1;
        if ((long double) k <= (long double) n * (long double) p)
                return (double) fminl(binomial_tail(k, n, (long double) p, -1), 1);
        return (double) (1 - binomial_tail(k + 1, n, (long double) p, 1));
}

double binomial_at_least(uint64_t k, uint64_t n, double p) {
        if (k == 0)
                return 1;
        if ((long double) k >= (long double) n * (long double) p)
                return (double) fminl(binomial_tail(k, n, (long double) p, 1), 1);
        return (double) (1 - binomial_tail(k - 1, n, (long double) p, -1));
}

double binomial_p_value(uint64_t k, uint64_t n, double p) {
        return fmin(1, 2 * fmin(binomial_at_most(k, n, p), binomial_at_least(k, n, p)));
}

/* ---- Poisson ---- */

static long double poisson_term(uint64_t k, long double mean) {
        long double x = (long double) k;

        if (k == 0)
                return expl(-mean);
        return expl(-stirling_error(x) - deviance(x, mean) - LOG_SQRT_2PI) / sqrtl(x);
}

static long double poisson_tail(uint64_t k, long double mean, int way) {
        long double part = 1, sum = 1, x = (long double) k;

        while (part > ENOUGH * sum) {
                if (way < 0 && x < 1)
                        break;
                part *= way < 0 ? x / mean : mean / (x + 1);
                x += way;
                sum += part;
        }
        return poisson_term(k, mean) * sum;
}

double poisson_at_most(uint64_t k, double mean) {
        if ((double) k <= mean)
                return (double) fminl(poisson_tail(k, (long double) mean, -1), 1);
        return (double) (1 - poisson_tail(k + 1, (long double) mean, 1));
}

double poisson_at_least(uint64_t k, double mean) {
        if (k == 0)
                return 1;
        if ((double) k >= mean)
                return (double) fminl(poisson_tail(k, (long double) mean, 1), 1);
        return (double) (1 - poisson_tail(k - 1, (long double) mean, -1));
}

double poisson_p_value(uint64_t k, double mean) {
        return fmin(1, 2 * fmin(poisson_at_most(k, mean), poisson_at_least(k, mean)));
}
