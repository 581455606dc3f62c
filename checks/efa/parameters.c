/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "checks/efa/efa.h"
#include "checks/plan.h"

extern const YamlField parameters_efa[];
extern const size_t parameters_efa_bytes;
extern const void *const parameters_efa_defaults;

const YamlField parameters_efa[] = {
        YAML_UNSIGNED("packets", EfaParameters, packets, 1, 65536, .summary = "of one byte, per flow"),
        YAML_UNSIGNED("large", EfaParameters, large, 1, 65536, .summary = "of 4095, 4096, 4097 and 8192 bytes each, per flow"),
        {}
};
const size_t parameters_efa_bytes = sizeof(EfaParameters);

/* Four flows touch an adapter, 976 packets: what loses one in 212 is seen with 99 %. What arrives at one adapter fits
 * into one call. */
static const EfaParameters defaults = { .packets = 240, .large = 1 };
const void *const parameters_efa_defaults = &defaults;
