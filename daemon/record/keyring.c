/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keyring.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/stat.h>

#define KEYRING_FILE_MAX (1u << 20)

static int keyring_add(RecordKeyring **keyring, EVP_PKEY *pkey) {
        RecordKeyring *larger;
        PublicKey key;
        int r;

        r = public_key_init(&key, pkey);
        if (r < 0)
                return r;
        if (keyring_find(*keyring, key.id)) {
                public_key_done(&key);
                return 0;
        }
        r = (*keyring)->n_keys >= KEYRING_KEYS_MAX ? -E2BIG : 0;
        larger = r < 0 ? NULL
                       : realloc(*keyring, sizeof(**keyring) + ((*keyring)->n_keys + 1) * sizeof(PublicKey));
        if (!larger) {
                public_key_done(&key);
                return r < 0 ? r : -ENOMEM;
        }
        larger->keys[larger->n_keys++] = key;
        *keyring = larger;
        return 0;
}

/* One block, 1; 0 where there is none any more. */
static int keyring_read_block(RecordKeyring **keyring, BIO *bio) {
        char *name = NULL, *header = NULL;
        EVP_PKEY *pkey = NULL;
        uint8_t *data = NULL;
        const uint8_t *der;
        long n;
        int r;

        if (PEM_read_bio(bio, &name, &header, &data, &n) != 1)
                return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE ? 0 : -EBADMSG;
        der = data;
        if (strcmp(name, PEM_STRING_PUBLIC) == 0)
                pkey = d2i_PUBKEY(NULL, &der, n);
        r = pkey && der == data + n ? keyring_add(keyring, TAKE_PTR(pkey)) : -EBADMSG;
        EVP_PKEY_free(pkey);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(data);
        return r < 0 ? r : 1;
}

/*
 * Reads every PEM block. One that is no public key of ours spoils the file: a key skipped is trust lost
 * unnoticed.
 */
static int keyring_read(RecordKeyring **keyring, BIO *bio) {
        int r;

        do
                r = keyring_read_block(keyring, bio);
        while (r > 0);
        if (r < 0)
                return r;
        return (*keyring)->n_keys > 0 ? 0 : -EBADMSG;
}

int record_keyring_parse(const char *pem, size_t n, RecordKeyring **ret) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        BIO *bio;
        int r;

        assert(pem);
        assert(ret);

        if (n > KEYRING_FILE_MAX)
                return -E2BIG;
        keyring = calloc(1, sizeof(*keyring));
        bio = BIO_new_mem_buf(pem, (int) n);
        if (!keyring || !bio) {
                (void) BIO_free(bio);
                return -ENOMEM;
        }

        ERR_clear_error();
        r = keyring_read(&keyring, bio);
        ERR_clear_error();
        (void) BIO_free(bio);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(keyring);
        return 0;
}

int record_keyring_load(const char *path, RecordKeyring **ret) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *text = NULL;
        size_t n = 0;

        assert(path);
        assert(ret);

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        text = malloc(KEYRING_FILE_MAX + 1);
        if (!text)
                return -ENOMEM;
        while (n <= KEYRING_FILE_MAX) {
                ssize_t k = read(fd, text + n, KEYRING_FILE_MAX + 1 - n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t) k;
        }
        return record_keyring_parse(text, n, ret);
}

RecordKeyring *record_keyring_free(RecordKeyring *keyring) {
        if (!keyring)
                return NULL;
        for (size_t i = 0; i < keyring->n_keys; i++)
                public_key_done(&keyring->keys[i]);
        free(keyring);
        return NULL;
}

const PublicKey *keyring_find(const RecordKeyring *keyring, const char *key_id) {
        for (size_t i = 0; i < keyring->n_keys; i++)
                if (strcmp(keyring->keys[i].id, key_id) == 0)
                        return &keyring->keys[i];
        return NULL;
}
