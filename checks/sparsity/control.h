/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Control
 *
 * The same multiplications without the sparse path: dense products of what a column should have selected, in the same order. Where
 * these are wrong as well, the array is to blame.
 */

#include "checks/sparsity/engine.h"
#include "checks/sparsity/record.h"
#include "checks/sparsity/tiles.h"

/* Sets *spoilt of the columns of CORE whose dense products are wrong, in the banks that those of RECORD were in, which has
 * something that was not golden. *ret_refused: the core does no dense products of this format at all. */
int dense_measure(Engine *engine, unsigned core, const Record *record, unsigned bank, bool spoilt[static PE_COLUMNS], bool *ret_refused);

/* The same of TILE, which was wrong in COLUMNS. */
int dense_tile(Engine *engine, unsigned core, const SparseTile *tile, unsigned bank, const bool columns[static PE_COLUMNS],
               bool spoilt[static PE_COLUMNS], bool *ret_refused);
