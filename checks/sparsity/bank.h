/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bank
 *
 * A bank of PSUM in which the sums of a core stay what they are. What is wrong with the array or with the selectors is the same in
 * every bank; what is wrong in one of them and not in another is its own.
 */

#include "checks/sparsity/engine.h"
#include "checks/sparsity/loads.h"

#define BANK_ANY PSUM_BANKS /* each mode has one of its own: banks of one shape are cheap to overwrite */

static inline unsigned bank_of(unsigned bank, const SparseLoad *load) {
        return bank != BANK_ANY ? bank : load ? 1 + sparse_mode_index(load->mode) : 0;
}

/* Tries all of them. *ret: the soundest one if another is not as sound, BANK_ANY if all are alike. */
int bank_choose(Engine *engine, unsigned core, unsigned *ret);
