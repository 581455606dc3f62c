/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chain
 *
 * The healthy sums of one column under full load. Where they are integers, a difference to them stays the same from row to row.
 */

#include "checks/systolic/model/layout.h"

typedef struct Chain {
        unsigned column; /* of the tile */
        bool ftz;
        bool integers;
        int32_t largest[MOVING_MAX]; /* of integers: of the sums on the way of a vector */
        union {
                int32_t units;
                uint32_t bits; /* of no integers: binary32 */
        } sums[];              /* before each row and at the end: [rows + 1][moving] */
} Chain;

/* That of COLUMN under pattern INDEX, which *CHAIN, to be freed, may be already. NULL where there is no memory. */
const Chain *chain_of(Chain **chain, unsigned index, unsigned column, bool ftz);
