/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/words.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_control(char c) {
        return ((uint8_t) c < ' ' && c != '\t') || c == 0x7f;
}

const char *words_split(Words *words, const char *line, size_t n) {
        char *saved;

        if (n >= sizeof(words->text))
                return "is too long";
        if (n > 0 && line[n - 1] == '\r')
                return "ends in CR LF, as of Windows, and not in LF alone";
        for (size_t i = 0; i < n; i++)
                if (is_control(line[i]))
                        return "has a control character";
        memcpy(words->text, line, n);
        words->text[n] = '\0';
        words->n = 0;
        for (char *word = strtok_r(words->text, " \t", &saved); word; word = strtok_r(NULL, " \t", &saved)) {
                if (words->n == 0 && word[0] == '#')
                        break;
                if (words->n < WORDS_MAX)
                        words->words[words->n] = word;
                words->n++;
        }
        words->words[words->n < WORDS_MAX ? words->n : WORDS_MAX] = NULL;
        return NULL;
}
