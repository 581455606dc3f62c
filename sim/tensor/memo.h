/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor memo
 *
 * What the healthy cores of one simulator thread share: equal matrices are kept once, and what a pair of
 * them gives is computed once. Equality is decided by comparing all bytes, never by a hash alone. Bounded;
 * the longest unused goes.
 */

#include "sim/tensor/rows.h"

/* The matrix that SHAPE (references and content aside) and the bytes describe. References are the caller's. */
int memo_stationary(const Stationary *shape, const void *weights, const void *tags, Stationary **ret);
int memo_moving(const Moving *shape, const void *values, Moving **ret);
/* MOVING made ready for weights as in MODE. It is the memo's, until it is asked for other ones. */
int memo_rows(Moving *moving, PeMode mode, const Rows **ret);
/* Their healthy product. */
int memo_product(Stationary *stationary, Moving *moving, MatmulMode mode, Product **ret);

/* OLD + ADDED, element by element, both of one size: as PSUM has it. Where one of them is a core's own, nothing is kept. */
int memo_sum(Product *old, Product *added, bool ftz, Product **ret);

/* Drops all that this thread remembers; what cores still hold lives on. For tests and benchmarks. */
void memo_forget(void);
