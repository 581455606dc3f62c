/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kinds of fault of cells and their parameters as text. What they mean stands in sim/memory/structures/primitive.h, and for the
 * others where they are laid (sim/memory/cells/lay.c). comparator-blind is of the march engine: reads that want what it `misses` are
 * never reported. While a fault does not act, cells keep what it made of them.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/cells/faults.h"
#include "sim/memory/cells/location-end.h"
#include "sim/memory/cells/sample.h"

const char *const memory_together_words[] = { "scenario", "fault", "write", NULL };

static const char *const blind_words[] = { "zeros", "ones", "both", NULL };
static const char *const class_words[] = { "a", "b", "c", "d", NULL };
static const char *const reads_words[] = { "default", "zeros", "ones", "and", "or", NULL };
static const char *const floats_words[] = { "zeros", "ones", NULL };
static const char *const type_words[] = { "static", "passive", "active", NULL };

/* ---- primitives ---- */

static bool class_has(const PrimitiveClass *class, const char *text) {
        for (size_t i = 0; class->primitives[i]; i++)
                if (strcmp(class->primitives[i], text) == 0)
                        return true;
        return false;
}

/* Whether a class of KIND (NULL: that is in NAMES) has the primitive. */
static bool is_of(const Primitive *primitive, const char *kind, const char *const names[]) {
        char text[PRIMITIVE_TEXT_MAX];
        const PrimitiveClass *class;

        (void) primitive_format(primitive, text);
        for (size_t i = 0; (class = primitive_class_at(i)); i++) {
                bool named = kind && strcmp(class->kind, kind) == 0;

                for (size_t k = 0; names && names[k]; k++)
                        named |= strcmp(class->name, names[k]) == 0;
                if (named && class_has(class, text))
                        return true;
        }
        return false;
}

static int refuse_primitive(Yaml *yaml, yaml_node_t *node, const char *kind) {
        const PrimitiveClass *class;
        char list[320] = "";
        size_t n = 0;

        for (size_t i = 0; (class = primitive_class_at(i)); i++)
                for (size_t k = 0; strcmp(class->kind, kind) == 0 && class->primitives[k] && n < sizeof(list) - 32; k++)
                        n += (size_t) snprintf(list + n, sizeof(list) - n, "%s%s", n > 0 ? " " : "", class->primitives[k]);
        return yaml_refuse(yaml, node, 0, "no primitive of %s, expected one of %s", kind, list);
}

