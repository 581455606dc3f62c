/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor-faults.h"

#include <assert.h>
#include <errno.h>

#include "checks/cleanup.h"

/* Which register a kind is stuck in; the others are special. */
typedef enum TensorKind {
        KIND_WEIGHT,
        KIND_ACTIVATION,
        KIND_PRODUCT,
        KIND_PSUM,
        KIND_ROW,
        KIND_COLUMN,
        _KIND_MAX,
} TensorKind;

static TensorKind fault_kind(const Fault *fault) {
        return (TensorKind) (fault->kind - tensor_faults);
}

static const LocationPart *fault_part(const Fault *fault) {
        return &fault->at.parts[fault->at.n_parts - 1];
}

static uint32_t bit_if(const TensorFault *parameters, bool value) {
        return (parameters->value != 0) == value ? 1u << parameters->bit : 0;
}

bool tensor_fault_stuck(const Fault *fault, const Stationary *stationary, Stuck *ret) {
        static const Register registers[] = {
                [KIND_WEIGHT] = REGISTER_WEIGHT,   [KIND_ACTIVATION] = REGISTER_ACTIVATION,
                [KIND_PRODUCT] = REGISTER_PRODUCT, [KIND_PSUM] = REGISTER_PSUM,
        };
        const TensorFault *parameters = fault->parameters;
        const LocationPart *part = fault_part(fault);

        switch (fault_kind(fault)) {

        case KIND_WEIGHT:
        case KIND_ACTIVATION:
        case KIND_PRODUCT:
        case KIND_PSUM:
                *ret = (Stuck){ .at = registers[fault_kind(fault)],
                                .row = (uint8_t) part->index,
                                .column = (uint8_t) part->column,
                                .clear = bit_if(parameters, false),
                                .set = bit_if(parameters, true) };
                return true;

        case KIND_ROW:
                *ret = (Stuck){ .at = REGISTER_ACTIVATION,
                                .row = (uint8_t) parameters->row,
                                .clear = 0xffff };
                return true;

        case KIND_COLUMN:
                *ret = (Stuck){ .at = REGISTER_PSUM,
                                .row = (uint8_t) (stationary->rows - 1),
                                .column = (uint8_t) parameters->column,
                                .clear = UINT32_MAX };
                return true;

        case _KIND_MAX:
                break;
        }

        return false;
}

unsigned tensor_fault_column(const Fault *fault) {
        const TensorFault *parameters = fault->parameters;

        switch (fault_kind(fault)) {

        case KIND_WEIGHT:
        case KIND_ACTIVATION:
        case KIND_PRODUCT:
        case KIND_PSUM:
                return fault_part(fault)->column;

        case KIND_COLUMN:
                return (unsigned) parameters->column;

        case KIND_ROW:
        case _KIND_MAX:
                break;
        }

        return 0;
}

bool tensor_faults_collide(const Fault *a, const Fault *b) {
        const TensorFault *p = a->parameters, *q = b->parameters;

        return a->kind == b->kind && location_equal(&a->at, &b->at) && p->bit == q->bit && p->lane == q->lane &&
               p->row == q->row && p->column == q->column && p->row_group == q->row_group &&
               p->column_group == q->column_group && p->a == q->a && p->b == q->b &&
               p->edge == q->edge && p->format == q->format;
}

static int validate_place(const Fault *fault, const char **ret_wrong) {
        for (unsigned i = 0; i < fault->at.n_parts; i++) {
                const LocationPart *part = &fault->at.parts[i];
                bool inside = part->kind == LOCATION_PE ? part->index < PE_ROWS && part->column < PE_COLUMNS : true;

                if (!inside) {
                        *ret_wrong = "the array has 128 rows and 128 columns, numbered from 0";
                        return -EINVAL;
                }
        }

        return 0;
}

static const LocationKind at_pe[] = { LOCATION_PE, _LOCATION_KIND_INVALID };
static const LocationKind at_core[] = { LOCATION_CORE, _LOCATION_KIND_INVALID };

#define STUCK_FIELDS(highest)                                                                               \
        (const YamlField[]) {                                                                               \
                YAML_UNSIGNED("bit", TensorFault, bit, 0, highest, .required = true,                        \
                              .summary = "which one"),                                                      \
                                YAML_UNSIGNED("value", TensorFault, value, 0, 1, .required = true,          \
                                              .summary = "what it holds"),                                  \
                {                                                                                           \
                }                                                                                           \
        }

#define TENSOR_FAULT(index, word, places, fields, code, text)                                                     \
        [index] = {                                                                                         \
                .name = word,                                                                               \
                .summary = text,                                                                            \
                .family = FAMILY_COMPUTE,                                                                   \
                .at = places,                                                                               \
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                            \
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,                                         \
                .parameters_bytes = sizeof(TensorFault),                                                    \
                .parameters = fields,                                                                       \
                .validate = validate_place,                                                                 \
                .codes = FAULT_CODES(code),                                                                 \
        }

static const YamlField row_fields[] = {
        YAML_UNSIGNED("row", TensorFault, row, 0, PE_ROWS - 1, .required = true, .summary = "which one"), {}
};
static const YamlField column_fields[] = { YAML_UNSIGNED("column", TensorFault, column, 0, PE_COLUMNS - 1,
                                                         .required = true, .summary = "which one"),
                                           {} };
const FaultKind tensor_faults[_KIND_MAX + 1] = {
        TENSOR_FAULT(KIND_WEIGHT, "weight-stuck", at_pe, STUCK_FIELDS(15), "systolic-pe", "a bit of the weight register"),
        TENSOR_FAULT(KIND_ACTIVATION, "activation-stuck", at_pe, STUCK_FIELDS(15), "systolic-pe",
                     "a bit of the activation register; its column and all further ones see it"),
        TENSOR_FAULT(KIND_PRODUCT, "product-stuck", at_pe, STUCK_FIELDS(31), "systolic-pe",
                     "a bit of the product, as binary32"),
        TENSOR_FAULT(KIND_PSUM, "psum-stuck", at_pe, STUCK_FIELDS(31), "systolic-pe",
                     "a bit of the partial sum, as binary32"),
        TENSOR_FAULT(KIND_ROW, "pe-row-dead", at_core, row_fields, "systolic-row",
                     "no activation enters a row of the array"),
        TENSOR_FAULT(KIND_COLUMN, "pe-column-dead", at_core, column_fields, "systolic-column",
                     "a column of the array gives zero"),
        {}
};
