/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/key.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/keys/token.h"

/*
 * What is known of an algorithm. Its SPKI is a fixed beginning and the key; SSH puts another beginning before the same bytes. So a
 * key has one SPKI: no curve by its parameters, no point that is compressed or of the hybrid form, of which OpenSSL would make the same
 * key: by two names it could count as two roots.
 */
typedef struct Algorithm {
        const char *word, *details;
        const char *digest; /* of the message before it is signed; NULL: the algorithm's own affair */
        size_t n_key, n_spki_head, n_ssh_head;
        const char *spki_head, *ssh_head;
        uint8_t form; /* what the key begins with: a point that is told by both coordinates; 0: anything */
} Algorithm;

#define BYTES(literal) sizeof(literal) - 1
#define ED25519_SPKI "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
#define ED25519_SSH  "\0\0\0\x0bssh-ed25519\0\0\0\x20"
#define P256_SPKI    "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00"
#define P256_SSH     "\0\0\0\x13" "ecdsa-sha2-nistp256" "\0\0\0\x08" "nistp256" "\0\0\0\x41"
#define SSH_MAX      128
#define PEM_HEAD     "-----BEGIN " PEM_STRING_PUBLIC "-----"

static const Algorithm algorithms[_RECORD_ALGORITHM_MAX] = {
        [RECORD_ED25519] = { "ed25519", "PKIX_ED25519", NULL, KEY_ED25519_BYTES, BYTES(ED25519_SPKI), BYTES(ED25519_SSH), ED25519_SPKI, ED25519_SSH },
        [RECORD_ECDSA_P256] = { "ecdsa-p256", "PKIX_ECDSA_P256_SHA_256", "SHA256", 65, BYTES(P256_SPKI), BYTES(P256_SSH), P256_SPKI, P256_SSH, POINT_CONVERSION_UNCOMPRESSED },
};

struct RecordKey {
        PublicKey public; /* its pkey holds the private half too, where no token does */
        char *pem;
        Token *token;
        EVP_MD_CTX *signing; /* as PublicKey.verifying; NULL: the token signs */
};

static void md_ctx_freep(EVP_MD_CTX **ctx) {
        EVP_MD_CTX_free(*ctx);
}

#define _cleanup_md_ctx_ _cleanup_(md_ctx_freep)

const char *record_algorithm_to_string(RecordAlgorithm algorithm) {
        return algorithm >= 0 && algorithm < _RECORD_ALGORITHM_MAX ? algorithms[algorithm].word : NULL;
}

RecordAlgorithm record_algorithm_from_string(const char *word) {
        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++)
                if (strcmp(algorithms[i].word, word) == 0)
                        return i;
        return _RECORD_ALGORITHM_INVALID;
}

/* ---- public keys ---- */

static RecordAlgorithm algorithm_of(const uint8_t *spki, size_t n) {
        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++)
                if (n == algorithms[i].n_spki_head + algorithms[i].n_key && memcmp(spki, algorithms[i].spki_head, algorithms[i].n_spki_head) == 0 &&
                    (algorithms[i].form == 0 || spki[algorithms[i].n_spki_head] == algorithms[i].form))
                        return i;
        return _RECORD_ALGORITHM_INVALID;
}

/* "SHA256:" and the unpadded base64 of SHA-256 over the key as SSH writes it. */
static int key_fingerprint(const Algorithm *algorithm, const uint8_t *spki, char ret[static KEY_ID_MAX]) {
        uint8_t blob[SSH_MAX], digest[DIGEST_BYTES];
        char *end;

        memcpy(blob, algorithm->ssh_head, algorithm->n_ssh_head);
        memcpy(blob + algorithm->n_ssh_head, spki + algorithm->n_spki_head, algorithm->n_key);
        if (digest_sha256(blob, algorithm->n_ssh_head + algorithm->n_key, digest) < 0)
                return -EIO;

        memcpy(ret, "SHA256:", 7);
        end = base64_encode(digest, sizeof(digest), ret + 7);
        end[-1] = '\0'; /* 32 bytes always end in one '=' */
        return 0;
}

/* What either begins with, EVP_DigestSignInit_ex or EVP_DigestVerifyInit_ex. */
typedef int Begin(EVP_MD_CTX *ctx, EVP_PKEY_CTX **ret, const char *digest, OSSL_LIB_CTX *library, const char *properties, EVP_PKEY *pkey,
                  const OSSL_PARAM *parameters);

static int begin(const PublicKey *key, Begin *init, EVP_MD_CTX **ret) {
        _cleanup_md_ctx_ EVP_MD_CTX *ctx = EVP_MD_CTX_new();

        if (!ctx || init(ctx, NULL, algorithms[key->algorithm].digest, NULL, NULL, key->pkey, NULL) != 1)
                return -ENOMEM;
        *ret = TAKE_PTR(ctx);
        return 0;
}

