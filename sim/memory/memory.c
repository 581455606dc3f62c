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
        memory_overlay_done(&memory->overlay);
        free(memory->records.records);
        memory->records = (MemoryRecords) {};
}

void memory_count(const Memory *memory, const MemoryEccTally *tally) {
        if (tally->corrected > 0)
                chip_count(memory->chip, memory->rules->corrected, memory->index, tally->corrected);
        if (tally->uncorrected > 0)
                chip_count(memory->chip, memory->rules->uncorrected, memory->index, tally->uncorrected);
}
