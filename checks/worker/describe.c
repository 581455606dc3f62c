/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the checks say of themselves, from their declarations and the tables of their parameters: the manual
 * and the completion of plans are made from this.
 */

#include "checks/worker/describe.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/step/check.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/measurements.h"

static const char *type_word(YamlType type) {
        static const char *const words[] = {
                [YAML_TYPE_STRING] = "text",       [YAML_TYPE_BOOLEAN] = "boolean",
                [YAML_TYPE_UNSIGNED] = "unsigned", [YAML_TYPE_NUMBER] = "number",
                [YAML_TYPE_WORD] = "word",         [YAML_TYPE_STRUCT] = "mapping",
                [YAML_TYPE_CUSTOM] = "text",
        };

        return words[type];
}

/* NULL where the type has no single value. */
static json_t *default_of(const YamlField *field, const void *defaults) {
        const void *at = (const char *) defaults + field->offset;
        const char *text;

        if (!defaults || field->required)
                return NULL;

        switch (field->type) {
        case YAML_TYPE_STRING:
                text = *(const char *const *) at;
                return text ? json_string(text) : json_null();
        case YAML_TYPE_BOOLEAN:
                return json_boolean(*(const bool *) at);
        case YAML_TYPE_UNSIGNED:
                return json_integer((json_int_t) *(const uint64_t *) at);
        case YAML_TYPE_NUMBER:
                return json_real(*(const double *) at);
        case YAML_TYPE_WORD:
                return json_string(field->words[*(const int *) at]);
        case YAML_TYPE_STRUCT:
        case YAML_TYPE_CUSTOM:
                break;
        }

        return NULL;
}

static void describe_range(const YamlField *field, json_t *object) {
        json_t *words;

        if (field->type == YAML_TYPE_UNSIGNED || field->type == YAML_TYPE_STRING) {
                (void) json_object_set_new(object, "min", json_integer((json_int_t) field->min));
                (void) json_object_set_new(object, "max", json_integer((json_int_t) field->max));
        }
        if (field->type == YAML_TYPE_NUMBER) {
                (void) json_object_set_new(object, "min", json_real(field->low));
                (void) json_object_set_new(object, "max", json_real(field->high));
        }
        if (field->type != YAML_TYPE_WORD)
                return;

        words = json_array();
        for (const char *const *word = field->words; *word; word++)
                (void) json_array_append_new(words, json_string(*word));
        (void) json_object_set_new(object, "words", words);
}

/* Of the struct at DEFAULTS; what is a mapping has fields of its own. */
static json_t *describe_fields(const YamlField *fields, const void *defaults) {
        json_t *list = json_array();

        for (const YamlField *field = fields; field && field->name; field++) {
                json_t *object = json_pack("{ss, ss, sb}", "name", field->name, "type",
                                           type_word(field->type), "required", field->required);

                describe_range(field, object);
                (void) json_object_set_new(object, "default", default_of(field, defaults));
                if (field->type == YAML_TYPE_STRUCT)
                        (void) json_object_set_new(object, "parameters",
                                                   describe_fields(field->fields, (const char *) defaults + field->offset));
                if (field->summary)
                        (void) json_object_set_new(object, "summary", json_string(field->summary));
                (void) json_array_append_new(list, object);
        }

        return list;
}

static json_t *describe_parameters(const char *name) {
        const CheckWord *word = check_word_find(name);

        return word && word->parameters ? describe_fields(word->parameters, *word->parameters_defaults) : json_array();
}

static json_t *describe_codes(const Check *check) {
        json_t *list = json_array();

        for (const char *const *code = check->codes; code && *code; code++) {
                const CatalogueEntry *entry = catalogue_find(*code);

                (void) json_array_append_new(
                                list, json_pack("{ss, ss, ss, ss}", "code", *code, "severity",
                                                entry ? severity_to_string(entry->severity) : "", "action",
                                                entry ? action_to_string(entry->action) : "", "summary",
                                                entry ? entry->summary : ""));
        }

        return list;
}

static const char *const limit_words[_LIMIT_TYPE_MAX] = {
        [LIMIT_NONE]                  = "no limit",
        [LIMIT_EQUAL]                 = "exactly",
        [LIMIT_LESS_THAN_OR_EQUAL]    = "at most",
        [LIMIT_GREATER_THAN_OR_EQUAL] = "at least",
};

static json_t *describe_measurement(const MeasurementRow *row) {
        static const char *const said[_MEASUREMENT_DUTY_MAX] = { [MEASUREMENT_EACH] = "each", [MEASUREMENT_ASKED] = "asked", [MEASUREMENT_BEYOND] = "beyond" };
        bool has_limit = row->limit_type != LIMIT_NONE, is_constant = has_limit && !isnan(row->limit);
        const char *statistic = row->statistic == STATISTIC_NONE ? NULL : statistic_to_string(row->statistic);

        return json_pack("{ss, ss, ss, so*, so*, so*, ss*, ss*, ss, ss, ss*}", "name", row->name, "unit", row->unit, "limit", limit_words[row->limit_type], "value",
                         is_constant ? json_real(row->limit) : NULL, "least", (has_limit ? !is_constant : row->least > 0) ? json_real(row->least) : NULL, "most",
                         has_limit && !is_constant ? json_real(row->most) : NULL, "statistic", statistic, "beyond", has_limit ? severity_to_string(row->beyond) : NULL,
                         "said", said[row->duty], "why", row->why, "unlimited", row->unlimited);
}

