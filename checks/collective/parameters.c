/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "checks/collective/collective.h"
#include "checks/plan/plan.h"

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
        YAML_NUMBER("straggler", CollectiveParameters, straggler, 1.03, 100,
                    .summary = "times the median of all ranks, the most that a chip's own part of a step may take"),
        {}
};
const size_t parameters_collective_bytes = sizeof(CollectiveParameters);

/*
 * straggler: all ranks wait for the slowest. The steps of small vectors are a hop, about 1500 ns, and 500 ns of the CC-core's own, so that
 * one at 1.1 makes them 2.5 % longer for all, and those of large ones 1 %; sound cores differ by a percent, and ten times that is
 * nobody's spread.
 */
static const CollectiveParameters defaults = {
        .operations = CHOICE_ALL, .sizes = CHOICE_ALL, .bytes = UINT64_C(1) << 30, .rounds = 1, .bandwidth = 0.85,
        .straggler = 1.1,
};
const void *const parameters_collective_defaults = &defaults;
