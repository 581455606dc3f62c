/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Key
 *
 * Ed25519 keys, private and public. The algorithm belongs to the key, never to a message. The key ID is the
 * OpenSSH fingerprint, since other DSSE implementations compute just that and skip signatures with any other
 * non-empty ID.
 */

#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/record/record.h"

#define KEY_SIGNATURE_BYTES 64
#define KEY_SPKI_BYTES      44 /* DER of an Ed25519 SubjectPublicKeyInfo */
#define KEY_ID_MAX          64 /* with the final zero */

typedef struct PublicKey {
        EVP_PKEY *pkey;
        char id[KEY_ID_MAX];
} PublicKey;

/* Signs the N bytes of a PAE. -EIO where the library refuses. */
int key_sign(const RecordKey *key, const void *pae, size_t n, uint8_t ret[static KEY_SIGNATURE_BYTES]);
const uint8_t *key_spki(const RecordKey *key);
const PublicKey *key_public(const RecordKey *key);

/* Takes over PKEY also on failure. -EBADMSG: not Ed25519. */
int public_key_init(PublicKey *key, EVP_PKEY *pkey);
void public_key_done(PublicKey *key);
/* 1 good, 0 not, -ENOMEM. */
int public_key_verify(const PublicKey *key, const void *pae, size_t n, const uint8_t *signature,
                      size_t n_signature);
