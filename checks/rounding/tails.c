/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/tails.h"

#include <math.h>

static double term(uint64_t k, uint64_t n, double p) {
        double choose = lgamma((double) n + 1) - lgamma((double) k + 1) - lgamma((double) (n - k) + 1);

        return exp(choose + (double) k * log(p) + (double) (n - k) * log1p(-p));
}

/* Smallest terms first, so that none is lost beside the large ones. */
double binomial_at_most(uint64_t k, uint64_t n, double p) {
        double sum = 0;

        for (uint64_t i = 0; i <= k; i++)
                sum += term(i, n, p);
        return fmin(sum, 1);
}

double binomial_at_least(uint64_t k, uint64_t n, double p) {
        double sum = 0;

        for (uint64_t i = n + 1; i-- > k;)
                sum += term(i, n, p);
        return fmin(sum, 1);
}

double binomial_p_value(uint64_t k, uint64_t n, double p) {
        return fmin(1, 2 * fmin(binomial_at_most(k, n, p), binomial_at_least(k, n, p)));
}