/* A copy of what has begun, since a context is good for one message and one thread. */
static EVP_MD_CTX *begun(const EVP_MD_CTX *from) {
        _cleanup_md_ctx_ EVP_MD_CTX *ctx = EVP_MD_CTX_new();

        return ctx && EVP_MD_CTX_copy_ex(ctx, from) == 1 ? TAKE_PTR(ctx) : NULL;
}

/* Takes over PKEY, whose SPKI is that of N bytes. */
static int take(PublicKey *key, EVP_PKEY *pkey, const uint8_t *spki, size_t n) {
        int r = -EBADMSG;

        *key = (PublicKey) { .pkey = pkey, .algorithm = algorithm_of(spki, n), .n_spki = n };
        if (key->algorithm >= 0) {
                memcpy(key->spki, spki, n);
                r = key_fingerprint(&algorithms[key->algorithm], spki, key->id);
        }
        if (r == 0)
                r = begin(key, EVP_DigestVerifyInit_ex, &key->verifying);
        ERR_clear_error();
        if (r < 0)
                public_key_done(key);
        return r;
}

int public_key_init(PublicKey *key, EVP_PKEY *pkey) {
        uint8_t spki[KEY_SPKI_MAX], *end = spki;
        int n;

        n = i2d_PUBKEY(pkey, NULL);
        if (n < 0 || n > KEY_SPKI_MAX || i2d_PUBKEY(pkey, &end) != n)
                n = 0;
        return take(key, pkey, spki, (size_t) n);
}

/* OpenSSL takes longer to decode a key than to verify with it, so the usual one is not decoded. */
int public_key_from_spki(PublicKey *key, const uint8_t *spki, size_t n) {
        RecordAlgorithm algorithm = algorithm_of(spki, n);
        const uint8_t *end = spki;
        EVP_PKEY *pkey;

        if (algorithm < 0)
                return -EBADMSG;
        pkey = algorithm == RECORD_ED25519 ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, spki + n - KEY_ED25519_BYTES, KEY_ED25519_BYTES) :
                                             d2i_PUBKEY(NULL, &end, (long) n);
        ERR_clear_error();
        if (!pkey)
                return algorithm == RECORD_ED25519 ? -ENOMEM : -EBADMSG;
        return take(key, pkey, spki, n);
}

int public_key_from_raw(PublicKey *key, RecordAlgorithm algorithm, const uint8_t *raw, size_t n) {
        const Algorithm *known = &algorithms[algorithm];
        uint8_t spki[KEY_SPKI_MAX];

        if (n != known->n_key)
                return -EBADMSG;
        memcpy(spki, known->spki_head, known->n_spki_head);
        memcpy(spki + known->n_spki_head, raw, n);
        return public_key_from_spki(key, spki, known->n_spki_head + n);
}

/* Nothing but white space may be left: what one reader skips another trusts. */
static bool is_at_end(BIO *bio) {
        char c;

        while (BIO_read(bio, &c, 1) == 1)
                if (!strchr(" \t\r\n", c))
                        return false;
        return true;
}

int public_key_from_pem(PublicKey *key, const char *pem, size_t n) {
        char *name = NULL, *header = NULL;
        _cleanup_bio_ BIO *bio = NULL;
        uint8_t *der = NULL;
        long n_der;
        int r = -EBADMSG;

        if (n < BYTES(PEM_HEAD) || n > KEY_PEM_MAX || memcmp(pem, PEM_HEAD, BYTES(PEM_HEAD)) != 0)
                return -EBADMSG;
        bio = BIO_new_mem_buf(pem, (int) n);
        if (!bio)
                return -ENOMEM;
        if (PEM_read_bio(bio, &name, &header, &der, &n_der) == 1 && *header == '\0' && is_at_end(bio))
                r = public_key_from_spki(key, der, (size_t) n_der);
        ERR_clear_error();
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(der);
        return r;
}

void public_key_done(PublicKey *key) {
        EVP_MD_CTX_free(key->verifying);
        EVP_PKEY_free(key->pkey);
        key->verifying = NULL;
        key->pkey = NULL;
}

int public_key_verify(const PublicKey *key, const void *pae, size_t n, const uint8_t *signature, size_t n_signature) {
        _cleanup_md_ctx_ EVP_MD_CTX *ctx = NULL;
        int r;

        if (n_signature > KEY_SIGNATURE_MAX)
                return 0;
        ctx = begun(key->verifying);
        if (!ctx)
                return -ENOMEM;
        r = EVP_DigestVerify(ctx, signature, n_signature, pae, n);
        ERR_clear_error();
        return r == 1;
}

