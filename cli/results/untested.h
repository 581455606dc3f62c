/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The gaps of a scan, each told once for all parts and tests that say the same. */

#include "cli/results/outcome.h"
#include "cli/terminal/table.h"

/* "Not tested: …" lines. A part of which nothing was tested stands in the table, and not here. */
void untested_print(const Outcome *outcome);

/* "To do: drain, then scan": what the DO of a scan's table says of VIEW, where it is not passed and nothing was found; each action once. */
void untested_print_actions(const View *view);

/*
 * Rows PART, VERDICT, FINDING, DO, WHERE, WHAT of parts that are not passed and of which nothing was found: what was not done is all that there is to say of them.
 * Returns 0 or a negative errno.
 */
int untested_add_rows(Table *table, const Outcome *outcome);
