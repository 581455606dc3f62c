/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text for people: broken between words where it meets the edge of a terminal, and left whole elsewhere. */

#include <stddef.h>

/* Columns of the terminal that stdout, or the pager behind it, shows; SIZE_MAX where there is none. */
size_t wrap_width(void);
/* How many columns TEXT takes. */
size_t wrap_columns(const char *text);
/* Prints TEXT and a newline, every line behind INDENT spaces. A word longer than a line stays in one piece. */
void wrap_print(size_t indent, const char *text);
/* The same where the cursor stands in column INDENT already. */
void wrap_words(size_t indent, const char *text);
/* The same as wrap_print() with TERM, which is ASCII, in the place of the first line's spaces, or on a line of its own where it is too long for it. */
void wrap_term(size_t indent, const char *term, const char *text);
