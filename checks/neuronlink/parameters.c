/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "checks/neuronlink/fabric.h"
#include "checks/plan.h"

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
        YAML_WORD("polynomial", NeuronlinkParameters, polynomial, polynomials, .summary = "prbs7 … prbs31"),
        {}
};
const size_t parameters_neuronlink_bytes = sizeof(NeuronlinkParameters);

/* 2.9 s of device time: no error in 93e9 bits excludes 5e-11 with 99 % confidence (4.605 / 93e9 = 4.95e-11). */
static const NeuronlinkParameters defaults = {
        .bits = UINT64_C(93000000000), .ber = 5e-11, .confidence = 0.99, .polynomial = PRBS31,
};
const void *const parameters_neuronlink_defaults = &defaults;
