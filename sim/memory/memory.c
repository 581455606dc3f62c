/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/memory.h"

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
        memory_content_done(&memory->content);
        memory_spots_done(&memory->spots);
        memory_units_done(&memory->units);
        free(memory->records.records);
        memory->records = (MemoryRecords) {};
}

int memory_prepare(Memory *memory, const Execution *execution) {
        MemorySpots *spots = &memory->spots;
        MemoryUnits *units = &memory->units;
        int r;

        if (spots->dirty || units->dirty) {
                r = memory_spots_link(spots, &memory->shape);
                if (r < 0)
                        return r;
                r = memory_units_link(units, &memory->shape);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < spots->n_spots; i++)
                        spots->spots[i].unit = memory_units_at(units, &memory->shape, spots->spots[i].at);
                memory_spots_sweep(spots);
        }

        memory_units_ask(units, execution);
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
