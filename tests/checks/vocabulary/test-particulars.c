/* SPDX-License-Identifier: Apache-2.0 */

/* Texts that devices and people say, and that records keep: which of them are taken. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/particulars.h"

static void a_note_is_one_line_that_shows_as_it_reads(void **state) {
        static const char *const good[] = { "WO-4711", " two  words ", "µ-module, Straße 7, 東京", "\\ \" ' <>", "\xf0\x9f\x94\xa7", "e\xcc\x81" };
        static const char *const bad[] = {
                "", "a\nb", "a\tb", "\r", "\x1b[2J", "\x7f", "a\xc2\x9b" "b", "\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                "\xe2\x80\xae" "4711", /* right to left */ "\xe2\x80\x8b", /* of no width */ "\xe2\x80\xa8", "\xe2\x81\xa6" "a",
        };

        for (size_t i = 0; i < ELEMENTS(good); i++)
                if (!note_text_is_valid(good[i]))
                        fail_msg("%s is refused", good[i]);
        for (size_t i = 0; i < ELEMENTS(bad); i++)
                if (note_text_is_valid(bad[i]))
                        fail_msg("bad note %zu is taken", i);
}

/* Bytes count, not characters. */
static void a_note_has_256_bytes_at_most(void **state) {
        char text[NOTE_TEXT_MAX + 1];

        memset(text, 'x', sizeof(text));
        text[256] = '\0';
        assert_true(note_text_is_valid(text));
        text[256] = 'x';
        text[257] = '\0';
        assert_false(note_text_is_valid(text));
        for (size_t i = 0; i < 256; i += 2)
                memcpy(text + i, "\xc3\xa9", 2);
        text[256] = '\0';
        assert_true(note_text_is_valid(text));
        memcpy(text + 255, "\xc3\xa9", 3);
        assert_false(note_text_is_valid(text));
}

static void what_is_no_text_is_taken_as_nothing(void **state) {
        static const char *const bad[] = { "", " ", "a ", " a", "a\n", "\x80", "caf\xc3\xa9", "01234567890123456789012345678901234567890123456X" };
        char text[PARTICULARS_TEXT_MAX];

        particulars_take_text(text, "0123456789012345678901234567890123456789012345 ~");
        assert_string_equal(text, ""); /* of 48 bytes */
        particulars_take_text(text, "H884F67D954 rev ~2");
        assert_string_equal(text, "H884F67D954 rev ~2");
        for (size_t i = 0; i < ELEMENTS(bad) - 1; i++) {
                particulars_take_text(text, bad[i]);
                assert_string_equal(text, "");
        }
        particulars_take_text(text, bad[ELEMENTS(bad) - 1] + 1);
        assert_int_equal(strlen(text), 47);
}

static void words_are_lower_case(void **state) {
        assert_true(particulars_word_is_valid("neuron-driver"));
        assert_true(particulars_word_is_valid("a1"));
        assert_false(particulars_word_is_valid(""));
        assert_false(particulars_word_is_valid("Kernel"));
        assert_false(particulars_word_is_valid("-a"));
        assert_false(particulars_word_is_valid("1a"));
        assert_false(particulars_word_is_valid("a_b"));
        assert_false(particulars_word_is_valid("abcdefghijklmnopqrstuvwxyzabcdef"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_note_is_one_line_that_shows_as_it_reads),
                cmocka_unit_test(a_note_has_256_bytes_at_most),
                cmocka_unit_test(what_is_no_text_is_taken_as_nothing),
                cmocka_unit_test(words_are_lower_case),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
