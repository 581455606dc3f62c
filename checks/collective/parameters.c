/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "checks/collective/collective.h"
#include "checks/plan.h"

extern const YamlField parameters_collective[];
extern const size_t parameters_collective_bytes;
extern const void *const parameters_collective_defaults;

static const char *const choices[_CHOICE_MAX + 1] = { [CHOICE_FEW] = "few", [CHOICE_ALL] = "all" };

const YamlField parameters_collective[] = {
        YAML_WORD("operations", CollectiveParameters, operations, choices,
                  .summary = "few: send-receive and all-reduce; all: all-gather, reduce-scatter and all-to-all too"),
        YAML_WORD("sizes", CollectiveParameters, sizes, choices,
                  .summary = "few: one size in one format; all: around every boundary, in three"),
        YAML_UNSIGNED("bytes", CollectiveParameters, bytes, 1 << 20, UINT64_C(1) << 32, .summary = "of the large vector, for bandwidth"),
        YAML_UNSIGNED("rounds", CollectiveParameters, rounds, 1, 1000, .summary = "of each over one server: a large vector over all rings, then small ones over one"),
        YAML_NUMBER("bandwidth", CollectiveParameters, bandwidth, 0.1, 0.99, .summary = "the least share of what a link is built for"),
        {}
};
const size_t parameters_collective_bytes = sizeof(CollectiveParameters);

static const CollectiveParameters defaults = {
        .operations = CHOICE_ALL, .sizes = CHOICE_ALL, .bytes = UINT64_C(1) << 30, .rounds = 1, .bandwidth = 0.85,
};
const void *const parameters_collective_defaults = &defaults;
