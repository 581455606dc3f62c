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

/* The dense product of the probe, in bf16, and a sparse one. BANK: see bank.h. */
EngineJob dense_job(unsigned bank);
EngineJob load_job(const SparseLoad *load, unsigned bank);

/* Whether CORE refuses dense products of the format too, which it is asked for 256 times: what it refuses in a hundredth of the commands is
 * missed once in 170, for there are two commands to a product. */
int dense_ask(Engine *engine, unsigned core, unsigned bank, bool *ret_refused);

/* Sets *spoilt of the columns of CORE whose dense products are wrong, in the banks that those of RECORD were in, which has
 * something that was not golden. *ret_refused: the core does no dense products of this format at all. */
int dense_measure(Engine *engine, unsigned core, const Record *record, unsigned bank, bool spoilt[static PE_COLUMNS], bool *ret_refused);

/* The same of TILE, which was wrong in COLUMNS. */
int dense_tile(Engine *engine, unsigned core, const SparseTile *tile, unsigned bank, const bool columns[static PE_COLUMNS],
               bool spoilt[static PE_COLUMNS], bool *ret_refused);
