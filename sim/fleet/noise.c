/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/fleet/noise.h"

static const YamlField rates[] = {
        YAML_NUMBER("soft-errors", NoiseRates, soft_errors, 0, NOISE_RATE_MAX),
        YAML_NUMBER("corrected", NoiseRates, corrected, 0, NOISE_RATE_MAX),
        YAML_NUMBER("retransmissions", NoiseRates, retransmissions, 0, 0.01),
        YAML_NUMBER("step-times", NoiseRates, step_times, 0, 0.1),
        {},
};

int noise_read(Yaml *yaml, yaml_node_t *node, Hall *hall) {
        static const YamlField field = { .name = "noise", .type = YAML_TYPE_BOOLEAN };
        bool on = false;
        int r;

        if (node->type == YAML_MAPPING_NODE)
                return yaml_read(yaml, node, rates, &hall->noise, NULL);

        r = yaml_read_value(yaml, node, &field, &on, NULL);
        if (r < 0)
                return r;
        if (on)
                hall->noise = (NoiseRates) {
                        .soft_errors = NOISE_SOFT_ERRORS, .corrected = NOISE_CORRECTED, .retransmissions = NOISE_RESENT,
                        .step_times = NOISE_STEP_TIMES,
                };
        return 0;
}
