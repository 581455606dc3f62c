/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Mistake
 *
 * A core that takes the numbers of one format for those of another one of the same width.
 */

#include "checks/systolic/array/observation.h"

typedef struct Mistake {
        WireFormat format, taken_for;
        bool intermittent; /* at times it is not */
} Mistake;

/* Returns how many formats are taken for others, each told once. */
unsigned observation_mistakes(const Observation *observation, Mistake ret[static _FORMAT_MAX]);
