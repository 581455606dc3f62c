/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor array
 *
 * What 128 × 128 healthy processing elements make of a stationary and a moving matrix, as wire.h specifies it. What is wrong with some
 * of them is put into that by spoil.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"
#include "sim/tensor/float.h"
#include "sim/tensor/format.h"

#define SPARSE_GROUP_MAX 16u

typedef struct Rows Rows; /* sim/tensor/rows.h */

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

/* Of a whole row: M and N of them. */
void stationary_registers(const Stationary *stationary, unsigned row, uint32_t *restrict ret);
void moving_registers(const Moving *moving, unsigned row, uint32_t *restrict ret);

/* How the two go together. */
PeMode pe_mode(const Stationary *stationary, const Moving *moving, bool ftz);

/* How many rows a moving matrix must have to go with STATIONARY. */
unsigned stationary_moving_rows(const Stationary *stationary);

/* What one matmul makes of them. */
typedef struct MatmulMode {
        bool ftz;
        bool transposed; /* weights pass through; neither sparse nor double rows */
} MatmulMode;

/* The healthy product of all columns, of the moving matrix that ROWS are made of. Returns 0 or -ENOMEM. */
int array_multiply(const Stationary *stationary, const Rows *rows, MatmulMode mode, Product *product);
