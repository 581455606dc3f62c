/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Base64
 *
 * RFC 4648, strictly: every text has exactly one meaning and every meaning exactly one text per alphabet,
 * because a signature's carrier must not be writable in two ways.
 */

#include <stddef.h>
#include <stdint.h>

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* Writes BASE64_SIZE(n) characters of the standard alphabet, without a final zero; returns the end. */
char *base64_encode(const void *data, size_t n, char *text);

/*
 * Decodes N characters of the standard or the URL-safe alphabet into at most N / 4 * 3 bytes. -EINVAL: a
 * length that is no multiple of 4, a character of neither alphabet (white space too), both alphabets in one
 * text, padding in the wrong place, or unused bits that are not zero.
 */
int base64_decode(const char *text, size_t n, uint8_t *data, size_t *ret_n);
/* The same of the standard alphabet alone. */
int base64_decode_standard(const char *text, size_t n, uint8_t *data, size_t *ret_n);
