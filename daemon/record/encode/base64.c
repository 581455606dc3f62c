/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/base64.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "checks/cleanup.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* What twelve bits are: half the steps of letter by letter. */
static char pairs[64 * 64][2];
static pthread_once_t pairs_once = PTHREAD_ONCE_INIT;

static void pairs_make(void) {
        for (size_t i = 0; i < ELEMENTS(pairs); i++) {
                pairs[i][0] = alphabet[i >> 6];
                pairs[i][1] = alphabet[i & 63];
        }
}

/* Eight bytes can be read, of which six count. */
static void encode_six(const uint8_t *in, char *text) {
        uint64_t bits;

        memcpy(&bits, in, sizeof(bits));
        bits = be64toh(bits);
        memcpy(text, pairs[bits >> 52], 2);
        memcpy(text + 2, pairs[bits >> 40 & 4095], 2);
        memcpy(text + 4, pairs[bits >> 28 & 4095], 2);
        memcpy(text + 6, pairs[bits >> 16 & 4095], 2);
}

/* Four bytes can be read, of which three count. */
static void encode_three(const uint8_t *in, char *text) {
        uint32_t bits;

        memcpy(&bits, in, sizeof(bits));
        bits = be32toh(bits);
        memcpy(text, pairs[bits >> 20], 2);
        memcpy(text + 2, pairs[bits >> 8 & 4095], 2);
}

char *base64_encode(const void *data, size_t n, char *text) {
        const uint8_t *in = data;

        (void) pthread_once(&pairs_once, pairs_make);
        for (; n > 7; n -= 6, in += 6, text += 8)
                encode_six(in, text);
        for (; n > 3; n -= 3, in += 3, text += 4)
                encode_three(in, text);
        if (n > 0) {
                uint32_t bits = (uint32_t) in[0] << 16 | (n > 1 ? (uint32_t) in[1] << 8 : 0) | (n > 2 ? in[2] : 0u);

                *text++ = alphabet[bits >> 18];
                *text++ = alphabet[bits >> 12 & 63];
                *text++ = n > 1 ? alphabet[bits >> 6 & 63] : '=';
                *text++ = n > 2 ? alphabet[bits & 63] : '=';
        }
        return text;
}

/* One entry per byte: six bits, and a bit for each alphabet that it is a letter of. */
enum {
        STANDARD = 1 << 6,
        URL_SAFE = 1 << 7,
        BOTH     = STANDARD | URL_SAFE,
};

#define LETTER(c, first, value) [c] = BOTH + (value) + (c) - (first)
#define FOUR(c, first, value)                                                                               \
        LETTER((c), first, value), LETTER((c) + 1, first, value), LETTER((c) + 2, first, value),            \
                        LETTER((c) + 3, first, value)

static const uint8_t letters[256] = {
        FOUR('A', 'A', 0),        FOUR('E', 'A', 0),        FOUR('I', 'A', 0),        FOUR('M', 'A', 0),
        FOUR('Q', 'A', 0),        FOUR('U', 'A', 0),        LETTER('Y', 'A', 0),      LETTER('Z', 'A', 0),
        FOUR('a', 'a', 26),       FOUR('e', 'a', 26),       FOUR('i', 'a', 26),       FOUR('m', 'a', 26),
        FOUR('q', 'a', 26),       FOUR('u', 'a', 26),       LETTER('y', 'a', 26),     LETTER('z', 'a', 26),
        FOUR('0', '0', 52),       FOUR('4', '0', 52),       LETTER('8', '0', 52),     LETTER('9', '0', 52),
        ['+'] = STANDARD + 62,    ['/'] = STANDARD + 63,    ['-'] = URL_SAFE + 62,    ['_'] = URL_SAFE + 63,
};

/* The 24 bits of four letters; *ALPHABETS keeps those that all letters were of. */
static uint32_t decode_four(const char text[static 4], unsigned *alphabets) {
        uint8_t a = letters[(uint8_t) text[0]], b = letters[(uint8_t) text[1]];
        uint8_t c = letters[(uint8_t) text[2]], d = letters[(uint8_t) text[3]];

        *alphabets &= a & b & c & d;
        return (uint32_t) (a & 63) << 18 | (uint32_t) (b & 63) << 12 | (uint32_t) (c & 63) << 6 | (d & 63);
}

static int decode(const char *text, size_t n, unsigned alphabets, uint8_t *data, size_t *ret_n) {
        size_t n_padding = 0;
        uint8_t *out = data;
        char last[4];

        if (n % 4 != 0)
                return -EINVAL;
        if (n > 0 && text[n - 1] == '=')
                n_padding = text[n - 2] == '=' ? 2 : 1;

        for (const char *end = text + (n_padding > 0 ? n - 4 : n); text < end; text += 4) {
                uint32_t bits = decode_four(text, &alphabets);

                *out++ = (uint8_t) (bits >> 16);
                *out++ = (uint8_t) (bits >> 8);
                *out++ = (uint8_t) bits;
        }
        if (n_padding > 0) {
                uint32_t bits;

                memcpy(last, text, 4);
                memset(last + 4 - n_padding, 'A', n_padding);
                bits = decode_four(last, &alphabets);
                /* Bits that no byte comes out of must be zero, else many texts would mean the same. */
                if (bits & (n_padding == 2 ? 0xffff : 0xff))
                        return -EINVAL;
                *out++ = (uint8_t) (bits >> 16);
                if (n_padding == 1)
                        *out++ = (uint8_t) (bits >> 8);
        }
        if (!(alphabets & BOTH))
                return -EINVAL;

        *ret_n = (size_t) (out - data);
        return 0;
}

int base64_decode(const char *text, size_t n, uint8_t *data, size_t *ret_n) {
        return decode(text, n, BOTH, data, ret_n);
}

int base64_decode_standard(const char *text, size_t n, uint8_t *data, size_t *ret_n) {
        return decode(text, n, STANDARD, data, ret_n);
}
