/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/cells/faults.h"

#include <errno.h>
#include <string.h>

int memory_inject_comparator(Memory *memory, const Fault *fault) {
        if (memory->comparator)
                return -EEXIST;
        memory->comparator = fault;
        return 0;
}

static void remove_lines(Memory *memory, const Fault *fault, const WireBox *box) {
        MemoryUnits *units = &memory->units;
        size_t n = 0;

        for (size_t i = 0; i < units->n_lines; i++)
                if (fault ? units->lines[i].fault != fault : memcmp(&units->lines[i].box, box, sizeof(*box)) != 0)
                        units->lines[n++] = units->lines[i];
        units->dirty |= n < units->n_lines;
        units->n_lines = n;
}

void memory_heal(Memory *memory, const Fault *fault) {
        if (memory->comparator == fault)
                memory->comparator = NULL;
        memory_detours_remove(&memory->detours, fault);
        memory_past_end(memory, fault);
        memory_traps_remove(&memory->traps, fault, 0, 0);
        remove_lines(memory, fault, &(WireBox) {});
}

/* The cells of the old row are gone, and with them what they held. */
void memory_faults_leave(Memory *memory, const WireBox *row) {
        MemorySpots *spots = &memory->spots;
        uint32_t first = memory_shape_linear(&memory->shape, row->first),
                 last = memory_shape_linear(&memory->shape, row->last);
        size_t n = 0;

        memory_traps_remove(&memory->traps, NULL, first, last);
        remove_lines(memory, NULL, row);

        for (size_t i = 0; i < spots->n_cells; i++)
                if (spots->cells[i].linear < first || spots->cells[i].linear > last)
                        spots->cells[n++] = spots->cells[i];
        spots->n_cells = n;
        for (size_t i = 0; i < spots->n_spots; i++)
                if (spots->spots[i].linear >= first && spots->spots[i].linear <= last) {
                        spots->spots[i].held = spots->spots[i].behind = false;
                        spots->spots[i].wrong = (MemoryBits) {};
                }
        memory->traps.dirty = true;
}
