/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/faults.h"

#include <assert.h>
#include <errno.h>

#include "checks/text/cleanup.h"

typedef enum TensorKind {
        KIND_WEIGHT,
        KIND_ACTIVATION,
        KIND_PRODUCT,
        KIND_PSUM,
        KIND_SHIFT,
        KIND_ACTIVATION_SLOW,
        KIND_PRODUCT_SLOW,
        KIND_PSUM_SLOW,
        KIND_GATE,
        KIND_CARRY,
        KIND_ROW,
        KIND_COLUMN,
        KIND_BLOCK,
        KIND_ROW_LANE,
        KIND_COLUMN_LANE,
        KIND_FORMAT_WRONG,
        KIND_FORMAT_REFUSED,
        _KIND_MAX,
} TensorKind;

static TensorKind fault_kind(const Fault *fault) {
        return (TensorKind) (fault->kind - tensor_faults);
}

static const LocationPart *fault_part(const Fault *fault) {
        return &fault->at.parts[fault->at.n_parts - 1];
}

/* ---- what a fault does ---- */

/* Where in the array what a kind does is felt. */
typedef enum Reach {
        REACH_NOTHING, /* it is no defect of elements */
        REACH_PE,
        REACH_BELOW, /* its own column, from its row on */
        REACH_AFTER, /* its own row, from its column on */
        REACH_ROW,   /* of the parameters */
        REACH_COLUMN,
        REACH_BLOCK,
} Reach;

typedef enum Damage {
        DAMAGE_STUCK,
        DAMAGE_SLOW,
        DAMAGE_DEAD,
} Damage;

typedef struct Shape {
        DefectSite site;
        Reach reach;
        Damage damage;
} Shape;

static const Shape shapes[_KIND_MAX] = {
        [KIND_WEIGHT]          = { SITE_WEIGHT, REACH_PE, DAMAGE_STUCK },
        [KIND_ACTIVATION]      = { SITE_ACTIVATION, REACH_AFTER, DAMAGE_STUCK },
        [KIND_PRODUCT]         = { SITE_PRODUCT, REACH_PE, DAMAGE_STUCK },
        [KIND_PSUM]            = { SITE_PSUM, REACH_PE, DAMAGE_STUCK },
        [KIND_SHIFT]           = { SITE_SHIFT, REACH_BELOW, DAMAGE_STUCK },
        [KIND_ACTIVATION_SLOW] = { SITE_ACTIVATION, REACH_AFTER, DAMAGE_SLOW },
        [KIND_PRODUCT_SLOW]    = { SITE_PRODUCT, REACH_PE, DAMAGE_SLOW },
        [KIND_PSUM_SLOW]       = { SITE_PSUM, REACH_PE, DAMAGE_SLOW },
        [KIND_GATE]            = { SITE_GATE, REACH_PE, DAMAGE_STUCK },
        [KIND_CARRY]           = { SITE_CARRY, REACH_PE, DAMAGE_STUCK },
        [KIND_ROW]             = { SITE_ROW_LANE, REACH_ROW, DAMAGE_DEAD },
        [KIND_COLUMN]          = { SITE_COLUMN_LANE, REACH_COLUMN, DAMAGE_DEAD },
        [KIND_BLOCK]           = { SITE_MULTIPLIER, REACH_BLOCK, DAMAGE_DEAD },
        [KIND_ROW_LANE]        = { SITE_ROW_LANE, REACH_ROW, DAMAGE_STUCK },
        [KIND_COLUMN_LANE]     = { SITE_COLUMN_LANE, REACH_COLUMN, DAMAGE_STUCK },
};

static void defect_place(Reach reach, const TensorFault *parameters, const LocationPart *part, Defect *defect) {
        bool has_pe = reach == REACH_PE || reach == REACH_BELOW || reach == REACH_AFTER;
        uint64_t row = has_pe ? (uint64_t) part->index : parameters->row;
        uint64_t column = has_pe ? (uint64_t) part->column : parameters->column;
        uint64_t span = 0;

        if (reach == REACH_BLOCK) {
                row = parameters->row_group * TILE_UNIT;
                column = parameters->column_group * TILE_UNIT;
                span = TILE_UNIT - 1;
        }

        defect->first_row = (uint8_t) (reach == REACH_COLUMN ? 0 : row);
        defect->last_row = (uint8_t) (reach == REACH_BELOW || reach == REACH_COLUMN ? PE_ROWS - 1 : row + span);
        defect->first_column = (uint8_t) (reach == REACH_ROW ? 0 : column);
        defect->last_column = (uint8_t) (reach == REACH_AFTER || reach == REACH_ROW ? PE_COLUMNS - 1 : column + span);
}

