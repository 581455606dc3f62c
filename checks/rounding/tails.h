/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Exact tails of the binomial distribution: normal approximations do not hold where false alarms must be rare. */

#include <stdint.h>

/* P(X ≤ k) and P(X ≥ k) for X ~ Binomial(n, p), 0 < p < 1, k ≤ n, summed term by term: relative error below 1e-10. */
double binomial_at_most(uint64_t k, uint64_t n, double p);
double binomial_at_least(uint64_t k, uint64_t n, double p);

/* Two-sided p-value: twice the smaller tail, at most 1. */
double binomial_p_value(uint64_t k, uint64_t n, double p);
