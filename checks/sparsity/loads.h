/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Loads
 *
 * Stationary tiles whose product shows which input every sparse element selects. The slot j of a group
 * weighs 2^j and the moving matrix is the identity over positions, so an output is the sum of 2^j over the
 * slots that selected a position: a digit of `keep` bits. Groups share a moving column by weighing it with
 * 2^(keep × digit); 24 bits of them stay exact in every order of summation.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire.h"

#define SPARSE_MODES     7u
#define SPARSE_LOADS     55u
#define SPARSE_GROUP_MAX 16u

typedef struct SparseMode {
        const char *name; /* "4:16" */
        unsigned keep, group;
        unsigned digits; /* groups that share a moving column */
        unsigned rows;   /* of the moving matrix: all groups × group */
        unsigned moving; /* its columns: digits shared, × group */
        const uint16_t *weights, *values;
} SparseMode;

typedef struct SparseLoad {
        const SparseMode *mode;
        bool for_bits;          /* of the small set */
        const uint16_t *tags;   /* as the device takes them */
        const uint32_t *golden; /* [PE_COLUMNS][mode->moving] */
        size_t n_bytes;         /* of it */
} SparseLoad;

/* Computes the small set, once. The others are computed when they are asked for. */
void loads_prepare(void);

/* By number; the loads of a mode stand together, in the order of modes. */
const SparseMode *sparse_mode_at(unsigned index);
unsigned sparse_mode_index(const SparseMode *mode);
const SparseLoad *sparse_load_at(unsigned index);
bool sparse_load_is_for_bits(unsigned index);

/* The tag of the element in PE (row, column). */
unsigned sparse_load_tag(const SparseLoad *load, unsigned row, unsigned column);

/* Which inputs that element selected, a bit per position, read from OUT as the device gave it. Returns false
 * where the numbers are not sums of slots. */
bool sparse_load_selected(const SparseLoad *load, const uint32_t *out, unsigned row, unsigned column,
                          uint32_t *ret);