static void defect_damage(Damage damage, const TensorFault *parameters, Defect *defect) {
        uint32_t bit = 1u << parameters->bit;

        if (damage == DAMAGE_DEAD)
                defect->clear = UINT32_MAX;
        else if (damage == DAMAGE_SLOW && parameters->edge == EDGE_RISE)
                defect->rise = bit;
        else if (damage == DAMAGE_SLOW)
                defect->fall = bit;
        else if (parameters->value)
                defect->set = bit;
        else
                defect->clear = bit;
}

bool tensor_fault_defect(const Fault *fault, Defect *ret) {
        const TensorFault *parameters = fault->parameters;
        const Shape *shape = &shapes[fault_kind(fault)];

        if (shape->reach == REACH_NOTHING)
                return false;

        *ret = (Defect){ .site = shape->site,
                         .lane = (uint8_t) parameters->lane,
                         .a = (uint8_t) parameters->a,
                         .b = (uint8_t) parameters->b };
        defect_place(shape->reach, parameters, fault_part(fault), ret);
        defect_damage(shape->damage, parameters, ret);
        return true;
}

/* Another one of the same width. */
static const WireFormat mistaken[_FORMAT_MAX] = {
        [FORMAT_FP32] = FORMAT_TF32,         [FORMAT_TF32] = FORMAT_FP32,         [FORMAT_BF16] = FORMAT_FP16,
        [FORMAT_FP16] = FORMAT_BF16,         [FORMAT_FP8_E4M3] = FORMAT_FP8_E5M2, [FORMAT_FP8_E5M2] = FORMAT_FP8_E3M4,
        [FORMAT_FP8_E3M4] = FORMAT_FP8_E4M3,
};

WireFormat tensor_fault_format(const Fault *fault, WireFormat format) {
        const TensorFault *parameters = fault->parameters;

        return fault_kind(fault) == KIND_FORMAT_WRONG && parameters->format == (int) format ? mistaken[format] : format;
}

bool tensor_fault_refuses_format(const Fault *fault, WireFormat format) {
        const TensorFault *parameters = fault->parameters;

        return fault_kind(fault) == KIND_FORMAT_REFUSED && parameters->format == (int) format;
}

bool tensor_faults_collide(const Fault *a, const Fault *b) {
        const TensorFault *p = a->parameters, *q = b->parameters;

        return a->kind == b->kind && location_equal(&a->at, &b->at) && p->bit == q->bit && p->lane == q->lane &&
               p->row == q->row && p->column == q->column && p->row_group == q->row_group &&
               p->column_group == q->column_group && p->a == q->a && p->b == q->b && p->format == q->format;
}

static int validate_gate(const Fault *fault, const char **ret_wrong) {
        const TensorFault *parameters = fault->parameters;

        if (parameters->lane == 1 && (parameters->a >= GATES_SECOND || parameters->b >= GATES_SECOND)) {
                *ret_wrong = "the second multiplier (lane 1) has 5 by 5 bits, a and b 0 to 4";
                return -EINVAL;
        }

        return 0;
}

/* ---- for qualify ---- */

static int sample_gate(Sample *sample) {
        uint64_t lane = sample_below(sample, 2), bits = lane == 0 ? GATES : GATES_SECOND;

        sample_key(sample, "lane", "%u", (unsigned) lane);
        sample_key(sample, "a", "%u", (unsigned) sample_below(sample, bits));
        sample_key(sample, "b", "%u", (unsigned) sample_below(sample, bits));
        return 0;
}

/* Two numbers of fp8 have at most 10 bits of product, so the lower ones of binary32 are 0 anyway; the smallest products are far above
 * subnormal ones. */
static const char *undetectable_product(const Fault *fault) {
        const TensorFault *parameters = fault->parameters;

        return parameters->lane == 1 && parameters->bit < 14 && parameters->value == 0
                       ? "products of two fp8 numbers never have this bit"
                       : NULL;
}

/* Only fp32 has halves of significands, which may begin with a 0. */
static const char *undetectable_gate(const Fault *fault) {
        const TensorFault *parameters = fault->parameters;
        unsigned top = GATES_SECOND - 1;

        return parameters->lane == 1 && parameters->a == top && parameters->b == top && parameters->value == 1
                       ? "leading bits of fp8 significands are always 1"
                       : NULL;
}

/* The first row adds to +0: no sum there lies between two numbers or is smaller than what was added. */
static const char *undetectable_carry(const Fault *fault) {
        const TensorFault *parameters = fault->parameters;

        return fault_part(fault)->index == 0 && parameters->bit < 2
                       ? "nothing is rounded in the first row, so bits below guard decide nothing"
                       : NULL;
}

static const char *const row_codes[] = { "systolic-pe", "systolic-row", NULL };
static const char *const column_codes[] = { "systolic-pe", "systolic-column", NULL };

