/* SPDX-License-Identifier: Apache-2.0 */

/* Health, version 2: see health-v2.h. This half reads: what is told once is spelled out as version 1 has it, so that there is one reader of both. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/vocabulary/measurements.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/statement/health-v2.h"
#include "daemon/record/statement/reading.h"
#include "daemon/record/statement/statement.h"

#define MEASUREMENTS_MAX 8192 /* of one record; "hbm0-999999" must not cost what it says */
#define PARTS_MAX        1024 /* of one entry */

typedef struct Expansion {
        const char *subject; /* its path; "": not told */
        json_t *promises;    /* an object: of each measurement what was promised */
        json_t *reached;     /* and the most of it */
        size_t n_measurements;
        SchemaWrong *wrong;
        int error;
} Expansion;

/* The first error stays. */
static bool refuse(Expansion *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(Expansion *x, const char *format, ...) {
        va_list arguments;

        if (x->error < 0)
                return false;
        va_start(arguments, format);
        (void) vsnprintf(x->wrong->text, sizeof(x->wrong->text), format, arguments);
        va_end(arguments);
        x->error = -EBADMSG;
        return false;
}

/* VALUE, whose reference is taken, under KEY. */
static void put(Expansion *x, json_t *object, const char *key, json_t *value) {
        if (json_object_set_new(object, key, value) < 0 && x->error == 0)
                x->error = -ENOMEM;
}

static void append(Expansion *x, json_t *list, json_t *value) {
        if (json_array_append_new(list, value) < 0 && x->error == 0)
                x->error = -ENOMEM;
}

/* ---- places ---- */

typedef char Path[LOCATION_STRING_MAX + 1];

/* A text that is no location may be one of a later assayd: the reader of places says so. */
static void add_path(Expansion *x, json_t *paths, const char *path) {
        if (json_array_size(paths) >= PARTS_MAX)
                (void) refuse(x, "more parts than anything has");
        else
                append(x, paths, json_string(path));
}

/* "hbm0-3" as FROM, TO and the length of "hbm"; false: it is no such thing. */
static bool is_range(const char *text, size_t *ret_stem, unsigned long *ret_from, unsigned long *ret_to) {
        const char *dash = strrchr(text, '-');
        size_t stem;

        if (!dash || dash == text || strspn(dash + 1, "0123456789") != strlen(dash + 1) || dash[1] == '\0' || strlen(dash + 1) > 6)
                return false;
        for (stem = (size_t) (dash - text); stem > 0 && text[stem - 1] >= '0' && text[stem - 1] <= '9'; stem--)
                ;
        *ret_stem = stem;
        *ret_from = strtoul(text + stem, NULL, 10);
        *ret_to = strtoul(dash + 1, NULL, 10);
        return stem > 0 && text + stem < dash && dash - text - (ptrdiff_t) stem <= 6;
}

static void expand_part(Expansion *x, const char *text, json_t *paths) {
        unsigned long from, to;
        size_t stem;
        Path path;

        if (!*text || text[strlen(text) - 1] == '/' || strlen(text) + strlen(x->subject) + 16 >= sizeof(path))
                (void) refuse(x, "%.60s is no part", text);
        else if (strcmp(text, ".") == 0)
                append(x, paths, json_string("."));
        else if (text[0] == '/')
                add_path(x, paths, text + 1);
        else if (!is_range(text, &stem, &from, &to)) {
                (void) snprintf(path, sizeof(path), "%s/%s", x->subject, text);
                add_path(x, paths, path);
        } else if (from >= to || to - from >= PARTS_MAX)
                (void) refuse(x, "%.60s is no range of parts", text);
        else
                for (; from <= to && x->error == 0; from++) {
                        (void) snprintf(path, sizeof(path), "%s/%.*s%lu", x->subject, (int) stem, text, from);
                        add_path(x, paths, path);
                }
}

/* ---- an entry ---- */

typedef struct Entry {
        const json_t *values; /* a number or a list */
        const char *unit;     /* NULL: the usual one */
        LimitType limit_type;
        double limit;
        const json_t *promised; /* NULL: nothing */
        const char *statistic;  /* NULL: none */
        json_t *count; /* borrowed: a number, or its digits where a double has no room for it */
        json_t *paths; /* a new reference: strings, "." of the subject; NULL: the subject */
} Entry;

static LimitType relation_from(const char *word) {
        static const struct {
                const char *word;
                LimitType type;
        } relations[] = { { "==", LIMIT_EQUAL }, { "<=", LIMIT_LESS_THAN_OR_EQUAL }, { ">=", LIMIT_GREATER_THAN_OR_EQUAL } };

        for (size_t i = 0; word && i < ELEMENTS(relations); i++)
                if (strcmp(relations[i].word, word) == 0)
                        return relations[i].type;
        return LIMIT_NONE;
}

/* { "min": 8, "at": [ … ] } */
static void read_parts(Expansion *x, const json_t *parts, Entry *ret) {
        const char *key;
        json_t *value;

        json_object_foreach((json_t *) (uintptr_t) parts, key, value) {
                if (strcmp(key, "at") != 0) {
                        ret->statistic = key;
                        ret->count = value;
                        continue;
                }
                ret->paths = json_array();
                for (size_t i = 0; i < json_array_size(value); i++)
                        expand_part(x, json_string_value(json_array_get(value, i)) ?: "", ret->paths);
        }
}

static void read_list(Expansion *x, const json_t *list, Entry *ret) {
        for (size_t i = 1; i < json_array_size(list); i++) {
                const char *word = json_string_value(json_array_get(list, i));

                if (!word)
                        read_parts(x, json_array_get(list, i), ret);
                else if (strcmp(word, "of") == 0)
                        ret->promised = json_array_get(list, ++i);
                else if (relation_from(word) != LIMIT_NONE) {
                        ret->limit_type = relation_from(word);
                        ret->limit = json_number_value(json_array_get(list, ++i));
                        if (!reading_is_double(json_array_get(list, i)))
                                (void) refuse(x, "a limit that is no number all readers know");
                } else
                        ret->unit = word;
        }
}

static bool read_entry(Expansion *x, const json_t *from, Entry *ret) {
        *ret = (Entry) { .values = json_is_array(from) ? json_array_get(from, 0) : from };
        read_list(x, from, ret);
        if (json_is_array(ret->values) && json_array_size(ret->values) != json_array_size(ret->paths))
                (void) refuse(x, "not as many values as parts");
        return x->error == 0;
}

/* ---- measurements ---- */

const char *health_v2_unit(const char *check, const char *name) {
        const MeasurementRow *row = measurement_find(check, name);

        return row && row->unit[0] == '{' && !strpbrk(row->unit, "#<@") ? row->unit : "1";
}

/* Another step may have counted the same and promised to. */
static void keep_promise(Expansion *x, const char *name, const Entry *entry, bool judged) {
        const json_t *before = json_object_get(x->promises, name);
        double most = json_number_value(json_object_get(x->reached, name)), value = json_number_value(entry->values);

        if (entry->paths || json_is_array(entry->values) || (before && json_number_value(before) != json_number_value(entry->promised))) {
                (void) refuse(x, "%.60s is promised twice, or not of the chip", name);
                return;
        }
        put(x, x->promises, name, json_incref((json_t *) (uintptr_t) entry->promised));
        if (!before || (judged && value > most))
                put(x, x->reached, name, judged && value > 0 ? json_incref((json_t *) (uintptr_t) entry->values) : json_integer(0));
}

static json_t *component_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return json_pack("{s:s, s:s}", "name", slash ? slash + 1 : path, "location", path);
}

