/* SPDX-License-Identifier: Apache-2.0 */

/* Private keys in files: PEM, PKCS#8, for their owner alone. */

#include "daemon/record/keys/token.h"

#include <assert.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/text/whole-file.h"

#define KEY_FILE_MAX 16384

int key_file_read(const char *path, bool is_secret, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (is_secret ? O_NOFOLLOW : 0));
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADMSG;
        /* Group read stays allowed: it is how an ACL for the service user shows on a credential. */
        if (is_secret && st.st_mode & (S_IRWXO | S_IWGRP))
                return -EPERM;
        /* Its owner can write it whatever its mode says, and so choose who we are. */
        if (is_secret && st.st_uid != 0 && st.st_uid != geteuid())
                return -EPERM;
        r = whole_file_take(fd, KEY_FILE_MAX, ret, ret_n);
        return r == -EFBIG ? -EBADMSG : r;
}

/* A key with a pass phrase must not make a daemon ask its terminal. */
static int no_passphrase(char *buffer, int size, int writing, void *userdata) {
        return -1;
}

static int load_private(const char *path, RecordKey **ret) {
        _cleanup_bio_ BIO *bio = NULL;
        char *text = NULL;
        EVP_PKEY *pkey;
        size_t n = 0;
        int r;

        r = key_file_read(path, true, &text, &n);
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

static int from_public_pem(const char *pem, size_t n, RecordKey **ret) {
        PublicKey public;
        int r;

        r = public_key_from_pem(&public, pem, n);
        return r < 0 ? r : key_from_public(&public, ret);
}

int record_key_from_public_pem(const char *pem, RecordKey **ret) {
        assert(pem);
        assert(ret);

        return from_public_pem(pem, strlen(pem), ret);
}

static bool is_token(const char *source) {
        return strncmp(source, TOKEN_SCHEME, strlen(TOKEN_SCHEME)) == 0;
}

int record_key_load(const char *source, RecordKey **ret) {
        assert(source);
        assert(ret);

        return is_token(source) ? key_from_token(source, true, ret) : load_private(source, ret);
}

int record_key_load_public(const char *source, RecordKey **ret) {
        static const char mark[] = "PRIVATE KEY-----";
        bool is_private;
        char *text;
        size_t n;
        int r;

        assert(source);
        assert(ret);

        if (is_token(source))
                return key_from_token(source, false, ret);
        r = key_file_read(source, false, &text, &n);
        if (r < 0)
                return r;
        is_private = memmem(text, n, mark, sizeof(mark) - 1);
        r = is_private ? 0 : from_public_pem(text, n, ret);
        OPENSSL_cleanse(text, n); /* it may have been a private one, of which nothing may stay in memory */
        free(text);
        return is_private ? load_private(source, ret) : r;
}

const char *record_key_strerror(const char *source, int error) {
        static const struct {
                int error;
                const char *of_token, *of_file; /* NULL: as ever */
        } texts[] = {
                { -EINVAL, "it is no PKCS#11 URI, or one that says what is not understood" },
                { -ELIBACC, "the PKCS#11 module cannot be loaded" },
                { -ENODEV, "there is no such token" },
                { -ENOKEY, "the token has no such key, or not both of its halves" },
                { -ENOTUNIQ, "more than one token or key fits" },
                { -EACCES, "the PIN is wrong, missing or locked; it is not tried again" },
                { -EPERM, "others may read the file with the PIN, or it is another user's",
                  "others may read the file, its group may write it, or it is another user's" },
                { -ELOOP, "the file with the PIN is a symbolic link", "it is a symbolic link: name the file itself" },
                { -EBADMSG, "it is neither an Ed25519 nor a P-256 key", "there is no Ed25519 or P-256 key in it" },
                { -EIO, "the token does not sign, or its halves are of different keys" },
        };

        for (size_t i = 0; i < ELEMENTS(texts); i++) {
                const char *text = is_token(source) ? texts[i].of_token : texts[i].of_file;

                if (texts[i].error == error && text)
                        return text;
        }
        return strerror(-error);
}

size_t record_key_source_length(const char *source) {
        return is_token(source) ? strcspn(source, "?") : strlen(source);
}

bool record_key_source_has_pin(const char *source) {
        return is_token(source) && strstr(source + record_key_source_length(source), "pin-value=");
}

/* Makes PATH with MODE and lets WRITE fill it: the file is whole, or not there at all. Its name is durable when the folder is. */
static int key_file_write(const char *path, mode_t mode, EVP_PKEY *pkey,
                          int (*write_pem)(BIO *bio, EVP_PKEY *pkey)) {
        _cleanup_bio_ BIO *bio = NULL;
        int fd, r = 0;

        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0)
                return -errno;
        errno = 0;
        bio = BIO_new_fd(fd, BIO_NOCLOSE);
        if (fchmod(fd, mode) < 0) /* a public half is everyone's to read, also where a service makes it */
                r = -errno;
        else if (!bio || write_pem(bio, pkey) != 1 || BIO_flush(bio) != 1)
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

static EVP_PKEY *generate(RecordAlgorithm algorithm) {
        switch (algorithm) {
        case RECORD_ED25519:
                return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
        case RECORD_ECDSA_P256:
                return EVP_EC_gen("P-256");
        case _RECORD_ALGORITHM_MAX:
        case _RECORD_ALGORITHM_INVALID:
                break;
        }
        return NULL;
}

int record_key_generate(const char *path, RecordAlgorithm algorithm) {
        _cleanup_free_ char *path_public = NULL;
        EVP_PKEY *pkey;
        int r;

        assert(path);

        if (asprintf(&path_public, "%s.pub", path) < 0)
                return -ENOMEM;
        pkey = generate(algorithm);
        if (!pkey)
                return -EIO;

        r = key_file_write(path, 0600, pkey, write_private);
        if (r == 0) {
                r = key_file_write(path_public, 0644, pkey, write_public);
                if (r < 0)
                        (void) unlink(path);
        }
        EVP_PKEY_free(pkey);
        return r < 0 ? r : whole_file_settle(AT_FDCWD, path);
}
