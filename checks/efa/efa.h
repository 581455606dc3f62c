/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

typedef struct EfaParameters {
        uint64_t packets; /* of one byte, per flow */
        uint64_t large;   /* of each other size, per flow */
} EfaParameters;
