/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/escape.h"

#include <math.h>

#define COMMANDS_MIN 1e-3
#define DROP         1.92

/* log of the chance that exactly those escape that did. */
static double likelihood(const Trial *trials, size_t n, double commands) {
        double sum = 0;

        for (size_t i = 0; i < n; i++) {
                double miss = commands * log1p(-trials[i].p);

                sum += trials[i].escaped ? miss : log(-expm1(miss));
        }
        return sum;
}

/* It has one maximum, for each term is concave: thirds of an interval in log n. */
static double find_maximum(const Trial *trials, size_t n) {
        double low = log(COMMANDS_MIN), high = log(ESCAPE_COMMANDS_MAX);

        for (unsigned i = 0; i < 100; i++) {
                double a = low + (high - low) / 3, b = high - (high - low) / 3;

                if (likelihood(trials, n, exp(a)) < likelihood(trials, n, exp(b)))
                        low = a;
                else
                        high = b;
        }
        return exp((low + high) / 2);
}

/* Where the likelihood falls below FLOOR between INSIDE and OUTSIDE; OUTSIDE where it does not. */
static double find_end(const Trial *trials, size_t n, double inside, double outside, double floor) {
        if (likelihood(trials, n, outside) >= floor)
                return outside;
        for (unsigned i = 0; i < 60; i++) {
                double middle = sqrt(inside * outside);

                if (likelihood(trials, n, middle) >= floor)
                        inside = middle;
                else
                        outside = middle;
        }
        return inside;
}

Escape escape_estimate(const Trial *trials, size_t n) {
        double best = find_maximum(trials, n), floor = likelihood(trials, n, best) - DROP;
        Escape escape = {
                .commands = best,
                .low = find_end(trials, n, best, COMMANDS_MIN, floor),
                .high = find_end(trials, n, best, ESCAPE_COMMANDS_MAX, floor),
        };

        if (escape.low <= COMMANDS_MIN)
                escape.low = 0;
        return escape;
}
