/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Yaml: loading under limits, walking nodes, refusing.
 *
 * A text is read twice: as events, where everything we do not allow is refused before it can cost memory, and then
 * by libyaml into a document of nodes. Tables of fields are read in yaml-fields.c.
 */

#include "checks/text/yaml.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/whole-file.h"

/* Terminals and log lines get this text, and the text repeats what a stranger wrote. */
static void blank_control_bytes(char *text) {
        for (unsigned char *at = (unsigned char *) text; *at; at++)
                if (*at < 0x20 || *at == 0x7f)
                        *at = '?';
                else if (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
                        *at = at[1] = '?'; /* U+0080 … U+009F */
}

static int __attribute__((format(printf, 4, 0)))
refuse_at(Yaml *yaml, size_t line, size_t column, const char *format, va_list arguments) {
        int n;

        if (yaml->error[0] != '\0')
                return -EINVAL;

        n = snprintf(yaml->error, sizeof(yaml->error), "%.200s:%zu:%zu: ", yaml->name ? yaml->name : "", line, column);
        (void) vsnprintf(yaml->error + n, sizeof(yaml->error) - (size_t) n, format, arguments);
        blank_control_bytes(yaml->error);
        return -EINVAL;
}

int yaml_refuse(Yaml *yaml, const yaml_node_t *node, size_t offset, const char *format, ...) {
        size_t line = 1, column = 1;
        va_list arguments;

        assert(yaml);
        assert(format);

        if (node) {
                line = node->start_mark.line + 1;
                column = node->start_mark.column + 1 + offset;
                if (node->type == YAML_SCALAR_NODE && offset > 0 &&
                    (node->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                     node->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE))
                        column++; /* the text starts behind the quote */
        }

        va_start(arguments, format);
        (void) refuse_at(yaml, line, column, format, arguments);
        va_end(arguments);
        return -EINVAL;
}

static int refuse_mark(Yaml *yaml, const yaml_mark_t *mark, const char *format, ...)
                __attribute__((format(printf, 3, 4)));

static int refuse_mark(Yaml *yaml, const yaml_mark_t *mark, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) refuse_at(yaml, mark->line + 1, mark->column + 1, format, arguments);
        va_end(arguments);
        return -EINVAL;
}

/* Where byte OFFSET of TEXT stands. */
static yaml_mark_t mark_of(const char *text, size_t offset) {
        yaml_mark_t mark = {};

        for (size_t i = 0; i < offset; i++)
                if (text[i] == '\n') {
                        mark.line++;
                        mark.column = 0;
                } else
                        mark.column++;

        return mark;
}

static int no_memory(Yaml *yaml) {
        if (yaml->error[0] == '\0')
                (void) snprintf(yaml->error, sizeof(yaml->error), "%.200s: out of memory",
                                yaml->name ? yaml->name : "");

        return -ENOMEM;
}

/* What libyaml itself has against the text. */
static int refuse_problem(Yaml *yaml, const yaml_parser_t *parser, const char *text, size_t n_bytes) {
        const char *problem = parser->problem ? parser->problem : "this is no YAML";
        yaml_mark_t mark = parser->problem_mark;

        if (parser->error == YAML_MEMORY_ERROR)
                return no_memory(yaml);
        if (parser->error == YAML_READER_ERROR)
                mark = mark_of(text, parser->problem_offset < n_bytes ? parser->problem_offset : n_bytes);

        return refuse_mark(yaml, &mark, "%s%s%s", problem, parser->context ? " " : "",
                           parser->context ? parser->context : "");
}

typedef struct Census {
        unsigned depth;
        unsigned n_documents;
        size_t n_nodes;
} Census;

static int judge_properties(Yaml *yaml, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag) {
        if (anchor)
                return refuse_mark(yaml, &event->start_mark, "an anchor stands here, expected a value without one");
        if (tag)
                return refuse_mark(yaml, &event->start_mark, "a tag stands here, expected a value without one");

        return 0;
}

static int judge_collection(Yaml *yaml, const yaml_event_t *event, Census *census) {
        if (++census->depth > YAML_DEPTH_MAX)
                return refuse_mark(yaml, &event->start_mark, "nested deeper than %d levels", YAML_DEPTH_MAX);

        return event->type == YAML_MAPPING_START_EVENT
                               ? judge_properties(yaml, event, event->data.mapping_start.anchor,
                                                  event->data.mapping_start.tag)
                               : judge_properties(yaml, event, event->data.sequence_start.anchor,
                                                  event->data.sequence_start.tag);
}