static int parse_primitive(Yaml *yaml, yaml_node_t *node, Primitive *ret) {
        const char *text, *wrong;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "a fault primitive such as <0w1/0/->", &text);
        if (r < 0)
                return r;
        if (primitive_parse(text, ret, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        return 0;
}

static int read_primitive(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const Fault *fault = userdata;
        int r;

        r = parse_primitive(yaml, node, ret);
        if (r < 0)
                return r;
        return is_of(ret, fault->kind->name, NULL) ? 0 : refuse_primitive(yaml, node, fault->kind->name);
}

/* What the first of a linked pair can be: faults that its own sensitising does not show; and what can hide it. */
static const char *const first_classes[] = { "TF", "WDF", "DRDF", "CFds_wt", "CFds_wn", "CFds_r", "CFtr", "CFwd", "CFdrd", NULL };
static const char *const second_classes[] = { "WDF", "RDF", "CFds_wt", "CFds_wn", "CFds_r", "CFwd", "CFrd", NULL };

static int read_linked(Yaml *yaml, yaml_node_t *node, void *ret, const char *const classes[], const char *expected) {
        int r;

        r = parse_primitive(yaml, node, ret);
        if (r < 0)
                return r;
        return is_of(ret, NULL, classes) ? 0 : yaml_refuse(yaml, node, 0, "expected a primitive of %s", expected);
}

static int read_first(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return read_linked(yaml, node, ret, first_classes, "TF, WDF, DRDF, CFds, CFtr, CFwd or CFdrd");
}

static int read_second(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return read_linked(yaml, node, ret, second_classes, "WDF, RDF, CFds, CFwd or CFrd");
}

/* ---- other cells ---- */

static int read_other(Yaml *yaml, yaml_node_t *node, Location *ret, const Fault *fault, unsigned shared_min) {
        const char *text, *wrong;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "the end of a location, such as row7/col1/bit3", &text);
        if (r < 0)
                return r;
        if (strlen(text) >= LOCATION_STRING_MAX)
                return yaml_refuse(yaml, node, 0, "too long for a location");
        if (memory_location_end(text, &fault->at, shared_min, ret, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        if (location_equal(ret, &fault->at))
                return yaml_refuse(yaml, node, 0, "that is where the fault itself sits");
        return 0;
}

/* Anywhere in the same stack, or in the same array of the same core. */
static int read_aggressor(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const Fault *fault = userdata;

        return read_other(yaml, node, ret, fault, location_index(&fault->at, LOCATION_SBUF) >= 0 ? 3 : 2);
}

static int read_partner(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const Fault *fault = userdata;

        return read_other(yaml, node, ret, fault, fault->at.n_parts - 1);
}

static int read_pattern(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "the four neighbours, such as 0110 or 0u10", &text);
        if (r < 0)
                return r;
        if (strlen(text) != 4)
                return yaml_refuse(yaml, node, 0, "expected row - 1, bit - 1, bit + 1 and row + 1: four of 0, 1, u and d");
        if (text[strspn(text, "01ud")])
                return yaml_refuse(yaml, node, strspn(text, "01ud"), "expected 0, 1, u (goes up) or d (goes down)");
        memcpy(ret, text, 5);
        return 0;
}

/* ---- what parameters say together ---- */

static int refuse(const char **ret_wrong, const char *wrong) {
        *ret_wrong = wrong;
        return -EINVAL;
}

static int validate_linked(const Fault *fault, const char **ret_wrong) {
        const MemoryPrimitiveFault *p = fault->parameters;
        bool pair = p->first.pair || p->second.pair;

        if (p->first.fault == p->second.fault)
                return refuse(ret_wrong, "the second of a linked pair must undo the first");
        if (p->second.victim.state != p->first.fault)
                return refuse(ret_wrong, "the second of a linked pair must begin in what the first leaves");
        if (pair != (p->aggressor.n_parts > 0))
                return refuse(ret_wrong, pair ? "\"aggressor\" is missing" : "a pair of one cell has no \"aggressor\"");
        if (p->second_aggressor.n_parts > 0 && !(p->first.pair && p->second.pair))
                return refuse(ret_wrong, "\"second-aggressor\" is for two primitives of two cells");
        return 0;
}

static int validate_decoder(const Fault *fault, const char **ret_wrong) {
        const MemoryDecoderFault *p = fault->parameters;
        bool wired = p->reads == DECODER_READS_AND || p->reads == DECODER_READS_OR;

        if (location_kind(&fault->at) == LOCATION_COLUMN && location_index(&fault->at, LOCATION_ROW) < 0)
                return refuse(ret_wrong, "expected a row, or one access of a row");
        if ((p->class == DECODER_A) != (p->partner.n_parts == 0))
                return refuse(ret_wrong, p->class == DECODER_A ? "class a has no \"partner\"" : "\"partner\" is missing");
        if (p->class == DECODER_C && p->reads != DECODER_READS_DEFAULT)
                return refuse(ret_wrong, "class c reads what is there: no \"reads\"");
        if (p->class == DECODER_A && wired)
                return refuse(ret_wrong, "class a reads zeros or ones");
        if ((p->class == DECODER_B || p->class == DECODER_D) && p->reads != DECODER_READS_DEFAULT && !wired)
                return refuse(ret_wrong, "classes b and d read the and or the or of two");
        if (p->floats && p->class != DECODER_B)
                return refuse(ret_wrong, "\"floats\" is of class b");
        return 0;
}

static int validate_pattern(const Fault *fault, const char **ret_wrong) {
        const MemoryPatternFault *p = fault->parameters;
        unsigned moving = 0;

        for (const char *c = p->pattern; *c; c++)
                moving += *c == 'u' || *c == 'd';
        if (moving != (p->type == PATTERN_ACTIVE))
                return refuse(ret_wrong, "one neighbour goes up or down (u, d) where the type is active, else none");
        return 0;
}

/* ---- what no scan can see ---- */

static bool same_access(const Location *a, const Location *b) {
        Location x = *a, y = *b;

        x.n_parts--;
        y.n_parts--;
        return location_equal(&x, &y);
}

/* A disturbance by writes, by a cell of the same access, where the write wins: every such write writes the victim too. */
static const char *undetectable_pair(const Fault *fault) {
        const MemoryPrimitiveFault *p = fault->parameters;
        const PrimitiveCell *a = &p->first.aggressor;

        if (p->together == TOGETHER_WRITE && a->n_ops > 0 && a->ops[a->n_ops - 1] & MARCH_WRITE &&
            same_access(&fault->at, &p->aggressor))
                return "every access that writes the aggressor writes the victim, and there the write wins";
        return NULL;
}

static const char *undetectable_pattern(const Fault *fault) {
        const MemoryPatternFault *p = fault->parameters;

        if (p->together == TOGETHER_WRITE && p->type == PATTERN_ACTIVE && (strchr("ud", p->pattern[1]) || strchr("ud", p->pattern[2])))
                return "every access that writes this neighbour writes the base cell, and there the write wins";
        return NULL;
}

/* ---- tables ---- */

typedef struct MemoryBlind {
        int misses; /* index of blind_words */
} MemoryBlind;

static const YamlField stuck_fields[] = {
        YAML_UNSIGNED("value", MemoryStuck, value, 0, 1, .required = true, .summary = "what it is stuck at"),
        {},
};

static const YamlField blind_fields[] = {
        YAML_WORD("misses", MemoryBlind, misses, blind_words, .required = true, .summary = "reads that want zeros, ones, or both"),
        {},
};

#define TOGETHER(type)                                                                                       \
        YAML_WORD("together", type, together, memory_together_words,                                         \
                  .summary = "what wins in the victim when one access writes both (default: as the scenario says)")
#define PRIMITIVE YAML_CUSTOM("primitive", MemoryPrimitiveFault, first, read_primitive, .required = true, .summary = "<S/F/R>")

static const YamlField cell_fields[] = { PRIMITIVE, {} };

static const YamlField pair_fields[] = {
        PRIMITIVE,
        YAML_CUSTOM("aggressor", MemoryPrimitiveFault, aggressor, read_aggressor, .required = true,
                    .summary = "where the other cell differs: bit3, col5/bit3, row9/col5/bit3, …"),
        TOGETHER(MemoryPrimitiveFault),
        {},
};

static const YamlField linked_fields[] = {
        YAML_CUSTOM("first", MemoryPrimitiveFault, first, read_first, .required = true, .summary = "<S/F/R> of TF, WDF, DRDF, CFds, CFtr, CFwd or CFdrd"),
        YAML_CUSTOM("second", MemoryPrimitiveFault, second, read_second, .required = true, .summary = "<S/F/R> of WDF, RDF, CFds, CFwd or CFrd that undoes it"),
        YAML_CUSTOM("aggressor", MemoryPrimitiveFault, aggressor, read_aggressor, .summary = "where the other cell differs: bit3, col5/bit3, …"),
        YAML_CUSTOM("second-aggressor", MemoryPrimitiveFault, second_aggressor, read_aggressor, .summary = "of the second, by default the same"),
        TOGETHER(MemoryPrimitiveFault),
        {},
};

static const YamlField decoder_fields[] = {
        YAML_WORD("class", MemoryDecoderFault, class, class_words, .required = true,
                  .summary = "a reaches nothing; b nothing, and the partner both; c the partner's; d both"),
        YAML_CUSTOM("partner", MemoryDecoderFault, partner, read_partner, .summary = "rowN of the same bank, or colN of the same row"),
        YAML_WORD("reads", MemoryDecoderFault, reads, reads_words,
                  .summary = "what nothing (a: zeros, ones) or two at once (b, d: and, or) read as; default zeros, and"),
        YAML_WORD("floats", MemoryDecoderFault, floats, floats_words, .summary = "of class b: what nothing reads as"),
        {},
};

static const YamlField pattern_fields[] = {
        YAML_WORD("type", MemoryPatternFault, type, type_words, .required = true,
                  .summary = "static: holds value; passive: stays at value; active: becomes value"),
        YAML_CUSTOM("pattern", MemoryPatternFault, pattern, read_pattern, .required = true,
                    .summary = "row - 1, bit - 1, bit + 1, row + 1: 0, 1, or once u or d"),
        YAML_UNSIGNED("value", MemoryPatternFault, value, 0, 1, .required = true, .summary = "what the cell then holds"),
        TOGETHER(MemoryPatternFault),
        {},
};

#define PLACES(...) ((const LocationKind[]) { __VA_ARGS__, _LOCATION_KIND_INVALID })
#define PERSISTENCE (PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT)

#define KIND(n, what, parameters_type, table, ...)                                                           \
        {                                                                                                    \
                .name = n, .summary = what, .family = FAMILY_MEMORY,                                         \
                .at = PLACES(LOCATION_BIT, LOCATION_SRAM_BIT), .persistence = PERSISTENCE | PERSISTENCE_TRANSIENT, \
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY, .parameters_bytes = sizeof(parameters_type), \
                .parameters = table, .codes = FAULT_CODES("hbm-cell"), .diagnose = memory_diagnose, __VA_ARGS__ \
        }
#define CELL(n, what) KIND(n, what, MemoryPrimitiveFault, cell_fields, .sample = memory_sample_cell)
#define PAIR(n, what) KIND(n, what, MemoryPrimitiveFault, pair_fields, .sample = memory_sample_pair, .undetectable = undetectable_pair)

const FaultKind memory_fault_kinds[MEMORY_KINDS + 1] = {
        [MEMORY_KIND_STUCK] = KIND("stuck-at", "a memory cell holds one value whatever is written", MemoryStuck, stuck_fields),
        [MEMORY_KIND_COMPARATOR] = {
                .name             = "comparator-blind",
                .summary          = "the march engine of a stack or core does not report mismatches",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_HBM, LOCATION_CORE),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(MemoryBlind),
                .parameters       = blind_fields,
                .codes            = FAULT_CODES("hbm-comparator"),
                .diagnose         = memory_diagnose,
        },
        [MEMORY_KIND_DECODER] = {
                .name             = "decoder",
                .summary          = "the address of a row or access leads to no cells, to wrong ones or to two (AF A to D)",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_ROW, LOCATION_COLUMN, LOCATION_SRAM_ROW),
                .persistence      = PERSISTENCE | PERSISTENCE_TRANSIENT,
                .triggers         = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(MemoryDecoderFault),
                .parameters       = decoder_fields,
                .validate         = validate_decoder,
                .codes            = FAULT_CODES("hbm-decoder"),
                .diagnose         = memory_diagnose,
                .sample           = memory_sample_decoder,
        },
        [MEMORY_KIND_LINKED] = KIND("linked", "two fault primitives in one cell, the second of which undoes the first (LF)",
                                    MemoryPrimitiveFault, linked_fields, .sample = memory_sample_linked, .validate = validate_linked),
        [MEMORY_KIND_OPEN] = {
                .name        = "stuck-open",
                .summary     = "a cell is cut off: writes are lost, reads give what the bit line gave last (SOF)",
                .family      = FAMILY_MEMORY,
                .at          = PLACES(LOCATION_BIT, LOCATION_SRAM_BIT),
                .persistence = PERSISTENCE | PERSISTENCE_TRANSIENT,
                .triggers    = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .codes       = FAULT_CODES("hbm-cell"),
                .diagnose    = memory_diagnose,
        },
        [MEMORY_KIND_PATTERN] = KIND("neighbourhood", "a cell gives way under a pattern of its four neighbours (NPSF)",
                                     MemoryPatternFault, pattern_fields, .sample = memory_sample_pattern, .validate = validate_pattern,
                                     .undetectable = undetectable_pattern),

        CELL("state", "a cell cannot hold one value (SF)"),
        CELL("transition", "a cell does not make one transition (TF)"),
        CELL("write-disturb", "a write of what a cell holds turns it over (WDF)"),
        CELL("read-destructive", "a read turns a cell over and gives the wrong value (RDF)"),
        CELL("deceptive-read", "a read turns a cell over and gives the value it had (DRDF)"),
        CELL("incorrect-read", "a read gives the wrong value (IRF)"),
        PAIR("coupling-state", "a cell cannot hold one value while another holds one (CFst)"),
        PAIR("coupling-disturb", "an operation on one cell turns another over (CFds)"),
        PAIR("coupling-transition", "a cell does not make one transition while another holds one value (CFtr)"),
        PAIR("coupling-write-disturb", "a write of what a cell holds turns it over while another holds one value (CFwd)"),
        PAIR("coupling-read-destructive", "a read turns a cell over, wrongly read, while another holds one value (CFrd)"),
        PAIR("coupling-deceptive-read", "a read turns a cell over unseen while another holds one value (CFdrd)"),
        PAIR("coupling-incorrect-read", "a read is wrong while another cell holds one value (CFir)"),
        PAIR("coupling-inversion", "a transition of one cell turns another over, whatever it holds (CFin)"),
        PAIR("coupling-idempotent", "a transition of one cell sets another to one value (CFid)"),
        CELL("dynamic-read-destructive", "a read right behind another operation turns a cell over, wrongly read (dRDF)"),
        CELL("dynamic-deceptive-read", "a read right behind another operation turns a cell over unseen (dDRDF)"),
        CELL("dynamic-incorrect-read", "a read right behind another operation is wrong (dIRF)"),
        CELL("dynamic-write", "of two writes in a row the second fails (dWW)"),
        CELL("dynamic-read-write", "a write right behind a read fails (dRW)"),
        PAIR("dynamic-coupling-disturb", "a write and a read in a row of one cell turn another over (dCFds)"),
        PAIR("dynamic-coupling-read-destructive", "a read right behind a write turns a cell over, wrongly read, while another holds one value (dCFrd)"),
        PAIR("dynamic-coupling-deceptive-read", "a read right behind a write turns a cell over unseen while another holds one value (dCFdrd)"),
        PAIR("dynamic-coupling-incorrect-read", "a read right behind a write is wrong while another cell holds one value (dCFir)"),
};

bool memory_comparator_is_blind(const Memory *memory, unsigned data) {
        const MemoryBlind *blind = memory->comparator->parameters;

        return blind->misses == 2 || blind->misses == (int) data;
}
