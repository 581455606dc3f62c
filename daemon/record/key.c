/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/key.h"

#include <assert.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/record/base64.h"
#include "daemon/record/digest.h"

#define KEY_FILE_MAX 16384

struct RecordKey {
        PublicKey public; /* its pkey holds the private half too */
        uint8_t spki[KEY_SPKI_BYTES];
        char *pem;
};

static void bio_freep(BIO **bio) {
        (void) BIO_free(*bio);
}

static void md_ctx_freep(EVP_MD_CTX **ctx) {
        EVP_MD_CTX_free(*ctx);
}

#define _cleanup_bio_    _cleanup_(bio_freep)
#define _cleanup_md_ctx_ _cleanup_(md_ctx_freep)

/* "SHA256:" and the unpadded base64 of SHA-256 over the key as SSH writes it: two length-prefixed strings.
 */
static int key_fingerprint(const EVP_PKEY *pkey, char ret[static KEY_ID_MAX]) {
        uint8_t blob[51] = "\0\0\0\x0bssh-ed25519\0\0\0\x20", digest[DIGEST_BYTES];
        size_t n = 32;
        char *end;

        if (EVP_PKEY_get_raw_public_key(pkey, blob + 19, &n) != 1 || n != 32)
                return -EBADMSG;
        if (digest_sha256(blob, sizeof(blob), digest) < 0)
                return -EIO;

        memcpy(ret, "SHA256:", 7);
        end = base64_encode(digest, sizeof(digest), ret + 7);
        end[-1] = '\0'; /* 32 bytes always end in one '=' */
        return 0;
}

int public_key_init(PublicKey *key, EVP_PKEY *pkey) {
        int r;

        *key = (PublicKey) { .pkey = pkey };
        r = EVP_PKEY_get_base_id(pkey) == EVP_PKEY_ED25519 ? key_fingerprint(pkey, key->id) : -EBADMSG;
        if (r < 0)
                public_key_done(key);
        return r;
}

void public_key_done(PublicKey *key) {
        EVP_PKEY_free(key->pkey);
        key->pkey = NULL;
}

int public_key_verify(const PublicKey *key, const void *pae, size_t n, const uint8_t *signature,
                      size_t n_signature) {
        _cleanup_md_ctx_ EVP_MD_CTX *ctx = NULL;
        int r;

        if (n_signature != KEY_SIGNATURE_BYTES)
                return 0;
        ctx = EVP_MD_CTX_new();
        if (!ctx || EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->pkey) != 1)
                return -ENOMEM;
        r = EVP_DigestVerify(ctx, signature, n_signature, pae, n);
        ERR_clear_error();
        return r == 1;
}

