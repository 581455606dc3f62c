/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kinds of fault of a stack, beside those of its cells (sim/memory/cells/faults.c): they sit on the way out.
 *
 * What is dead keeps what was written and reads as zeros, as ones or inverted (`reads`): from a sub-wordline (16 bits of
 * every access of a row) and a bit line (one bit of a column, in the rows that share its sense amplifier) to a die (4
 * channels of one stack ID) and the stack. A stuck lane (DQ) carries `value` in all 8 beats of every read of its pseudo-channel,
 * a data TSV the same for one stack ID alone.
 *
 * Data pass cells, row, bit line, column select, bank, pseudo-channel, channel, die, stack, then on-die ECC, then data TSVs,
 * then lanes: what comes later acts on what came before. ECC's check symbols lie in an array of their own, which these
 * faults do not reach.
 *
 * Two wordlines that touch (wordline-short): what is written to either row is written to both, and what is read of either is
 * the wired AND or OR of both.
 *
 * A stuck address line (address-tsv) leads half of a stack ID's addresses to the places of the other half.
 *
 * And what lies: ECC that is on and corrects nothing (ecc-off), ECC that corrects and counts nothing (ecc-silent), repair that
 * uses up a spare row and mends nothing (repair-fails), reads that are one write late (stale-reads).
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/hbm/repair.h"
#include "sim/memory/cells/faults.h"

typedef struct HbmDead {
        int reads; /* index of dead_words: MemoryArray - 1 */
} HbmDead;

typedef struct HbmAddressTsv {
        int line; /* index of line_words */
        uint64_t value;
} HbmAddressTsv;

static const char *const line_words[] = {
        "row0",  "row1",  "row2",  "row3",  "row4",  "row5", "row6", "row7", "row8", "row9", "row10", "row11", "row12", "row13",
        "row14", "row15", "col0",  "col1",  "col2",  "col3", "col4", "ba0",  "ba1",  "bg0",  "bg1",   NULL,
};

static const struct {
        uint8_t axis, bit;
} lines[] = {
        { HBM_ROW, 0 },     { HBM_ROW, 1 },     { HBM_ROW, 2 },    { HBM_ROW, 3 },    { HBM_ROW, 4 },
        { HBM_ROW, 5 },     { HBM_ROW, 6 },     { HBM_ROW, 7 },    { HBM_ROW, 8 },    { HBM_ROW, 9 },
        { HBM_ROW, 10 },    { HBM_ROW, 11 },    { HBM_ROW, 12 },   { HBM_ROW, 13 },   { HBM_ROW, 14 },
        { HBM_ROW, 15 },    { HBM_COLUMN, 0 },  { HBM_COLUMN, 1 }, { HBM_COLUMN, 2 }, { HBM_COLUMN, 3 },
        { HBM_COLUMN, 4 },  { HBM_BANK, 0 },    { HBM_BANK, 1 },   { HBM_BANK_GROUP, 0 }, { HBM_BANK_GROUP, 1 },
};

static_assert(ELEMENTS(line_words) == ELEMENTS(lines) + 1, "a word for each line");

typedef struct HbmShort {
        int with;  /* index of neighbour_words */
        int reads; /* index of wired_words */
} HbmShort;

static const char *const neighbour_words[] = { "next", "previous", NULL };
static const char *const wired_words[] = { "and", "or", NULL };

static const char *const dead_words[] = { "zeros", "ones", "inverted", NULL };

static const YamlField stuck_fields[] = {
        YAML_UNSIGNED("value", MemoryStuck, value, 0, 1, .required = true, .summary = "what it is stuck at"),
        {},
};

static const YamlField dead_fields[] = {
        YAML_WORD("reads", HbmDead, reads, dead_words, .summary = "zeros (default), ones or inverted"),
        {},
};

static const YamlField address_fields[] = {
        YAML_WORD("line", HbmAddressTsv, line, line_words, .required = true, .summary = "which address bit: rowN, colN, baN or bgN"),
        YAML_UNSIGNED("value", HbmAddressTsv, value, 0, 1, .required = true, .summary = "what it is stuck at"),
        {},
};

static const YamlField short_fields[] = {
        YAML_WORD("with", HbmShort, with, neighbour_words, .summary = "the next row (default) or the previous"),
        YAML_WORD("reads", HbmShort, reads, wired_words, .summary = "and (default) or or of both rows"),
        {},
};

