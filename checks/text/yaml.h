/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Yaml
 *
 * A strict reader over libyaml's nodes, for scenarios, plans and configuration: one table of fields per struct.
 * Unknown and doubled keys, wrong types, values out of range, anchors and aliases, several documents, tags, NUL
 * bytes, more than YAML_BYTES_MAX bytes or YAML_DEPTH_MAX levels are refused, and every refusal reads
 *
 *     FILE:LINE:COLUMN: what is wrong, what was expected
 *
 * Plain scalars are typed by the field that wants them: `7abc` is no number, `yes` is no boolean (true, false), and
 * a quoted scalar is a string only.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#include "checks/text/cleanup.h"

#define YAML_BYTES_MAX (4u << 20)
#define YAML_DEPTH_MAX 16
#define YAML_ITEMS_MAX 200000 /* nodes of one document */

typedef struct Yaml {
        char *name; /* how messages call the file */
        yaml_document_t document;
        bool loaded;
        char *text; /* of yaml_load(): the bytes of the file, not terminated */
        size_t n_text;
        char error[1024]; /* "" while nothing was refused; only the first refusal is kept */
} Yaml;

typedef enum YamlType {
        YAML_TYPE_STRING,   /* char *, owned by the struct: release with yaml_free_fields() */
        YAML_TYPE_BOOLEAN,  /* bool */
        YAML_TYPE_UNSIGNED, /* uint64_t, decimal or 0x… */
        YAML_TYPE_NUMBER,   /* double, finite; 1e-9 is fine */
        YAML_TYPE_WORD,     /* int: the index of the scalar in words[] */
        YAML_TYPE_STRUCT,   /* an embedded struct with fields of its own */
        YAML_TYPE_CUSTOM,   /* read() does it */
} YamlType;

typedef struct YamlField YamlField;

struct YamlField {
        const char *name; /* NULL ends the table */
        YamlType type;
        size_t offset;
        bool required;
        uint64_t min, max;         /* YAML_TYPE_UNSIGNED, inclusive; for YAML_TYPE_STRING the length in bytes */
        double low, high;          /* YAML_TYPE_NUMBER, inclusive */
        const char *const *words;  /* YAML_TYPE_WORD, ends with NULL */
        const YamlField *fields;   /* YAML_TYPE_STRUCT */
        int (*read)(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata); /* ret is struct + offset */
        const char *summary;       /* for listings and the manual; may be NULL */
};

/* The offset of a member. Does not compile where it is not as large as what will be written there. */
#define YAML_OFFSET(s, m, type)                                                                              \
        (offsetof(s, m) + 0 * sizeof(char[sizeof(((s *) NULL)->m) == sizeof(type) ? 1 : -1]))

/* Table entries. Fields that are absent keep what the struct held before: set defaults first. */
#define YAML_STRING(n, s, m, minimum, maximum, ...)                                                          \
        { .name = n, .type = YAML_TYPE_STRING, .offset = YAML_OFFSET(s, m, char *), .min = minimum, .max = maximum, __VA_ARGS__ }
#define YAML_BOOLEAN(n, s, m, ...)                                                                           \
        { .name = n, .type = YAML_TYPE_BOOLEAN, .offset = YAML_OFFSET(s, m, bool), __VA_ARGS__ }
#define YAML_UNSIGNED(n, s, m, minimum, maximum, ...)                                                        \
        { .name = n, .type = YAML_TYPE_UNSIGNED, .offset = YAML_OFFSET(s, m, uint64_t), .min = minimum, .max = maximum, __VA_ARGS__ }
#define YAML_NUMBER(n, s, m, minimum, maximum, ...)                                                          \
        { .name = n, .type = YAML_TYPE_NUMBER, .offset = YAML_OFFSET(s, m, double), .low = minimum, .high = maximum, __VA_ARGS__ }
#define YAML_WORD(n, s, m, list, ...)                                                                        \
        { .name = n, .type = YAML_TYPE_WORD, .offset = YAML_OFFSET(s, m, int), .words = list, __VA_ARGS__ }
#define YAML_STRUCT(n, s, m, table, ...)                                                                     \
        { .name = n, .type = YAML_TYPE_STRUCT, .offset = offsetof(s, m), .fields = table, __VA_ARGS__ }
#define YAML_CUSTOM(n, s, m, function, ...)                                                                  \
        { .name = n, .type = YAML_TYPE_CUSTOM, .offset = offsetof(s, m), .read = function, __VA_ARGS__ }

/*
 * Load TEXT (yaml_parse) or the file at PATH (yaml_load). Return 0, -EINVAL with yaml->error set, or the errno of
 * reading the file with yaml->error set too. Either way yaml_done() releases; yaml starts as {}.
 */
int yaml_parse(Yaml *yaml, const char *name, const char *text, size_t n_bytes);
int yaml_load(Yaml *yaml, const char *path);
void yaml_done(Yaml *yaml);

/* The root node, NULL for an empty document. */
yaml_node_t *yaml_root(Yaml *yaml);

/* Reads the mapping NODE into STRUCT by FIELDS. Returns 0 or -EINVAL with yaml->error set; what was set until then
 * stays in the struct, so release it either way. */
int yaml_read(Yaml *yaml, yaml_node_t *node, const YamlField *fields, void *structure, void *userdata);

/* Reads one NODE as FIELD says, for custom readers; field->name is how messages call it. */
int yaml_read_value(Yaml *yaml, yaml_node_t *node, const YamlField *field, void *structure, void *userdata);

/* Makes every YAML_TYPE_STRING of the table (and of embedded structs) an owned copy, for a struct that started as a
 * copy of static defaults. Returns 0 or -ENOMEM; release with yaml_free_fields() either way. */
int yaml_own_fields(const YamlField *fields, void *structure);

/* Frees every YAML_TYPE_STRING of the table (and of embedded structs) and sets it to NULL. */
void yaml_free_fields(const YamlField *fields, void *structure);

/* For custom readers. items: calls EACH for every node of the sequence NODE, at most MAX of them. */
int yaml_items(Yaml *yaml, yaml_node_t *node, size_t max, const char *expected,
               int (*each)(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata), void *userdata);
/* The text of a scalar, or refuses, saying EXPECTED. The pointer lives as long as yaml. */
int yaml_scalar(Yaml *yaml, yaml_node_t *node, const char *expected, const char **ret);
/* Looks a key up in the mapping NODE without judging the others; NULL if it is not there. */
yaml_node_t *yaml_get(Yaml *yaml, yaml_node_t *node, const char *key);
/* Visits every (key, value) of a mapping with arbitrary keys, such as `expect:`. */
int yaml_pairs(Yaml *yaml, yaml_node_t *node, const char *expected,
               int (*each)(Yaml *yaml, yaml_node_t *key, yaml_node_t *value, void *userdata), void *userdata);

/* Writes the refusal at NODE (NULL: at the start of the file), OFFSET bytes into its text. Returns -EINVAL always. */
int yaml_refuse(Yaml *yaml, const yaml_node_t *node, size_t offset, const char *format, ...)
                __attribute__((format(printf, 4, 5)));

DEFINE_CLEANUP(Yaml *, yaml_done);
#define _cleanup_yaml_ _cleanup_(yaml_done)