static int judge_document(Yaml *yaml, const yaml_event_t *event, Census *census) {
        if (++census->n_documents > 1)
                return refuse_mark(yaml, &event->start_mark, "a second document starts here, expected one");
        if (event->data.document_start.version_directive ||
            event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
                return refuse_mark(yaml, &event->start_mark, "a directive stands here, expected none");

        return 0;
}

static int judge_scalar(Yaml *yaml, const yaml_event_t *event) {
        if (memchr(event->data.scalar.value, '\0', event->data.scalar.length))
                return refuse_mark(yaml, &event->start_mark, "a zero byte is in this text");

        return judge_properties(yaml, event, event->data.scalar.anchor, event->data.scalar.tag);
}

static int judge_event(Yaml *yaml, const yaml_event_t *event, Census *census) {
        if (event->type == YAML_SCALAR_EVENT || event->type == YAML_SEQUENCE_START_EVENT ||
            event->type == YAML_MAPPING_START_EVENT)
                if (++census->n_nodes > YAML_ITEMS_MAX)
                        return refuse_mark(yaml, &event->start_mark, "more than %d values", YAML_ITEMS_MAX);

        switch (event->type) {
        case YAML_DOCUMENT_START_EVENT:
                return judge_document(yaml, event, census);
        case YAML_ALIAS_EVENT:
                return refuse_mark(yaml, &event->start_mark, "an alias stands here, expected a value");
        case YAML_SCALAR_EVENT:
                return judge_scalar(yaml, event);
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
                return judge_collection(yaml, event, census);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                census->depth--;
                return 0;
        case YAML_NO_EVENT:
        case YAML_STREAM_START_EVENT:
        case YAML_STREAM_END_EVENT:
        case YAML_DOCUMENT_END_EVENT:
                return 0;
        }

        return 0;
}

static void start_parser(yaml_parser_t *parser, const char *text, size_t n_bytes) {
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(parser, (const unsigned char *) text, n_bytes);
}

/* The first reading. */
static int judge_text(Yaml *yaml, const char *text, size_t n_bytes) {
        _cleanup_(yaml_parser_delete) yaml_parser_t parser;
        Census census = {};
        bool ended = false;

        if (!yaml_parser_initialize(&parser))
                return no_memory(yaml);

        start_parser(&parser, text, n_bytes);
        while (!ended) {
                _cleanup_(yaml_event_delete) yaml_event_t event;
                int r;

                if (!yaml_parser_parse(&parser, &event))
                        return refuse_problem(yaml, &parser, text, n_bytes);

                r = judge_event(yaml, &event, &census);
                if (r < 0)
                        return r;

                ended = event.type == YAML_STREAM_END_EVENT;
        }

        return 0;
}

static int compare_keys(const void *a, const void *b) {
        const yaml_node_t *x = *(const yaml_node_t *const *) a, *y = *(const yaml_node_t *const *) b;
        int r = strcmp((const char *) x->data.scalar.value, (const char *) y->data.scalar.value);

        if (r != 0)
                return r;

        return x->start_mark.index < y->start_mark.index ? -1 : x->start_mark.index > y->start_mark.index;
}

static int judge_keys(Yaml *yaml, const yaml_node_t *mapping) {
        _cleanup_free_ yaml_node_t **keys = NULL;
        size_t n = 0;

        keys = calloc((size_t) (mapping->data.mapping.pairs.top - mapping->data.mapping.pairs.start) + 1,
                      sizeof(*keys));
        if (!keys)
                return no_memory(yaml);

        for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top; pair++) {
                keys[n] = yaml_document_get_node(&yaml->document, pair->key);
                if (keys[n]->type != YAML_SCALAR_NODE)
                        return yaml_refuse(yaml, keys[n], 0, "a key is a single word, not a list or mapping");
                n++;
        }

        qsort(keys, n, sizeof(*keys), compare_keys);
        for (size_t i = 1; i < n; i++)
                if (strcmp((const char *) keys[i - 1]->data.scalar.value, (const char *) keys[i]->data.scalar.value) == 0)
                        return yaml_refuse(yaml, keys[i], 0, "'%.60s' stands here twice, first in line %zu",
                                           (const char *) keys[i]->data.scalar.value,
                                           keys[i - 1]->start_mark.line + 1);

        return 0;
}