/* The core too, or an element of it. */
static void diagnose_as(Diagnosis *diagnosis, const char *const *codes, const Location *core, unsigned row, unsigned column) {
        Location place = *core;

        while (place.n_parts > 0 && place.parts[place.n_parts - 1].kind != LOCATION_CORE)
                place.n_parts--;

        diagnosis->codes = codes;
        diagnosis->n_places = 0;
        diagnosis->places[diagnosis->n_places++] = place;
        (void) location_append_pe(&place, row, column);
        diagnosis->places[diagnosis->n_places++] = place;
}

/* What enters a row and the first activation register of it are the same wire to whoever asks from outside. */
static void diagnose_activation(const Fault *fault, Diagnosis *diagnosis) {
        unsigned row = (unsigned) fault_part(fault)->index;

        if (fault_part(fault)->column == 0)
                diagnose_as(diagnosis, row_codes, &fault->at, row, 0);
}

static void diagnose_row_lane(const Fault *fault, Diagnosis *diagnosis) {
        const TensorFault *parameters = fault->parameters;

        diagnose_as(diagnosis, row_codes, &fault->at, (unsigned) parameters->row, 0);
}

/* So are the last partial sum of a column and its output, as long as all rows are one tile. */
static void diagnose_psum(const Fault *fault, Diagnosis *diagnosis) {
        const LocationPart *part = fault_part(fault);

        if (part->index == PE_ROWS - 1)
                diagnose_as(diagnosis, column_codes, &fault->at, PE_ROWS - 1,
                            (unsigned) part->column);
}

static void diagnose_column_lane(const Fault *fault, Diagnosis *diagnosis) {
        const TensorFault *parameters = fault->parameters;

        diagnose_as(diagnosis, column_codes, &fault->at, PE_ROWS - 1,
                    (unsigned) parameters->column);
}

static const LocationKind at_pe[] = { LOCATION_PE, _LOCATION_KIND_INVALID };
static const LocationKind at_core[] = { LOCATION_CORE, _LOCATION_KIND_INVALID };

#define ALL_TRIGGERS (TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY | TRIGGER_DROOP)

#define FIELD(key, highest, ...) YAML_UNSIGNED(#key, TensorFault, key, 0, highest, __VA_ARGS__)
#define FIELD_BIT(highest)       FIELD(bit, highest, .required = true, .summary = "which one")
#define FIELD_VALUE              FIELD(value, 1, .required = true, .summary = "what it holds")
#define FIELD_LANE               FIELD(lane, 1, .summary = "1: of the second multiplier of double rows")
#define FIELD_ROW                FIELD(row, PE_ROWS - 1, .required = true, .summary = "which one")
#define FIELD_COLUMN             FIELD(column, PE_COLUMNS - 1, .required = true, .summary = "which one")

static const char *const edge_words[] = { [EDGE_RISE] = "rise", [EDGE_FALL] = "fall", NULL };

static const YamlField register_fields[] = { FIELD_BIT(31), FIELD_VALUE, {} };
static const YamlField product_fields[] = { FIELD_BIT(31), FIELD_VALUE, FIELD_LANE, {} };
static const YamlField slow_fields[] = {
        FIELD_BIT(31),
        YAML_WORD("edge", TensorFault, edge, edge_words, .required = true, .summary = "the change that comes a vector late"),
        {},
};
static const YamlField gate_fields[] = {
        FIELD(a, GATES - 1, .required = true, .summary = "bit of the weight's significand, the leading one being 11 (lane 1: 4)"),
        FIELD(b, GATES - 1, .required = true, .summary = "bit of the activation's"),
        FIELD_VALUE,
        FIELD_LANE,
        {},
};
static const YamlField carry_fields[] = {
        FIELD(bit, CARRIES - 1, .required = true, .summary = "that it goes into: 0 sticky, 1 round, 2 guard, 3 to 26 significand"),
        FIELD_VALUE,
        {},
};
static const YamlField row_fields[] = { FIELD_ROW, {} };
static const YamlField column_fields[] = { FIELD_COLUMN, {} };
static const YamlField row_lane_fields[] = { FIELD_ROW, FIELD_BIT(31), FIELD_VALUE, {} };
static const YamlField column_lane_fields[] = { FIELD_COLUMN, FIELD_BIT(31), FIELD_VALUE, {} };
static const YamlField block_fields[] = {
        YAML_UNSIGNED("row-group", TensorFault, row_group, 0, PE_ROWS / TILE_UNIT - 1, .required = true, .summary = "rows 32 N to 32 N + 31"),
        YAML_UNSIGNED("column-group", TensorFault, column_group, 0, PE_COLUMNS / TILE_UNIT - 1, .required = true,
                      .summary = "columns 32 N to 32 N + 31"),
        {},
};
static const YamlField format_fields[] = {
        YAML_WORD("format", TensorFault, format, wire_format_words, .required = true, .summary = "which one"), {}
};
#define TENSOR_FAULT_OF(index, word, places, fields, code, text, may, check, ...)                           \
        [index] = {                                                                                         \
                .name = word,                                                                               \
                .summary = text,                                                                            \
                .family = FAMILY_COMPUTE,                                                                   \
                .at = places,                                                                               \
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                            \
                .triggers = may,                                                                            \
                .parameters_bytes = sizeof(TensorFault),                                                    \
                .parameters = fields,                                                                       \
                .validate = check,                                                                          \
                .codes = FAULT_CODES(code),                                                                 \
                __VA_ARGS__                                                                                 \
        }

