/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exact tails of the binomial and the Poisson distribution: normal approximations do not hold where false alarms must be rare.
 * Relative error below 1e-10 down to 1e-300, for any n or mean up to 1e8.
 */

#include <stdint.h>

/* P(X ≤ k) and P(X ≥ k) for X ~ Binomial(n, p), 0 < p < 1, k ≤ n. */
double binomial_at_most(uint64_t k, uint64_t n, double p);
double binomial_at_least(uint64_t k, uint64_t n, double p);

/* Two-sided p-value: twice the smaller tail, at most 1. */
double binomial_p_value(uint64_t k, uint64_t n, double p);

/* The same for X ~ Poisson(mean), mean > 0. */
double poisson_at_most(uint64_t k, double mean);
double poisson_at_least(uint64_t k, double mean);
double poisson_p_value(uint64_t k, double mean);
