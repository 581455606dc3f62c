/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/parameters.h"

#include "checks/plan.h"

static const RoundingParameters defaults = { .seed = ROUNDING_SEED_DEFAULT, .alpha = 1e-13, .every_format = true };

extern const YamlField parameters_rounding[];
extern const size_t parameters_rounding_bytes;
extern const void *const parameters_rounding_defaults;

const YamlField parameters_rounding[] = {
        YAML_UNSIGNED("seed", RoundingParameters, seed, 0, UINT32_MAX, .summary = "seed of the generators"),
        YAML_NUMBER("alpha", RoundingParameters, alpha, 1e-18, 1e-3, .summary = "false-alarm probability of one lane's binomial test"),
        YAML_BOOLEAN("every_format", RoundingParameters, every_format, .summary = "all target formats, not only bf16 and fp8_e5m2"),
        {}
};
const size_t parameters_rounding_bytes = sizeof(RoundingParameters);
const void *const parameters_rounding_defaults = &defaults;
