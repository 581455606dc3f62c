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

#define BANK_ANY PSUM_BANKS /* each mode has one of its own: banks of one shape are cheap to overwrite. BANK_ANY + N: that and N further */

static inline unsigned bank_of(unsigned bank, const SparseLoad *load) {
        unsigned own = load ? 1 + sparse_mode_index(load->mode) : 0;

        return bank < BANK_ANY ? bank : (own + bank - BANK_ANY) % PSUM_BANKS;
}

/* Tries all of them. *ret: the soundest one if another is not as sound or is in AVOIDED, a bit each, of which it is none; BANK_ANY if all are alike. */
int bank_choose(Engine *engine, unsigned core, unsigned avoided, unsigned *ret);