/* The same words name different things, depending on what stands above them. */
static int validate_bit_line(const Fault *fault, const char **ret_wrong) {
        *ret_wrong = "a bit line is …/baN/subN/colN/bitN";
        return location_index(&fault->at, LOCATION_SUBARRAY) < 0 ? -EINVAL : 0;
}

static int validate_column(const Fault *fault, const char **ret_wrong) {
        *ret_wrong = "a column select line is …/baN/colN, one data line of it …/baN/colN/bitN";
        return location_index(&fault->at, LOCATION_ROW) >= 0 || location_index(&fault->at, LOCATION_SUBARRAY) >= 0 ? -EINVAL : 0;
}

static int validate_lane(const Fault *fault, const char **ret_wrong) {
        *ret_wrong = "a data lane is …/pcN/dqN; below a stack ID it is a data TSV";
        return location_index(&fault->at, LOCATION_SID) >= 0 ? -EINVAL : 0;
}

static int validate_data_tsv(const Fault *fault, const char **ret_wrong) {
        *ret_wrong = "a data TSV is …/pcN/sidN/dqN";
        return location_index(&fault->at, LOCATION_SID) < 0 ? -EINVAL : 0;
}

static const char *undetectable_repair(const Fault *fault) {
        return "it shows only where something is repaired, and nothing else is broken";
}

#define PLACES(...) ((const LocationKind[]) { __VA_ARGS__, _LOCATION_KIND_INVALID })
#define PERSISTENCE (PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT | PERSISTENCE_TRANSIENT)
#define TRIGGERS    (TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY)

#define KIND(parameter_type, fields, ...)                                                                    \
        .family = FAMILY_MEMORY, .at = PLACES(__VA_ARGS__), .persistence = PERSISTENCE, .triggers = TRIGGERS, \
        .parameters_bytes = sizeof(parameter_type), .parameters = fields
#define DEAD(...)  KIND(HbmDead, dead_fields, __VA_ARGS__)
#define STUCK(...) KIND(MemoryStuck, stuck_fields, __VA_ARGS__)

/* Either row may be found to be tied to the other. */
static void diagnose_short(const Fault *fault, Diagnosis *diagnosis) {
        const HbmShort *between = fault->parameters;
        unsigned row = (unsigned) location_index(&fault->at, LOCATION_ROW);
        Location *partner = &diagnosis->places[diagnosis->n_places];

        *partner = fault->at;
        if (location_truncate(partner, LOCATION_BANK) >= 0 &&
            location_append(partner, LOCATION_ROW, between->with == 1 ? row - 1 : row + 1) >= 0)
                diagnosis->n_places++;
}

/* In the order in which data meet them; then what is no way of data. */
typedef enum HbmKind {
        KIND_ROW_DEAD,
        KIND_SUB_WORDLINE,
        KIND_BIT_LINE,
        KIND_COLUMN_SELECT,
        KIND_BANK_DEAD,
        KIND_PSEUDO_CHANNEL_DEAD,
        KIND_CHANNEL_DEAD,
        KIND_DIE_DEAD,
        KIND_STACK_DEAD,
        KIND_DATA_TSV,
        KIND_LANE_STUCK,
        KIND_WORDLINE_SHORT,
        KIND_ADDRESS_TSV,
        KIND_ECC_OFF,
        KIND_ECC_SILENT,
        KIND_STALE_READS,
        KIND_REPAIR_FAILS,
        _HBM_KIND_MAX,
} HbmKind;

#define LIE(...)                                                                                             \
        .family = FAMILY_MEMORY, .at = PLACES(__VA_ARGS__), .persistence = PERSISTENCE, .triggers = TRIGGERS