static void add_measurement(Expansion *x, const char *check, const char *name, const Entry *entry, const json_t *value, const char *path, bool counted, json_t *list) {
        json_t *measurement = json_pack("{s:s, s:O, s:s}", "name", name, "value", value, "unit", entry->unit ?: health_v2_unit(check, name));

        if (++x->n_measurements > MEASUREMENTS_MAX)
                (void) refuse(x, "more measurements than a record has");
        if (entry->limit_type != LIMIT_NONE) {
                bool holds = limit_holds(entry->limit_type, json_number_value(value), entry->limit);

                put(x, measurement, "limits", json_pack("[{s:s, s:f}]", "type", limit_type_to_string(entry->limit_type), "value", entry->limit));
                put(x, measurement, "result", json_string(holds ? "PASSED" : "FAILED"));
        }
        if (entry->statistic) {
                put(x, measurement, "statistic", json_string(entry->statistic));
                put(x, measurement, "count", json_incref(entry->count));
        }
        if (counted)
                put(x, measurement, "isCoverage", json_true());
        if (path && strcmp(path, ".") != 0)
                put(x, measurement, "component", component_of(path));
        append(x, list, measurement);
}

static void expand_entry(Expansion *x, const char *check, const char *name, const json_t *from, bool counted, bool judged, json_t *list) {
        Entry entry;

        if (read_entry(x, from, &entry)) {
                size_t n = entry.paths ? json_array_size(entry.paths) : 1;

                if (entry.promised)
                        keep_promise(x, name, &entry, judged);
                for (size_t i = 0; i < n && x->error == 0; i++)
                        add_measurement(x, check, name, &entry, json_is_array(entry.values) ? json_array_get(entry.values, i) : entry.values,
                                        json_string_value(json_array_get(entry.paths, i)), counted, list);
        }
        json_decref(entry.paths);
}

