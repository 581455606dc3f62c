/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/neuronlink/ber.h"

#include <math.h>

static double log_term(double nb, unsigned k) {
        return k * log(nb) - nb - lgamma(k + 1.0);
}

double ber_confidence(double nb, unsigned errors) {
        double sum = 0;

        if (!(nb > 0))
                return 0;

        /* From the largest term down: the small ones far below it no longer matter. */
        for (unsigned k = errors + 1; k-- > 0;) {
                double term = exp(log_term(nb, k));

                sum += term;
                if (k < nb && term < sum * 1e-18)
                        break;
        }

        return sum < 1 ? 1 - sum : 0;
}

double ber_required(double confidence, unsigned errors) {
        double low = 0, high = 1;

        while (ber_confidence(high, errors) < confidence)
                high *= 2;
        for (unsigned i = 0; i < 200 && high - low > 1e-12 * high; i++) {
                double middle = (low + high) / 2;

                if (ber_confidence(middle, errors) < confidence)
                        low = middle;
                else
                        high = middle;
        }

        return high;
}

int ber_allowed(double nb, double confidence) {
        double sum = 0;

        if (!(nb > 0))
                return -1;

        for (unsigned k = 0; k <= BER_ERRORS_MAX; k++) {
                sum += exp(log_term(nb, k));
                if (1 - sum < confidence)
                        return (int) k - 1;
        }

        return BER_ERRORS_MAX;
}

/* The chance of k errors and more: its terms shrink by nb / k each, so that a few beyond k are all there is. */
static double chance_of(double nb, unsigned k) {
        double sum = 0;

        for (unsigned i = k; i < k + 200; i++)
                sum += exp(log_term(nb, i));

        return sum;
}

double ber_false_alarm(double nb, const int allowed[], const int certain[], unsigned n_passes) {
        double sum = chance_of(n_passes * nb, (unsigned) allowed[n_passes] + 1);

        for (unsigned n = 1; n <= n_passes; n++)
                sum += chance_of(n * nb, (unsigned) certain[n]);

        return sum;
}

unsigned ber_certain(double nb, double chance) {
        unsigned k = nb < 1 ? 1 : (unsigned) nb + 1;

        while (k < BER_ERRORS_MAX && chance_of(nb, k) >= chance)
                k++;

        return k;
}