/* Of CHECK, or of the worker, whose word is "device". */
static json_t *describe_measurements(const char *check) {
        json_t *list = json_array();
        const MeasurementRow *row;

        for (size_t i = 0; (row = measurement_at(i)); i++)
                if (strcmp(row->check, check) == 0)
                        (void) json_array_append_new(list, describe_measurement(row));
        return list;
}

static json_t *describe(const Check *check) {
        return json_pack("{ss, ss, ss, ss, sb, ss?, ss?, si, so, so, so}", "name", check->name, "summary",
                         check->summary, "unit", check->unit == LOCATION_CHIP ? "chip" : "server",
                         "disturbs", disturbs_to_string(check->disturbs), "disturbs_less",
                         check->disturbs_with != NULL, "reads", check->reads, "skips",
                         check->skips, "deadline_sec", (int) check->deadline_sec, "codes",
                         describe_codes(check), "parameters", describe_parameters(check->name), "measurements",
                         describe_measurements(check->name));
}

/* ---- for people ---- */

static const char *text_of(const json_t *object, const char *key) {
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static void print_scalar(FILE *file, const char *before, const json_t *value) {
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;

        if (text)
                fprintf(file, "%s%s", before, text);
        free(text);
}

static void print_parameter(FILE *file, int indent, const json_t *parameter) {
        const json_t *words = json_object_get(parameter, "words"), *item;
        size_t i;

        fprintf(file, "%*s%s: %s", indent, "", text_of(parameter, "name"), text_of(parameter, "type"));
        print_scalar(file, " ", json_object_get(parameter, "min"));
        print_scalar(file, " … ", json_object_get(parameter, "max"));
        json_array_foreach(words, i, item)
                fprintf(file, "%s%s", i == 0 ? " " : " | ", json_string_value(item));
        print_scalar(file, ", default ", json_object_get(parameter, "default"));
        if (json_is_true(json_object_get(parameter, "required")))
                fputs(", required", file);
        fprintf(file, "%s%s\n", text_of(parameter, "summary")[0] ? ": " : "", text_of(parameter, "summary"));
        json_array_foreach(json_object_get(parameter, "parameters"), i, item)
                print_parameter(file, indent + 4, item);
}

static void print_measurements(FILE *file, const json_t *list) {
        const json_t *item;
        size_t i;

        fputs("    measurements\n", file);
        json_array_foreach(list, i, item) {
                fprintf(file, "      %s %s: %s", text_of(item, "name"), text_of(item, "unit"), text_of(item, "limit"));
                if (json_object_get(item, "value"))
                        fprintf(file, " %g", json_number_value(json_object_get(item, "value")));
                if (json_object_get(item, "most"))
                        fprintf(file, " %g … %g", json_number_value(json_object_get(item, "least")), json_number_value(json_object_get(item, "most")));
                if (json_object_get(item, "statistic"))
                        fprintf(file, " (%s)", text_of(item, "statistic"));
                fprintf(file, "%s%s; %s%s%s\n", text_of(item, "beyond")[0] ? ", else " : "", text_of(item, "beyond"), text_of(item, "why"),
                        text_of(item, "unlimited")[0] ? "; without a limit: " : "", text_of(item, "unlimited"));
        }
}

static void print_check(FILE *file, const json_t *check) {
        const json_t *item;
        size_t i;

        fprintf(file, "%s: %s\n", text_of(check, "name"), text_of(check, "summary"));
        fprintf(file, "    unit %s, disturbs %s%s, at most %d s\n", text_of(check, "unit"),
                text_of(check, "disturbs"),
                json_is_true(json_object_get(check, "disturbs_less")) ? " (less with some parameters)" : "",
                (int) json_integer_value(json_object_get(check, "deadline_sec")));
        fprintf(file, "    reads %s\n", text_of(check, "reads"));
        if (text_of(check, "skips")[0])
                fprintf(file, "    skips %s\n", text_of(check, "skips"));

        fputs("    codes\n", file);
        json_array_foreach(json_object_get(check, "codes"), i, item)
                fprintf(file, "      %s: %s (%s, %s)\n", text_of(item, "code"), text_of(item, "summary"),
                        text_of(item, "severity"), text_of(item, "action"));
        if (json_array_size(json_object_get(check, "parameters")) > 0)
                fputs("    parameters\n", file);
        json_array_foreach(json_object_get(check, "parameters"), i, item)
                print_parameter(file, 6, item);
        print_measurements(file, json_object_get(check, "measurements"));
}

int describe_checks(FILE *file, bool json) {
        json_t *list = json_array(), *root = json_pack("{so, so}", "checks", list, "measurements", describe_measurements("device")), *check;
        size_t i;

        for (i = 0; check_at(i); i++)
                (void) json_array_append_new(list, describe(check_at(i)));
        if (!root || json_array_size(list) != i) {
                json_decref(root);
                return -ENOMEM;
        }

        if (json) {
                (void) json_dumpf(root, file, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
                fputc('\n', file);
        } else {
                json_array_foreach(list, i, check)
                        print_check(file, check);
                fputs("any check\n", file);
                print_measurements(file, json_object_get(root, "measurements"));
        }

        json_decref(root);
        return ferror(file) ? -EIO : 0;
}