const FaultKind hbm_fault_kinds[_HBM_KIND_MAX + 1] = {
        [KIND_ROW_DEAD] = { .name = "row-dead", .summary = "a row of a bank does not give back what it holds", DEAD(LOCATION_ROW),
                .codes = FAULT_CODES("hbm-row") },
        [KIND_SUB_WORDLINE] = { .name = "sub-wordline", .summary = "16 bits of every access of a row do not give back what they hold",
                DEAD(LOCATION_SUB_WORDLINE), .codes = FAULT_CODES("hbm-sub-wordline") },
        [KIND_BIT_LINE] = { .name = "bit-line", .summary = "one bit of a column is wrong in all rows of a subarray", DEAD(LOCATION_BIT),
                .validate = validate_bit_line, .codes = FAULT_CODES("hbm-bit-line") },
        [KIND_COLUMN_SELECT] = { .name = "column-select", .summary = "a column, or one bit of it, is wrong in all rows of a bank",
                DEAD(LOCATION_COLUMN, LOCATION_BIT), .validate = validate_column, .codes = FAULT_CODES("hbm-column") },
        [KIND_BANK_DEAD] = { .name = "bank-dead", .summary = "a bank does not give back what it holds", DEAD(LOCATION_BANK),
                .codes = FAULT_CODES("hbm-bank") },
        [KIND_PSEUDO_CHANNEL_DEAD] = { .name = "pseudo-channel-dead", .summary = "a pseudo-channel does not give back what it holds",
                DEAD(LOCATION_PSEUDO_CHANNEL), .codes = FAULT_CODES("hbm-pseudo-channel") },
        [KIND_CHANNEL_DEAD] = { .name = "channel-dead", .summary = "a channel does not give back what it holds", DEAD(LOCATION_CHANNEL),
                .codes = FAULT_CODES("hbm-channel") },
        [KIND_DIE_DEAD] = { .name = "die-dead", .summary = "a die, four channels of one stack ID, does not give back what it holds",
                DEAD(LOCATION_DIE), .codes = FAULT_CODES("hbm-die") },
        [KIND_STACK_DEAD] = { .name = "stack-dead", .summary = "a whole stack does not give back what it holds", DEAD(LOCATION_HBM),
                .codes = FAULT_CODES("hbm-stack") },
        [KIND_DATA_TSV] = { .name = "data-tsv", .summary = "a data lane carries one value in reads of one stack ID", STUCK(LOCATION_DQ),
                .validate = validate_data_tsv, .codes = FAULT_CODES("hbm-data-tsv") },
        [KIND_LANE_STUCK] = { .name = "lane-stuck", .summary = "a data lane of a pseudo-channel carries one value", STUCK(LOCATION_DQ),
                .validate = validate_lane, .codes = FAULT_CODES("hbm-lane") },
        [KIND_WORDLINE_SHORT] = { .name = "wordline-short", .summary = "a row and its neighbour are opened together",
                KIND(HbmShort, short_fields, LOCATION_ROW), .codes = FAULT_CODES("hbm-wordline-short"),
                .diagnose = diagnose_short },
        [KIND_ADDRESS_TSV] = { .name = "address-tsv", .summary = "an address line into one stack ID carries one value",
                KIND(HbmAddressTsv, address_fields, LOCATION_SID), .codes = FAULT_CODES("hbm-address-tsv") },
        [KIND_ECC_OFF] = { .name = "ecc-off", .summary = "on-die ECC that is on corrects and counts nothing", LIE(LOCATION_HBM),
                .codes = FAULT_CODES("hbm-ecc") },
        [KIND_ECC_SILENT] = { .name = "ecc-silent", .summary = "on-die ECC counts nothing of what it does", LIE(LOCATION_HBM),
                .codes = FAULT_CODES("hbm-ecc") },
        [KIND_STALE_READS] = { .name = "stale-reads", .summary = "reads give what was there before the last write",
                .family = FAMILY_MEMORY, .at = PLACES(LOCATION_BANK, LOCATION_PSEUDO_CHANNEL, LOCATION_HBM),
                .persistence = PERSISTENCE_PERMANENT, .codes = FAULT_CODES("hbm-stale") },
        [KIND_REPAIR_FAILS] = { .name = "repair-fails", .summary = "a repair uses up a spare row and mends nothing",
                .family = FAMILY_MEMORY, .at = PLACES(LOCATION_ROW, LOCATION_BANK, LOCATION_HBM),
                .persistence = PERSISTENCE_PERMANENT, .codes = FAULT_CODES("hbm-repair-failed"),
                .undetectable = undetectable_repair },
        {},
};

/* ---- lines ---- */

static MemoryEffects effects_of(const Fault *fault) {
        const MemoryStuck *stuck = fault->parameters;
        const HbmDead *dead = fault->parameters;
        int dq = location_index(&fault->at, LOCATION_DQ);
        MemoryBits bits;

        switch (fault->kind - hbm_fault_kinds) {
        case KIND_DATA_TSV:
        case KIND_LANE_STUCK:
                return (MemoryEffects) { .lanes = UINT32_C(1) << dq, .values = (uint32_t) stuck->value << dq };
        case KIND_ECC_OFF:
                return (MemoryEffects) { .bypass = true };
        case KIND_ECC_SILENT:
                return (MemoryEffects) { .silent = true };
        case KIND_STALE_READS:
                return (MemoryEffects) { .stale = true };
        default:
                bits = hbm_place_bits(&fault->at);
                return memory_effects_array((MemoryArray) (dead->reads + 1), &bits);
        }
}

