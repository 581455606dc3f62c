/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Interval: what K successes in N independent trials say of the probability behind them (Clopper and Pearson 1934: exact, so
 * never narrower than CONFIDENCE promises).
 */

#include <stdint.h>

typedef struct Interval {
        double low, high; /* 0 … 1 for N 0 */
} Interval;

Interval interval_exact(uint64_t k, uint64_t n, double confidence);
