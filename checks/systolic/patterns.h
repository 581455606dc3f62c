/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Patterns
 *
 * What the array is given and what it must answer, the same for every core of every chip: computed once. The
 * order is such that no two neighbours have an output in common off the zeros, so what an earlier one left
 * behind never passes for an answer.
 *
 * P1 … P6 are one-hot: a moving matrix x × I shows every processing element alone, out[column][row] = x × w,
 * without alignment loss and whatever the order of accumulation. Together they see every stuck bit of every
 * register. P7 and P8 have another value in each place and prove the wiring, P10 keeps all elements busy
 * with integers, whose sums are exact.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire.h"

#define PATTERNS 9u
#define ONE_HOT  6u /* the first ones */

typedef struct Pattern {
        const char *name;
        uint16_t w, x;           /* one-hot: of every element */
        uint32_t product;        /* of w and x */
        unsigned moving;         /* columns of the moving matrix */
        const uint16_t *weights; /* [PE_ROWS][PE_COLUMNS] */
        const uint16_t *values;  /* [PE_ROWS][moving] */
        const uint32_t *golden;  /* [PE_COLUMNS][moving] */
        size_t n_bytes;          /* of it */
} Pattern;

/* Computes them all, once; every other call is for nothing. */
void patterns_prepare(void);

/* Prepares where that was not done. */
const Pattern *pattern_at(unsigned index);
