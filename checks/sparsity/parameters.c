/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/parameters.h"

#include "checks/plan/plan.h"

static const SparsityParameters defaults = { .paths = SPARSITY_BITS, .rounds = 1 };
static const char *const paths_words[] = { "bits", "all", NULL };

extern const YamlField parameters_sparsity[];
extern const size_t parameters_sparsity_bytes;
extern const void *const parameters_sparsity_defaults;

const YamlField parameters_sparsity[] = {
        YAML_WORD("paths", SparsityParameters, paths, paths_words,
                  .summary = "bits: every tag bit at 0 and 1; all: every element selects every input, in every mode"),
        YAML_UNSIGNED("rounds", SparsityParameters, rounds, 1, 64,
                      .summary = "how often: what is there half of the time is missed once in 2^rounds"),
        {}
};
const size_t parameters_sparsity_bytes = sizeof(SparsityParameters);
const void *const parameters_sparsity_defaults = &defaults;
