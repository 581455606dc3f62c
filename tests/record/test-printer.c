/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/printer.h"

static void assert_printed(Printer *printer, const char *expected) {
        assert_int_equal(printer->error, 0);
        printer_raw(printer, "", 1);
        assert_string_equal(printer->text, expected);
        printer_done(printer);
}

static void test_commas_stand_where_they_must(void **state) {
        Printer p = {};

        printer_open(&p, '{');
        printer_member(&p, "a", "x{");
        printer_member(&p, "left out", "");
        printer_member(&p, "left out", NULL);
        printer_member_always(&p, "b", "");
        printer_key(&p, "c");
        printer_open(&p, '[');
        printer_unsigned(&p, 1);
        printer_open(&p, '[');
        printer_close(&p, ']');
        printer_bool(&p, 1);
        printer_string(&p, ":");
        printer_string(&p, ",");
        printer_close(&p, ']');
        printer_member_number(&p, "d", -0.5);
        printer_close(&p, '}');
        assert_printed(&p, "{\"a\":\"x{\",\"b\":\"\",\"c\":[1,[],true,\":\",\",\"],\"d\":-0.5}");
}

static void test_what_holds_nothing_is_taken_back_with_its_key(void **state) {
        Printer p = {};
        size_t outer, inner;

        printer_open(&p, '{');
        outer = printer_member_open(&p, "gone", '[');
        printer_close_unless_empty(&p, outer, ']');
        outer = printer_member_open(&p, "kept", '{');
        inner = printer_member_open(&p, "gone", '{');
        printer_close_unless_empty(&p, inner, '}');
        printer_member_bool(&p, "a", 0);
        inner = printer_member_open(&p, "gone", '[');
        printer_close_unless_empty(&p, inner, ']');
        inner = printer_member_open(&p, "brackets", '[');
        printer_string(&p, "{[");
        printer_close_unless_empty(&p, inner, ']');
        printer_close_unless_empty(&p, outer, '}');
        outer = printer_member_open(&p, "gone", '{');
        inner = printer_member_open(&p, "gone", '[');
        printer_close_unless_empty(&p, inner, ']');
        printer_close_unless_empty(&p, outer, '}');
        printer_close(&p, '}');
        assert_printed(&p, "{\"kept\":{\"a\":false,\"brackets\":[\"{[\"]}}");
}

static void test_formatted_text_has_room_for_itself(void **state) {
        char text[5000];
        Printer p = {};

        memset(text, 'x', sizeof(text));
        printer_format(&p, "%s %zu", "a", (size_t) 7);
        printer_format(&p, "%.*s", (int) sizeof(text), text);
        printer_format(&p, "%s", "");
        assert_int_equal(p.n, 3 + sizeof(text));
        assert_memory_equal(p.text, "a 7x", 4);
        assert_memory_equal(p.text + 3, text, sizeof(text));
        printer_done(&p);
}

