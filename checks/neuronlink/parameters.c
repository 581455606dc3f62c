/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "checks/neuronlink/fabric.h"
#include "checks/plan/plan.h"

extern const YamlField parameters_neuronlink[];
extern const size_t parameters_neuronlink_bytes;
extern const void *const parameters_neuronlink_defaults;

static const char *const polynomials[_PRBS_MAX + 1] = {
        [PRBS7] = "prbs7", [PRBS9] = "prbs9", [PRBS11] = "prbs11", [PRBS13] = "prbs13", [PRBS15] = "prbs15",
        [PRBS20] = "prbs20", [PRBS23] = "prbs23", [PRBS31] = "prbs31",
};

const YamlField parameters_neuronlink[] = {
        YAML_UNSIGNED("bits", NeuronlinkParameters, bits, 1000, UINT64_C(1000000000000000),
                      .summary = "per lane; 32 of them take 1 ns"),
        YAML_NUMBER("ber", NeuronlinkParameters, ber, 1e-15, 1e-3, .summary = "the bit error ratio to exclude"),
        YAML_NUMBER("confidence", NeuronlinkParameters, confidence, 0.5, 0.999999, .summary = "how surely"),
        YAML_NUMBER("margin", NeuronlinkParameters, margin, 1e-14, 1,
                    .summary = "the ratio in the middle of its eye from which on a lane that passes is called close to failing; 1: not asked"),
        YAML_UNSIGNED("parts", NeuronlinkParameters, parts, 1, PARTS_MAX,
                      .summary = "commands that the bits are compared in: what comes and goes shows in each by its chance"),
        YAML_WORD("polynomial", NeuronlinkParameters, polynomial, polynomials, .summary = "prbs7 … prbs31"),
        {}
};
const size_t parameters_neuronlink_bytes = sizeof(NeuronlinkParameters);

/* 3 s of device time: no error in 95e9 bits excludes 5e-11 with 99 % confidence (4.605 / 95e9 = 4.85e-11), and a bit of the one in a
 * hundred is left for lanes that are looked at again (ber.h). */
static const NeuronlinkParameters defaults = {
        .bits = UINT64_C(95000000000), .ber = 5e-11, .confidence = 0.99, .margin = 1e-12, .parts = 10, .polynomial = PRBS31,
};
const void *const parameters_neuronlink_defaults = &defaults;
