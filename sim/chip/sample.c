/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/sample.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t sample_hash(uint64_t seed, uint64_t number) {
        uint64_t x = seed + (number + 1) * 0x9e3779b97f4a7c15u;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

uint64_t sample_next(Sample *sample) {
        return sample->state = sample_hash(sample->state, 0);
}

static double uniform(Sample *sample) {
        return (double) (sample_next(sample) >> 11) * 0x1p-53;
}

const char *sample_kind(const Sample *sample) {
        return sample->kind->name;
}

Location *sample_at(Sample *sample) {
        return &sample->at;
}

bool sample_has_ring(const Sample *sample) {
        int port = location_index(&sample->at, LOCATION_LINK);

        return port == LINK_Z_PLUS || port == LINK_Z_MINUS;
}

/* By the upper half of the product: without the bias that a remainder has. */
uint64_t sample_below(Sample *sample, uint64_t n) {
        return (uint64_t) ((unsigned __int128) sample_next(sample) * n >> 64);
}

double sample_between(Sample *sample, double low, double high) {
        double u = uniform(sample);

        if (low > 0 && high / low >= 100)
                return low * pow(high / low, u);
        return low + (high - low) * u;
}

void sample_key(Sample *sample, const char *key, const char *format, ...) {
        va_list arguments;

        if (sample->n_written >= SAMPLE_KEYS_MAX)
                return;
        sample->written[sample->n_written++] = key;
        fprintf(sample->keys, ", %s: ", key);
        va_start(arguments, format);
        (void) vfprintf(sample->keys, format, arguments);
        va_end(arguments);
}

bool sample_has_key(const Sample *sample, const char *key) {
        for (unsigned i = 0; i < sample->n_written; i++)
                if (strcmp(sample->written[i], key) == 0)
                        return true;
        return false;
}
