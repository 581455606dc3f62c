/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

typedef enum SparsityPaths {
        SPARSITY_BITS, /* each mode once, each tag bit of each element at 0 and at 1 */
        SPARSITY_ALL,  /* each element selects each input of its group, in all modes */
} SparsityPaths;

typedef struct SparsityParameters {
        int paths; /* SparsityPaths */
        uint64_t rounds; /* of all loads; 0 is 1 */
} SparsityParameters;
