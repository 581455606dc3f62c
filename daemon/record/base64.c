/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/base64.h"

#include <errno.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *data, size_t n, char *text) {
        const uint8_t *in = data;

        for (; n >= 3; n -= 3, in += 3) {
                uint32_t bits = (uint32_t) in[0] << 16 | (uint32_t) in[1] << 8 | in[2];

                *text++ = alphabet[bits >> 18];
                *text++ = alphabet[bits >> 12 & 63];
                *text++ = alphabet[bits >> 6 & 63];
                *text++ = alphabet[bits & 63];
        }
        if (n > 0) {
                uint32_t bits = (uint32_t) in[0] << 16 | (n > 1 ? (uint32_t) in[1] << 8 : 0);

                *text++ = alphabet[bits >> 18];
                *text++ = alphabet[bits >> 12 & 63];
                *text++ = n > 1 ? alphabet[bits >> 6 & 63] : '=';
                *text++ = '=';
        }
        return text;
}

/* One entry per byte: the six bits + 1, so that what is not named is 0: no character of base64. */
#define LETTER(c, first, value) [c] = (value) + (c) - (first) + 1
#define FOUR(c, first, value)                                                                               \
        LETTER((c), first, value), LETTER((c) + 1, first, value), LETTER((c) + 2, first, value),            \
                        LETTER((c) + 3, first, value)

static const uint8_t values[256] = {
        FOUR('A', 'A', 0),        FOUR('E', 'A', 0),        FOUR('I', 'A', 0),        FOUR('M', 'A', 0),
        FOUR('Q', 'A', 0),        FOUR('U', 'A', 0),        LETTER('Y', 'A', 0),      LETTER('Z', 'A', 0),
        FOUR('a', 'a', 26),       FOUR('e', 'a', 26),       FOUR('i', 'a', 26),       FOUR('m', 'a', 26),
        FOUR('q', 'a', 26),       FOUR('u', 'a', 26),       LETTER('y', 'a', 26),     LETTER('z', 'a', 26),
        FOUR('0', '0', 52),       FOUR('4', '0', 52),       LETTER('8', '0', 52),     LETTER('9', '0', 52),
        LETTER('+', '+', 62),     LETTER('/', '/', 63),     LETTER('-', '-', 62),     LETTER('_', '_', 63),
};

enum {
        ALPHABET_STANDARD = 1 << 0,
        ALPHABET_URL_SAFE = 1 << 1,
};

static unsigned alphabet_of(char c) {
        if (c == '+' || c == '/')
                return ALPHABET_STANDARD;
        if (c == '-' || c == '_')
                return ALPHABET_URL_SAFE;
        return 0;
}

int base64_decode(const char *text, size_t n, uint8_t *data, size_t *ret_n) {
        uint8_t *out = data;
        unsigned seen = 0;
        size_t n_padding = 0;

        if (n % 4 != 0)
                return -EINVAL;
        if (n > 0 && text[n - 1] == '=')
                n_padding = text[n - 2] == '=' ? 2 : 1;

        for (size_t i = 0; i < n; i += 4) {
                size_t n_letters = i + 4 == n ? 4 - n_padding : 4;
                uint32_t bits = 0;

                for (size_t k = 0; k < 4; k++) {
                        uint8_t value = k < n_letters ? values[(uint8_t) text[i + k]] : 1;

                        if (value == 0)
                                return -EINVAL;
                        if (value > 62)
                                seen |= alphabet_of(text[i + k]);
                        bits = bits << 6 | (value - 1);
                }
                /* Bits that no byte comes out of must be zero, else many texts would mean the same. */
                if ((n_letters == 2 && (bits & 0xffff)) || (n_letters == 3 && (bits & 0xff)))
                        return -EINVAL;

                *out++ = (uint8_t) (bits >> 16);
                if (n_letters > 2)
                        *out++ = (uint8_t) (bits >> 8);
                if (n_letters > 3)
                        *out++ = (uint8_t) bits;
        }
        if (seen == (ALPHABET_STANDARD | ALPHABET_URL_SAFE))
                return -EINVAL;

        *ret_n = (size_t) (out - data);
        return 0;
}

int base64_decode_standard(const char *text, size_t n, uint8_t *data, size_t *ret_n) {
        if (memchr(text, '-', n) || memchr(text, '_', n))
                return -EINVAL;
        return base64_decode(text, n, data, ret_n);
}
