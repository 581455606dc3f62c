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
