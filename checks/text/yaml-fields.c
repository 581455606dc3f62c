/* SPDX-License-Identifier: Apache-2.0 */

/* Yaml: reading a mapping into a struct by a table of fields. */

#include <assert.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/yaml.h"

#define LIST_BYTES 320

/* Adds ", word" to LIST; a list that is too long ends in an ellipsis. */
static void list_add(char list[static LIST_BYTES], const char *word) {
        size_t n = strlen(list);

        if (n + strlen(word) + 8 < LIST_BYTES)
                (void) snprintf(list + n, LIST_BYTES - n, "%s%s", n > 0 ? ", " : "", word);
        else if (n >= 3 && strcmp(list + n - 3, "…") != 0)
                (void) snprintf(list + n, LIST_BYTES - n, ", …");
}

static const char *list_fields(const YamlField *fields, char list[static LIST_BYTES]) {
        list[0] = '\0';
        for (; fields && fields->name; fields++)
                list_add(list, fields->name);

        return list;
}

/* The text of a plain scalar, or NULL: a quoted one is a string and nothing else. */
static const char *plain(const yaml_node_t *node) {
        if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
                return NULL;

        return (const char *) node->data.scalar.value;
}

/* The text of any node, for messages. */
static const char *shown(const yaml_node_t *node) {
        switch (node->type) {
        case YAML_SCALAR_NODE:
                return (const char *) node->data.scalar.value;
        case YAML_SEQUENCE_NODE:
                return "a list";
        case YAML_MAPPING_NODE:
                return "a mapping";
        case YAML_NO_NODE:
                break;
        }

        return "";
}

static int read_string(Yaml *yaml, const YamlField *field, yaml_node_t *node, char **ret) {
        char expected[96];
        const char *text;
        char *copy;
        int r;

        (void) snprintf(expected, sizeof(expected), "a text of %" PRIu64 " to %" PRIu64 " bytes", field->min, field->max);
        r = yaml_scalar(yaml, node, expected, &text);
        if (r < 0)
                return r;
        if (strlen(text) < field->min || strlen(text) > field->max)
                return yaml_refuse(yaml, node, 0, "'%s' has %zu bytes, expected %s", field->name, strlen(text), expected);

        copy = strdup(text);
        if (!copy)
                return -ENOMEM;

        free(*ret);
        *ret = copy;
        return 0;
}

static int read_boolean(Yaml *yaml, const YamlField *field, yaml_node_t *node, bool *ret) {
        const char *text = plain(node);

        if (!text || (strcmp(text, "true") != 0 && strcmp(text, "false") != 0))
                return yaml_refuse(yaml, node, 0, "'%.60s' is no value for '%s', expected true or false", shown(node),
                                   field->name);

        *ret = strcmp(text, "true") == 0;
        return 0;
}

static bool digit_of(char c, unsigned base, uint64_t *ret) {
        if (c >= '0' && c <= '9')
                *ret = (uint64_t) (c - '0');
        else if (base == 16 && c >= 'a' && c <= 'f')
                *ret = (uint64_t) (c - 'a') + 10;
        else if (base == 16 && c >= 'A' && c <= 'F')
                *ret = (uint64_t) (c - 'A') + 10;
        else
                return false;

        return true;
}

/* Decimal without leading zeros, or 0x and hexadecimal digits. */
static bool parse_unsigned(const char *text, uint64_t *ret) {
        unsigned base = 10;
        uint64_t value = 0, digit;

        if (text[0] == '0' && text[1] == 'x') {
                base = 16;
                text += 2;
        } else if (text[0] == '0' && text[1] != '\0')
                return false;

        if (*text == '\0')
                return false;

        for (; *text; text++)
                if (!digit_of(*text, base, &digit) || __builtin_mul_overflow(value, (uint64_t) base, &value) ||
                    __builtin_add_overflow(value, digit, &value))
                        return false;

        *ret = value;
        return true;
}

static int read_unsigned(Yaml *yaml, const YamlField *field, yaml_node_t *node, uint64_t *ret) {
        const char *text = plain(node);
        uint64_t value;

        if (!text || !parse_unsigned(text, &value) || value < field->min || value > field->max)
                return yaml_refuse(yaml, node, 0,
                                   "'%.60s' is no value for '%s', expected a whole number from %" PRIu64 " to %" PRIu64,
                                   shown(node), field->name, field->min, field->max);

        *ret = value;
        return 0;
}

static const char *skip_digits(const char *text) {
        while (*text >= '0' && *text <= '9')
                text++;

        return text;
}

/* -12, 0.5, 1e-9: no hexadecimal, no infinity, no lonely point. */
static bool is_number(const char *text) {
        const char *at = *text == '-' ? text + 1 : text, *digits = at;

        at = skip_digits(at);
        if (at == digits)
                return false;

        if (*at == '.') {
                digits = ++at;
                at = skip_digits(at);
                if (at == digits)
                        return false;
        }

        if (*at == 'e' || *at == 'E') {
                at++;
                if (*at == '+' || *at == '-')
                        at++;
                digits = at;
                at = skip_digits(at);
                if (at == digits)
                        return false;
        }

        return *at == '\0';
}

/* A file means the same in every locale of its reader. */
static double parse_number(const char *text) {
        static locale_t locale; /* made once, kept for good */

        if (!locale)
                locale = newlocale(LC_ALL_MASK, "C", (locale_t) 0);

        return locale ? strtod_l(text, NULL, locale) : NAN;
}