/* Reads a small file that only its owner, or a group it cannot write in, may see. */
static int key_file_read(const char *path, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0;

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADMSG;
        /* Group read stays allowed: it is how an ACL for the service user shows on a credential. */
        if (st.st_mode & (S_IRWXO | S_IWGRP))
                return -EPERM;

        text = malloc(KEY_FILE_MAX);
        if (!text)
                return -ENOMEM;
        while (n < KEY_FILE_MAX) {
                ssize_t k = read(fd, text + n, KEY_FILE_MAX - n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t) k;
        }
        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

static int public_pem(EVP_PKEY *pkey, char **ret) {
        _cleanup_bio_ BIO *bio = NULL;
        char *text, *pem;
        long n;

        bio = BIO_new(BIO_s_mem());
        if (!bio || PEM_write_bio_PUBKEY(bio, pkey) != 1)
                return -ENOMEM;
        n = BIO_get_mem_data(bio, &text);
        pem = strndup(text, (size_t) n);
        if (!pem)
                return -ENOMEM;
        *ret = pem;
        return 0;
}

/* Takes over PKEY also on failure. */
static int key_new(EVP_PKEY *pkey, RecordKey **ret) {
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        uint8_t *der;
        int r;

        key = calloc(1, sizeof(*key));
        if (!key) {
                EVP_PKEY_free(pkey);
                return -ENOMEM;
        }
        r = public_key_init(&key->public, pkey);
        if (r < 0)
                return r;

        der = key->spki;
        if (i2d_PUBKEY(pkey, NULL) != KEY_SPKI_BYTES || i2d_PUBKEY(pkey, &der) != KEY_SPKI_BYTES)
                return -EBADMSG;
        r = public_pem(pkey, &key->pem);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(key);
        return 0;
}

/* A key with a pass phrase must not make a daemon ask its terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *userdata) {
        return -1;
}

int record_key_load(const char *path, RecordKey **ret) {
        _cleanup_bio_ BIO *bio = NULL;
        char *text = NULL;
        EVP_PKEY *pkey;
        size_t n = 0;
        int r;

        assert(path);
        assert(ret);

        r = key_file_read(path, &text, &n);
        if (r < 0)
                return r;

        bio = BIO_new_mem_buf(text, (int) n);
        pkey = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
        OPENSSL_cleanse(text, n);
        free(text);
        ERR_clear_error();
        if (!pkey)
                return bio ? -EBADMSG : -ENOMEM;
        return key_new(pkey, ret);
}

/* Makes PATH with MODE and lets WRITE fill it; it is on disk, whole, or not there at all. */
static int key_file_write(const char *path, mode_t mode, EVP_PKEY *pkey,
                          int (*write_pem)(BIO *bio, EVP_PKEY *pkey)) {
        _cleanup_bio_ BIO *bio = NULL;
        int fd, r = 0;

        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;
        errno = 0;
        bio = BIO_new_fd(fd, BIO_NOCLOSE);
        if (!bio || write_pem(bio, pkey) != 1 || BIO_flush(bio) != 1)
                r = errno > 0 ? -errno : -EIO;
        else if (fsync(fd) < 0)
                r = -errno;
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r < 0)
                (void) unlink(path);
        return r;
}

static int write_private(BIO *bio, EVP_PKEY *pkey) {
        return PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL);
}

static int write_public(BIO *bio, EVP_PKEY *pkey) {
        return PEM_write_bio_PUBKEY(bio, pkey);
}

int record_key_generate(const char *path) {
        _cleanup_free_ char *path_public = NULL;
        EVP_PKEY *pkey;
        int r;

        assert(path);

        if (asprintf(&path_public, "%s.pub", path) < 0)
                return -ENOMEM;
        pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
        if (!pkey)
                return -EIO;

        r = key_file_write(path, 0600, pkey, write_private);
        if (r == 0) {
                r = key_file_write(path_public, 0644, pkey, write_public);
                if (r < 0)
                        (void) unlink(path);
        }
        EVP_PKEY_free(pkey);
        return r;
}

RecordKey *record_key_free(RecordKey *key) {
        if (!key)
                return NULL;
        public_key_done(&key->public);
        free(key->pem);
        free(key);
        return NULL;
}

const char *record_key_id(const RecordKey *key) {
        assert(key);
        return key->public.id;
}

const char *record_key_public_pem(const RecordKey *key) {
        assert(key);
        return key->pem;
}

const uint8_t *key_spki(const RecordKey *key) {
        return key->spki;
}

const PublicKey *key_public(const RecordKey *key) {
        return &key->public;
}

int key_sign(const RecordKey *key, const void *pae, size_t n, uint8_t ret[static KEY_SIGNATURE_BYTES]) {
        _cleanup_md_ctx_ EVP_MD_CTX *ctx = NULL;
        size_t n_signature = KEY_SIGNATURE_BYTES;

        ctx = EVP_MD_CTX_new();
        if (!ctx)
                return -ENOMEM;
        if (EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->public.pkey) != 1 ||
            EVP_DigestSign(ctx, ret, &n_signature, pae, n) != 1 || n_signature != KEY_SIGNATURE_BYTES) {
                ERR_clear_error();
                return -EIO;
        }
        return 0;
}
