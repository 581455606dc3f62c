/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lines: how texts about logs write numbers and hashes, each in one way only. */

#include "daemon/record/encode/printer.h"
#include "daemon/record/tree/tree.h"

/* What is left of a text. */
typedef struct Lines {
        const char *text;
        size_t n;
} Lines;

typedef struct Line {
        const char *text; /* without its end */
        size_t n;
} Line;

/* The next line, ended by a line feed; -EBADMSG: there is none. */
int line_take(Lines *lines, Line *ret);
/* What follows WORD and a space. -EBADMSG: it does not begin so. */
int line_after(const Line *line, const char *word, Line *ret);

/* Decimal up to TREE_SIZE_MAX without sign or zeros in front; base64 of 32 bytes. -EBADMSG */
int line_number(const Line *line, uint64_t *ret);
int line_hash(const Line *line, TreeHash *ret);

void line_print_number(Printer *printer, uint64_t value); /* with its end */
void line_print_hash(Printer *printer, const TreeHash *hash);

/* Lines of hashes up to an empty one, which is taken too. -EBADMSG: something else, or more than TREE_PATH_MAX. */
int lines_take_path(Lines *lines, TreePath *ret);
void lines_print_path(Printer *printer, const TreePath *path); /* without the empty line */
