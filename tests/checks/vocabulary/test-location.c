/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"

static Location parse(const char *text) {
        Location location = {};
        const char *wrong = NULL;

        if (location_parse(text, &location, &wrong, NULL) < 0)
                fail_msg("%s: %s", text, wrong);

        return location;
}

static void test_every_kind_of_part_survives_parsing_and_formatting(void **state) {
        static const struct {
                const char *text;
                LocationKind kind;
        } cases[] = {
                { "us0-1", LOCATION_SERVER },
                { "us0-1/chip0", LOCATION_CHIP },
                { "us0-1/chip15/hbm3", LOCATION_HBM },
                { "us0-1/chip3/hbm0/ch31", LOCATION_CHANNEL },
                { "us0-1/chip3/hbm0/ch15/pc1", LOCATION_PSEUDO_CHANNEL },
                { "us0-1/chip3/hbm0/ch15/pc1/dq31", LOCATION_DQ },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3", LOCATION_SID },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3/bg7", LOCATION_BANK_GROUP },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3/bg7/ba7", LOCATION_BANK },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3/bg7/ba7/row32767", LOCATION_ROW },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3/bg7/ba7/row32767/col63", LOCATION_COLUMN },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3/bg7/ba7/row32767/col63/bit255", LOCATION_BIT },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3/bg7/ba7/col63", LOCATION_COLUMN },
                { "us0-1/chip3/hbm0/ch15/pc1/sid3/bg7/ba7/col63/bit9", LOCATION_BIT },
                { "us0-1/chip3/core7", LOCATION_CORE },
                { "us0-1/chip3/core7/pe127.0", LOCATION_PE },
                { "us0-1/chip3/core7/psum7", LOCATION_PSUM },
                { "us0-1/chip3/core7/psum7/part127", LOCATION_PSUM_PARTITION },
                { "us0-1/chip3/core7/sbuf", LOCATION_SBUF },
                { "us0-1/chip3/core7/sbuf/part127", LOCATION_SBUF_PARTITION },
                { "us0-1/chip3/core7/sbuf/part127/row8191", LOCATION_SRAM_ROW },
                { "us0-1/chip3/core7/psum0/part0/row63/bit255", LOCATION_SRAM_BIT },
                { "us0-1/chip3/core7/sbuf/part0/bit255", LOCATION_SRAM_BIT },
                { "us0-1/chip3/core7/psum7/part127/bit0", LOCATION_SRAM_BIT },
                { "us0-1/chip3/core7/vector", LOCATION_VECTOR },
                { "us0-1/chip3/core7/scalar/lane127", LOCATION_ENGINE_LANE },
                { "us0-1/chip3/core7/gpsimd/lane0", LOCATION_ENGINE_LANE },
                { "us0-1/chip3/core7/sparse", LOCATION_SPARSE },
                { "us0-1/chip3/core7/sparse/row127", LOCATION_SPARSE_ROW },
                { "us0-1/chip3/core7/sparse/row127/slot127", LOCATION_SPARSE_SLOT },
                { "us0-1/chip3/core7/sparse/slot127", LOCATION_SPARSE_SLOT },
                { "us0-1/chip3/link-x+", LOCATION_LINK },
                { "us0-1/chip3/link-z-/lane31", LOCATION_LANE },
                { "us0-1/chip3/nic15", LOCATION_NIC },
                { "us0-1/chip3/nic3/path15", LOCATION_PATH },
                { "trn-0", LOCATION_SERVER },
                { "a234567890123456789012345678901/chip1", LOCATION_CHIP },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char text[LOCATION_STRING_MAX];
                Location location = parse(cases[i].text);

                assert_int_equal(location_kind(&location), cases[i].kind);
                assert_string_equal(location_format(&location, text), cases[i].text);
        }
}

