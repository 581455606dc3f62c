/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/wrap.h"

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/*
 * Control characters, also those that UTF-8 writes as two bytes, would be commands to a terminal. And a line that FORMAT does not have is what a
 * stranger wants to be read as ours: then all of it is one.
 */
void make_plain(char *text, const char *format) {
        bool is_ours = count_lines(text) == count_lines(format);

        for (unsigned char *c = (unsigned char *) text; *c; c++)
                if ((*c < 0x20 && *c != '\n') || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) ||
                    (*c == '\n' && !is_ours && c[1]))
                        *c = '?';
}

__attribute__((format(printf, 2, 0))) static void vsay(FILE *file, const char *format, va_list arguments) {
        char *text = NULL;

        if (vasprintf(&text, format, arguments) < 0)
                return;
        make_plain(text, format);
        fputs(text, file);
        free(text);
}

void say(FILE *file, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        vsay(file, format, arguments);
        va_end(arguments);
}

void say_words(size_t indent, const char *format, ...) {
        va_list arguments;
        char *text = NULL;
        int r;

        va_start(arguments, format);
        r = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (r < 0)
                return;
        make_plain(text, format);
        wrap_print(indent, text);
        free(text);
}

int complain(int status, const char *format, ...) {
        va_list arguments;

        fputs("assayctl: ", stderr);
        va_start(arguments, format);
        vsay(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        return status;
}
