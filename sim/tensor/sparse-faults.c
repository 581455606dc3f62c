/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/sparse-faults.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/faults.h"

typedef struct SparseMode {
        uint8_t keep, group;
} SparseMode;

static const SparseMode sparse_modes[] = { { 4, 16 }, { 4, 12 }, { 4, 8 }, { 2, 8 }, { 2, 4 }, { 1, 4 }, { 1, 2 } };
static const char *const sparse_mode_words[] = { "4:16", "4:12", "4:8", "2:8", "2:4", "1:4", "1:2", NULL };

static_assert(ELEMENTS(sparse_mode_words) == ELEMENTS(sparse_modes) + 1, "modes and their words");

typedef enum SparseKind {
        KIND_TAG,
        KIND_TAG_LANE,
        KIND_STALE,
        KIND_SWAPPED,
        KIND_DECODER,
        KIND_DEAD,
        KIND_LEG,
        KIND_BRIDGED,
        KIND_RATIO,
        KIND_REFUSED,
        _KIND_MAX,
} SparseKind;

typedef enum Misses {
        MISSES_LOADS,
        MISSES_SWITCHES,
        MISSES_DENSE,
} Misses;

static const char *const misses_words[] = { "loads", "switches", "dense", NULL };
static const char *const wired_words[] = { "and", "or", NULL };

static SparseKind fault_kind(const Fault *fault) {
        return (SparseKind) (fault->kind - tensor_sparse_faults);
}

bool fault_is_sparse(const Fault *fault) {
        return fault->kind >= tensor_sparse_faults && fault->kind < tensor_sparse_faults + _KIND_MAX;
}

int sparse_mode_find(unsigned keep, unsigned group) {
        for (size_t i = 0; i < ELEMENTS(sparse_modes); i++)
                if (sparse_modes[i].keep == keep && sparse_modes[i].group == group)
                        return (int) i;

        return -ENOENT;
}

static uint8_t index_or_every(const Fault *fault, LocationKind kind) {
        int index = location_index(&fault->at, kind);

        return index < 0 ? SELECT_EVERY : (uint8_t) index;
}

static SelectFaultKind stale_kind(const TensorFault *parameters) {
        return parameters->misses == MISSES_LOADS      ? SELECT_STALE_LOAD
               : parameters->misses == MISSES_SWITCHES ? SELECT_STALE_SWITCH
                                                       : SELECT_STALE_DENSE;
}

static SelectFaultKind leg_kind(const TensorFault *parameters) {
        return parameters->has_bit ? SELECT_LEG_STUCK : parameters->value ? SELECT_LEG_OPEN : SELECT_LEG_DEAD;
}

bool sparse_fault_select(const Fault *fault, SelectFault *ret) {
        const TensorFault *p = fault->parameters;
        SelectFault select = { .row = index_or_every(fault, LOCATION_SPARSE_ROW),
                               .column = index_or_every(fault, LOCATION_SPARSE_SLOT),
                               .a = (uint8_t) p->position,
                               .b = (uint8_t) p->other,
                               .value = p->value != 0 };

        switch (fault_kind(fault)) {

        case KIND_TAG:
        case KIND_TAG_LANE:
                select.kind = fault_kind(fault) == KIND_TAG ? SELECT_TAG_STUCK : SELECT_TAG_LANE_STUCK;
                select.a = (uint8_t) p->bit;
                break;

        case KIND_STALE:
                select.kind = stale_kind(p);
                break;

        case KIND_SWAPPED:
                select.kind = SELECT_TAG_SWAPPED;
                select.a = select.row;
                break;

        case KIND_DECODER:
                select.kind = SELECT_DECODER_STUCK;
                select.a = (uint8_t) p->code;
                break;

        case KIND_DEAD:
                select.kind = SELECT_LEG_DEAD;
                break;

        case KIND_LEG:
                select.kind = leg_kind(p);
                select.b = (uint8_t) p->bit;
                break;

        case KIND_BRIDGED:
                select.kind = SELECT_BRIDGED;
                select.value = p->wired != 0;
                break;

        case KIND_RATIO:
                select.kind = SELECT_RATIO_WRONG;
                select.a = sparse_modes[p->mode].keep;
                select.b = sparse_modes[p->mode].group;
                select.as_keep = sparse_modes[p->as].keep;
                select.as_group = sparse_modes[p->as].group;
                break;

        case KIND_REFUSED:
        case _KIND_MAX:
                return false;
        }

        *ret = select;
        return true;
}

bool sparse_fault_refuses(const Fault *fault, int mode) {
        const TensorFault *parameters = fault->parameters;

        return fault_kind(fault) == KIND_REFUSED && parameters->mode == mode;
}