/* The second reading. */
static int load_text(Yaml *yaml, const char *text, size_t n_bytes) {
        _cleanup_(yaml_parser_delete) yaml_parser_t parser;

        if (!yaml_parser_initialize(&parser))
                return no_memory(yaml);

        start_parser(&parser, text, n_bytes);
        if (!yaml_parser_load(&parser, &yaml->document))
                return refuse_problem(yaml, &parser, text, n_bytes);

        yaml->loaded = true;
        for (const yaml_node_t *node = yaml->document.nodes.start; node < yaml->document.nodes.top; node++)
                if (node->type == YAML_MAPPING_NODE) {
                        int r = judge_keys(yaml, node);

                        if (r < 0)
                                return r;
                }

        return 0;
}

int yaml_parse(Yaml *yaml, const char *name, const char *text, size_t n_bytes) {
        const char *zero;
        int r;

        assert(yaml);
        assert(name);
        assert(text || n_bytes == 0);

        free(yaml->name);
        yaml->name = strdup(name);
        if (!yaml->name)
                return no_memory(yaml);

        if (n_bytes > YAML_BYTES_MAX)
                return yaml_refuse(yaml, NULL, 0, "larger than %u bytes", YAML_BYTES_MAX);

        zero = n_bytes > 0 ? memchr(text, '\0', n_bytes) : NULL;
        if (zero) {
                yaml_mark_t mark = mark_of(text, (size_t) (zero - text));

                return refuse_mark(yaml, &mark, "a zero byte stands here, expected text");
        }

        r = judge_text(yaml, text ? text : "", n_bytes);
        if (r < 0)
                return r;

        return load_text(yaml, text ? text : "", n_bytes);
}

int yaml_load(Yaml *yaml, const char *path) {
        int r;

        assert(yaml);
        assert(path);

        free(yaml->text);
        yaml->text = NULL;
        r = whole_file_drain(path, YAML_BYTES_MAX, &yaml->text, &yaml->n_text);
        if (r < 0) {
                (void) snprintf(yaml->error, sizeof(yaml->error), "%.200s: %s", path, strerror(-r));
                blank_control_bytes(yaml->error);
                return r;
        }

        return yaml_parse(yaml, path, yaml->text, yaml->n_text);
}

void yaml_done(Yaml *yaml) {
        if (!yaml)
                return;

        if (yaml->loaded)
                yaml_document_delete(&yaml->document);
        yaml->loaded = false;
        free(yaml->name);
        yaml->name = NULL;
        free(yaml->text);
        yaml->text = NULL;
}

yaml_node_t *yaml_root(Yaml *yaml) {
        assert(yaml);

        return yaml->loaded ? yaml_document_get_root_node(&yaml->document) : NULL;
}

int yaml_scalar(Yaml *yaml, yaml_node_t *node, const char *expected, const char **ret) {
        assert(yaml);
        assert(ret);

        if (!node || node->type != YAML_SCALAR_NODE)
                return yaml_refuse(yaml, node, 0, "expected %s", expected);

        *ret = (const char *) node->data.scalar.value;
        return 0;
}

int yaml_items(Yaml *yaml, yaml_node_t *node, size_t max, const char *expected,
               int (*each)(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata), void *userdata) {
        assert(yaml);
        assert(each);

        if (!node || node->type != YAML_SEQUENCE_NODE)
                return yaml_refuse(yaml, node, 0, "expected %s", expected);

        for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
                size_t index = (size_t) (item - node->data.sequence.items.start);
                yaml_node_t *value = yaml_document_get_node(&yaml->document, *item);
                int r;

                if (index >= max)
                        return yaml_refuse(yaml, value, 0, "more than %zu items, expected %s", max, expected);

                r = each(yaml, value, index, userdata);
                if (r < 0)
                        return r;
        }

        return 0;
}

int yaml_pairs(Yaml *yaml, yaml_node_t *node, const char *expected,
               int (*each)(Yaml *yaml, yaml_node_t *key, yaml_node_t *value, void *userdata), void *userdata) {
        assert(yaml);
        assert(each);

        if (!node || node->type != YAML_MAPPING_NODE)
                return yaml_refuse(yaml, node, 0, "expected %s", expected);

        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
                int r = each(yaml, yaml_document_get_node(&yaml->document, pair->key),
                             yaml_document_get_node(&yaml->document, pair->value), userdata);

                if (r < 0)
                        return r;
        }

        return 0;
}

yaml_node_t *yaml_get(Yaml *yaml, yaml_node_t *node, const char *key) {
        assert(yaml);
        assert(key);

        if (!node || node->type != YAML_MAPPING_NODE)
                return NULL;

        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
                const yaml_node_t *name = yaml_document_get_node(&yaml->document, pair->key);

                if (strcmp((const char *) name->data.scalar.value, key) == 0)
                        return yaml_document_get_node(&yaml->document, pair->value);
        }

        return NULL;
}
