/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/refresh.h"

#include <math.h>

uint64_t hbm_refresh_window(double celsius) {
        return celsius > HBM_REFRESH_HOT ? HBM_REFRESH_NSEC / 2 : HBM_REFRESH_NSEC;
}

uint64_t hbm_refresh_next(const MemoryShape *shape, unsigned row, uint64_t window, uint64_t nsec) {
        uint64_t command = (uint64_t) row * HBM_REFRESH_COMMANDS / shape->size[HBM_ROW];
        uint64_t phase = command * (window / HBM_REFRESH_COMMANDS);

        return nsec < phase ? phase : phase + ((nsec - phase) / window + 1) * window;
}

double hbm_seconds_at(double seconds, double celsius) {
        return seconds * exp2((45 - celsius) / 10);
}

double hbm_seconds_from(double seconds, double celsius) {
        return seconds * exp2((celsius - 45) / 10);
}

bool hbm_refresh_misses(const MemoryShape *shape, unsigned row, uint64_t window, double holds, uint64_t from, uint64_t to) {
        uint64_t next;

        if (to <= from || (double) (to - from) < holds)
                return false;
        next = hbm_refresh_next(shape, row, window, from);
        if (next >= to)
                return true;
        /* Up to the first refresh, from the last one on, and, where one lies between two others, a whole window. */
        return (double) (next - from) >= holds || (double) ((to - next) % window) >= holds ||
               (to - next >= window && (double) window >= holds);
}

double hbm_lognormal_share(double x, double median, double sigma) {
        return x > 0 ? 0.5 * erfc(-log(x / median) / sigma * M_SQRT1_2) : 0;
}

double hbm_uniform(uint64_t bits) {
        return (double) (bits >> 11) * 0x1p-53;
}

double hbm_lognormal_draw(uint64_t a, uint64_t b, double median, double sigma) {
        double normal = sqrt(-2 * log1p(-hbm_uniform(a))) * cos(2 * M_PI * hbm_uniform(b));

        return median * exp(sigma * normal);
}