bool sparse_faults_collide(const Fault *a, const Fault *b) {
        const TensorFault *p = a->parameters, *q = b->parameters;

        return a->kind == b->kind && location_equal(&a->at, &b->at) && p->bit == q->bit && p->has_bit == q->has_bit &&
               p->position == q->position && p->other == q->other && p->code == q->code && p->mode == q->mode &&
               p->misses == q->misses;
}

/* ---- what may be ---- */

static int validate_place(const Fault *fault, const char **ret_wrong) {
        if (fault_kind(fault) != KIND_STALE && location_index(&fault->at, LOCATION_SPARSE_SLOT) >= 0 &&
            location_index(&fault->at, LOCATION_SPARSE_ROW) < 0) {
                *ret_wrong = "the row is missing";
                return -EINVAL;
        }

        return 0;
}

static int validate_pair(const Fault *fault, const char **ret_wrong) {
        const TensorFault *p = fault->parameters;
        SparseKind kind = fault_kind(fault);
        uint64_t row = index_or_every(fault, LOCATION_SPARSE_ROW);

        if (kind == KIND_SWAPPED && (p->other == row || p->other / 4 != row / 4)) {
                *ret_wrong = "\"other\" must be another row of the same four";
                return -EINVAL;
        }
        if ((kind == KIND_DECODER && p->other == p->code) || (kind == KIND_BRIDGED && p->other == p->position)) {
                *ret_wrong = "\"other\" must be another input";
                return -EINVAL;
        }
        if (kind == KIND_RATIO && p->mode == p->as) {
                *ret_wrong = "\"as\" must be another mode";
                return -EINVAL;
        }

        return validate_place(fault, ret_wrong);
}

static int sample_pair(Sample *sample) {
        unsigned first = (unsigned) sample_below(sample, 16), other = (first + 1 + (unsigned) sample_below(sample, 15)) % 16;
        const char *kind = sample_kind(sample);

        if (strcmp(kind, "compressed-swapped") == 0) {
                unsigned row = (unsigned) location_index(sample_at(sample), LOCATION_SPARSE_ROW);

                sample_key(sample, "other", "%u", row / 4 * 4 + (row + 1 + (unsigned) sample_below(sample, 3)) % 4);
                return 0;
        }

        sample_key(sample, strcmp(kind, "decoder-stuck") == 0 ? "tag" : "position", "%u", first);
        sample_key(sample, "other", "%u", other);
        return 0;
}

static int sample_ratio(Sample *sample) {
        unsigned n = ELEMENTS(sparse_modes), mode = (unsigned) sample_below(sample, n);

        sample_key(sample, "mode", "%s", sparse_mode_words[mode]);
        sample_key(sample, "as", "%s", sparse_mode_words[(mode + 1 + (unsigned) sample_below(sample, n - 1)) % n]);
        return 0;
}

static int sample_leg(Sample *sample) {
        if (sample_below(sample, 2))
                sample_key(sample, "bit", "%u", (unsigned) sample_below(sample, 16));
        return 0;
}

/* Two rows that take each other's tags are told at the lower one. */
static void diagnose_swapped(const Fault *fault, Diagnosis *diagnosis) {
        const TensorFault *p = fault->parameters;

        for (unsigned i = 0; i < fault->at.n_parts; i++) {
                LocationPart *part = &diagnosis->places[0].parts[i];

                if (part->kind == LOCATION_SPARSE_ROW && p->other < part->index)
                        part->index = (uint16_t) p->other;
        }
}

/* "bit" may be left out, which is something else than bit 0. */
static int read_bit(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        static const YamlField field = YAML_UNSIGNED("bit", TensorFault, bit, 0, 15);
        TensorFault *parameters = (TensorFault *) ((uint8_t *) ret - offsetof(TensorFault, bit));

        parameters->has_bit = true;
        return yaml_read_value(yaml, node, &field, parameters, userdata);
}

/* ---- the table ---- */

static const LocationKind at_slot[] = { LOCATION_SPARSE_SLOT, _LOCATION_KIND_INVALID };
static const LocationKind at_row[] = { LOCATION_SPARSE_ROW, _LOCATION_KIND_INVALID };
static const LocationKind at_row_or_slot[] = { LOCATION_SPARSE_SLOT, LOCATION_SPARSE_ROW, _LOCATION_KIND_INVALID };
static const LocationKind at_sparse[] = { LOCATION_SPARSE, _LOCATION_KIND_INVALID };

#define FIELD(word, member, highest, text) \
        YAML_UNSIGNED(word, TensorFault, member, 0, highest, .required = true, .summary = text)
#define WORDS(word, member, list, text) YAML_WORD(word, TensorFault, member, list, .required = true, .summary = text)

