/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/text/yaml.h"

typedef struct Inner {
        uint64_t depth;
} Inner;

typedef struct Outer {
        char *name;
        bool dry;
        uint64_t count;
        double rate;
        int colour;
        Inner inner;
        size_t n_items;
} Outer;

static const char *const colours[] = { "red", "green", NULL };

static const YamlField inner_fields[] = {
        YAML_UNSIGNED("depth", Inner, depth, 0, UINT64_MAX, .required = true),
        {},
};

static int count_item(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        const char *text;

        *(size_t *) userdata = index + 1;
        return yaml_scalar(yaml, item, "a word", &text);
}

static int read_items(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return yaml_items(yaml, node, 3, "a list of words", count_item, ret);
}

static const YamlField outer_fields[] = {
        YAML_STRING("name", Outer, name, 1, 8, .required = true),
        YAML_BOOLEAN("dry", Outer, dry),
        YAML_UNSIGNED("count", Outer, count, 2, 100),
        YAML_NUMBER("rate", Outer, rate, -1, 1),
        YAML_WORD("colour", Outer, colour, colours),
        YAML_STRUCT("inner", Outer, inner, inner_fields),
        YAML_CUSTOM("items", Outer, n_items, read_items),
        {},
};

/* Reads TEXT; returns NULL or the refusal. */
static const char *read_text(const char *text, size_t n, Outer *outer, char error[static 512]) {
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        r = yaml_parse(&yaml, "t", text, n);
        if (r >= 0)
                r = yaml_read(&yaml, yaml_root(&yaml), outer_fields, outer, NULL);
        if (r >= 0)
                return NULL;

        assert_int_equal(r, -EINVAL);
        assert_string_not_equal(yaml.error, "");
        memcpy(error, yaml.error, 512);
        return error;
}

static void test_every_type_of_field_is_read(void **state) {
        static const char text[] = "name: 'abc'\ndry: true\ncount: 0x1f\nrate: -2.5e-1\ncolour: \"green\"\n"
                                   "inner: {depth: 18446744073709551615}\nitems: [a, b]\n";
        Outer outer = {};
        char error[512] = "";

        assert_null(read_text(text, strlen(text), &outer, error));
        assert_string_equal(outer.name, "abc");
        assert_true(outer.dry);
        assert_int_equal(outer.count, 31);
        assert_true(outer.rate == -0.25);
        assert_int_equal(outer.colour, 1);
        assert_true(outer.inner.depth == UINT64_MAX);
        assert_int_equal(outer.n_items, 2);
        yaml_free_fields(outer_fields, &outer);
        assert_null(outer.name);
}

static void test_absent_fields_keep_their_defaults(void **state) {
        Outer outer = { .count = 7, .rate = 0.5 };
        char error[512] = "";

        assert_null(read_text("name: x", 7, &outer, error));
        assert_int_equal(outer.count, 7);
        assert_true(outer.rate == 0.5);
        yaml_free_fields(outer_fields, &outer);
}

