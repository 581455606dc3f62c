/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ring
 *
 * The envelope of a keyring that roots vouch for: DSSE 1.0.2 with one signature for each of them. Its payload is the keyring's text.
 */

#include "daemon/record/encode/printer.h"
#include "daemon/record/keys/keyring.h"

#define RING_PAYLOAD_TYPE   "application/vnd.assay.keyring"
#define RING_SIGNATURES_MAX 32

typedef struct RingSignature {
        char key_id[KEY_ID_MAX]; /* "" without one; proves nothing */
        uint8_t bytes[KEY_SIGNATURE_MAX];
        size_t n;
} RingSignature;

typedef struct Ring {
        char *pae; /* the payload is its tail */
        size_t n_pae;
        size_t payload_offset;
        size_t n_signatures;
        RingSignature signatures[RING_SIGNATURES_MAX];
} Ring;

void ring_done(Ring *ring);

/* -EBADMSG, and what is wrong: it is none; -ENOMEM. */
int ring_parse(const char *text, size_t n, Ring *ret, char ret_wrong[static KEYRING_WRONG_MAX]);
/* A ring of PAYLOAD that nobody has signed. */
int ring_init(Ring *ring, const void *payload, size_t n);
/* Signs it, in the place of an earlier signature with the same key. -E2BIG: there are too many. */
int ring_sign(Ring *ring, const RecordKey *root);
void ring_print(Printer *printer, const Ring *ring); /* one line, with its end */

/* Reads the text, which the caller believes: it has a version, expires, names roots and binds all keys. -EBADMSG, and what is wrong. */
int ring_read(const Ring *ring, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]);
/* How many roots of KEYRING have signed RING, each counted once; -ENOMEM. */
int ring_count_signed(const Ring *ring, const RecordKeyring *keyring);
/* 1: enough of them have; 0: not; -ENOMEM. */
int ring_is_signed(const Ring *ring, const RecordKeyring *keyring);
