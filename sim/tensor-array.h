/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor array
 *
 * What 128 × 128 processing elements make of a stationary and a moving matrix, as wire.h specifies it,
 * healthy or with stuck registers. A column is independent of all others once it is known what its
 * activations are, so a fault costs the columns it reaches and no more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire.h"
#include "sim/tensor-float.h"
#include "sim/tensor-format.h"

#define SPARSE_GROUP_MAX 16u

/* The matrices as they came, owned by the memo of the thread and by the cores that hold them. */
typedef struct Stationary {
        unsigned references;
        uint16_t rows, columns; /* K, M */
        uint8_t format;         /* WireFormat */
        bool double_row;
        uint8_t keep, group;      /* M:N of sparsity; 0 and 0 when dense */
        size_t n_weights, n_tags; /* bytes */
        uint8_t bytes[];          /* weights [K][M], in double rows [2][K][M]; tags [K][tag_words] uint16 */
} Stationary;

typedef struct Moving {
        unsigned references;
        uint16_t rows, columns; /* K or (K / keep) × group, N */
        uint8_t format;
        bool double_row;
        size_t n_bytes;
        uint8_t bytes[]; /* [rows][N], in double rows [2][rows][N] */
} Moving;

typedef struct Product {
        unsigned references;
        uint16_t columns, moving; /* M, N */
        uint32_t bits[];          /* [M][N] */
} Product;

Stationary *stationary_unref(Stationary *stationary);
Moving *moving_unref(Moving *moving);
Product *product_unref(Product *product);
int product_new(unsigned columns, unsigned moving, Product **ret);

static inline size_t stationary_tag_words(unsigned columns) {
        return (columns + 3) / 4;
}

/* What the registers of wire.h hold, healthy: of PE (ROW, COLUMN) of the tile, and of row ROW at vector N; both numbers of double
 * rows in one image. */
uint32_t stationary_register(const Stationary *stationary, unsigned row, unsigned column);
uint32_t moving_register(const Moving *moving, unsigned row, unsigned n);

/* How the two go together. */
PeMode pe_mode(const Stationary *stationary, const Moving *moving, bool ftz);

/* How many rows a moving matrix must have to go with STATIONARY. */
unsigned stationary_moving_rows(const Stationary *stationary);

typedef enum Register {
        REGISTER_WEIGHT,     /* 16 bits */
        REGISTER_ACTIVATION, /* 16 bits, from its column on */
        REGISTER_PRODUCT,    /* 32 bits */
        REGISTER_PSUM,       /* 32 bits */
        _REGISTER_MAX,
} Register;

/* Bits of one register that are stuck now: `clear` at 0, `set` at 1. */
typedef struct Stuck {
        Register at;
        uint8_t row, column;
        uint32_t clear, set;
} Stuck;

/* The healthy product of all columns. Returns 0 or -ENOMEM. */
int array_multiply(const Stationary *stationary, const Moving *moving, Product *product);

typedef struct Selectors Selectors; /* sim/tensor-select.h */

/* Puts what the stuck registers and the selectors make of it into PRODUCT, which holds the healthy one. STUCK is in
 * ascending order of columns. Returns the number of columns computed again, or -ENOMEM. */
int array_spoil(const Stationary *stationary, const Moving *moving, const Stuck *stuck, size_t n_stuck,
                const Selectors *selectors, Product *product);
