/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Control
 *
 * Whether it is the core: what failed is run again, on that core and on its neighbour, and held against what the others said.
 */

#include "checks/systolic/array/array.h"

#define CONTROL_RUNS 3u

typedef struct Control {
        bool wrong[CONTROL_RUNS][PE_COLUMNS]; /* which columns of the core */
        unsigned neighbour;        /* the core that ran them too */
        bool neighbour_sound;
        bool everywhere;           /* all cores of the chip give the same wrong answers */
} Control;

/* Errors of array_run(). What it sees adds to what is known of both cores. */
int neighbour_run(Array *array, unsigned core, Control *ret);

/* In how many runs one of the columns FIRST to LAST was wrong again. */
unsigned control_count(const Control *control, unsigned first, unsigned last);

/* Whether all cores gave the same wrong answers to the same patterns. */
bool cores_all_alike(const Array *array);
