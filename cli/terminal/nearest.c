/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/nearest.h"

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

/* A letter left out, added, changed, or two in each other's place: optimal string alignment (Damerau 1964; Levenshtein 1966). */
static unsigned nearest_distance(const char *a, const char *b) {
        size_t n = strlen(a), m = strlen(b);
        unsigned rows[3][NEAREST_MAX + 1], *before = rows[0], *above = rows[1], *row = rows[2];

        if (n >= NEAREST_MAX || m >= NEAREST_MAX)
                return NEAREST_MAX;
        for (size_t k = 0; k <= m; k++)
                above[k] = before[k] = (unsigned) k;
        for (size_t i = 1; i <= n; i++) {
                unsigned *oldest = before;

                row[0] = (unsigned) i;
                for (size_t k = 1; k <= m; k++) {
                        row[k] = MIN(MIN(row[k - 1], above[k]) + 1, above[k - 1] + (a[i - 1] != b[k - 1]));
                        if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                                row[k] = MIN(row[k], before[k - 2] + 1);
                }
                before = above;
                above = row;
                row = oldest;
        }
        return above[m];
}

/* Of three letters one may be wrong. */
Nearest nearest_to(const char *word) {
        return (Nearest) { .word = word, .distance = MAX((unsigned) strlen(word) / 3, 1u) + 1 };
}

void nearest_offer(Nearest *nearest, const char *candidate) {
        unsigned distance = nearest_distance(nearest->word, candidate);

        if (distance >= nearest->distance || strlen(candidate) >= sizeof(nearest->found))
                return;
        nearest->distance = distance;
        (void) strcpy(nearest->found, candidate);
}

const char *nearest_question(const Nearest *nearest, char *buffer, size_t size) {
        buffer[0] = '\0';
        if (*nearest->found)
                (void) snprintf(buffer, size, "; did you mean '%s'?", nearest->found);
        return buffer;
}
