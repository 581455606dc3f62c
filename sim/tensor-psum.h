/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor PSUM
 *
 * The banks that matmuls of a core are summed in.
 */

#include "sim/tensor-array.h"

typedef struct Psum {
        Product *banks[PSUM_BANKS]; /* NULL: zero; elements outside are zero */
} Psum;

void psum_reset(Psum *psum);

/* Adds PRODUCT to BANK or overwrites it. Takes the reference to PRODUCT. Returns 0 or -ENOMEM. */
int psum_store(Psum *psum, unsigned bank, Product *product, bool overwrite);

/* COLUMNS × MOVING sums to OUT, after a store of at least so many. */
void psum_read(const Psum *psum, unsigned bank, unsigned columns, unsigned moving, uint8_t *out);
