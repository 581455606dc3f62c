/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/cells/cells.h"

#include <stdlib.h>

int memory_init(Memory *memory, const MemoryRules *rules, Chip *chip, unsigned index, const char *geometry, uint64_t seed) {
        int r;

        memory->chip = chip;
        memory->index = index;
        memory->rules = rules;
        r = memory_shape_parse(geometry, &memory->shape);
        if (r < 0)
                return r;

        return memory_content_init(&memory->content, &memory->shape, seed);
}

void memory_done(Memory *memory) {
        memory_agreements_done(&memory->agreements);
        memory_content_done(&memory->content);
        memory_detours_done(&memory->detours);
        memory_past_done(&memory->past);
        memory_traps_done(&memory->traps);
        memory_spots_done(&memory->spots);
        memory_units_done(&memory->units);
        free(memory->records.records);
        memory->records = (MemoryRecords) {};
}

static int link_all(Memory *memory) {
        MemorySpots *spots = &memory->spots;
        MemoryUnits *units = &memory->units;
        int r;

        if (memory->traps.dirty) {
                r = memory_spots_link(spots, &memory->traps, &memory->shape, &memory->content);
                if (r < 0)
                        return r;
        }

        r = memory_units_link(units, &memory->shape);
        if (r < 0)
                return r;
        for (size_t i = 0; i < spots->n_spots; i++)
                spots->spots[i].unit = memory_units_at(units, &memory->shape, spots->spots[i].at);
        return 0;
}

int memory_prepare(Memory *memory, const Execution *execution) {
        int r;

        if (memory->traps.dirty || memory->units.dirty) {
                r = link_all(memory);
                if (r < 0)
                        return r;
        }

        r = memory_past_reserve(memory);
        if (r < 0)
                return r;
        if (execution)
                memory_cells_wake(memory, execution);
        memory_detours_ask(&memory->detours, execution);
        memory_units_ask(&memory->units, execution);
        return 0;
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

bool memory_is_sound(const Memory *memory) {
        return memory->detours.n_detours == 0 && memory->traps.n_traps == 0 && memory->traps.n_decoders == 0 && memory->units.n_lines == 0 &&
               !memory->comparator;
}

/* A spot that no operation has touched says 0, so the first is 2: not the one behind it. */
uint64_t memory_serial_next(Memory *memory, uint64_t n) {
        uint64_t first = memory->serial + 2;

        if (memory->spots.n_pairs == 0)
                return 0;
        memory->serial += n;
        return first;
}

MemoryBits memory_plain_bits(const Memory *memory, const MemoryContent *content, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        MemoryBits bits = memory_pattern_bits(memory_content_find(content, at), memory_shape_linear(&memory->shape, at),
                                              at[HBM_ROW]);

        if (memory->guest.find)
                (void) memory->guest.find(memory->guest.userdata, memory, at, &bits);
        return bits;
}

/* A new spot holds what the guest left there. */
static void take_from_guest(Memory *memory, MemorySpot *spot) {
        MemoryBits bits;

        if (!memory->guest.find)
                return;
        bits = memory_spots_content(spot, &memory->content);
        if (!memory->guest.find(memory->guest.userdata, memory, spot->at, &bits))
                return;
        spot->data = bits;
        spot->held = true;
}

int memory_spot_at(Memory *memory, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX], MemorySpot **ret) {
        MemorySpot *spot = memory_spots_find(&memory->spots, linear);
        size_t first;
        int r;

        if (!spot) {
                r = memory_spots_add(&memory->spots, linear, at, memory_units_at(&memory->units, &memory->shape, at), &spot);
                if (r < 0)
                        return r;
                r = memory_past_reserve(memory);
                if (r < 0)
                        return r;
                spot->heard = memory_spots_opens_of(&memory->spots, memory_spots_line(&memory->shape, linear), &first) > 0;
                take_from_guest(memory, spot);
        }

        *ret = spot;
        return 0;
}

WireStatus memory_count(const Memory *memory, const MemoryEccTally *tally) {
        if (tally->corrected > 0)
                chip_count(memory->chip, memory->rules->corrected, memory->index, tally->corrected);
        if (tally->uncorrected > 0)
                chip_count(memory->chip, memory->rules->uncorrected, memory->index, tally->uncorrected);
        if (tally->repairable > 0)
                chip_count(memory->chip, memory->rules->repairable, memory->index, tally->repairable);
        if (tally->uncorrected > 0)
                return memory->rules->uncorrected_status;
        return tally->repairable > 0 ? memory->rules->repairable_status : STATUS_NRT_SUCCESS;
}
