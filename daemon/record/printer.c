/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/printer.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EXACT_MAX 9007199254740991.0 /* 2^53 - 1 */

void printer_done(Printer *printer) {
        free(printer->text);
        *printer = (Printer) {};
}

/* Room for N bytes more; NULL after an error. */
static char *printer_reserve(Printer *printer, size_t n) {
        size_t size;
        char *text;

        if (printer->error < 0)
                return NULL;
        if (printer->size - printer->n >= n)
                return printer->text + printer->n;

        size = printer->size * 2 > printer->n + n ? printer->size * 2 : printer->n + n + 1024;
        text = realloc(printer->text, size);
        if (!text) {
                printer->error = -ENOMEM;
                return NULL;
        }
        printer->text = text;
        printer->size = size;
        return text + printer->n;
}

void printer_raw(Printer *printer, const void *text, size_t n) {
        char *to;

        to = printer_reserve(printer, n);
        if (!to || n == 0)
                return;
        memcpy(to, text, n);
        printer->n += n;
}

void printer_text(Printer *printer, const char *text) {
        printer_raw(printer, text, strlen(text));
}

/* Before a key or a value: a comma unless it is the first in its bracket or follows its key. */
static void printer_comma(Printer *printer) {
        char last;

        if (printer->error < 0 || printer->n == 0)
                return;
        last = printer->text[printer->n - 1];
        if (last != '{' && last != '[' && last != ':' && last != ',')
                printer_raw(printer, ",", 1);
}

void printer_open(Printer *printer, char bracket) {
        printer_comma(printer);
        printer_raw(printer, &bracket, 1);
}

void printer_close(Printer *printer, char bracket) {
        printer_raw(printer, &bracket, 1);
}

void printer_key(Printer *printer, const char *key) {
        printer_comma(printer);
        printer_raw(printer, "\"", 1);
        printer_text(printer, key);
        printer_raw(printer, "\":", 2);
}

/*
 * The length of the UTF-8 sequence at TEXT, 0 where there is none: overlong, surrogate, beyond U+10FFFF, cut
 * off.
 */
static size_t sequence_length(const uint8_t *text) {
        uint32_t rune, least;
        size_t n;

        if (text[0] < 0x80)
                return 1;
        if ((text[0] & 0xe0) == 0xc0)
                n = 2, rune = text[0] & 0x1f, least = 0x80;
        else if ((text[0] & 0xf0) == 0xe0)
                n = 3, rune = text[0] & 0x0f, least = 0x800;
        else if ((text[0] & 0xf8) == 0xf0)
                n = 4, rune = text[0] & 0x07, least = 0x10000;
        else
                return 0;

        for (size_t i = 1; i < n; i++) {
                if ((text[i] & 0xc0) != 0x80)
                        return 0;
                rune = rune << 6 | (text[i] & 0x3f);
        }
        if (rune < least || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
                return 0;
        return n;
}

static void printer_escape(Printer *printer, char c) {
        char escape[8];
        int n;

        if (c == '"' || c == '\\')
                n = snprintf(escape, sizeof(escape), "\\%c", c);
        else
                n = snprintf(escape, sizeof(escape), "\\u%04x", (unsigned) c);
        printer_raw(printer, escape, (size_t) n);
}

void printer_string(Printer *printer, const char *text) {
        const char *start = text; /* of what can be copied as it is */

        printer_comma(printer);
        printer_raw(printer, "\"", 1);
        while (*text) {
                size_t n = sequence_length((const uint8_t *) text);

                if (n > 1 || (n == 1 && (uint8_t) *text >= 0x20 && *text != '"' && *text != '\\')) {
                        text += n;
                        continue;
                }
                printer_raw(printer, start, (size_t) (text - start));
                if (n == 1)
                        printer_escape(printer, *text);
                else
                        printer_text(printer, "\xef\xbf\xbd");
                start = ++text;
        }
        printer_raw(printer, start, (size_t) (text - start));
        printer_raw(printer, "\"", 1);
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void c_locale_make(void) {
        c_locale = newlocale(LC_ALL_MASK, "C", (locale_t) 0);
}

int number_format(double value, char text[static NUMBER_TEXT_MAX]) {
        locale_t before;
        int n = 0;

        assert(isfinite(value));
        (void) pthread_once(&c_locale_once, c_locale_make);
        if (c_locale == (locale_t) 0)
                return -ENOMEM;

        before = uselocale(c_locale);
        if (value == trunc(value) && fabs(value) <= EXACT_MAX && !(value == 0 && signbit(value)))
                n = snprintf(text, NUMBER_TEXT_MAX, "%lld", (long long) value);
        else
                for (int digits = 15; digits <= 17; digits++) {
                        n = snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, value);
                        if (strtod(text, NULL) == value)
                                break;
                }
        (void) uselocale(before);
        return n;
}

void printer_number(Printer *printer, double value) {
        char text[NUMBER_TEXT_MAX];
        int n;

        printer_comma(printer);
        n = number_format(value, text);
        if (n < 0)
                printer->error = n;
        else
                printer_raw(printer, text, (size_t) n);
}

void printer_unsigned(Printer *printer, uint64_t value) {
        char text[24];
        int n;

        printer_comma(printer);
        n = snprintf(text, sizeof(text), value <= (uint64_t) EXACT_MAX ? "%llu" : "\"%llu\"",
                     (unsigned long long) value);
        printer_raw(printer, text, (size_t) n);
}

void printer_bool(Printer *printer, int value) {
        printer_comma(printer);
        printer_text(printer, value ? "true" : "false");
}

void printer_member(Printer *printer, const char *key, const char *text) {
        if (text && *text)
                printer_member_always(printer, key, text);
}

void printer_member_always(Printer *printer, const char *key, const char *text) {
        printer_key(printer, key);
        printer_string(printer, text);
}

void printer_member_number(Printer *printer, const char *key, double value) {
        printer_key(printer, key);
        printer_number(printer, value);
}

void printer_member_unsigned(Printer *printer, const char *key, uint64_t value) {
        printer_key(printer, key);
        printer_unsigned(printer, value);
}
