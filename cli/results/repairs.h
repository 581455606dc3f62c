/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/results/view.h"

/* Prints which memory rows of a chip were repaired or are to be, and the next step. Rows that were repaired are proven by each later scan of a plan that verifies
 * repairs, so without ALL they are told of a plan that asks for repairs alone. */
void repairs_print(const View *view, bool all);
