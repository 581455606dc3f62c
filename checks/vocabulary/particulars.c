/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/vocabulary/particulars.h"

#include <string.h>

#include "checks/text/json-text.h"

/* U+0080 … U+009F; and of U+2000 … U+20FF marks and overrides of direction, and ends of lines and paragraphs. */
static bool is_unseen(const unsigned char *at, size_t n) {
        if (n == 1)
                return at[0] < ' ' || at[0] == 0x7f;
        if (n == 2)
                return at[0] == 0xc2 && at[1] < 0xa0;
        if (n != 3 || at[0] != 0xe2)
                return false;
        return (at[1] == 0x80 && ((at[2] >= 0x8b && at[2] <= 0x8f) || (at[2] >= 0xa8 && at[2] <= 0xae))) || (at[1] == 0x81 && at[2] >= 0xa0 && at[2] <= 0xaf);
}

bool note_text_is_valid(const char *text) {
        const unsigned char *at = (const unsigned char *) text;
        size_t n;

        if (strlen(text) == 0 || strlen(text) >= NOTE_TEXT_MAX)
                return false;
        for (; *at; at += n) {
                n = json_character_length(at);
                if (n == 0 || is_unseen(at, n))
                        return false;
        }
        return true;
}

bool particulars_word_is_valid(const char *word) {
        size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return n > 0 && n < PARTICULARS_WORD_MAX && word[n] == '\0' && word[0] >= 'a';
}

bool particulars_text_is_valid(const char *text) {
        size_t n = strlen(text);

        if (n == 0 || n >= PARTICULARS_TEXT_MAX || text[0] == ' ' || text[n - 1] == ' ')
                return false;
        for (size_t i = 0; i < n; i++)
                if (text[i] < ' ' || text[i] > '~')
                        return false;
        return true;
}

void particulars_take_text(char ret[static PARTICULARS_TEXT_MAX], const char *text) {
        size_t n = particulars_text_is_valid(text) ? strlen(text) : 0;

        memcpy(ret, text, n);
        ret[n] = '\0';
}