#define TENSOR_FAULT(index, word, places, fields, code, text, ...) \
        TENSOR_FAULT_OF(index, word, places, fields, code, text, ALL_TRIGGERS, NULL, __VA_ARGS__)

/* Loads multiply nothing, so the supply does not sag where these act. */
#define TENSOR_REFUSAL(index, word, places, fields, code, text) \
        TENSOR_FAULT_OF(index, word, places, fields, code, text, TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY, NULL)

const FaultKind tensor_faults[_KIND_MAX + 1] = {
        TENSOR_FAULT(KIND_WEIGHT, "weight-stuck", at_pe, register_fields, "systolic-pe", "a bit of the weight register"),
        TENSOR_FAULT(KIND_ACTIVATION, "activation-stuck", at_pe, register_fields, "systolic-pe",
                     "a bit of the activation register; its column and all further ones see it", .diagnose = diagnose_activation),
        TENSOR_FAULT(KIND_PRODUCT, "product-stuck", at_pe, product_fields, "systolic-pe",
                     "a bit of the product, as binary32", .undetectable = undetectable_product),
        TENSOR_FAULT(KIND_PSUM, "psum-stuck", at_pe, register_fields, "systolic-pe",
                     "a bit of the partial sum, as binary32", .diagnose = diagnose_psum),
        TENSOR_FAULT(KIND_SHIFT, "weight-shift-stuck", at_pe, register_fields, "systolic-pe",
                     "a bit of the shift register that brings weights to this row and all below"),
        TENSOR_FAULT(KIND_ACTIVATION_SLOW, "activation-slow", at_pe, slow_fields, "systolic-pe",
                     "a bit of the activation register changes a vector late", .diagnose = diagnose_activation),
        TENSOR_FAULT(KIND_PRODUCT_SLOW, "product-slow", at_pe, slow_fields, "systolic-pe",
                     "a bit of the product changes a vector late"),
        TENSOR_FAULT(KIND_PSUM_SLOW, "psum-slow", at_pe, slow_fields, "systolic-pe",
                     "a bit of the partial sum changes a vector late", .diagnose = diagnose_psum),
        TENSOR_FAULT_OF(KIND_GATE, "multiplier-gate-stuck", at_pe, gate_fields, "systolic-pe",
                        "the gate of the multiplier in which two bits meet", ALL_TRIGGERS, validate_gate, .sample = sample_gate,
                        .undetectable = undetectable_gate),
        TENSOR_FAULT(KIND_CARRY, "adder-carry-stuck", at_pe, carry_fields, "systolic-pe",
                     "a carry of the adder of the partial sum", .undetectable = undetectable_carry),
        TENSOR_FAULT(KIND_ROW, "pe-row-dead", at_core, row_fields, "systolic-row",
                     "no activation enters a row of the array"),
        TENSOR_FAULT(KIND_COLUMN, "pe-column-dead", at_core, column_fields, "systolic-column",
                     "a column of the array gives zero"),
        TENSOR_FAULT(KIND_BLOCK, "pe-block-dead", at_core, block_fields, "systolic-block",
                     "the products of 32 × 32 elements are zero"),
        TENSOR_FAULT(KIND_ROW_LANE, "row-lane-stuck", at_core, row_lane_fields, "systolic-row",
                     "a bit of what enters a row, before column 0", .diagnose = diagnose_row_lane),
        TENSOR_FAULT(KIND_COLUMN_LANE, "column-lane-stuck", at_core, column_lane_fields, "systolic-column",
                     "a bit of what leaves a column, from whatever tile", .diagnose = diagnose_column_lane),
        TENSOR_FAULT(KIND_FORMAT_WRONG, "format-wrong", at_core, format_fields, "systolic-mode",
                     "a format is taken for the next one of its width: fp32 and tf32, bf16 and fp16 for each other, e4m3 for e5m2, e5m2 for "
                     "e3m4, e3m4 for e4m3"),
        TENSOR_REFUSAL(KIND_FORMAT_REFUSED, "format-refused", at_core, format_fields, "systolic-mode",
                     "the core does not have a format that it says it has"),
        {}
};
