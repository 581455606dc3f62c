/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <string.h>

#include "daemon/record/record.h"

/* Fetched once, for good: looking the algorithm up costs as much as hashing a kilobyte. */
static EVP_MD *sha256;
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;

static void sha256_fetch(void) {
        sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

int digest_sha256(const void *data, size_t n, uint8_t ret[static DIGEST_BYTES]) {
        (void) pthread_once(&sha256_once, sha256_fetch);
        if (!sha256 || EVP_Digest(data, n, ret, NULL, sha256, NULL) != 1)
                return -EIO;
        return 0;
}

int digest_hmac(const uint8_t key[static DIGEST_BYTES], const void *data, size_t n, uint8_t ret[static DIGEST_BYTES]) {
        (void) pthread_once(&sha256_once, sha256_fetch);
        return sha256 && HMAC(sha256, key, DIGEST_BYTES, data, n, ret, NULL) ? 0 : -EIO;
}

int record_digest(const void *data, size_t n, char ret[static RECORD_ID_HEX]) {
        uint8_t digest[DIGEST_BYTES];
        int r;

        r = digest_sha256(data, n, digest);
        if (r < 0)
                return r;
        (void) digest_to_hex(digest, ret);
        return 0;
}

char *digest_to_hex(const uint8_t digest[static DIGEST_BYTES], char hex[static DIGEST_HEX]) {
        static const char digits[] = "0123456789abcdef";

        for (size_t i = 0; i < DIGEST_BYTES; i++) {
                hex[2 * i] = digits[digest[i] >> 4];
                hex[2 * i + 1] = digits[digest[i] & 15];
        }
        hex[2 * DIGEST_BYTES] = '\0';
        return hex;
}

int digest_from_hex(const char *hex, uint8_t ret[static DIGEST_BYTES]) {
        static const char digits[] = "0123456789abcdef";
        uint8_t digest[DIGEST_BYTES];

        if (strlen(hex) != DIGEST_HEX - 1)
                return -EINVAL;
        for (size_t i = 0; i < DIGEST_BYTES; i++) {
                const char *high = strchr(digits, hex[2 * i]), *low = strchr(digits, hex[2 * i + 1]);

                if (!high || !low)
                        return -EINVAL;
                digest[i] = (uint8_t) ((high - digits) << 4 | (low - digits));
        }
        memcpy(ret, digest, DIGEST_BYTES);
        return 0;
}
