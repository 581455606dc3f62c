/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

typedef enum SparsityPaths {
        SPARSITY_BITS, /* each mode once, each tag bit of each element at 0 and at 1 */
        SPARSITY_ALL,  /* each element selects each input of its group, in all modes */
} SparsityPaths;

typedef struct SparsityParameters {
        int paths; /* SparsityPaths */
} SparsityParameters;
