/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Data in and out of a stack. What is copied in stays with its accesses (spots) until something writes over it.
 */

#include <string.h>

#include "sim/memory/cells/cells.h"

/* Accesses to copy; 0 where the command is wrong. ROOM is of the data. */
static uint64_t copy_accesses(const Memory *memory, const WireCopy *copy, uint64_t room) {
        uint64_t accesses;

        if (!memory_box_is_valid(&memory->shape, &copy->box) || copy->ecc > 1 || copy->plant > 1)
                return 0;

        accesses = memory_box_volume(&copy->box);
        return accesses <= room / MEMORY_ACCESS_BYTES ? accesses : 0;
}

static void copy_complete(const Memory *memory, Execution *execution, uint64_t accesses, const MemoryEccTally *tally, bool out) {
        uint64_t bytes = accesses * MEMORY_ACCESS_BYTES;

        execution->completion->status = memory_count(memory, tally);
        execution->completion->out_bytes = out ? (uint32_t) bytes : 0;
        execution->completion->device_nsec = (bytes + memory->rules->bytes_per_nsec - 1) / memory->rules->bytes_per_nsec;
}

int memory_copy_in(Memory *memory, Execution *execution) {
        const WireBox *box = &execution->command->copy.box;
        uint64_t accesses = copy_accesses(memory, &execution->command->copy, execution->command->in_bytes);
        uint16_t at[_MEMORY_AXIS_MAX];
        uint64_t serial;
        int r;

        if (accesses == 0 || execution->command->in_bytes != accesses * MEMORY_ACCESS_BYTES) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        r = memory_prepare(memory, execution);
        if (r < 0)
                return r;

        serial = memory_serial_next(memory, accesses);
        memory_walk_first(box, false, at);
        for (uint64_t i = 0; i < accesses; i++) {
                uint16_t place[_MEMORY_AXIS_MAX];
                MemorySpot *spot;
                MemoryBits bits;

                memcpy(place, at, sizeof(place));
                memory_detours_lead(&memory->detours, place);
                r = memory_spot_at(memory, memory_shape_linear(&memory->shape, place), place, &spot);
                if (r < 0)
                        return r;
                memcpy(&bits, execution->in + i * MEMORY_ACCESS_BYTES, sizeof(bits));
                (execution->command->copy.plant ? memory_access_plant : memory_access_write)(memory, spot, &bits,
                                                                                             serial > 0 ? serial + i : 0);
                (void) memory_walk_next(box, MEMORY_ORDER_COLUMN_FAST, false, at);
        }

        copy_complete(memory, execution, accesses, &(MemoryEccTally) {}, false);
        return 0;
}

static MemoryBits read_access(Memory *memory, const MemoryVisit *visit, const uint16_t address[static _MEMORY_AXIS_MAX],
                              uint64_t serial, bool ecc, MemoryEccTally *tally) {
        MemoryEffects effects = {};
        MemoryBits intended, stored;
        uint16_t at[_MEMORY_AXIS_MAX];
        MemorySpot *spot;
        uint32_t linear;
        int32_t unit;

        memcpy(at, address, sizeof(at));
        memory_detours_lead(&memory->detours, at);
        linear = memory_shape_linear(&memory->shape, at);
        spot = memory_spots_find(&memory->spots, linear);
        unit = spot ? spot->unit : memory_units_at(&memory->units, &memory->shape, at);
        if (unit >= 0)
                effects = memory->units.units[unit].effects;

        if (spot) {
                memory_access_begin(memory, visit, spot);
                stored = memory_access_read(memory, spot, serial, &intended);
        } else
                stored = intended = memory_plain_bits(memory, effects.stale ? &memory->past.layers : &memory->content, at);

        return memory_read(memory, &effects, stored, &intended, ecc, tally);
}

int memory_copy_out(Memory *memory, Execution *execution) {
        const WireCopy *copy = &execution->command->copy;
        uint64_t accesses = copy_accesses(memory, copy, execution->command->out_bytes), serial;
        MemoryVisit visit = { .box = &copy->box, .ops = (const uint8_t[]) { 0 }, .n_ops = 1 };
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryEccTally tally = {};
        int r;

        if (accesses == 0) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        r = memory_prepare(memory, execution);
        if (r < 0)
                return r;

        serial = memory_serial_next(memory, accesses);
        memory_walk_first(&copy->box, false, at);
        for (uint64_t i = 0; i < accesses; i++) {
                MemoryBits bits = read_access(memory, &visit, at, serial > 0 ? serial + i : 0, copy->ecc, &tally);

                memcpy(execution->out + i * MEMORY_ACCESS_BYTES, &bits, sizeof(bits));
                (void) memory_walk_next(&copy->box, MEMORY_ORDER_COLUMN_FAST, false, at);
        }

        memory_access_end(memory, &visit);
        copy_complete(memory, execution, accesses, &tally, true);
        return 0;
}