/* A name without its check's word, or a whole one behind '/'. False: too long. */
static bool whole_name(const char *key, const char *check, char ret[static 256]) {
        int n = key[0] == '/' ? snprintf(ret, 256, "%s", key + 1) : snprintf(ret, 256, "%s_%s", check, key);

        for (size_t i = 0; key[0] != '/' && check[i] && i < 255; i++)
                if (ret[i] == '-')
                        ret[i] = '_';
        return n > 0 && n < 256 && key[0] != '\0';
}

static void expand_entries(Expansion *x, const json_t *entries, const char *check, bool counted, bool judged, json_t *list) {
        const char *key;
        json_t *from, *each;
        char name[256];
        size_t i;

        json_object_foreach((json_t *) (uintptr_t) entries, key, from) {
                if (x->error < 0)
                        return;
                if (!whole_name(key, check, name))
                        (void) refuse(x, "%.60s is no name", key);
                else if (!json_is_object(from))
                        expand_entry(x, check, name, from, counted, judged, list);
                else
                        json_array_foreach(json_object_get(from, "each"), i, each)
                                expand_entry(x, check, name, each, counted, judged, list);
        }
}

/* ---- steps ---- */

static json_t *expand_step(Expansion *x, const char *name, const json_t *from, size_t index) {
        static const char *const same[] = { "result", "ms", "reason", "message", "regions", "errors", "diagnoses" };
        const char *status = json_string_value(json_object_get(from, "status")), *check = json_string_value(json_object_get(from, "check")) ?: name;
        json_t *step = json_object(), *list = json_array(), *required = json_object_get(from, "required");
        char id[24];

        (void) snprintf(id, sizeof(id), "%zu", index);
        put(x, step, "id", json_string(id));
        put(x, step, "name", json_string(name));
        put(x, step, "check", json_string(check));
        if (status && !json_object_get(from, "reason"))
                (void) refuse(x, "%.60s does not say why it was not tested", name);
        put(x, step, "status", json_string(status ?: "COMPLETE"));
        put(x, step, "required", json_boolean(!required || json_is_true(required)));
        for (size_t i = 0; i < ELEMENTS(same); i++)
                if (json_object_get(from, same[i]))
                        put(x, step, same[i], json_incref(json_object_get(from, same[i])));
        expand_entries(x, json_object_get(from, "counted"), check, true, !status, list);
        expand_entries(x, json_object_get(from, "measured"), check, false, !status, list);
        if (json_array_size(list) > 0)
                put(x, step, "measurements", json_incref(list));
        json_decref(list);
        return step;
}