static void test_text_that_is_not_utf8_is_replaced_byte_by_byte(void **state) {
        static const struct {
                const char *text, *printed;
        } cases[] = {
                { "grün €\U0001f600", "\"grün €\U0001f600\"" },
                { "a\"b\\c\n\x01\x7f", "\"a\\\"b\\\\c\\u000a\\u0001\x7f\"" },
                { "\xff", "\"\ufffd\"" },
                { "a\xc3", "\"a\ufffd\"" },                         /* cut off */
                { "\xc0\xaf", "\"\ufffd\ufffd\"" },                 /* overlong '/' */
                { "\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\"" },       /* a surrogate */
                { "\xf4\x90\x80\x80", "\"\ufffd\ufffd\ufffd\ufffd\"" }, /* beyond U+10FFFF */
                { "\xe2\x82z", "\"\ufffd\ufffdz\"" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Printer p = {};

                printer_string(&p, cases[i].text);
                assert_printed(&p, cases[i].printed);
        }
}

/* Each byte at each place of texts of all lengths up to three words of a machine, printed byte by byte. */
static void test_a_character_is_seen_wherever_it_stands(void **state) {
        for (size_t n = 1; n <= 24; n++)
                for (size_t at = 0; at < n; at++)
                        for (unsigned c = 1; c < 0x80; c++) {
                                char text[32] = "", odd[8], expected[64];
                                Printer p = {};

                                memset(text, 'x', n);
                                text[at] = (char) c;
                                (void) snprintf(odd, sizeof(odd), c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
                                (void) snprintf(expected, sizeof(expected), "\"%.*s%s%s\"", (int) at, text, odd, text + at + 1);
                                printer_string(&p, text);
                                assert_printed(&p, expected);
                        }
}

static void test_every_byte_pair_comes_out_as_json(void **state) {
        for (unsigned a = 1; a < 256; a++)
                for (unsigned b = 0; b < 256; b++) {
                        char text[] = { (char) a, (char) b, 0 };
                        json_t *value;
                        Printer p = {};

                        printer_string(&p, text);
                        value = json_loadb(p.text, p.n, JSON_DECODE_ANY, NULL);
                        assert_non_null(value);
                        json_decref(value);
                        printer_done(&p);
                }
}

static void assert_number(double value, const char *expected) {
        Printer p = {};

        printer_number(&p, value);
        assert_printed(&p, expected);
}

static void test_numbers_are_as_short_as_they_can_be(void **state) {
        assert_number(0, "0");
        assert_number(-0.0, "-0");
        assert_number(0.1, "0.1");
        assert_number(0.1 + 0.2, "0.30000000000000004");
        assert_number(1e-9, "1e-09");
        assert_number(103079215104, "103079215104");
        assert_number(9007199254740991, "9007199254740991");
        assert_number(1e300, "1e+300");
        assert_number(5e-324, "4.94065645841247e-324");
        assert_number(195.5, "195.5");
        assert_number(-7, "-7");
        assert_number(-9007199254740991, "-9007199254740991");
        assert_number(-9007199254740992, "-9007199254740992");
}

static void test_numbers_read_back_as_what_they_were(void **state) {
        uint64_t x = 88172645463325252u;

        for (unsigned i = 0; i < 200000; i++) {
                char text[NUMBER_TEXT_MAX];
                double value;

                x ^= x << 13, x ^= x >> 7, x ^= x << 17;
                memcpy(&value, &x, sizeof(value));
                if (!isfinite(value))
                        continue;
                assert_true(number_format(value, text) > 0);
                assert_true(strtod(text, NULL) == value);
        }
}

static void test_integers_beyond_a_double_are_strings(void **state) {
        Printer p = {};

        printer_unsigned(&p, 9007199254740991u);
        printer_unsigned(&p, 9007199254740992u);
        printer_unsigned(&p, UINT64_MAX);
        printer_member_digits(&p, "n", 0);
        printer_digits(&p, UINT64_MAX);
        assert_printed(&p, "9007199254740991,\"9007199254740992\",\"18446744073709551615\",\"n\":\"0\"18446744073709551615");
}

static void test_bytes_are_members_in_base64(void **state) {
        Printer p = {};

        printer_open(&p, '{');
        printer_member_base64(&p, "a", "", 0);
        printer_member_base64(&p, "b", "hello", 5);
        printer_close(&p, '}');
        assert_printed(&p, "{\"a\":\"\",\"b\":\"aGVsbG8=\"}");
}

/* A locale with a decimal comma is made for the occasion, since none may be installed. */
static void test_a_locale_with_a_decimal_comma_changes_nothing(void **state) {
        char folder[] = "/tmp/locale-XXXXXX", command[160], text[8];
        int r;

        assert_non_null(mkdtemp(folder));
        (void) snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/comma >/dev/null 2>&1",
                        folder);
        r = system(command);
        (void) setenv("LOCPATH", folder, 1);
        if (r == 0 && setlocale(LC_ALL, "comma")) {
                (void) snprintf(text, sizeof(text), "%.1f", 0.5);
                assert_string_equal(text, "0,5");
                assert_number(0.5, "0.5");
                assert_number(1e-9, "1e-09");
                (void) snprintf(text, sizeof(text), "%.1f", 0.5);
                assert_string_equal(text, "0,5"); /* and it is left as it was */
        } else
                r = -1;
        (void) setlocale(LC_ALL, "C");
        (void) snprintf(command, sizeof(command), "rm -rf %s", folder);
        (void) !system(command);
        if (r < 0) {
                print_message("# no locale with a comma can be made here\n");
                skip();
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_commas_stand_where_they_must),
                cmocka_unit_test(test_what_holds_nothing_is_taken_back_with_its_key),
                cmocka_unit_test(test_formatted_text_has_room_for_itself),
                cmocka_unit_test(test_text_that_is_not_utf8_is_replaced_byte_by_byte),
                cmocka_unit_test(test_a_character_is_seen_wherever_it_stands),
                cmocka_unit_test(test_every_byte_pair_comes_out_as_json),
                cmocka_unit_test(test_numbers_are_as_short_as_they_can_be),
                cmocka_unit_test(test_numbers_read_back_as_what_they_were),
                cmocka_unit_test(test_integers_beyond_a_double_are_strings),
                cmocka_unit_test(test_bytes_are_members_in_base64),
                cmocka_unit_test(test_a_locale_with_a_decimal_comma_changes_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
