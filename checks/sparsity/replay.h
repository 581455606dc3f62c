/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Replay
 *
 * The same loads again, in the banks of PSUM that they were in and then with each mode in another bank. What is wrong with a selector
 * follows the loads; what is wrong with a cell of PSUM stays where it is, also where it takes what is written to other cells to show it.
 */

#include <stdbool.h>

#include "checks/sparsity/engine.h"

#define REPLAY_ROUNDS 32u /* at the most, in the banks that they were in */

/*
 * *ret: banks in which sums of CORE are wrong, again and again, and of the same loads in no other bank; a bit each. *again: columns that are
 * wrong anywhere. ALL_PATHS: the core was measured with all loads, and not with the small set and then with all.
 */
int replay_find_banks(Engine *engine, unsigned core, bool all_paths, bool again[static PE_COLUMNS], unsigned *ret);
