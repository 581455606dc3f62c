/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chain
 *
 * The healthy sums of one column under full load: integers, so that a difference to them stays the same from row to row.
 */

#include "checks/systolic/layout.h"

/* Sums are in units, before each row and at the end: [rows + 1][moving]. */
typedef struct Chain {
        unsigned column; /* of the tile */
        int32_t largest[MOVING_MAX]; /* of the sums on the way of a vector */
        int32_t sums[];
} Chain;

/* That of COLUMN under pattern INDEX, which *CHAIN, to be freed, may be already. NULL where the sums are no integers, or there is no memory. */
const Chain *chain_of(Chain **chain, unsigned index, unsigned column);
