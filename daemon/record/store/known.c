/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/store/known.h"

#include <string.h>

bool known_key(const char *text, uint8_t ret[static DIGEST_BYTES]) {
        size_t n = strlen(text);

        if (n == 0 || n >= DIGEST_BYTES)
                return false;
        memset(ret, 0, DIGEST_BYTES);
        memcpy(ret, text, n);
        return true;
}

/* Digests need no mixing, and paths of chips differ in a character or two. */
static size_t place_of(const uint8_t key[static DIGEST_BYTES]) {
        uint64_t words[DIGEST_BYTES / 8], sum = 0;

        memcpy(words, key, DIGEST_BYTES);
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
                sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        return sum >> 56;
}

bool known_has(const Known *known, const uint8_t key[static DIGEST_BYTES]) {
        return memcmp(known->keys[place_of(key)], key, DIGEST_BYTES) == 0;
}

void known_add(Known *known, const uint8_t key[static DIGEST_BYTES]) {
        memcpy(known->keys[place_of(key)], key, DIGEST_BYTES);
}

void known_remove(Known *known, const uint8_t key[static DIGEST_BYTES]) {
        if (known_has(known, key))
                memset(known->keys[place_of(key)], 0, DIGEST_BYTES);
}
