/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tiles
 *
 * Random M:N matrices of small integers, compressed as software would, with stored zeros, −0 and groups without any number, and
 * what a dense product of the same makes of them, in integers.
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/sparsity/engine.h"
#include "checks/sparsity/loads.h"
#include "checks/wire/wire.h"

#define TILES       11u /* all modes in bf16, then fp16 and fp8 */
#define TILE_MOVING 16u

typedef struct SparseTile {
        const SparseMode *mode;
        WireFormat format;
        const void *weights, *values;
        const uint16_t *tags;
        const uint32_t *golden; /* [PE_COLUMNS][TILE_MOVING] */
        size_t weights_bytes, values_bytes;
} SparseTile;

/* Of the numbers that SEED gives. Computed when it is first asked for; it lives until another seed is. NULL: it could not be made, which the
 * program is to blame for. */
const SparseTile *sparse_tile_at(unsigned index, uint64_t seed);

/* To be run in BANK, see bank.h. */
EngineJob sparse_tile_job(const SparseTile *tile, unsigned bank);
