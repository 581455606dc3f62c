/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ROUNDING_SEED_DEFAULT 20061204u

typedef struct RoundingParameters {
        uint64_t seed;     /* of the generators; the same for all chips, so that goldens are computed once */
        double alpha;      /* false-alarm probability of one lane's binomial test */
        bool every_format; /* nearest: all formats, not only bf16 and fp8_e5m2 */
} RoundingParameters;
