/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

typedef struct HostLinkParameters {
        uint64_t bytes;    /* each way over each link; 0: attributes only */
        double efficiency; /* of the raw rate, that payloads must reach */
} HostLinkParameters;
