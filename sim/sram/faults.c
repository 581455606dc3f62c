/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kinds of fault of the arrays of a core, beside those of their cells (sim/memory/cells/faults.c). What is dead keeps what was
 * written and reads as zeros, as ones or inverted (`reads`): a row of a partition, a bit line (one bit of all rows of a
 * partition), a partition, all of the SBUF or of a PSUM bank. Data pass them in this order, what comes later acts on what came
 * before, and the array's code comes last. A silent code does its work and tells nobody; one that is off lets all pass.
 */

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/cells/faults.h"
#include "sim/sram/psum.h"

typedef struct SramDead {
        int reads; /* index of dead_words: MemoryArray - 1 */
} SramDead;

static const char *const dead_words[] = { "zeros", "ones", "inverted", NULL };

static const YamlField dead_fields[] = {
        YAML_WORD("reads", SramDead, reads, dead_words, .summary = "zeros (default), ones or inverted"),
        {},
};

static int validate_column(const Fault *fault, const char **ret_wrong) {
        *ret_wrong = "a bit line is …/sbuf/partN/bitN or …/psumN/partN/bitN";
        return location_index(&fault->at, LOCATION_SRAM_ROW) >= 0 ? -EINVAL : 0;
}

#define PLACES(...) ((const LocationKind[]) { __VA_ARGS__, _LOCATION_KIND_INVALID })
#define COMMON(...)                                                                                          \
        .family = FAMILY_MEMORY, .at = PLACES(__VA_ARGS__), .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY, \
        .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT | PERSISTENCE_TRANSIENT
#define DEAD(...) COMMON(__VA_ARGS__), .parameters_bytes = sizeof(SramDead), .parameters = dead_fields

enum { KIND_ROW, KIND_COLUMN, KIND_PARTITION, KIND_ARRAY, KIND_SILENT, KIND_OFF, KINDS };

const FaultKind sram_fault_kinds[KINDS + 1] = {
        [KIND_ROW] = { .name = "sram-row-dead", .summary = "a row of a partition does not give back what it holds",
                       DEAD(LOCATION_SRAM_ROW), .codes = FAULT_CODES("sram-row") },
        [KIND_COLUMN] = { .name = "sram-column", .summary = "one bit is wrong in all rows of a partition",
                          DEAD(LOCATION_SRAM_BIT), .validate = validate_column, .codes = FAULT_CODES("sram-column") },
        [KIND_PARTITION] = { .name = "sram-partition-dead",
                             .summary = "a partition of the SBUF or of a PSUM bank does not give back what it holds",
                             DEAD(LOCATION_SBUF_PARTITION, LOCATION_PSUM_PARTITION), .codes = FAULT_CODES("sram-partition") },
        [KIND_ARRAY] = { .name = "sram-array-dead", .summary = "the SBUF or a PSUM bank does not give back what it holds",
                         DEAD(LOCATION_SBUF, LOCATION_PSUM), .codes = FAULT_CODES("sram-array") },
        [KIND_SILENT] = { .name = "sram-ecc-silent", .summary = "parity or SECDED of the SBUF or of a PSUM bank reports nothing",
                          COMMON(LOCATION_SBUF, LOCATION_PSUM), .codes = FAULT_CODES("sram-ecc") },
        [KIND_OFF] = { .name = "sram-ecc-off", .summary = "parity or SECDED of the SBUF or of a PSUM bank does nothing",
                       COMMON(LOCATION_SBUF, LOCATION_PSUM), .codes = FAULT_CODES("sram-ecc") },
        {},
};

/* ---- places ---- */

static WireArray array_of(const Location *at) {
        return location_index(at, LOCATION_PSUM) >= 0 ? ARRAY_PSUM : ARRAY_SBUF;
}

/* The box that AT names, whole along every axis it does not, and its tile. -EINVAL: not in this geometry. */
static int box_of(const MemoryShape *shape, const Location *at, WireBox *ret, uint16_t tile[static _MEMORY_AXIS_MAX]) {
        static const MemoryPlaceAxis axes[] = {
                { LOCATION_SBUF_PARTITION, SRAM_PARTITION },
                { LOCATION_PSUM_PARTITION, SRAM_PARTITION },
                { LOCATION_PSUM,           SRAM_BANK      },
                { LOCATION_SRAM_ROW,       SRAM_ROW       },
        };

        return memory_box_named(shape, at, axes, ELEMENTS(axes), ret, tile);
}

int sram_box_of(const MemoryShape *shape, const Location *at, WireBox *ret) {
        uint16_t tile[_MEMORY_AXIS_MAX];

        return box_of(shape, at, ret, tile);
}

/* The bits of every access of its box that AT names. */
static MemoryBits bits_of(const Location *at) {
        int bit = location_index(at, LOCATION_SRAM_BIT);
        MemoryBits bits = {};

        if (bit >= 0)
                bits.w[bit / 64] = UINT64_C(1) << (bit % 64);
        else
                memset(&bits, 0xff, sizeof(bits));
        return bits;
}

/* ---- faults ---- */

static int inject_line(Memory *memory, const Fault *fault) {
        MemoryLine line = { .fault = fault, .rank = (uint8_t) (fault->kind - sram_fault_kinds) };
        const SramDead *dead = fault->parameters;
        MemoryBits bits = bits_of(&fault->at);
        int r;

        r = box_of(&memory->shape, &fault->at, &line.box, line.tile);
        if (r < 0)
                return r;

        line.linear = memory_shape_linear(&memory->shape, line.box.first);
        if (line.rank == KIND_SILENT)
                line.effects.silent = true;
        else if (line.rank == KIND_OFF)
                line.effects.bypass = true;
        else
                line.effects = memory_effects_array((MemoryArray) (dead->reads + 1), &bits);
        return memory_units_add_line(&memory->units, &line);
}

/* The engine that compares is the core's, for both arrays. */
static int inject_comparator(Sram *sram, const Fault *fault) {
        int r;

        for (unsigned array = 0; array < _ARRAY_MAX; array++) {
                r = memory_inject_comparator(&sram->arrays[array], fault);
                if (r < 0)
                        return r; /* both have one, or none */
        }

        return 0;
}

int sram_inject(void *state, const Fault *fault) {
        Sram *sram = state;
        Memory *memory = &sram->arrays[array_of(&fault->at)];
        int r;

        if (memory_fault_is_of_cells(fault)) {
                r = memory_inject_cell(memory, fault);
                if (r < 0 || memory != &sram->arrays[ARRAY_PSUM])
                        return r;
                r = sram_psum_settle(sram);
                if (r < 0)
                        memory_heal(memory, fault);
                return r;
        }
        if (fault->kind >= sram_fault_kinds && fault->kind < sram_fault_kinds + KINDS)
                return inject_line(memory, fault);
        return inject_comparator(sram, fault);
}

void sram_heal(void *state, const Fault *fault) {
        Sram *sram = state;

        for (unsigned array = 0; array < _ARRAY_MAX; array++)
                memory_heal(&sram->arrays[array], fault);
}
