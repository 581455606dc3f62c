/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/wrap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t wrap_width(void) {
        static size_t width = 0;
        struct winsize size;

        /* Asked once, before a pager takes the place of the terminal. */
        if (width == 0)
                width = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) >= 0 && size.ws_col > 0 ? size.ws_col : SIZE_MAX;
        return width;
}

/* One column per character of UTF-8: bytes that go on with one take none. */
static size_t columns_of(const char *text, size_t n) {
        size_t columns = 0;

        for (size_t i = 0; i < n; i++)
                columns += (text[i] & 0xc0) != 0x80;
        return columns;
}

size_t wrap_columns(const char *text) {
        return columns_of(text, strlen(text));
}

void wrap_words(size_t indent, const char *text) {
        size_t column = indent;

        for (bool is_first = true; *text; is_first = false) {
                size_t n = strcspn(text, " "), columns = columns_of(text, n);

                if (!is_first && column + 1 + columns > wrap_width()) {
                        printf("\n%*s", (int) indent, "");
                        column = indent;
                        is_first = true;
                }
                printf("%s%.*s", is_first ? "" : " ", (int) n, text);
                column += columns + !is_first;
                text += n + strspn(text + n, " ");
        }
        putchar('\n');
}

void wrap_print(size_t indent, const char *text) {
        wrap_term(indent, "", text);
}

void wrap_term(size_t indent, const char *term, const char *text) {
        bool is_long = *term && strlen(term) >= indent;

        printf("%-*s", *text ? (int) indent : 0, term);
        if (is_long)
                printf("\n%*s", (int) indent, "");
        wrap_words(indent, text);
}
