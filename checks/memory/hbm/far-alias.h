/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmFarAlias
 *
 * An address that reaches a row of another region: a pass that writes only one of both shows nothing of it. But what was written then stands in two
 * places, and says of which it is: a row that gives back a tag (march/field.h) with the seed of this scan which is that of another row was written
 * through the address of that row. No job and no earlier scan can have left it, as each scan has another seed. So one column of every free row is
 * read behind the tests of a scan, and nothing is written for it.
 *
 * Not seen is a row of which a job has left the region full of other data, for lists have no room for all that differs there; and what is
 * mixed (class D, word lines that touch) before the row that opens both has itself been written.
 */

#include <stdbool.h>

#include "checks/memory/hbm/hbm.h"

typedef struct HbmFarAlias {
        bool found;
        unsigned stack;
        uint16_t at[_MEMORY_AXIS_MAX];    /* an access that gives back … */
        uint16_t other[_MEMORY_AXIS_MAX]; /* … what was written to this one */
} HbmFarAlias;

/* BOXES are N boxes of rows of the whole part, which is RUN's geometry; SEED is that of the tags of this scan. Returns 0 with *ret set, or could not look. */
int hbm_far_alias_look(HbmRun *run, const WireBox boxes[], unsigned n, uint64_t seed, HbmFarAlias *ret);
