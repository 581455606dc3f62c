/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim kinds: every kind of fault, where it can sit, and its parameters with their ranges.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/chip/dispatch.h"
#include "sim/chip/fault.h"
#include "sim/memory/structures/primitive.h"
#include "sim/verbs/options.h"
#include "sim/verbs/verbs.h"

static const char *type_word(YamlType type) {
        static const char *const words[] = {
                [YAML_TYPE_STRING] = "text", [YAML_TYPE_BOOLEAN] = "boolean", [YAML_TYPE_UNSIGNED] = "integer",
                [YAML_TYPE_NUMBER] = "number", [YAML_TYPE_WORD] = "word", [YAML_TYPE_STRUCT] = "mapping",
                [YAML_TYPE_CUSTOM] = "text",
        };

        return words[type];
}

static json_t *range_json(const YamlField *field) {
        json_t *words;

        if (field->type == YAML_TYPE_UNSIGNED)
                /* JSON has no integers beyond 2^63 that every reader takes. */
                return json_pack("[I, I]", (json_int_t) field->min,
                                 (json_int_t) (field->max > INT64_MAX ? INT64_MAX : field->max));
        if (field->type == YAML_TYPE_NUMBER)
                return json_pack("[f, f]", field->low, field->high);
        if (field->type != YAML_TYPE_WORD)
                return json_null();
        words = json_array();
        for (size_t i = 0; field->words[i]; i++)
                (void) json_array_append_new(words, json_string(field->words[i]));
        return words;
}

static json_t *kind_json(const FaultKind *kind, const Model *model) {
        json_t *places = json_array(), *persistence = json_array(), *triggers = json_array(), *parameters = json_array();

        for (const LocationKind *at = kind->at; *at >= 0; at++)
                (void) json_array_append_new(places, json_string(location_kind_to_string(*at)));
        for (unsigned p = PERSISTENCE_PERMANENT; p <= PERSISTENCE_TRANSIENT; p <<= 1)
                if (kind->persistence & p)
                        (void) json_array_append_new(persistence, json_string(persistence_to_string(p)));
        if (kind->triggers & TRIGGER_TEMPERATURE)
                (void) json_array_append_new(triggers, json_string("above"));
        if (kind->triggers & TRIGGER_ACTIVITY)
                (void) json_array_append_new(triggers, json_string("after-commands"));
        if (kind->triggers & TRIGGER_DROOP)
                (void) json_array_append_new(triggers, json_string("droop"));
        for (const YamlField *field = kind->parameters; field && field->name; field++)
                (void) json_array_append_new(parameters, json_pack("{s:s, s:s, s:b, s:o, s:s}", "name", field->name, "type",
                                                                   type_word(field->type), "required", field->required,
                                                                   "range", range_json(field), "summary",
                                                                   field->summary ? field->summary : ""));
        return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "kind", kind->name, "summary", kind->summary,
                         "model", model->name, "family", fault_family_words[kind->family], "at", places, "persistence",
                         persistence, "triggers", triggers, "parameters", parameters);
}

static void print_parameter(const YamlField *field) {
        printf("      %s%s", field->name, field->required ? " (required)" : "");
        if (field->type == YAML_TYPE_UNSIGNED && field->max == UINT64_MAX)
                printf(", integer from %" PRIu64, field->min);
        else if (field->type == YAML_TYPE_UNSIGNED)
                printf(", integer %" PRIu64 " to %" PRIu64, field->min, field->max);
        else if (field->type == YAML_TYPE_NUMBER)
                printf(", number %g to %g", field->low, field->high);
        else if (field->type == YAML_TYPE_WORD) {
                for (size_t i = 0; field->words[i]; i++)
                        printf("%s%s", i == 0 ? ", " : "|", field->words[i]);
        } else
                printf(", %s", type_word(field->type));
        printf("%s%s\n", field->summary ? ": " : "", field->summary ? field->summary : "");
}

