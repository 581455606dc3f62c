/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Suggests the word that somebody may have meant: of all valid ones that with the smallest edit distance. */

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_MAX 128 /* with the final zero; longer words are nobody's slip */

typedef struct Nearest {
        const char *word;
        unsigned distance;
        char found[NEAREST_MAX]; /* "": nothing is near */
} Nearest;

Nearest nearest_to(const char *word);
/* Of words that are as near the first stays. */
void nearest_offer(Nearest *nearest, const char *candidate);
/* "; did you mean 'targets'?", or nothing. */
const char *nearest_question(const Nearest *nearest, char *buffer, size_t size);
