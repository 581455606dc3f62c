/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/base64.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>

#define PIECE 1024 /* characters that are decoded at a time */

/* OpenSSL writes a zero behind the text, for which there is no room: behind all but the last letters. */
char *base64_encode(const void *data, size_t n, char *text) {
        size_t n_before = n > 0 ? (n - 1) / 3 * 3 : 0;
        unsigned char last[5];

        if (n == 0)
                return text;
        text += EVP_EncodeBlock((unsigned char *) text, data, (int) n_before);
        (void) EVP_EncodeBlock(last, (const unsigned char *) data + n_before, (int) (n - n_before));
        memcpy(text, last, 4);
        return text + 4;
}

static bool has_any(const char *text, size_t n, char a, char b) {
        return memchr(text, a, n) || memchr(text, b, n);
}

/* OpenSSL takes white space around a text, and bits that no byte comes out of: N characters are that of their meaning where it is written so again. */
static int decode_piece(const char text[static PIECE], size_t n, uint8_t *data, size_t *ret_n) {
        size_t n_padding = (text[n - 1] == '=') + (text[n - 1] == '=' && text[n - 2] == '=');
        int n_bytes = EVP_DecodeBlock(data, (const unsigned char *) text, (int) n);
        char again[PIECE];

        if (n_bytes < 0 || (size_t) n_bytes != n / 4 * 3)
                return -EINVAL;
        (void) base64_encode(data, (size_t) n_bytes - n_padding, again);
        if (memcmp(again, text, n) != 0)
                return -EINVAL;
        *ret_n = (size_t) n_bytes - n_padding;
        return 0;
}

int base64_decode_standard(const char *text, size_t n, uint8_t *data, size_t *ret_n) {
        return has_any(text, n, '-', '_') ? -EINVAL : base64_decode(text, n, data, ret_n);
}

int base64_decode(const char *text, size_t n, uint8_t *data, size_t *ret_n) {
        bool is_url_safe = has_any(text, n, '-', '_');
        size_t n_data = 0, n_piece, n_bytes;
        char piece[PIECE];

        if (n % 4 != 0 || (is_url_safe && has_any(text, n, '+', '/')))
                return -EINVAL;
        for (; n > 0; n -= n_piece, text += n_piece) {
                n_piece = MIN(n, (size_t) PIECE);
                memcpy(piece, text, n_piece);
                for (size_t i = 0; is_url_safe && i < n_piece; i++)
                        piece[i] = piece[i] == '-' ? '+' : piece[i] == '_' ? '/' : piece[i];
                if (decode_piece(piece, n_piece, data + n_data, &n_bytes) < 0 || (n > n_piece && n_bytes != n_piece / 4 * 3))
                        return -EINVAL;
                n_data += n_bytes;
        }
        *ret_n = n_data;
        return 0;
}
