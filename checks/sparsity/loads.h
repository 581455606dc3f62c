/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Loads
 *
 * Stationary tiles whose product shows which input every sparse element selects. The slot j of a group
 * weighs 2^j and the moving matrix is the identity over positions, so an output is the sum of 2^j over the
 * slots that selected a position: a digit of `keep` bits. Groups share a moving column by weighing it with
 * 2^(keep × digit); 24 bits of them stay exact in every order of summation.
 *
 * Two more moving columns hold 0x5555 and 0xaaaa in every row: whatever is selected, the sum is the same multiple of both,
 * unless a bit of an input is stuck, which changes one of them alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

#define SPARSE_MODES     7u
#define SPARSE_LOADS     69u
#define SPARSE_GROUP_MAX 16u
#define SPARSE_UNIFORM   2u /* moving columns of one value */

typedef struct SparseMode {
        const char *name; /* "4:16" */
        unsigned keep, group;
        unsigned digits;  /* groups that share a moving column */
        unsigned rows;    /* of the moving matrix: all groups × group */
        unsigned uniform; /* the first of the columns of one value */
        unsigned moving;  /* columns in all */
        const uint16_t *weights, *values;
} SparseMode;

typedef enum SparseTags {
        SPARSE_STEP,       /* every element walks through its inputs, load by load */
        SPARSE_COMPLEMENT, /* all bits of the first step turned */
        SPARSE_MASKS,      /* every mask of the mode in some group, tags ascending */
        SPARSE_ODD,        /* tags that are equal within a group, and such as are outside of it */
} SparseTags;

typedef struct SparseLoad {
        const SparseMode *mode;
        SparseTags kind;
        unsigned step;
        bool for_bits;          /* of the small set */
        bool then_dense;        /* a dense product follows, which no tag may touch */
        const uint16_t *tags;   /* as the device takes them */
        const uint32_t *golden; /* [PE_COLUMNS][mode->moving] */
        size_t n_bytes;         /* of it */
} SparseLoad;

/* The dense product: weights of 1, row k at bit k % 24 of moving column k / 24. */
#define DENSE_MOVING ((PE_ROWS + 23u) / 24u)

typedef struct DenseProbe {
        const uint16_t *weights, *values;
        const uint32_t *golden; /* [PE_COLUMNS][DENSE_MOVING] */
} DenseProbe;

const DenseProbe *dense_probe(void);

/* Whether the product of ROW is there, in OUT of COLUMN. Returns false where the numbers are not sums of rows. */
bool dense_probe_has(const uint32_t *out, unsigned row, unsigned column, bool *ret);

/* Computes the small set, once. The others are computed when they are asked for. */
void loads_prepare(void);

/* By number; the loads of a mode stand together, in the order of modes. */
const SparseMode *sparse_mode_at(unsigned index);
unsigned sparse_mode_index(const SparseMode *mode);
const SparseLoad *sparse_load_at(unsigned index);
unsigned sparse_load_index(const SparseLoad *load);
bool sparse_load_is_for_bits(unsigned index);

/* The tag of the element in PE (row, column). */
unsigned sparse_load_tag(const SparseLoad *load, unsigned row, unsigned column);

/* Which inputs that element selected, a bit per position, read from OUT as the device gave it. Returns false
 * where the numbers are not sums of slots. */
bool sparse_load_selected(const SparseLoad *load, const uint32_t *out, unsigned row, unsigned column,
                          uint32_t *ret);

/* Whether a bit of some input of COLUMN is wrong, and not only which inputs are selected. */
bool sparse_load_has_wrong_data(const SparseLoad *load, const uint32_t *out, unsigned column);

/* Whether all elements of COLUMN let something through that were to, whichever inputs it was. */
bool sparse_load_is_whole(const SparseLoad *load, const uint32_t *out, unsigned column);
