/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Words
 *
 * A line of c2sp.org/tlog-policy (sections "Structure" and "Character set"), and of other texts that people write by its rules: spaces and tabs
 * separate words, no other control character stands there, and so no CR before the LF.
 */

#include <stddef.h>

#define WORDS_LINE_MAX 4096 /* bytes of a line, with a zero */
#define WORDS_MAX      128

typedef struct Words {
        size_t n;                   /* of the line, of which WORDS_MAX are kept */
        char *words[WORDS_MAX + 1]; /* up to a NULL */
        char text[WORDS_LINE_MAX];
} Words;

/* Splits a line without its end; one whose first word begins with '#' has no words. NULL, or what is wrong with it: "is too long". */
const char *words_split(Words *words, const char *line, size_t n);
