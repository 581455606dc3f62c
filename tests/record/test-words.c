/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "checks/text/cleanup.h"
#include "daemon/record/encode/words.h"

static void test_spaces_and_tabs_separate(void **state) {
        static const struct {
                const char *line;
                size_t n;
                const char *first, *last;
        } cases[] = {
                { "", 0 },
                { " \t ", 0 },
                { "# a remark", 0 },
                { "\t #", 0 },
                { "one", 1, "one", "one" },
                { " log \t\tVKEY  ", 2, "log", "VKEY" },
                { "group g 2 a b #c", 6, "group", "#c" },
                { "na\xc3\xafve \xff", 2, "na\xc3\xafve", "\xff" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Words words;

                assert_null(words_split(&words, cases[i].line, strlen(cases[i].line)));
                assert_int_equal(words.n, cases[i].n);
                assert_null(words.words[words.n]);
                if (words.n == 0)
                        continue;
                assert_string_equal(words.words[0], cases[i].first);
                assert_string_equal(words.words[words.n - 1], cases[i].last);
        }
}

static void test_no_other_control_character_may_stand_there(void **state) {
        Words words;

        for (int c = 0; c < 256; c++) {
                char line[] = { 'a', (char) c, 'b' };
                const char *wrong = words_split(&words, line, sizeof(line));

                if (c != '\t' && (c < ' ' || c == 0x7f))
                        assert_string_equal(wrong, "has a control character");
                else
                        assert_null(wrong);
        }
        assert_non_null(strstr(words_split(&words, "a\r", 2), "CR LF"));
        assert_non_null(strstr(words_split(&words, "\r", 1), "CR LF"));
}

static void test_lines_and_their_words_are_bounded(void **state) {
        char line[WORDS_LINE_MAX];
        Words words;

        memset(line, 'a', sizeof(line));
        assert_null(words_split(&words, line, sizeof(line) - 1));
        assert_int_equal(words.n, 1);
        assert_string_equal(words_split(&words, line, sizeof(line)), "is too long");
        for (size_t i = 0; i < sizeof(line); i += 2)
                line[i] = ' ';
        for (size_t n = WORDS_MAX - 1; n <= WORDS_MAX + 1; n++) {
                assert_null(words_split(&words, line, 2 * n));
                assert_int_equal(words.n, n);
                assert_null(words.words[n < WORDS_MAX ? n : WORDS_MAX]);
        }
        assert_null(words_split(&words, line, sizeof(line) - 1));
        assert_int_equal(words.n, (sizeof(line) - 1) / 2);
        assert_string_equal(words.words[WORDS_MAX - 1], "a");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_spaces_and_tabs_separate),
                cmocka_unit_test(test_no_other_control_character_may_stand_there),
                cmocka_unit_test(test_lines_and_their_words_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
