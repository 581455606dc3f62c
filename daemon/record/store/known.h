/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Known
 *
 * A small set that may forget: of what a transaction has said of the same few parts again and again, so that the database is not asked each
 * time. What is not known costs a question, what is known wrongly would cost a row: whoever keeps one empties it when a transaction ends
 * otherwise than it should.
 */

#include <stdbool.h>
#include <stdint.h>

#include "daemon/record/encode/digest.h"

#define KNOWN_MAX 256

typedef struct Known {
        uint8_t keys[KNOWN_MAX][DIGEST_BYTES]; /* each at the place that it hashes to; all zero: none */
} Known;

/* A text as a key: false where it is empty or too long for one, and can never be known. */
bool known_key(const char *text, uint8_t ret[static DIGEST_BYTES]);

bool known_has(const Known *known, const uint8_t key[static DIGEST_BYTES]);
void known_add(Known *known, const uint8_t key[static DIGEST_BYTES]);
void known_remove(Known *known, const uint8_t key[static DIGEST_BYTES]);
