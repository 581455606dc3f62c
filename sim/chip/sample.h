/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sample
 *
 * A fault while it is drawn: a place, and the keys written so far. What kinds may ask of it stands in model.h; the rest is for
 * sim/qualify/sample.c. It knows no scenario and no chip, so that tests of single models can do without.
 */

#include <stdio.h>

#include "sim/chip/model.h"

#define SAMPLE_KEYS_MAX 32u

struct Sample {
        const FaultKind *kind;
        uint64_t state; /* of its random numbers */
        Location at;
        FILE *keys; /* ", key: value" of what is drawn so far */
        unsigned n_written;
        const char *written[SAMPLE_KEYS_MAX];
};

/* A hash of its arguments. */
uint64_t sample_hash(uint64_t seed, uint64_t number);
uint64_t sample_next(Sample *sample);
bool sample_has_key(const Sample *sample, const char *key);
