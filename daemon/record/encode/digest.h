/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Digest: SHA-256, and its text in lower-case hex. */

#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32
#define DIGEST_HEX   65 /* with the final zero */

/* Returns 0, or -EIO where the library refuses. */
int digest_sha256(const void *data, size_t n, uint8_t ret[static DIGEST_BYTES]);
/* HMAC-SHA-256, RFC 2104, by a key as long as a digest. -EIO likewise. */
int digest_hmac(const uint8_t key[static DIGEST_BYTES], const void *data, size_t n, uint8_t ret[static DIGEST_BYTES]);
char *digest_to_hex(const uint8_t digest[static DIGEST_BYTES], char hex[static DIGEST_HEX]);
int digest_from_hex(const char *hex, uint8_t ret[static DIGEST_BYTES]); /* -EINVAL */