static int read_number(Yaml *yaml, const YamlField *field, yaml_node_t *node, double *ret) {
        const char *text = plain(node);
        double value = text && is_number(text) ? parse_number(text) : NAN;

        if (!isfinite(value) || value < field->low || value > field->high)
                return yaml_refuse(yaml, node, 0, "'%.60s' is no value for '%s', expected a number from %g to %g",
                                   shown(node), field->name, field->low, field->high);

        *ret = value;
        return 0;
}

/* A word may be quoted: unlike true or 7, it is a string either way. */
static int read_word(Yaml *yaml, const YamlField *field, yaml_node_t *node, int *ret) {
        const char *text = node->type == YAML_SCALAR_NODE ? shown(node) : NULL;
        char list[LIST_BYTES] = "";

        for (int i = 0; field->words[i]; i++) {
                if (text && strcmp(text, field->words[i]) == 0) {
                        *ret = i;
                        return 0;
                }

                list_add(list, field->words[i]);
        }

        return yaml_refuse(yaml, node, 0, "'%.60s' is no value for '%s', expected one of: %s", shown(node), field->name,
                           list);
}

static int read_custom(Yaml *yaml, const YamlField *field, yaml_node_t *node, void *ret, void *userdata) {
        int r = field->read(yaml, node, ret, userdata);

        if (r < 0 && r != -ENOMEM && yaml->error[0] == '\0')
                return yaml_refuse(yaml, node, 0, "'%.60s' is no value for '%s'", shown(node), field->name);

        return r < 0 ? r : 0;
}

int yaml_read_value(Yaml *yaml, yaml_node_t *node, const YamlField *field, void *structure, void *userdata) {
        void *ret = (char *) structure + field->offset;

        assert(yaml);
        assert(node);

        switch (field->type) {
        case YAML_TYPE_STRING:
                return read_string(yaml, field, node, ret);
        case YAML_TYPE_BOOLEAN:
                return read_boolean(yaml, field, node, ret);
        case YAML_TYPE_UNSIGNED:
                return read_unsigned(yaml, field, node, ret);
        case YAML_TYPE_NUMBER:
                return read_number(yaml, field, node, ret);
        case YAML_TYPE_WORD:
                return read_word(yaml, field, node, ret);
        case YAML_TYPE_STRUCT:
                return yaml_read(yaml, node, field->fields, ret, userdata);
        case YAML_TYPE_CUSTOM:
                return read_custom(yaml, field, node, ret, userdata);
        }

        return -EINVAL;
}

static const YamlField *find_field(const YamlField *fields, const char *name) {
        for (; fields->name; fields++)
                if (strcmp(fields->name, name) == 0)
                        return fields;

        return NULL;
}

typedef struct Reading {
        const YamlField *fields;
        void *structure;
        void *userdata;
} Reading;

static int read_pair(Yaml *yaml, yaml_node_t *key, yaml_node_t *value, void *userdata) {
        Reading *reading = userdata;
        const YamlField *field = find_field(reading->fields, (const char *) key->data.scalar.value);
        char list[LIST_BYTES];
        int r;

        if (!field && !reading->fields->name)
                return yaml_refuse(yaml, key, 0, "'%.60s' is no key here, expected none",
                                   (const char *) key->data.scalar.value);
        if (!field)
                return yaml_refuse(yaml, key, 0, "'%.60s' is no key here, expected one of: %s",
                                   (const char *) key->data.scalar.value, list_fields(reading->fields, list));

        r = yaml_read_value(yaml, value, field, reading->structure, reading->userdata);
        if (r == -ENOMEM && yaml->error[0] == '\0')
                (void) snprintf(yaml->error, sizeof(yaml->error), "%.200s: out of memory", yaml->name);

        return r;
}

int yaml_read(Yaml *yaml, yaml_node_t *node, const YamlField *fields, void *structure, void *userdata) {
        Reading reading = { fields, structure, userdata };
        char expected[LIST_BYTES + 64], list[LIST_BYTES];
        int r;

        assert(yaml);
        assert(fields);
        assert(structure);

        (void) snprintf(expected, sizeof(expected), "a mapping with the keys: %s", list_fields(fields, list));
        r = yaml_pairs(yaml, node, expected, read_pair, &reading);
        if (r < 0)
                return r;

        for (const YamlField *field = fields; field->name; field++)
                if (field->required && !yaml_get(yaml, node, field->name))
                        return yaml_refuse(yaml, node, 0, "'%s' is missing here", field->name);

        return 0;
}

int yaml_own_fields(const YamlField *fields, void *structure) {
        int r = 0;

        assert(structure);

        for (; fields && fields->name; fields++) {
                void *at = (char *) structure + fields->offset;

                if (fields->type == YAML_TYPE_STRUCT) {
                        int k = yaml_own_fields(fields->fields, at);

                        r = k < 0 ? k : r;
                } else if (fields->type == YAML_TYPE_STRING && *(char **) at) {
                        *(char **) at = strdup(*(char **) at);
                        r = *(char **) at ? r : -ENOMEM;
                }
        }

        return r;
}

void yaml_free_fields(const YamlField *fields, void *structure) {
        assert(structure);

        for (; fields && fields->name; fields++) {
                void *at = (char *) structure + fields->offset;

                if (fields->type == YAML_TYPE_STRUCT)
                        yaml_free_fields(fields->fields, at);
                else if (fields->type == YAML_TYPE_STRING) {
                        free(*(char **) at);
                        *(char **) at = NULL;
                }
        }
}