static void test_what_the_grammar_does_not_have_is_refused_where_it_stands(void **state) {
        static const struct {
                const char *text;
                size_t offset;
                const char *wrong; /* a piece of it */
        } cases[] = {
                { "", 0, "name of a server" },
                { "/", 0, "name of a server" },
                { "US0-1", 0, "name of a server" },
                { "0us", 0, "name of a server" },
                { "us0-1 ", 0, "name of a server" },
                { "us_0", 0, "name of a server" },
                { "a2345678901234567890123456789012", 0, "at most 31" },
                { "us0-1/", 6, "chipN" },
                { "us0-1/chip", 6, "chip0 to chip15" },
                { "us0-1/chip16", 6, "chip0 to chip15" },
                { "us0-1/chip-1", 6, "chipN" },
                { "us0-1/chip01", 6, "chip0 to chip15" },
                { "us0-1/chip3x", 6, "chip0 to chip15" },
                { "us0-1/chip4294967299", 6, "chip0 to chip15" },
                { "us0-1/chip3/", 12, "hbmN" },
                { "us0-1/chip3//hbm0", 12, "hbmN" },
                { "us0-1/hbm0", 6, "chipN" },
                { "us0-1/chip3/chip3", 12, "hbmN" },
                { "us0-1/chip3/hbm4", 12, "hbm0 to hbm3" },
                { "us0-1/chip3/hbm0/pc0", 17, "chN" },
                { "us0-1/chip3/hbm0/ch0/pc0/bg0", 25, "sidN or dqN" },
                { "us0-1/chip3/hbm0/ch0/pc0/dq32", 25, "dq0 to dq31" },
                { "us0-1/chip3/hbm0/ch0/pc0/dq3/bit0", 29, "nothing" },
                { "us0-1/chip3/core0/pe3", 18, "pe0.0 to pe127.127" },
                { "us0-1/chip3/core0/pe3.128", 18, "pe0.0 to pe127.127" },
                { "us0-1/chip3/core0/pe3,1", 18, "pe0.0 to pe127.127" },
                { "us0-1/chip3/core0/pe3.1.2", 18, "pe0.0 to pe127.127" },
                { "us0-1/chip3/core0/sbuf3", 18, "no number" },
                { "us0-1/chip3/core0/part3", 18, "psumN" },
                { "us0-1/chip3/core0/psum3/lane3", 24, "partN" },
                { "us0-1/chip3/link-w+", 12, "link-x+" },
                { "us0-1/chip3/link-x", 12, "link-x+" },
                { "us0-1/chip3/link-x++", 12, "link-x+" },
                { "us0-1/chip3/link-x+/lane32", 20, "lane0 to lane31" },
                { "us0-1/chip3/nic16", 12, "nic0 to nic15" },
                { "us0-1/chip3/nic1/lane0", 17, "pathN" },
                { "us0-1/chip3/nic1/path16", 17, "path0 to path15" },
                { "us0-1/chip3/nic1/path0/lane0", 23, "nothing" },
                { "us0-1/chip3/path0", 12, "nicN" },
                { "us0-1/chip3/hbm0/ch0/pc0/sid0/bg0/ba0/row0/col0/bit0/bit0", 53, "nothing" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Location location = { .n_parts = 77 };
                const char *wrong = NULL;
                size_t offset = SIZE_MAX;

                assert_int_equal(location_parse(cases[i].text, &location, &wrong, &offset), -EINVAL);
                assert_int_equal(location.n_parts, 77);
                assert_int_equal(offset, cases[i].offset);
                assert_non_null(wrong);
                if (!strstr(wrong, cases[i].wrong))
                        fail_msg("%s: %s", cases[i].text, wrong);
        }
}

static void test_the_reason_need_not_be_asked_for(void **state) {
        Location location;

        assert_int_equal(location_parse("no/where", &location, NULL, NULL), -EINVAL);
}

static void test_parts_are_appended_only_where_they_belong(void **state) {
        Location location = parse("us0-1"), before;
        char text[LOCATION_STRING_MAX];

        assert_int_equal(location_append(&location, LOCATION_CORE, 0), -EINVAL);
        assert_int_equal(location_append(&location, LOCATION_CHIP, 16), -EINVAL);
        assert_int_equal(location_append(&location, LOCATION_CHIP, 3), 0);
        assert_int_equal(location_append(&location, LOCATION_CORE, 5), 0);
        assert_int_equal(location_append(&location, LOCATION_SBUF, 1), -EINVAL);
        assert_int_equal(location_append(&location, LOCATION_PE, 1), -EINVAL);
        assert_int_equal(location_append_pe(&location, 128, 0), -EINVAL);
        assert_int_equal(location_append_pe(&location, 0, 128), -EINVAL);
        assert_int_equal(location_append_pe(&location, 17, 93), 0);
        assert_string_equal(location_format(&location, text), "us0-1/chip3/core5/pe17.93");

        before = location;
        assert_int_equal(location_append(&location, LOCATION_LANE, 0), -EINVAL);
        assert_int_equal(location_append(&location, _LOCATION_KIND_INVALID, 0), -EINVAL);
        assert_int_equal(location_append(&location, _LOCATION_KIND_MAX, 0), -EINVAL);
        assert_true(location_equal(&location, &before));

        location = parse("us0-1/chip3");
        assert_int_equal(location_append(&location, LOCATION_LINK, _LINK_PORT_MAX), -EINVAL);
        assert_int_equal(location_append(&location, LOCATION_LINK, LINK_Y_MINUS), 0);
        assert_int_equal(location_append(&location, LOCATION_LANE, 31), 0);
        assert_string_equal(location_format(&location, text), "us0-1/chip3/link-y-/lane31");
}

static void test_the_number_of_a_part_is_found_by_its_kind(void **state) {
        Location location = parse("us0-1/chip3/core5/pe17.93");

        assert_int_equal(location_index(&location, LOCATION_CHIP), 3);
        assert_int_equal(location_index(&location, LOCATION_CORE), 5);
        assert_int_equal(location_index(&location, LOCATION_PE), 17);
        assert_int_equal(location.parts[2].column, 93);
        assert_int_equal(location_index(&location, LOCATION_HBM), -ENOENT);
        assert_int_equal(location_index(&location, LOCATION_SERVER), -ENOENT);
}

static void test_a_location_is_cut_after_a_part_it_has(void **state) {
        Location location = parse("us0-1/chip3/core5/pe17.93");
        char text[LOCATION_STRING_MAX];

        assert_int_equal(location_truncate(&location, LOCATION_HBM), -ENOENT);
        assert_int_equal(location.n_parts, 3);
        assert_int_equal(location_truncate(&location, LOCATION_CHIP), 0);
        assert_string_equal(location_format(&location, text), "us0-1/chip3");
        assert_int_equal(location_truncate(&location, LOCATION_SERVER), 0);
        assert_string_equal(location_format(&location, text), "us0-1");
}

static void test_a_prefix_contains_all_that_lies_below_it(void **state) {
        static const struct {
                const char *whole, *part;
                bool contains;
        } cases[] = {
                { "us0-1", "us0-1/chip3/nic3", true },
                { "us0-1/chip3", "us0-1/chip3", true },
                { "us0-1/chip3/nic3", "us0-1/chip3", false },
                { "us0-1/chip1", "us0-1/chip11", false },
                { "us0-1", "us0-2", false },
                { "us0-1/chip3/core5/pe1.2", "us0-1/chip3/core5/pe1.3", false },
                { "us0-1/chip3/core5/vector", "us0-1/chip3/core5/scalar/lane1", false },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Location whole = parse(cases[i].whole), part = parse(cases[i].part);

                assert_int_equal(location_contains(&whole, &part), cases[i].contains);
        }
}

static int compare(const void *a, const void *b) {
        return location_compare(a, b);
}

static void test_locations_sort_as_people_count(void **state) {
        static const char *const sorted[] = {
                "trn-2", "trn-2/chip0", "trn-2/chip0/hbm0", "trn-2/chip0/core0", "trn-2/chip0/link-x+",
                "trn-2/chip2", "trn-2/chip10", "trn-10", "us0-1/chip3/core5/pe17.2", "us0-1/chip3/core5/pe17.10",
        };
        Location locations[ELEMENTS(sorted)];
        char text[LOCATION_STRING_MAX];

        for (size_t i = 0; i < ELEMENTS(sorted); i++)
                locations[i] = parse(sorted[(i * 7 + 3) % ELEMENTS(sorted)]);

        qsort(locations, ELEMENTS(locations), sizeof(locations[0]), compare);
        for (size_t i = 0; i < ELEMENTS(sorted); i++)
                assert_string_equal(location_format(&locations[i], text), sorted[i]);
}

static void test_what_lies_behind_the_last_part_does_not_count(void **state) {
        Location a = parse("us0-1/chip3"), b = a;

        memset(&b.parts[1], 0xff, sizeof(b.parts) - sizeof(b.parts[0]));
        assert_true(location_equal(&a, &b));
        assert_int_equal(location_compare(&a, &b), 0);
}

static void test_ports_have_names_and_opposites(void **state) {
        for (LinkPort port = 0; port < _LINK_PORT_MAX; port++) {
                const char *name = link_port_to_string(port), *other = link_port_to_string(link_port_opposite(port));

                assert_int_equal(link_port_from_string(name), port);
                assert_int_equal(name[0], other[0]);
                assert_int_not_equal(name[1], other[1]);
        }

        assert_null(link_port_to_string(_LINK_PORT_MAX));
        assert_int_equal(link_port_from_string("w+"), _LINK_PORT_INVALID);
        assert_int_equal(link_port_from_string(NULL), _LINK_PORT_INVALID);
}

static void test_kinds_have_the_words_of_the_grammar(void **state) {
        assert_string_equal(location_kind_to_string(LOCATION_CHIP), "chip");
        assert_string_equal(location_kind_to_string(LOCATION_LINK), "link-");
        assert_int_equal(location_kind_from_string("pe"), LOCATION_PE);
        assert_int_equal(location_kind_from_string("row"), LOCATION_ROW);
        assert_int_equal(location_kind_from_string("wheel"), _LOCATION_KIND_INVALID);
        assert_null(location_kind_to_string(_LOCATION_KIND_INVALID));

        for (LocationKind kind = 0; kind < _LOCATION_KIND_MAX; kind++)
                assert_non_null(location_kind_to_string(kind));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_kind_of_part_survives_parsing_and_formatting),
                cmocka_unit_test(test_what_the_grammar_does_not_have_is_refused_where_it_stands),
                cmocka_unit_test(test_the_reason_need_not_be_asked_for),
                cmocka_unit_test(test_parts_are_appended_only_where_they_belong),
                cmocka_unit_test(test_the_number_of_a_part_is_found_by_its_kind),
                cmocka_unit_test(test_a_location_is_cut_after_a_part_it_has),
                cmocka_unit_test(test_a_prefix_contains_all_that_lies_below_it),
                cmocka_unit_test(test_locations_sort_as_people_count),
                cmocka_unit_test(test_what_lies_behind_the_last_part_does_not_count),
                cmocka_unit_test(test_ports_have_names_and_opposites),
                cmocka_unit_test(test_kinds_have_the_words_of_the_grammar),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
