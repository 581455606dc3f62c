/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cells, and the way of a read.
 *
 * The event machine of the faults that sit in cells: an operation first does what it would do in a good cell, then
 * conditions on states act until nothing changes. Callers bring the operations of all spots in the exact order of
 * the visit, so what one cell does to another can stand here and nowhere else.
 */

#include <assert.h>
#include <string.h>

#include "sim/memory/memory.h"

/* The one condition so far: whatever a stuck cell holds, it becomes what it is stuck at. */
static void cell_settle(MemoryCell *cell) {
        if (cell->active)
                cell->value = cell->stuck;
}

void memory_spot_wake(Memory *memory, const MemorySpot *spot, const Execution *execution) {
        for (unsigned i = 0; i < spot->n_cells; i++) {
                MemoryCell *cell = &memory->spots.cells[spot->first_cell + i];

                cell->active = fault_is_active(cell->fault, execution);
                cell_settle(cell);
        }
}

MemoryBits memory_spot_stored(const Memory *memory, const MemorySpot *spot, MemoryBits *ret_intended) {
        MemoryBits bits = spot->held ? spot->data :
                                    memory_pattern_bits(memory_content_find(&memory->content, spot->at), spot->linear,
                                                     spot->at[HBM_ROW]);

        *ret_intended = bits;
        for (unsigned i = 0; i < spot->n_cells; i++) {
                const MemoryCell *cell = &memory->spots.cells[spot->first_cell + i];
                uint64_t mask = UINT64_C(1) << (cell->bit % 64);

                bits.w[cell->bit / 64] =
                                cell->value ? bits.w[cell->bit / 64] | mask : bits.w[cell->bit / 64] & ~mask;
        }

        return bits;
}

void memory_spot_store(Memory *memory, const MemorySpot *spot, const MemoryBits *bits) {
        for (unsigned i = 0; i < spot->n_cells; i++) {
                MemoryCell *cell = &memory->spots.cells[spot->first_cell + i];

                cell->value = bits->w[cell->bit / 64] >> (cell->bit % 64) & 1;
                cell_settle(cell);
        }
}

static MemoryBits decode(const Memory *memory, const MemoryEffects *effects, MemoryBits got, const MemoryBits *intended,
                         MemoryEccTally *tally) {
        uint64_t before = tally->uncorrected;

        got = memory->rules->decode(got, intended, tally);
        if (memory->rules->repairs && !effects->spent) {
                tally->repairable += tally->uncorrected - before;
                tally->uncorrected = before;
        }
        return got;
}

MemoryBits memory_read(const Memory *memory, const MemoryEffects *effects, MemoryBits stored, const MemoryBits *intended,
                       bool ecc, MemoryEccTally *tally) {
        uint64_t lanes = effects->lanes | (uint64_t) effects->lanes << 32;
        uint64_t values = effects->values | (uint64_t) effects->values << 32;
        MemoryEccTally untold = {};

        for (unsigned word = 0; word < 4; word++)
                stored.w[word] = (stored.w[word] & ~effects->drop.w[word]) ^ effects->flip.w[word];

        if (ecc && !effects->bypass)
                stored = decode(memory, effects, stored, intended, effects->silent ? &untold : tally);

        for (unsigned word = 0; word < 4; word++)
                stored.w[word] = (stored.w[word] & ~lanes) | (values & lanes);
        return stored;
}
