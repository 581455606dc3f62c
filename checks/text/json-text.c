/* SPDX-License-Identifier: Apache-2.0 */

/* Json-text: text, numbers and members, printed. */

#include "checks/text/json-text.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void json_put_bytes(JsonText *json, const char *bytes, size_t n) {
        if (json->failed)
                return;

        if (n > json->size - json->n) {
                size_t size = 2 * (json->size + n) + 256;
                char *larger = realloc(json->bytes, size);

                if (!larger) {
                        json->failed = true;
                        return;
                }

                json->bytes = larger;
                json->size = size;
        }

        memcpy(json->bytes + json->n, bytes, n);
        json->n += n;
}

void json_put(JsonText *json, const char *literal) {
        json_put_bytes(json, literal, strlen(literal));
}

char *json_text_done(JsonText *json) {
        json_put_bytes(json, "", 1);
        if (json->failed) {
                free(json->bytes);
                return NULL;
        }

        return json->bytes;
}

size_t json_character_length(const unsigned char *text) {
        size_t n;

        if (text[0] < 0x80)
                return 1;
        if (text[0] >= 0xc2 && text[0] <= 0xdf)
                n = 2;
        else if (text[0] >= 0xe0 && text[0] <= 0xef)
                n = 3;
        else if (text[0] >= 0xf0 && text[0] <= 0xf4)
                n = 4;
        else
                return 0;

        for (size_t i = 1; i < n; i++)
                if ((text[i] & 0xc0) != 0x80) /* also the final zero */
                        return 0;

        if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
            (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
                return 0;

        return n;
}

static bool is_control(const unsigned char *text, size_t n) {
        if (n == 1)
                return (text[0] < 0x20 && text[0] != '\n' && text[0] != '\t') || text[0] == 0x7f;

        return n == 2 && text[0] == 0xc2 && text[1] < 0xa0; /* U+0080 … U+009F */
}

/* One character in its JSON form; returns how many bytes of text it stands for. */
static size_t put_character(JsonText *json, const unsigned char *text, size_t n) {
        if (n == 0 || is_control(text, n)) {
                json_put(json, "\xef\xbf\xbd");
                return 3;
        }

        if (n > 1 || (text[0] >= 0x20 && text[0] != '"' && text[0] != '\\'))
                json_put_bytes(json, (const char *) text, n);
        else if (text[0] == '\n')
                json_put(json, "\\n");
        else if (text[0] == '\t')
                json_put(json, "\\t");
        else {
                json_put(json, "\\");
                json_put_bytes(json, (const char *) text, 1);
        }

        return n;
}

/* How many bytes from here on need no second look: most texts are all of that. */
static size_t plain_length(const char *text) {
        size_t n = 0;

        while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
                n++;

        return n;
}

void json_put_text(JsonText *json, const char *text, size_t max) {
        size_t used = 0, fits = 0, n;

        text = text ? text : "";
        n = plain_length(text);
        json_put(json, "\"");
        if (text[n] == '\0' && n <= max) {
                json_put_bytes(json, text, n);
                json_put(json, "\"");
                return;
        }

        for (const unsigned char *at = (const unsigned char *) text; *at;) {
                n = json_character_length(at);
                if (used <= max - 3)
                        fits = json->n; /* an ellipsis still fits here */

                used += put_character(json, at, n);
                if (used > max) {
                        json->n = fits;
                        json_put(json, "…");
                        break;
                }

                at += n > 0 ? n : 1;
        }

        json_put(json, "\"");
}

void json_put_name(JsonText *json, const char *name) {
        char before = json->n > 0 ? json->bytes[json->n - 1] : '{';

        json_put(json, before == '{' || before == '[' ? "\"" : ",\"");
        json_put(json, name);
        json_put(json, "\":");
}

void json_put_string(JsonText *json, const char *name, const char *text, size_t max) {
        json_put_name(json, name);
        json_put_text(json, text, max);
}

void json_put_string_if(JsonText *json, const char *name, const char *text, size_t max) {
        if (!text || !*text)
                return;

        json_put_name(json, name);
        json_put_text(json, text, max);
}

char *json_print_unsigned(uint64_t value, char buffer[static 24]) {
        char *at = buffer + 23;

        *at = '\0';
        do
                *--at = (char) ('0' + value % 10);
        while ((value /= 10) > 0);

        return at;
}

void json_put_unsigned(JsonText *json, const char *name, uint64_t value) {
        char buffer[24];

        json_put_name(json, name);
        json_put(json, json_print_unsigned(value, buffer));
}

void json_put_wide(JsonText *json, const char *name, uint64_t value) {
        char buffer[24];

        json_put_string(json, name, json_print_unsigned(value, buffer), sizeof(buffer));
}

/* The shortest text that reads back as VALUE, with a point in every locale. */
static void print_double(double value, char buffer[static 32]) {
        static locale_t c_locale; /* made once, kept for good */
        locale_t before;

        if (!c_locale)
                c_locale = newlocale(LC_ALL_MASK, "C", (locale_t) 0);

        before = c_locale ? uselocale(c_locale) : (locale_t) 0;
        for (int digits = 15; digits <= 17; digits++) {
                (void) snprintf(buffer, 32, "%.*g", digits, value);
                if (strtod(buffer, NULL) == value)
                        break;
        }

        if (c_locale)
                (void) uselocale(before);
}

void json_put_double(JsonText *json, const char *name, double value) {
        char buffer[32], *text = buffer;

        assert(isfinite(value));

        if (fabs(value) < 1e15 && value == trunc(value) && !(value == 0 && signbit(value))) {
                text = json_print_unsigned((uint64_t) fabs(value), buffer);
                if (value < 0)
                        *--text = '-';
        } else
                print_double(value, buffer);

        json_put_name(json, name);
        json_put(json, text);
}
