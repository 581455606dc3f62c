/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/host-link/parameters.h"

#include "checks/plan/plan.h"

extern const YamlField parameters_host_link[];
extern const size_t parameters_host_link_bytes;
extern const void *const parameters_host_link_defaults;

const YamlField parameters_host_link[] = {
        YAML_UNSIGNED("bytes", HostLinkParameters, bytes, 0, 1u << 30,
                      .summary = "moved each way over each link; 0: attributes only, which disturbs nothing"),
        YAML_NUMBER("efficiency", HostLinkParameters, efficiency, 0.1, 0.9, .summary = "of the raw rate, that payloads must reach"),
        {}
};
const size_t parameters_host_link_bytes = sizeof(HostLinkParameters);

/*
 * 16 MiB, a quarter of it, take 0.6 ms, so that starting them does not count. Transactions of 256 bytes have about 26 of headers and acknowledgements:
 * 91 % is payload. A tenth is left for what else passes.
 */
static const HostLinkParameters defaults = { .bytes = 64u << 20, .efficiency = 0.8 };
const void *const parameters_host_link_defaults = &defaults;
