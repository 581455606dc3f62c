/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shape
 *
 * What the positions of errors in one column say, whatever the wrong bits are.
 */

#include "checks/systolic/diagnose/signature.h"

/* Which rows, fed alone, come out wrong, over all patterns. */
typedef struct Extent {
        unsigned n, first, last; /* rows of the array */
} Extent;

/* BASE: what is known already and does not count. */
Extent signature_extent(const Signature *signature, const Suspects *base);

/* Row groups of 32 of which every row, fed alone, came out as +0 in some pattern where it should not: a bit each. */
uint8_t signature_dead_groups(const Signature *signature);
