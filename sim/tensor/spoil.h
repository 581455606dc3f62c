/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor spoil
 *
 * The cone of what is wrong in an array: only the columns that a defect reaches, and where it changes anything, are computed again.
 */

#include "sim/tensor/array.h"
#include "sim/tensor/pe.h"
#include "sim/tensor/select.h"

/* What is in force in a matmul, beside what it multiplies. */
typedef struct Spoil {
        bool ftz, transposed;
        uint8_t first_row, first_column; /* of the tile */
        const Defect *defects;           /* in the order of defect_compare() */
        size_t n_defects;
        const Selectors *selectors;
} Spoil;

/* Puts what SPOIL makes of it into PRODUCT, which holds the healthy one. Returns the number of columns computed again, or -ENOMEM. */
int array_spoil(const Stationary *stationary, Moving *moving, const Spoil *spoil, Product *product);