/* HBM, SRAM and the sparse path have words in common. */
static const char *part_of(LocationKind kind) {
        static const char *const parts[_LOCATION_KIND_MAX] = {
                [LOCATION_SBUF_PARTITION] = " of sbuf", [LOCATION_PSUM_PARTITION] = " of psum", [LOCATION_SRAM_ROW] = " of SRAM",
                [LOCATION_SRAM_BIT] = " of SRAM", [LOCATION_SPARSE_ROW] = " of sparse",
        };

        return parts[kind] ?: "";
}

/* The values of the key `primitive`, a line for each class. */
static void print_primitives(const FaultKind *kind) {
        const PrimitiveClass *class;

        for (size_t i = 0; (class = primitive_class_at(i)); i++) {
                if (strcmp(class->kind, kind->name) != 0)
                        continue;
                printf("          %s:", class->name);
                for (size_t k = 0; class->primitives[k]; k++)
                        printf(" %s", class->primitives[k]);
                printf("\n");
        }
}

static void print_kind(const FaultKind *kind) {
        printf("%s (%s): %s\n      at", kind->name, fault_family_words[kind->family], kind->summary);
        for (const LocationKind *at = kind->at; *at >= 0; at++)
                printf("%s %s%s", at > kind->at ? "," : "", location_kind_to_string(*at), part_of(*at));
        printf("; ");
        for (unsigned p = PERSISTENCE_PERMANENT, n = 0; p <= PERSISTENCE_TRANSIENT; p <<= 1)
                if (kind->persistence & p)
                        printf("%s%s", n++ > 0 ? "|" : "", persistence_to_string(p));
        printf("%s%s%s\n", kind->triggers & TRIGGER_TEMPERATURE ? "; above" : "",
               kind->triggers & TRIGGER_ACTIVITY ? "; after-commands" : "", kind->triggers & TRIGGER_DROOP ? "; droop" : "");
        for (const YamlField *field = kind->parameters; field && field->name; field++) {
                print_parameter(field);
                if (strcmp(field->name, "primitive") == 0)
                        print_primitives(kind);
        }
}

static bool is_called(const FaultKind *kind, const char *name) {
        return strcmp(name, kind->name) == 0 || strcmp(name, fault_family_words[kind->family]) == 0;
}

static bool is_wanted(const FaultKind *kind, char *const names[], int n) {
        for (int i = 0; i < n; i++)
                if (is_called(kind, names[i]))
                        return true;
        return n == 0;
}

static int check_names(char *const names[], int n) {
        const FaultKind *kind;

        for (int i = 0; i < n; i++) {
                bool known = false;

                for (size_t k = 0; (kind = fault_kind_at(k, NULL)); k++)
                        known |= is_called(kind, names[i]);
                if (!known) {
                        fprintf(stderr, "assay-sim kinds: no kind or family is called \"%s\"; assay-sim kinds lists them all\n", names[i]);
                        return -EINVAL;
                }
        }
        return 0;
}

static int print_json(char *const names[], int n) {
        const FaultKind *kind;
        const Model *model;
        json_t *array = json_array();

        for (size_t i = 0; (kind = fault_kind_at(i, &model)); i++)
                if (is_wanted(kind, names, n))
                        (void) json_array_append_new(array, kind_json(kind, model));
        (void) json_dumpf(array, stdout, JSON_INDENT(2));
        json_decref(array);
        return printf("\n") < 0;
}

int verb_kinds(int argc, char *argv[]) {
        const FaultKind *kind;
        Options options;
        int first, n;

        first = options_parse(argc, argv, OPTION_JSON, 0, INT_MAX, &options);
        n = argc - first;
        if (first < 0 || check_names(argv + first, n) < 0)
                return STATUS_USAGE;
        if (options.json)
                return print_json(argv + first, n);
        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                if (is_wanted(kind, argv + first, n))
                        print_kind(kind);
        return STATUS_PASSED;
}