static void test_every_refusal_says_where_and_what(void **state) {
        static const struct {
                const char *text, *error;
        } cases[] = {
                { "", "t:1:1: expected a mapping with the keys: name, dry, count, rate, colour, inner, items" },
                { "# nothing\n", "t:1:1: expected a mapping with the keys: name" },
                { "[a]", "t:1:1: expected a mapping with the keys: name" },
                { "dry: true", "t:1:1: 'name' is missing here" },
                { "name: x\nstack: 3", "t:2:1: 'stack' is no key here, expected one of: name, dry, count, rate, " },
                { "name: x\n\ndry: yes", "t:3:6: 'yes' is no value for 'dry', expected true or false" },
                { "dry: 'true'", "t:1:6: 'true' is no value for 'dry'" },
                { "dry: [true]", "t:1:6: 'a list' is no value for 'dry'" },
                { "name: ''", "t:1:7: 'name' has 0 bytes, expected a text of 1 to 8 bytes" },
                { "name: 123456789", "t:1:7: 'name' has 9 bytes, expected a text of 1 to 8 bytes" },
                { "name: {a: 1}", "t:1:7: expected a text of 1 to 8 bytes" },
                { "count: 7abc", "t:1:8: '7abc' is no value for 'count', expected a whole number from 2 to 100" },
                { "count: 1", "t:1:8: '1' is no value for 'count'" },
                { "count: 101", "t:1:8: '101' is no value for 'count'" },
                { "count: 010", "t:1:8: '010' is no value for 'count'" },
                { "count: +10", "t:1:8: '+10' is no value for 'count'" },
                { "count: -10", "t:1:8: '-10' is no value for 'count'" },
                { "count: 0x", "t:1:8: '0x' is no value for 'count'" },
                { "count: 1_0", "t:1:8: '1_0' is no value for 'count'" },
                { "count: 10.0", "t:1:8: '10.0' is no value for 'count'" },
                { "count: '10'", "t:1:8: '10' is no value for 'count'" },
                { "count: 18446744073709551616", "t:1:8: '18446744073709551616' is no value for 'count'" },
                { "count:", "t:1:7: '' is no value for 'count'" },
                { "rate: .5", "t:1:7: '.5' is no value for 'rate', expected a number from -1 to 1" },
                { "rate: 5.", "t:1:7: '5.' is no value" },
                { "rate: 1e", "t:1:7: '1e' is no value" },
                { "rate: 1e999", "t:1:7: '1e999' is no value" },
                { "rate: 1.01", "t:1:7: '1.01' is no value" },
                { "rate: .inf", "t:1:7: '.inf' is no value" },
                { "rate: nan", "t:1:7: 'nan' is no value" },
                { "rate: 0x1", "t:1:7: '0x1' is no value" },
                { "rate: 0,5", "t:1:7: '0,5' is no value" },
                { "colour: blue", "t:1:9: 'blue' is no value for 'colour', expected one of: red, green" },
                { "colour: {}", "t:1:9: 'a mapping' is no value for 'colour'" },
                { "inner: 3", "t:1:8: expected a mapping with the keys: depth" },
                { "inner: {}", "t:1:8: 'depth' is missing here" },
                { "inner: {depth: 1, width: 2}", "t:1:19: 'width' is no key here, expected one of: depth" },
                { "items: a", "t:1:8: expected a list of words" },
                { "items: [a, b, c, d]", "t:1:18: more than 3 items, expected a list of words" },
                { "items: [a, [b]]", "t:1:12: expected a word" },
                { "name: x\ndry: true\nname: y", "t:3:1: 'name' stands here twice, first in line 1" },
                { "inner: {depth: 1, depth: 2}", "t:1:19: 'depth' stands here twice" },
                { "{name: x, [a]: b}", "t:1:11: a key is a single word, not a list or mapping" },
                { "name: &a x", "t:1:7: an anchor stands here" },
                { "name: *a", "t:1:7: an alias stands here" },
                { "items: &a [x]", "t:1:8: an anchor stands here" },
                { "name: !!str x", "t:1:7: a tag stands here" },
                { "name: ! x", "t:1:7: a tag stands here" },
                { "inner: !<x> {depth: 1}", "t:1:8: a tag stands here" },
                { "name: x\n---\nname: y", "t:2:1: a second document starts here, expected one" },
                { "name: x\n...\n---\nname: y", "t:3:1: a second document" },
                { "%YAML 1.1\n---\nname: x", "t:1:1: a directive stands here, expected none" },
                { "name: \"a\\0b\"", "t:1:7: a zero byte is in this text" },
                { "name: \"\\x1b[31m\\x9b\"\nx\x7f: 1", "t:2:" },
                { "\"\\x1b[31m\\x9b\": 1", "t:1:1: '?[31m?\?' is no key here" },
                { "name: [", "t:2:1: did not find expected node content while parsing a flow node" },
                { "a: b: c", "t:1:5: mapping values are not allowed in this context" },
                { "name: x\ncount: \xff", "t:2:8: invalid leading UTF-8 octet" },
                { "\tname: x", "t:1:1: found character that cannot start any token" },
                { "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "t:1:17: nested deeper than 16 levels" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Outer outer = {};
                char error[512] = "";

                (void) read_text(cases[i].text, strlen(cases[i].text), &outer, error);
                if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
                        fail_msg("%s\ngot      %s\nexpected %s", cases[i].text, error, cases[i].error);

                yaml_free_fields(outer_fields, &outer);
        }
}

static void test_zero_bytes_are_refused_where_they_stand(void **state) {
        Outer outer = {};
        char error[512] = "";

        assert_non_null(read_text("name: x\ndry\0: true", 18, &outer, error));
        assert_string_equal(error, "t:2:4: a zero byte stands here, expected text");
}

static void test_too_many_bytes_or_values_are_refused(void **state) {
        _cleanup_free_ char *text = malloc(YAML_BYTES_MAX + 1);
        Outer outer = {};
        char error[512] = "";

        assert_non_null(text);
        memset(text, '#', YAML_BYTES_MAX + 1);
        assert_non_null(read_text(text, YAML_BYTES_MAX + 1, &outer, error));
        assert_string_equal(error, "t:1:1: larger than 4194304 bytes");

        for (size_t i = 0; i < 2 * (YAML_ITEMS_MAX + 1); i += 2)
                memcpy(text + i, i == 0 ? "[1" : ",1", 2);
        assert_non_null(read_text(text, 2 * (YAML_ITEMS_MAX + 1), &outer, error));
        assert_non_null(strstr(error, ": more than 200000 values"));
}

static void test_only_the_first_refusal_is_kept(void **state) {
        _cleanup_yaml_ Yaml yaml = {};

        assert_int_equal(yaml_parse(&yaml, "t", "a: 'xyz'", 8), 0);
        assert_int_equal(yaml_refuse(&yaml, yaml_get(&yaml, yaml_root(&yaml), "a"), 2, "no %s", "z"), -EINVAL);
        assert_int_equal(yaml_refuse(&yaml, NULL, 0, "second"), -EINVAL);
        assert_string_equal(yaml.error, "t:1:7: no z"); /* two bytes into the text, which starts behind its quote */
}

static void test_a_file_that_cannot_be_read_says_why(void **state) {
        _cleanup_yaml_ Yaml yaml = {}, folder = {};

        assert_int_equal(yaml_load(&yaml, "/nowhere/at/all"), -ENOENT);
        assert_string_equal(yaml.error, "/nowhere/at/all: No such file or directory");
        assert_int_equal(yaml_load(&folder, "/"), -EISDIR);
}

static void test_a_file_is_read_whole(void **state) {
        char path[] = "/tmp/test-yaml-XXXXXX";
        _cleanup_yaml_ Yaml yaml = {};
        _cleanup_close_ int fd = mkstemp(path);
        _cleanup_free_ char *text = malloc(100001);

        assert_true(fd >= 0);
        assert_non_null(text);
        memset(text, '#', 100000);
        memcpy(text + 99995, "\na: b", 6);
        assert_int_equal(write(fd, text, 100000), 100000);
        assert_int_equal(yaml_load(&yaml, path), 0);
        assert_non_null(yaml_get(&yaml, yaml_root(&yaml), "a"));
        assert_int_equal(yaml.n_text, 100000);
        assert_int_equal(unlink(path), 0);
}

static void test_defaults_become_owned_copies(void **state) {
        static char name[] = "static";
        Outer outer = { .name = name };
        char error[512] = "";

        assert_int_equal(yaml_own_fields(outer_fields, &outer), 0);
        assert_ptr_not_equal(outer.name, name);
        assert_null(read_text("name: other", 11, &outer, error));
        assert_string_equal(outer.name, "other");
        yaml_free_fields(outer_fields, &outer);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_type_of_field_is_read),
                cmocka_unit_test(test_absent_fields_keep_their_defaults),
                cmocka_unit_test(test_every_refusal_says_where_and_what),
                cmocka_unit_test(test_zero_bytes_are_refused_where_they_stand),
                cmocka_unit_test(test_too_many_bytes_or_values_are_refused),
                cmocka_unit_test(test_only_the_first_refusal_is_kept),
                cmocka_unit_test(test_a_file_that_cannot_be_read_says_why),
                cmocka_unit_test(test_a_file_is_read_whole),
                cmocka_unit_test(test_defaults_become_owned_copies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