static int inject_line(Hbm *hbm, const Fault *fault) {
        MemoryLine line = { .fault = fault, .rank = (uint8_t) (fault->kind - hbm_fault_kinds), .effects = effects_of(fault) };
        int r;

        r = hbm_place_box(&hbm->memory.shape, &fault->at, &line.box, line.tile);
        if (r < 0)
                return r;
        if (line.effects.stale) {
                r = memory_past_begin(&hbm->memory, fault, &line.box);
                if (r < 0)
                        return r;
        }

        line.linear = memory_shape_linear(&hbm->memory.shape, line.box.first);
        r = memory_units_add_line(&hbm->memory.units, &line);
        if (r < 0)
                memory_past_end(&hbm->memory, fault);
        return r;
}

static int inject_disturb(Hbm *hbm, const Fault *fault) {
        WireBox box;
        int r;

        r = hbm_box_of(&hbm->memory.shape, &fault->at, &box);
        if (r < 0)
                return r;
        if (memory_box_volume(&box) != 1)
                return -EINVAL; /* a column or a subarray is no access */
        return hbm_disturb_inject(hbm, fault, &box);
}

/* -EINVAL: at the end of its bank a row has but one neighbour. */
static int inject_short(Hbm *hbm, const Fault *fault) {
        const HbmShort *between = fault->parameters;
        const MemoryShape *shape = &hbm->memory.shape;
        MemoryDecoder decoder = { .fault = fault, .class = DECODER_SHORT, .n = shape->size[HBM_COLUMN],
                                  .wired_or = between->reads == 1 };
        bool previous = between->with == 1;
        WireBox box;
        int r;

        r = hbm_box_of(shape, &fault->at, &box);
        if (r < 0)
                return r;
        if (box.first[HBM_ROW] == (previous ? 0 : shape->size[HBM_ROW] - 1))
                return -EINVAL;

        decoder.x = memory_shape_linear(shape, box.first);
        decoder.y = previous ? decoder.x - decoder.n : decoder.x + decoder.n;
        return memory_traps_add_decoder(&hbm->memory.traps, &decoder);
}

/* Of an axis that the bit does not part in pairs some addresses would lead nowhere: refused. */
static int inject_detour(Hbm *hbm, const Fault *fault) {
        const HbmAddressTsv *tsv = fault->parameters;
        MemoryDetour detour = {
                .fault = fault,
                .axis  = (MemoryAxis) lines[tsv->line].axis,
                .bit   = lines[tsv->line].bit,
                .value = tsv->value,
        };
        int r;

        if (hbm->memory.shape.size[detour.axis] % (2u << detour.bit) != 0)
                return -EINVAL;
        r = hbm_box_of(&hbm->memory.shape, &fault->at, &detour.box);
        return r < 0 ? r : memory_detours_add(&hbm->memory.detours, &detour);
}

int hbm_inject(void *state, const Fault *fault) {
        Hbm *hbm = state;

        if (memory_fault_is_of_cells(fault))
                return memory_inject_cell(&hbm->memory, fault);
        if (fault->kind == &hbm_fault_kinds[KIND_REPAIR_FAILS])
                return hbm_repair_inject(hbm, fault);
        if (fault->kind == &hbm_fault_kinds[KIND_WORDLINE_SHORT])
                return inject_short(hbm, fault);
        if (fault->kind == &hbm_fault_kinds[KIND_ADDRESS_TSV])
                return inject_detour(hbm, fault);
        if (fault->kind >= hbm_fault_kinds && fault->kind < hbm_fault_kinds + _HBM_KIND_MAX)
                return inject_line(hbm, fault);
        if (fault->kind == hbm_address_kinds)
                return hbm_address_inject(hbm, fault);
        if (hbm_disturb_has(fault->kind))
                return inject_disturb(hbm, fault);
        return memory_inject_comparator(&hbm->memory, fault);
}

void hbm_heal(void *state, const Fault *fault) {
        Hbm *hbm = state;

        if (hbm->map_fault == fault)
                hbm->map_fault = NULL;
        hbm_repair_heal(hbm, fault);
        hbm_disturb_heal(hbm, fault);
        memory_heal(&hbm->memory, fault);
}
