/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/budget.h"

#include <math.h>

#include "checks/statistics/tails.h"

#define QUARTER 0.25

static double stage_alpha(const RoundingParameters *parameters) {
        return sqrt(fmin(1, parameters->false_alarms / ((double) parameters->fleet * BUDGET_TESTS)));
}

/* The most of N up at a quarter that are too few at ALPHA, two-sided. False where even none is not. */
static bool critical_low(uint64_t n, double alpha, uint64_t *ret) {
        uint64_t low = 0, high = n / 4 + 1; /* around the mean no count is rare */

        if (2 * binomial_at_most(0, n, QUARTER) > alpha)
                return false;
        while (high - low > 1) {
                uint64_t middle = low + (high - low) / 2;

                if (2 * binomial_at_most(middle, n, QUARTER) <= alpha)
                        low = middle;
                else
                        high = middle;
        }
        *ret = low;
        return true;
}

static bool is_enough(uint64_t n, double alpha, double bias) {
        uint64_t low;

        if (!critical_low(n, alpha, &low))
                return false;
        return bias >= QUARTER || binomial_at_least(low + 1, n, QUARTER - bias) <= BUDGET_MISSED;
}

static uint64_t samples_each(const RoundingParameters *parameters) {
        double alpha = stage_alpha(parameters);
        uint64_t low = 0, high = 1; /* low is not enough */

        while (!is_enough(high, alpha, parameters->bias)) {
                if (high >= BUDGET_SAMPLES_MAX / COIN_PLACES)
                        return BUDGET_SAMPLES_MAX / COIN_PLACES;
                low = high;
                high *= 2;
        }
        while (high - low > 1) {
                uint64_t middle = low + (high - low) / 2;

                if (is_enough(middle, alpha, parameters->bias))
                        high = middle;
                else
                        low = middle;
        }

        return high;
}

uint64_t budget_samples(const RoundingParameters *parameters) {
        return COIN_PLACES * samples_each(parameters);
}

void budget_make(const RoundingParameters *parameters, Budget *ret) {
        double alpha = stage_alpha(parameters);
        uint64_t each = samples_each(parameters), low = 0, high;

        (void) critical_low(each, alpha, &low);
        for (high = each + 1; high > each / 4 + 1 && 2 * binomial_at_least(high - 1, each, QUARTER) <= alpha;)
                high--;
        *ret = (Budget) { .alpha = alpha * alpha, .alpha_stage = alpha, .each = (unsigned) each, .low = (unsigned) low, .high = (unsigned) high };
}

double budget_p_value(const Budget *budget, unsigned place, unsigned ups) {
        return binomial_p_value(place % 2 ? budget->each - ups : ups, budget->each, QUARTER);
}

bool budget_is_alarm(const Budget *budget, unsigned place, unsigned ups) {
        unsigned count = place % 2 ? budget->each - ups : ups;

        return count <= budget->low || count >= budget->high;
}

void least_keep(Least *least, const Budget *budget, unsigned place, unsigned ups) {
        double p_value = budget_p_value(budget, place, ups);

        if (p_value < least->p_value)
                *least = (Least) { place % 2 ? budget->each - ups : ups, p_value };
}
