/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/printer.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"

#define DIGITS_MAX 20 /* of 64 bits */
#define EXACT_MAX 9007199254740991.0 /* 2^53 - 1 */

void printer_done(Printer *printer) {
        free(printer->text);
        *printer = (Printer) {};
}

static char *printer_grow(Printer *printer, size_t n) {
        size_t size = printer->size * 2 > printer->n + n ? printer->size * 2 : printer->n + n + 1024;
        char *text;

        text = realloc(printer->text, size);
        if (!text) {
                printer->error = -ENOMEM;
                return NULL;
        }
        printer->text = text;
        printer->size = size;
        return text + printer->n;
}

/* Room for N bytes more; NULL after an error. */
static char *printer_reserve(Printer *printer, size_t n) {
        if (printer->error < 0)
                return NULL;
        return printer->size - printer->n >= n ? printer->text + printer->n : printer_grow(printer, n);
}

/* N bytes to be filled; NULL after an error. */
static char *printer_room(Printer *printer, size_t n) {
        char *room = printer_reserve(printer, n);

        if (room)
                printer->n += n;
        return room;
}

void printer_raw(Printer *printer, const void *text, size_t n) {
        char *to = n > 0 ? printer_room(printer, n) : NULL;

        if (to)
                memcpy(to, text, n);
}

void printer_text(Printer *printer, const char *text) {
        printer_raw(printer, text, strlen(text));
}

void printer_format(Printer *printer, const char *format, ...) {
        va_list arguments, again;
        char *to;
        int n;

        va_start(arguments, format);
        va_copy(again, arguments);
        n = vsnprintf(NULL, 0, format, arguments);
        to = n >= 0 ? printer_reserve(printer, (size_t) n + 1) : NULL; /* the zero is written over */
        if (to) {
                (void) vsnprintf(to, (size_t) n + 1, format, again);
                printer->n += (size_t) n;
        }
        va_end(again);
        va_end(arguments);
}

void printer_base64(Printer *printer, const void *data, size_t n) {
        char *to = printer_room(printer, BASE64_SIZE(n));

        if (to)
                (void) base64_encode(data, n, to);
}

/* Whether a comma stands before a key or a value: unless it is the first in its bracket or follows its key. */
static bool wants_comma(const Printer *printer) {
        char last = printer->n > 0 ? printer->text[printer->n - 1] : ',';

        return last != '{' && last != '[' && last != ':' && last != ',';
}

/* A key or a value of N bytes. BEFORE may be 0; AFTER is at most two bytes. */
static void printer_item(Printer *printer, char before, const char *text, size_t n, const char *after) {
        char *to = printer_reserve(printer, n + 4);

        if (!to)
                return;
        if (wants_comma(printer))
                *to++ = ',';
        if (before)
                *to++ = before;
        memcpy(to, text, n);
        to += n;
        while (*after)
                *to++ = *after++;
        printer->n = (size_t) (to - printer->text);
}

void printer_open(Printer *printer, char bracket) {
        printer_item(printer, bracket, "", 0, "");
}

void printer_close(Printer *printer, char bracket) {
        printer_raw(printer, &bracket, 1);
}

void printer_close_unless_empty(Printer *printer, size_t began, char bracket) {
        char last = printer->n > 0 ? printer->text[printer->n - 1] : 0;

        if (last == '{' || last == '[')
                printer->n = began;
        else
                printer_close(printer, bracket);
}

void printer_key_of(Printer *printer, const char *key, size_t n) {
        char *to = printer_reserve(printer, n + 4);

        if (!to)
                return;
        if (wants_comma(printer))
                *to++ = ',';
        *to++ = '"';
        memcpy(to, key, n);
        memcpy(to + n, "\":", 2);
        printer->n = (size_t) (to + n + 2 - printer->text);
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

/* DEL is written as it is. */
static bool is_plain(char c) {
        return (uint8_t) c >= 0x20 && (uint8_t) c < 0x80 && c != '"' && c != '\\';
}

static void printer_characters(Printer *printer, const char *text) {
        const char *start = text; /* of what can be copied as it is */

        while (*text) {
                size_t n = is_plain(*text) ? 1 : sequence_length((const uint8_t *) text);

                if (n > 1 || is_plain(*text)) {
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
}

void printer_string(Printer *printer, const char *text) {
        printer_open(printer, '"');
        printer_characters(printer, text);
        printer_close(printer, '"');
}

/* Digits up to END, from the last to the first; returns where they begin. */
static char *format_digits(uint64_t value, char *end) {
        do
                *--end = (char) ('0' + value % 10);
        while ((value /= 10) > 0);
        return end;
}

void printer_digits(Printer *printer, uint64_t value) {
        char text[DIGITS_MAX], *start = format_digits(value, text + DIGITS_MAX);

        printer_raw(printer, start, (size_t) (text + DIGITS_MAX - start));
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void c_locale_make(void) {
        c_locale = newlocale(LC_ALL_MASK, "C", (locale_t) 0);
}

static int format_fraction(double value, char text[static NUMBER_TEXT_MAX]) {
        locale_t before;
        int n = 0;

        (void) pthread_once(&c_locale_once, c_locale_make);
        if (c_locale == (locale_t) 0)
                return -ENOMEM;

        before = uselocale(c_locale);
        for (int digits = 15; digits <= 17; digits++) {
                n = snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, value);
                if (strtod(text, NULL) == value)
                        break;
        }
        (void) uselocale(before);
        return n;
}

/* Most values are counts. */
int number_format(double value, char text[static NUMBER_TEXT_MAX]) {
        char *end = text + NUMBER_TEXT_MAX - 1, *start;

        assert(isfinite(value));
        if (value != trunc(value) || fabs(value) > EXACT_MAX || (value == 0 && signbit(value)))
                return format_fraction(value, text);

        start = format_digits((uint64_t) fabs(value), end);
        if (value < 0)
                *--start = '-';
        *end = '\0';
        memmove(text, start, (size_t) (end - start) + 1);
        return (int) (end - start);
}

void printer_number(Printer *printer, double value) {
        char text[NUMBER_TEXT_MAX];
        int n = number_format(value, text);

        if (n < 0)
                printer->error = n;
        else
                printer_item(printer, 0, text, (size_t) n, "");
}

void printer_unsigned(Printer *printer, uint64_t value) {
        char text[DIGITS_MAX], *start = format_digits(value, text + DIGITS_MAX);
        bool is_exact = value <= (uint64_t) EXACT_MAX;

        printer_item(printer, is_exact ? 0 : '"', start, (size_t) (text + DIGITS_MAX - start), is_exact ? "" : "\"");
}

void printer_member_digits(Printer *printer, const char *key, uint64_t value) {
        char text[DIGITS_MAX], *start = format_digits(value, text + DIGITS_MAX);

        printer_key(printer, key);
        printer_item(printer, '"', start, (size_t) (text + DIGITS_MAX - start), "\"");
}

void printer_bool(Printer *printer, int value) {
        const char *word = value ? "true" : "false";

        printer_item(printer, 0, word, strlen(word), "");
}

void printer_member_base64(Printer *printer, const char *key, const void *data, size_t n) {
        printer_key(printer, key);
        printer_text(printer, "\"");
        printer_base64(printer, data, n);
        printer_text(printer, "\"");
}
