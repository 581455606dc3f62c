/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/witness/settings.h"

/* vkeys of keys that consist of one byte each. */
static const char *vkey(const char *name, NoteKeyType type, uint8_t byte) {
        static char texts[4][256];
        static unsigned next;
        char *text = texts[next++ % ELEMENTS(texts)];
        uint8_t public[NOTE_PUBLIC_BYTES];
        _cleanup_printer_ Printer printer = {};
        NoteKey key;

        memset(public, byte, sizeof(public));
        assert_int_equal(note_key_init(&key, name, type, public), 0);
        note_key_print(&printer, &key);
        (void) snprintf(text, sizeof(texts[0]), "%.*s", (int) printer.n, printer.text);
        return text;
}

static void test_lines_are_read(void **state) {
        _cleanup_(settings_freep) Settings *settings = NULL;
        char text[2048];
        char *wrong = NULL;

        (void) snprintf(text, sizeof(text),
                        "# remark\n\n  \t\nname w.example/1\nlisten [::1]:80\n log\t%s   https://b.example/ \nlog %s\nlog %s\n# end\nstate /s\nkey /k\n"
                        "anchor /a",
                        vkey("b.example", NOTE_LOG, 2), vkey("a.example", NOTE_LOG, 1), vkey("b.example", NOTE_LOG, 3));
        assert_int_equal(settings_parse(text, strlen(text), &settings, &wrong), 0);
        assert_string_equal(settings->name, "w.example/1");
        assert_string_equal(settings->listen, "[::1]:80");
        assert_string_equal(settings->state, "/s");
        assert_string_equal(settings->key, "/k");
        assert_string_equal(settings->anchor, "/a");
        assert_int_equal(settings->n_logs, 3);
        assert_ptr_equal(settings_find_log(settings, "a.example"), settings->logs);
        assert_ptr_equal(settings_find_log(settings, "b.example"), settings->logs + 1);
        assert_null(settings_find_log(settings, "aa.example"));
        assert_null(settings_find_log(settings, "c.example"));
        assert_null(settings_find_log(settings, ""));
}

static void assert_refused(const char *text, size_t n, const char *why) {
        Settings *settings;
        char *wrong = NULL;

        assert_int_equal(settings_parse(text, n, &settings, &wrong), -EINVAL);
        assert_non_null(strstr(wrong, why));
        free(wrong);
}

static void test_what_is_no_line_is_refused_with_its_number(void **state) {
        char text[8192];

        assert_refused("\nnom x\n", 7, "line 2 begins with none");
        assert_refused("name\n", 5, "line 1 lacks");
        assert_refused("name a b\n", 9, "too many words");
        assert_refused("name a\nname b\n", 14, "line 2 says again");
        assert_refused("name a+b\n", 9, "name");
        assert_refused("name a\0b\n", 9, "control");
        assert_refused("name a\r\n", 8, "line 1 ends in CR LF");
        assert_refused("log a+b+c\n", 10, "vkey");
        (void) snprintf(text, sizeof(text), "log %s\n", vkey("w.example", NOTE_WITNESS, 1));
        assert_refused(text, strlen(text), "vkey");
        (void) snprintf(text, sizeof(text), "log %s\nlog %s\n", vkey("a.example", NOTE_LOG, 1), vkey("b.example", NOTE_LOG, 1));
        assert_refused(text, strlen(text), "twice");
        memset(text, ' ', sizeof(text));
        assert_refused(text, sizeof(text), "line 1 is too long");
}

/* As many as 100,000 servers have whose logs have just got other keys. */
static void test_many_logs_are_found(void **state) {
        _cleanup_(settings_freep) Settings *settings = NULL;
        _cleanup_printer_ Printer text = {};
        char *wrong = NULL;

        for (unsigned i = 0; i < 200000; i++) {
                uint8_t public[NOTE_PUBLIC_BYTES] = { (uint8_t) i, (uint8_t) (i >> 8), (uint8_t) (i >> 16) };
                char name[32];
                NoteKey key;

                (void) snprintf(name, sizeof(name), "log/%u", i);
                assert_int_equal(note_key_init(&key, name, NOTE_LOG, public), 0);
                printer_text(&text, "log ");
                note_key_print(&text, &key);
                printer_text(&text, "\n");
        }
        assert_int_equal(settings_parse(text.text, text.n, &settings, &wrong), 0);
        for (unsigned i = 0; i < 200000; i += 199) {
                const SettingsLog *key;
                uint8_t hash[DIGEST_BYTES];
                char name[32];

                (void) snprintf(name, sizeof(name), "log/%u", i);
                key = settings_find_log(settings, name);
                assert_non_null(key);
                assert_int_equal(key->public[0] | key->public[1] << 8 | key->public[2] << 16, i);
                assert_int_equal(digest_sha256(name, strlen(name), hash), 0);
                assert_ptr_equal(settings_find_hash(settings, hash), key);
                hash[DIGEST_BYTES - 1] ^= 1; /* the index has its beginning alone */
                assert_null(settings_find_hash(settings, hash));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines_are_read),
                cmocka_unit_test(test_what_is_no_line_is_refused_with_its_number),
                cmocka_unit_test(test_many_logs_are_found),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
