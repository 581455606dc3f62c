/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/cells/flips.h"

#include <stdlib.h>

static int compare_flips(const void *a, const void *b) {
        const MemoryFlip *x = a, *y = b;

        if (x->linear != y->linear)
                return x->linear < y->linear ? -1 : 1;
        return (int) x->bit - (int) y->bit;
}

static bool bit_of(const MemoryBits *bits, unsigned bit) {
        return bits->w[bit / 64] >> (bit % 64) & 1;
}

/* The cell of a fault there, which keeps what it holds by itself. */
static MemoryCell *cell_at(const Memory *memory, const MemorySpot *spot, unsigned bit) {
        for (unsigned i = 0; spot && i < spot->n_cells; i++) {
                MemoryCell *cell = &memory->spots.cells[spot->first_cell + i];

                if (cell->bit == bit)
                        return cell;
        }
        return NULL;
}

static int flip_one(Memory *memory, const MemoryFlip *flip) {
        MemorySpot *spot = memory_spots_find(&memory->spots, flip->linear);
        MemoryCell *cell = cell_at(memory, spot, flip->bit);
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryBits bits;
        uint64_t mask = UINT64_C(1) << (flip->bit % 64);
        int r;

        if (cell) {
                cell->value = flip->value == MEMORY_FLIP_INVERT ? !cell->value : flip->value;
                memory->spots.unsettled = true; /* conditions on states act before the next operation */
                return 0;
        }

        memory_shape_at(&memory->shape, flip->linear, at);
        bits = spot ? memory_spots_content(spot, &memory->content) :
                      memory_pattern_bits(memory_content_find(&memory->content, at), flip->linear, at[HBM_ROW]);
        if (flip->value == bit_of(&bits, flip->bit))
                return 0;

        r = memory_spot_at(memory, flip->linear, at, &spot);
        if (r < 0)
                return r;
        if (!spot->held)
                spot->wrong = (MemoryBits) {};
        spot->held = true;
        spot->data = bits;
        spot->data.w[flip->bit / 64] ^= mask;
        spot->wrong.w[flip->bit / 64] ^= mask;
        return 0;
}

int memory_flips_apply(Memory *memory, MemoryFlip *flips, size_t n) {
        int r;

        if (n == 0)
                return 0;
        r = memory_prepare(memory, NULL);
        if (r < 0)
                return r;

        /* In order: new spots are then added at the end of those before them. */
        if (n > 1)
                qsort(flips, n, sizeof(MemoryFlip), compare_flips);
        for (size_t i = 0; i < n; i++) {
                r = flip_one(memory, &flips[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