/* ---- what follows from the steps ---- */

static void add_name(Expansion *x, json_t *predicate, const char *key, const json_t *step, const char *result) {
        json_t *list = json_object_get(predicate, key);

        if (strcmp(text_of(step, "result"), result) == 0)
                append(x, list, json_string(text_of(step, "name")));
}

static void add_untested(Expansion *x, json_t *predicate, const json_t *step, const json_t *open) {
        json_t *test;

        if (strcmp(text_of(step, "status"), "COMPLETE") == 0)
                return;
        test = json_pack("{s:s, s:s}", "name", text_of(step, "name"), "reason", text_of(step, "reason"));
        if (open)
                put(x, test, "coverage", json_incref((json_t *) (uintptr_t) open));
        append(x, json_object_get(predicate, "untestedTests"), test);
}

static void add_promise(Expansion *x, json_t *list, const char *name, const json_t *reached, const json_t *promised) {
        append(x, list, json_pack("{s:s, s:O, s:O}", "name", name, "reached", reached, "promised", promised));
}

static void add_coverage(Expansion *x, json_t *predicate, const json_t *told) {
        json_t *list = json_array(), *promised, *pair;
        const char *name;

        json_object_foreach((json_t *) (uintptr_t) told, name, pair) {
                const json_t *other = json_object_get(x->promises, name);

                if (other && json_number_value(other) != json_number_value(json_array_get(pair, 1)))
                        (void) refuse(x, "%.60s is promised twice", name);
                add_promise(x, list, name, json_array_get(pair, 0), json_array_get(pair, 1));
        }
        json_object_foreach(x->promises, name, promised)
                if (!json_object_get(told, name))
                        add_promise(x, list, name, json_object_get(x->reached, name), promised);
        if (json_array_size(list) > RECORD_PROMISES_MAX)
                (void) refuse(x, "more promises than a chip has");
        put(x, predicate, "coverage", list);
}

static void expand_predicate(Expansion *x, const json_t *from, json_t *ret) {
        static const char *const lists[] = { "passedTests", "warnedTests", "failedTests", "untestedTests" };
        const json_t *steps = json_object_get(from, "steps"), *coverage = json_object_get(from, "coverage");
        json_t *list = json_array(), *value;
        const char *name;

        for (size_t i = 0; i < ELEMENTS(lists); i++)
                put(x, ret, lists[i], json_array());
        if (!json_object_get(from, "status"))
                put(x, ret, "status", json_string("COMPLETE"));
        json_object_foreach((json_t *) (uintptr_t) steps, name, value) {
                json_t *step = expand_step(x, name, value, json_array_size(list));

                add_name(x, ret, "passedTests", step, "PASSED");
                add_name(x, ret, "warnedTests", step, "WARNED");
                add_name(x, ret, "failedTests", step, "FAILED");
                add_untested(x, ret, step, json_object_get(value, "open"));
                append(x, list, step);
        }
        put(x, ret, "steps", list);
        add_coverage(x, ret, coverage);
}

int health_v2_expand(const json_t *statement, json_t **ret, SchemaWrong *wrong) {
        const json_t *from = json_object_get(statement, "predicate");
        Expansion x = { .subject = text_of(json_object_get(from, "location"), "path"), .promises = json_object(), .reached = json_object(), .wrong = wrong };
        json_t *whole = json_copy((json_t *) (uintptr_t) statement), *predicate = json_copy((json_t *) (uintptr_t) from);

        if (strlen(x.subject) >= LOCATION_STRING_MAX)
                (void) refuse(&x, "the path of no location");
        if (x.error == 0 && (!whole || !predicate || !x.promises || !x.reached))
                x.error = -ENOMEM;
        if (x.error == 0)
                expand_predicate(&x, from, predicate);
        put(&x, whole, "predicate", predicate);
        json_decref(x.promises);
        json_decref(x.reached);
        if (x.error < 0) {
                json_decref(whole);
                return x.error;
        }
        *ret = whole;
        return 0;
}
