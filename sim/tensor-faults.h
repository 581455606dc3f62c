/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor faults
 *
 * The kinds of fault that can sit in a tensor engine, and what each of them holds in the array.
 */

#include <stdbool.h>

#include "sim/model.h"
#include "sim/tensor-array.h"

extern const FaultKind tensor_faults[]; /* ends with {} */

/* The index of the M:N mode, or -ENOENT. */
int tensor_mode_find(unsigned keep, unsigned group);

/* What FAULT holds in the array as it is loaded. Returns false where it cannot act. */
bool tensor_fault_stuck(const Fault *fault, const Stationary *stationary, Stuck *ret);

/* Whether FAULT makes its core refuse MODE. */
bool tensor_fault_refuses(const Fault *fault, int mode);

/* Where it begins to act: faults are kept in this order. */
unsigned tensor_fault_column(const Fault *fault);

/* The same bit of the same register at two levels, or the same thing twice. */
bool tensor_faults_collide(const Fault *a, const Fault *b);