static const YamlField tag_fields[] = { FIELD("bit", bit, 3, "which one"), FIELD("value", value, 1, "what it holds"), {} };
static const YamlField lane_fields[] = { FIELD("bit", bit, 15, "which of the 16 wires: 4 bits each for four columns"),
                                         FIELD("value", value, 1, "what it carries"), {} };
static const YamlField stale_fields[] = {
        WORDS("misses", misses, misses_words, "loads: all; switches: the first in another mode; dense: goes on selecting in dense loads"),
        {}
};
static const YamlField swapped_fields[] = { FIELD("other", other, PE_ROWS - 1, "the row it is swapped with, of the same four"), {} };
static const YamlField decoder_fields[] = { FIELD("tag", code, SELECT_LEGS - 1, "the tag"),
                                            FIELD("other", other, SELECT_LEGS - 1, "the input that it selects"), {} };
static const YamlField dead_fields[] = { FIELD("position", position, SELECT_LEGS - 1, "the input, counted in the group"), {} };
static const YamlField leg_fields[] = {
        FIELD("position", position, SELECT_LEGS - 1, "the input, counted in the group"),
        YAML_CUSTOM("bit", TensorFault, bit, read_bit,
                    .summary = "of its data, 0 to 15; without: it is never (value 0) or always (1) let through"),
        FIELD("value", value, 1, "what it holds"),
        {}
};
static const YamlField bridged_fields[] = { FIELD("position", position, SELECT_LEGS - 1, "the input, counted in the group"),
                                            FIELD("other", other, SELECT_LEGS - 1, "the one it touches"),
                                            WORDS("wired", wired, wired_words, "what both carry then"), {} };
static const YamlField ratio_fields[] = { WORDS("mode", mode, sparse_mode_words, "M:N"),
                                          WORDS("as", as, sparse_mode_words, "what it is taken for"), {} };
static const YamlField refused_fields[] = { WORDS("mode", mode, sparse_mode_words, "M:N"), {} };

#define SPARSE_FAULT(index, word, places, fields, code, text, ...)                                                \
        [index] = {                                                                                               \
                .name = word,                                                                                     \
                .summary = text,                                                                                  \
                .family = FAMILY_COMPUTE,                                                                         \
                .at = places,                                                                                     \
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                                  \
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,                                               \
                .parameters_bytes = sizeof(TensorFault),                                                          \
                .parameters = fields,                                                                             \
                .codes = FAULT_CODES(code),                                                                       \
                __VA_ARGS__                                                                                       \
        }

const FaultKind tensor_sparse_faults[_KIND_MAX + 1] = {
        SPARSE_FAULT(KIND_TAG, "tag-stuck", at_slot, tag_fields, "sparsity-tag", "a bit of the tag of one sparse element",
                     .validate = validate_place),
        SPARSE_FAULT(KIND_TAG_LANE, "tag-lane-stuck", at_row, lane_fields, "sparsity-lane",
                     "a wire that brings tags to a row, one bit for every fourth column", .validate = validate_place),
        SPARSE_FAULT(KIND_STALE, "tag-stale", at_row_or_slot, stale_fields, "sparsity-stale",
                     "tags of an element, a row or a column are not taken over from a load", .validate = validate_place),
        SPARSE_FAULT(KIND_SWAPPED, "compressed-swapped", at_row_or_slot, swapped_fields, "sparsity-order",
                     "two stored slots of a group take each other's tags", .validate = validate_pair, .sample = sample_pair,
                     .diagnose = diagnose_swapped),
        SPARSE_FAULT(KIND_DECODER, "decoder-stuck", at_row_or_slot, decoder_fields, "sparsity-select",
                     "a tag selects another input", .validate = validate_pair, .sample = sample_pair),
        SPARSE_FAULT(KIND_DEAD, "select-dead", at_row, dead_fields, "sparsity-select",
                     "an input of the selectors of a row of the sparse path reads zero", .validate = validate_place),
        SPARSE_FAULT(KIND_LEG, "select-leg-stuck", at_row_or_slot, leg_fields, "sparsity-select",
                     "an input of a selector, or a bit of it, is stuck", .validate = validate_place, .sample = sample_leg),
        SPARSE_FAULT(KIND_BRIDGED, "select-bridged", at_row_or_slot, bridged_fields, "sparsity-select",
                     "two inputs of a selector touch", .validate = validate_pair, .sample = sample_pair),
        SPARSE_FAULT(KIND_RATIO, "ratio-wrong", at_sparse, ratio_fields, "sparsity-mode", "a mode is taken for another",
                     .validate = validate_pair, .sample = sample_ratio),
        SPARSE_FAULT(KIND_REFUSED, "mode-refused", at_sparse, refused_fields, "sparsity-mode", "the core refuses a mode of sparsity"),
        {}
};
