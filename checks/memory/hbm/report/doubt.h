/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmDoubt
 *
 * The reason why rows beside live data are not written.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/wire/wire.h"

#define HBM_DOUBT_MAX 192u

/* Why nothing may be written; all zero: there is no reason. */
typedef struct HbmDoubt {
        char why[HBM_DOUBT_MAX];
        bool suspicious;   /* a row differs from those around it as sound memory does not: else nothing is known of it */
        bool in_part;      /* so do many, all in one part of the chip: it is broken */
        unsigned stack;    /* where that is so … */
        uint16_t at[_MEMORY_AXIS_MAX]; /* … of the whole part */
} HbmDoubt;

static inline bool hbm_doubt_is(const HbmDoubt *doubt) {
        return doubt->why[0] != '\0';
}
