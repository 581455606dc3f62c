/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work
 *
 * The measurement of a chip on its way: what each core answered, and what has been told of it.
 */

#include "checks/sparsity/bank.h"
#include "checks/sparsity/engine.h"
#include "checks/sparsity/record.h"
#include "checks/sparsity/tiles.h"
#include "checks/step/step.h"

typedef struct Core {
        Record record;
        unsigned bank; /* of PSUM, BANK_ANY: as they come */
        bool wrong;
        bool dense_refused;
        bool spoilt[PE_COLUMNS];           /* the array is to blame there */
        bool has_line;                     /* some of them by a line alone */
        bool once[PE_COLUMNS];             /* wrong, and not again though it was looked for */
        bool has_cells;                    /* cells of PSUM alone spoilt what was there before */
        bool tile_wrong[TILES][PE_COLUMNS];
        unsigned tiles_wrong, tiles_refused; /* a bit per tile */
        size_t n_findings;
} Core;

typedef struct Sparsity {
        Step *step;
        Device *device;
        Engine engine;
        bool all_paths;
        uint64_t rounds;
        unsigned formats; /* a bit per WireFormat that the chip says it has */
        Core cores[CORES];
        size_t n_compared, n_wrong, n_tiles;
        unsigned n_findings, n_left, n_lines; /* cores that are left to `systolic`, and those by a line … */
        unsigned n_cells;                     /* … and those of which single banks of PSUM spoilt sums */
} Sparsity;

static inline bool core_is_suspect(const Core *core) {
        return core->wrong || core->tiles_wrong > 0 || core->tiles_refused > 0;
}

/* All loads, or the small set, and all tiles, on the cores of MASK; BANK as of bank.h. What is not golden is kept. */
int sparsity_run_loads(Sparsity *sparsity, unsigned mask, unsigned bank, bool all_paths);
int sparsity_run_tiles(Sparsity *sparsity, unsigned mask, unsigned bank);

/* The small set tells that something is wrong, all loads tell what, and several rounds how often, in a bank of PSUM that is not to blame. */
int sparsity_follow(Sparsity *sparsity);
