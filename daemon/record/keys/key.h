/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Key
 *
 * Ed25519 and ECDSA P-256 keys, private and public. The algorithm belongs to the key, never to a message or the length of a signature.
 * The key ID is the OpenSSH fingerprint, since other DSSE implementations compute just that and skip signatures with any other
 * non-empty ID.
 */

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/record/encode/digest.h"
#include "daemon/record/record.h"

#define KEY_ED25519_BYTES  32 /* of a raw public key: the tail of its SPKI */
#define KEY_ED25519_SIGNATURE 64
#define KEY_SIGNATURE_MAX  72 /* Ed25519: always 64; P-256: DER, at most this */
#define KEY_SPKI_MAX       91 /* DER of a SubjectPublicKeyInfo: 44, or this */
#define KEY_ID_MAX         64 /* with the final zero */
#define KEY_PEM_MAX        4096

typedef struct PublicKey {
        EVP_PKEY *pkey;
        EVP_MD_CTX *verifying; /* begun once, since looking algorithms up takes a while */
        RecordAlgorithm algorithm;
        char id[KEY_ID_MAX];
        uint8_t spki[KEY_SPKI_MAX];
        size_t n_spki;
} PublicKey;

/*
 * Signs the N bytes of a PAE, or of a note. Where a token signs, from one thread at a time. -EIO where the library or the token
 * refuses.
 */
int key_sign(const RecordKey *key, const void *pae, size_t n, uint8_t ret[static KEY_SIGNATURE_MAX], size_t *ret_n);
/*
 * A secret that only who has KEY can work out, whatever else is on the disk, for PURPOSE: what is found under it never leaves the process. It is the
 * digest of a signature, so that a key on a token gives one, too, if it signs the same twice, as Ed25519 does (RFC 8032, section 5.1.6). -EOPNOTSUPP: it does not,
 * or has no private half; and what key_sign() returns.
 */
int key_secret(const RecordKey *key, const char *purpose, uint8_t ret[static DIGEST_BYTES]);
const PublicKey *key_public(const RecordKey *key);

static inline void bio_freep(BIO **bio) {
        (void) BIO_free(*bio);
}

#define _cleanup_bio_ _cleanup_(bio_freep)

/* Takes over PKEY also on failure. -EBADMSG: of another algorithm, or an SPKI in another form than the usual one. */
int public_key_init(PublicKey *key, EVP_PKEY *pkey);
/* Of a DER SubjectPublicKeyInfo, of the key alone (P-256: a point, not compressed), and of one PEM block and nothing more. -EBADMSG, -ENOMEM */
int public_key_from_spki(PublicKey *key, const uint8_t *spki, size_t n);
int public_key_from_raw(PublicKey *key, RecordAlgorithm algorithm, const uint8_t *raw, size_t n);
int public_key_from_pem(PublicKey *key, const char *pem, size_t n);
void public_key_done(PublicKey *key);
/* 1 good, 0 not, -ENOMEM. */
int public_key_verify(const PublicKey *key, const void *pae, size_t n, const uint8_t *signature, size_t n_signature);
/* Its PEM, malloc'd. */
int public_key_to_pem(const PublicKey *key, char **ret);
/* What Sigstore calls the algorithm: PKIX_ED25519, PKIX_ECDSA_P256_SHA_256. */
const char *public_key_details(const PublicKey *key);

/* Of both halves in PKEY, and of a public half alone, which signs nothing. Both take over what they are given also on failure. */
int key_new(EVP_PKEY *pkey, RecordKey **ret);
int key_from_public(PublicKey *public, RecordKey **ret);

/* A key of a PKCS#11 token, see token.h. */
int key_from_token(const char *uri, bool is_private, RecordKey **ret);

/* A small file, malloc'd, not ended by a zero. -EBADMSG: no file, or a large one; -EPERM: others may read it, or its group may write it, and that matters. */
int key_file_read(const char *path, bool is_secret, char **ret, size_t *ret_n);