int public_key_to_pem(const PublicKey *key, char **ret) {
        _cleanup_bio_ BIO *bio = NULL;
        char *text, *pem;
        long n;

        bio = BIO_new(BIO_s_mem());
        if (!bio || PEM_write_bio_PUBKEY(bio, key->pkey) != 1)
                return -ENOMEM;
        n = BIO_get_mem_data(bio, &text);
        pem = strndup(text, (size_t) n);
        if (!pem)
                return -ENOMEM;
        *ret = pem;
        return 0;
}

const char *public_key_details(const PublicKey *key) {
        return algorithms[key->algorithm].details;
}

/* ---- private keys ---- */

int key_from_public(PublicKey *public, RecordKey **ret) {
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        int r;

        key = calloc(1, sizeof(*key));
        if (!key) {
                public_key_done(public);
                return -ENOMEM;
        }
        key->public = *public;
        r = public_key_to_pem(&key->public, &key->pem);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(key);
        return 0;
}

int key_new(EVP_PKEY *pkey, RecordKey **ret) {
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        PublicKey public;
        int r;

        r = public_key_init(&public, pkey);
        if (r == 0)
                r = key_from_public(&public, &key);
        if (r == 0)
                r = begin(&key->public, EVP_DigestSignInit_ex, &key->signing);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(key);
        return 0;
}

/* Signs once, so that a half of another key shows before there is a record of it. */
int key_from_token(const char *uri, bool is_private, RecordKey **ret) {
        static const char probe[] = "assay: do the halves of this key belong together?";
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        _cleanup_(token_freep) Token *token = NULL;
        uint8_t signature[KEY_SIGNATURE_MAX];
        PublicKey public;
        size_t n;
        int r;

        r = token_open(uri, is_private, &token, &public);
        if (r == 0)
                r = key_from_public(&public, &key);
        if (r == 0 && is_private) {
                key->token = TAKE_PTR(token);
                r = key_sign(key, probe, sizeof(probe), signature, &n);
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(key);
        return 0;
}

RecordKey *record_key_free(RecordKey *key) {
        if (!key)
                return NULL;
        public_key_done(&key->public);
        (void) token_free(key->token);
        EVP_MD_CTX_free(key->signing);
        free(key->pem);
        free(key);
        return NULL;
}

RecordAlgorithm record_key_algorithm(const RecordKey *key) {
        assert(key);
        return key->public.algorithm;
}

const char *record_key_id(const RecordKey *key) {
        assert(key);
        return key->public.id;
}

const char *record_key_public_pem(const RecordKey *key) {
        assert(key);
        return key->pem;
}

const PublicKey *key_public(const RecordKey *key) {
        return &key->public;
}

/* What a token says is not believed: nobody could verify such a record, and none could take its place. */
static int sign_with_token(const RecordKey *key, const void *pae, size_t n, uint8_t ret[static KEY_SIGNATURE_MAX], size_t *ret_n) {
        int r;

        r = token_sign(key->token, pae, n, ret, ret_n);
        if (r == 0)
                r = public_key_verify(&key->public, pae, n, ret, *ret_n);
        return r == 0 ? -EIO : r < 0 ? r : 0;
}

int key_sign(const RecordKey *key, const void *pae, size_t n, uint8_t ret[static KEY_SIGNATURE_MAX], size_t *ret_n) {
        _cleanup_md_ctx_ EVP_MD_CTX *ctx = NULL;
        size_t n_signature = KEY_SIGNATURE_MAX;

        if (key->token)
                return sign_with_token(key, pae, n, ret, ret_n);
        ctx = begun(key->signing);
        if (!ctx)
                return -ENOMEM;
        if (EVP_DigestSign(ctx, ret, &n_signature, pae, n) != 1) {
                ERR_clear_error();
                return -EIO;
        }
        *ret_n = n_signature;
        return 0;
}

/* No PAE and no note begins like that: the name of a log, its first line, has no space. */
#define SECRET_LINE "assay secret v1, never told: "

int key_secret(const RecordKey *key, const char *purpose, uint8_t ret[static DIGEST_BYTES]) {
        uint8_t first[KEY_SIGNATURE_MAX], second[KEY_SIGNATURE_MAX];
        char line[128];
        size_t n, n_second;
        int r;

        if (key->public.algorithm != RECORD_ED25519 || (!key->token && !key->signing))
                return -EOPNOTSUPP;
        (void) snprintf(line, sizeof(line), SECRET_LINE "%s\n", purpose);
        r = key_sign(key, line, strlen(line), first, &n);
        if (r == 0)
                r = key_sign(key, line, strlen(line), second, &n_second);
        if (r == 0 && (n != n_second || memcmp(first, second, n) != 0))
                r = -EOPNOTSUPP; /* a token that draws something for each signature, which the standard forbids */
        if (r == 0)
                r = digest_sha256(first, n, ret);
        OPENSSL_cleanse(first, sizeof(first));
        OPENSSL_cleanse(second, sizeof(second));
        return r;
}
