/* SPDX-License-Identifier: Apache-2.0 */

/*
 * stuck-at sits in a cell: whatever is written, the cell holds `value`. comparator-blind is of the march engine: reads
 * that want what it `misses` are never reported. While an intermittent fault does not act, cells keep what they were
 * forced to.
 */

#include "sim/memory/faults.h"

#include <errno.h>
#include <string.h>

typedef struct MemoryBlind {
        int misses; /* index of blind_words */
} MemoryBlind;

static const char *const blind_words[] = { "zeros", "ones", "both", NULL };

static const YamlField stuck_fields[] = {
        YAML_UNSIGNED("value", MemoryStuck, value, 0, 1, .required = true, .summary = "what it is stuck at"),
        {},
};

static const YamlField blind_fields[] = {
        YAML_WORD("misses", MemoryBlind, misses, blind_words, .required = true, .summary = "reads that want zeros, ones, or both"),
        {},
};

#define PLACES(...) ((const LocationKind[]) { __VA_ARGS__, _LOCATION_KIND_INVALID })
#define PERSISTENCE (PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT)
#define TRIGGERS    (TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY)

const FaultKind memory_fault_kinds[] = {
        {
                .name             = "stuck-at",
                .summary          = "a memory cell holds one value whatever is written",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_BIT, LOCATION_SRAM_BIT),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGERS,
                .parameters_bytes = sizeof(MemoryStuck),
                .parameters       = stuck_fields,
        },
        {
                .name             = "comparator-blind",
                .summary          = "the march engine of a stack or core does not report mismatches",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_HBM, LOCATION_CORE),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGERS,
                .parameters_bytes = sizeof(MemoryBlind),
                .parameters       = blind_fields,
                .codes            = FAULT_CODES("hbm-comparator"),
        },
        {},
};

int memory_inject_cell(Memory *memory, const Fault *fault, const WireBox *box, unsigned bit) {
        uint32_t linear = memory_shape_linear(&memory->shape, box->first);
        const MemorySpot *spot = memory_spots_find(&memory->spots, linear);
        const MemoryStuck *stuck = fault->parameters;
        MemoryCell cell = { .fault = fault, .linear = linear, .bit = (uint8_t) bit, .stuck = stuck->value != 0 };
        MemoryBits bits;

        if (spot && spot->held)
                bits = spot->data;
        else
                bits = memory_pattern_bits(memory_content_find(&memory->content, box->first), linear,
                                        box->first[HBM_ROW]);
        cell.value = bits.w[bit / 64] >> (bit % 64) & 1;

        return memory_spots_add_cell(&memory->spots, &cell);
}

int memory_inject_comparator(Memory *memory, const Fault *fault) {
        if (memory->comparator)
                return -EEXIST;
        memory->comparator = fault;
        return 0;
}

bool memory_comparator_is_blind(const Memory *memory, unsigned data) {
        const MemoryBlind *blind = memory->comparator->parameters;

        return blind->misses == 2 || blind->misses == (int) data;
}

/* A cell that is well again still holds what it held: from now on as explicit data. */
static void keep_value(Memory *memory, const MemoryCell *cell) {
        MemorySpot *spot = memory_spots_find(&memory->spots, cell->linear);
        uint64_t mask = UINT64_C(1) << (cell->bit % 64);
        MemoryBits intended;

        if (!spot)
                return;

        (void) memory_spot_stored(memory, spot, &intended);
        spot->data = intended;
        spot->held = true;
        spot->data.w[cell->bit / 64] &= ~mask;
        if (cell->value)
                spot->data.w[cell->bit / 64] |= mask;
}

void memory_heal(Memory *memory, const Fault *fault) {
        MemorySpots *spots = &memory->spots;
        MemoryUnits *units = &memory->units;
        size_t n = 0;

        if (memory->comparator == fault)
                memory->comparator = NULL;

        /* Links what was injected since the last command; without memory for that, values are not kept. */
        (void) memory_prepare(memory, NULL);

        for (size_t i = 0; i < spots->n_cells; i++) {
                if (spots->cells[i].fault == fault)
                        keep_value(memory, &spots->cells[i]);
                else
                        spots->cells[n++] = spots->cells[i];
        }
        spots->n_cells = n;

        n = 0;
        for (size_t i = 0; i < units->n_lines; i++)
                if (units->lines[i].fault != fault)
                        units->lines[n++] = units->lines[i];
        units->n_lines = n;
        spots->dirty = units->dirty = true;
}

void memory_faults_leave(Memory *memory, const WireBox *row) {
        MemorySpots *spots = &memory->spots;
        MemoryUnits *units = &memory->units;
        uint32_t first = memory_shape_linear(&memory->shape, row->first),
                 last = memory_shape_linear(&memory->shape, row->last);
        size_t n = 0;

        for (size_t i = 0; i < spots->n_cells; i++)
                if (spots->cells[i].linear < first || spots->cells[i].linear > last)
                        spots->cells[n++] = spots->cells[i];
        spots->n_cells = n;

        n = 0;
        for (size_t i = 0; i < units->n_lines; i++)
                if (memcmp(&units->lines[i].box, row, sizeof(*row)) != 0)
                        units->lines[n++] = units->lines[i];
        units->n_lines = n;

        for (size_t i = 0; i < spots->n_spots; i++)
                if (spots->spots[i].linear >= first && spots->spots[i].linear <= last)
                        spots->spots[i].held = false;
        spots->dirty = units->dirty = true;
}
