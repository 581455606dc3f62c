/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds ranks that take longer than their siblings for the same. Median and MAD are of the ranks of one collective: a delay that all
 * of them share is the fault of none, and a few stragglers do not move either (breakdown point 1/2).
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/collective/collective.h"

#define SIBLINGS_MIN 5u     /* two of fewer would be half of them */
#define DEVIATIONS   6.0
#define MAD_TO_SIGMA 1.4826 /* of a normal distribution */

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return x < y ? -1 : x > y;
}

static double median_of(double *values, unsigned n) {
        qsort(values, n, sizeof(*values), compare);
        return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Siblings siblings_of(const double *values, unsigned n, double ratio) {
        double sorted[RANKS_MAX], median, spread;

        if (n < SIBLINGS_MIN || n > RANKS_MAX)
                return (Siblings) { .n = n, .limit = INFINITY };

        memcpy(sorted, values, n * sizeof(*values));
        median = median_of(sorted, n);
        for (unsigned i = 0; i < n; i++)
                sorted[i] = fabs(values[i] - median);
        spread = MAD_TO_SIGMA * median_of(sorted, n);
        return (Siblings) { .n = n, .median = median, .limit = fmax(median * ratio, median + DEVIATIONS * spread) };
}
