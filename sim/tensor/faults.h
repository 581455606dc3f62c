/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor faults
 *
 * The kinds of fault that can sit in a tensor engine, and what each of them holds in the array.
 */

#include <stdbool.h>

#include "sim/chip/model.h"
#include "sim/tensor/pe.h"

/* Parameters of all kinds of this model, whatever their table. */
typedef struct TensorFault {
        uint64_t bit, value;   /* of a register, of a lane, or the carry into this bit of the adder */
        uint64_t lane;         /* multiplier: 1 is the second one of double rows */
        uint64_t row, column;
        uint64_t row_group, column_group; /* of 32 */
        uint64_t a, b;         /* bits of the significands that meet in a gate of the multiplier */
        uint64_t position, other; /* inputs of a selector; other: also a row */
        uint64_t code;         /* a tag */
        bool has_bit;          /* of a selector's input */
        int misses, wired;     /* words of the kinds that have them */
        int as;                /* what `mode` is taken for */
        int mode;              /* of sparsity */
        int edge;              /* TensorEdge */
        int format;            /* WireFormat */
        int flag;              /* of PSUM: 0 overwrite, 1 accumulate */
} TensorFault;

typedef enum TensorEdge {
        EDGE_RISE,
        EDGE_FALL,
        _EDGE_MAX,
} TensorEdge;

extern const FaultKind tensor_faults[]; /* ends with {} */

/* What FAULT does to elements of the array; false where it does nothing to them. */
bool tensor_fault_defect(const Fault *fault, Defect *ret);

/* Whether FAULT makes its core refuse FORMAT, and what FORMAT is taken for. */
bool tensor_fault_refuses_format(const Fault *fault, WireFormat format);
WireFormat tensor_fault_format(const Fault *fault, WireFormat format);

/* The same bit of the same register at two levels, or the same thing twice. */
bool tensor_faults_collide(const Fault *a, const Fault *b);
