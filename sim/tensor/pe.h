/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor PE
 *
 * One processing element with defects, over all moving vectors of a matmul, register by register. In the order of the enum: the
 * weight comes down the shift registers of its column and is held; the activation enters its row and passes the registers of the
 * columns before; gates of the multiplier, product, adder, partial sum; at last the output of the column.
 *
 * Bits of a register are those of wire.h; it is forced as a whole, also where the format does not use a bit.
 *
 * Multiplier: 12 × 12 gates of one bit by one bit, the second one of double rows 5 × 5. Significands have their leading bit at the
 * top (those of subnormal numbers too), so a format with fewer bits leaves the lower gates at 0. fp32 goes through it in four
 * passes, half by half, and its product is rounded after the last. Zeros, infinities and NaN do not go through it.
 *
 * Adder of the partial sum: the smaller addend is shifted to the exponent of the larger (zeros and subnormal numbers have that of
 * 2^-126) and, where signs differ, inverted with a carry into bit 0; both have 24 bits of significand above guard, round and
 * sticky. A sum of equal signs carries out of bit 26, a difference does not. Infinities and NaN do not go through it; zeros do.
 * The adder that joins both products of double rows is another.
 *
 * Transposition goes past multiplier and adder: the weight is the product where the activation is no zero, and is ored.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/tensor/format.h"

#define GATES        12u
#define GATES_SECOND 5u
#define CARRIES      27u

typedef enum DefectSite {
        SITE_SHIFT,
        SITE_WEIGHT,
        SITE_ROW_LANE,   /* before column 0 */
        SITE_ACTIVATION, /* of first_column */
        SITE_GATE,
        SITE_MULTIPLIER, /* what comes out of it */
        SITE_PRODUCT,
        SITE_CARRY,
        SITE_PSUM,
        SITE_COLUMN_LANE, /* below the last row of a tile */
        _SITE_MAX,
} DefectSite;

/* What is wrong at one site of all elements in a rectangle of the array. */
typedef struct Defect {
        DefectSite site;
        uint8_t lane; /* GATE, PRODUCT: 0, or 1 for the second multiplier */
        uint8_t first_row, last_row, first_column, last_column;
        uint32_t clear, set; /* bits that are stuck at 0 and at 1; CARRY: carries into these bits */
        uint32_t rise, fall; /* bits that keep their value for one vector where they should change so; they hold 0 before the first */
        uint8_t a, b;        /* GATE: bits of weight and activation */
} Defect;

/* A PE and its defects, in the order in which they act. */
typedef struct Pe {
        PeMode mode;
        bool transposed;
        const Defect *const *defects;
        size_t n_defects;
} Pe;

/* The order in which defects of one element act: by site, those of several columns or rows as the value passes them; slow bits
 * before dead lanes, and these before stuck bits. For qsort(). */
int defect_compare(const Defect *a, const Defect *b);

/* N values of a register, one for each vector, as DEFECT leaves them. */
void defect_force(const Defect *defect, uint32_t *values, unsigned n);

/* The weight that is held where W was sent. */
uint32_t pe_weight(const Pe *pe, uint32_t w);

/* Steps the PE with weight W as it is held over N activations as its register holds them: adds to PSUM. */
void pe_run(const Pe *pe, uint32_t w, const uint32_t *x, unsigned n, uint32_t *psum);
