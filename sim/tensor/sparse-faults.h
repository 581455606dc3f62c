/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor sparse faults
 *
 * The kinds of fault that can sit in the sparse path of a tensor engine. Their parameters are a TensorFault.
 */

#include <stdbool.h>

#include "sim/chip/model.h"
#include "sim/tensor/select.h"

extern const FaultKind tensor_sparse_faults[]; /* ends with {} */

/* The index of the M:N mode, or -ENOENT. */
int sparse_mode_find(unsigned keep, unsigned group);

bool fault_is_sparse(const Fault *fault);

/* What FAULT does to the selectors. Returns false where it does nothing there. */
bool sparse_fault_select(const Fault *fault, SelectFault *ret);

/* Whether FAULT makes its core refuse MODE. */
bool sparse_fault_refuses(const Fault *fault, int mode);

/* The same place at two levels, or the same thing twice. */
bool sparse_faults_collide(const Fault *a, const Fault *b);
