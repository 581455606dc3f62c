/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* All that a check asks, and the most that it may be told to. */
#define ROUNDING_WORDS_DEFAULT  4352u
#define ROUNDING_WORDS_MAX      8192u
#define ROUNDING_RESETS_DEFAULT 10u
#define ROUNDING_RESETS_MAX     32u

typedef struct RoundingParameters {
        uint64_t seed;       /* of the generators; the same for all chips, so that goldens are computed once. 0 in a plan: the step's */
        double false_alarms; /* sound lanes called biased, on average over a sweep of `fleet` chips (budget.h) */
        uint64_t fleet;
        double bias;         /* the smallest deviation towards the nearer end that counting has to see */
        uint64_t samples;    /* the most conversions of a lane that counting may take */
        uint64_t words;      /* random words of each lane read out in one stream, beside those of the short passes */
        uint64_t resets;     /* of each core for each of its engines */
        bool every_format;   /* all formats, not only bf16 and fp8_e5m2 */
        bool every_value;    /* to nearest around every number of the 8-bit formats, not only where they go wrong first */
} RoundingParameters;

/* Those of a step with this seed, which differs from scan to scan and stands in the record of each: so every scan draws other words. */
static inline RoundingParameters rounding_parameters_of_step(const RoundingParameters *given, uint64_t step_seed) {
        RoundingParameters ret;

        memcpy(&ret, given, sizeof(ret)); /* what lies between members too: they are compared as bytes */
        if (ret.seed == 0)
                ret.seed = (uint32_t) (step_seed ^ step_seed >> 32);
        return ret;
}
