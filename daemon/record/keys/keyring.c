/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/keyring.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/whole-file.h"

RecordKeyring *keyring_new(void) {
        RecordKeyring *keyring;

        keyring = calloc(1, sizeof(*keyring));
        if (keyring)
                keyring->expires_usec = UINT64_MAX;
        return keyring;
}

static bool is_bound(const KeyringKey *entry) {
        return entry->producer[0] || entry->origin[0];
}

int keyring_add_key(RecordKeyring *keyring, KeyringKey *entry) {
        const KeyringKey *there = keyring_find(keyring, entry->key.id);

        if (!there && keyring->n_keys < KEYRING_KEYS_MAX) {
                keyring->keys[keyring->n_keys++] = *entry;
                return 0;
        }
        public_key_done(&entry->key);
        return !there ? -E2BIG : is_bound(there) || is_bound(entry) ? -EBADMSG : 0;
}

int keyring_add_root(RecordKeyring *keyring, PublicKey *root) {
        bool is_there = keyring->n_roots == KEYRING_ROOTS_MAX;

        for (size_t i = 0; i < keyring->n_roots; i++)
                is_there = is_there || strcmp(keyring->roots[i].id, root->id) == 0;
        if (is_there) {
                public_key_done(root);
                return -EBADMSG;
        }
        keyring->roots[keyring->n_roots++] = *root;
        return 0;
}

int keyring_add_log(RecordKeyring *keyring, const KeyringLog *log) {
        if (keyring->n_logs >= KEYRING_LOGS_MAX)
                return -E2BIG;
        for (size_t i = 0; i < keyring->n_logs; i++)
                if (strcmp(keyring->logs[i].key.name, log->key.name) == 0 ||
                    memcmp(keyring->logs[i].key.public, log->key.public, NOTE_PUBLIC_BYTES) == 0)
                        return -EBADMSG;
        keyring->logs[keyring->n_logs++] = *log;
        return 0;
}

int keyring_add_witness(RecordKeyring *keyring, const KeyringWitness *witness) {
        bool is_other = witness->key.type == NOTE_OTHER;

        if (keyring->n_witnesses == CHECKPOINT_WITNESSES_MAX || (!is_other && witness->key.type != NOTE_WITNESS))
                return -EBADMSG;
        for (size_t i = 0; i < keyring->n_witnesses; i++)
                if (strcmp(keyring->witnesses[i].name, witness->name) == 0 ||
                    (!is_other && memcmp(keyring->witnesses[i].key.public, witness->key.public, NOTE_PUBLIC_BYTES) == 0))
                        return -EBADMSG;
        keyring->witnesses[keyring->n_witnesses++] = *witness;
        return 0;
}

/* What an Ed25519 key is of: the tail of its SPKI. NULL: it is no such key, and signs no notes. */
static const uint8_t *raw_key(const PublicKey *key) {
        return key->algorithm == RECORD_ED25519 ? key->spki + key->n_spki - NOTE_PUBLIC_BYTES : NULL;
}

int keyring_check_witnesses(const RecordKeyring *keyring) {
        for (size_t i = 0; i < keyring->n_witnesses; i++) {
                const uint8_t *public = keyring->witnesses[i].key.public, *raw;

                for (size_t k = 0; k < keyring->n_logs; k++)
                        if (memcmp(public, keyring->logs[k].key.public, NOTE_PUBLIC_BYTES) == 0)
                                return -EBADMSG;
                for (size_t k = 0; k < keyring->n_keys; k++)
                        if ((raw = raw_key(&keyring->keys[k].key)) && memcmp(public, raw, NOTE_PUBLIC_BYTES) == 0)
                                return -EBADMSG;
        }
        return 0;
}

size_t keyring_count_others(const RecordKeyring *keyring) {
        size_t n = 0;

        for (size_t i = 0; i < keyring->n_witnesses; i++)
                n += keyring->witnesses[i].key.type == NOTE_OTHER;
        return n;
}

int keyring_set_quorum(RecordKeyring *keyring, uint64_t threshold) {
        Quorum *quorum = &keyring->quorum;

        if (threshold > keyring->n_witnesses || quorum->n_groups == QUORUM_GROUPS_MAX)
                return -EBADMSG;
        if (threshold == 0)
                return 0;
        quorum->groups[quorum->n_groups] = (QuorumGroup) {
                .threshold = (unsigned) threshold,
                .members = (UINT64_C(1) << keyring->n_witnesses) - 1,
        };
        quorum->wanted = UINT64_C(1) << (CHECKPOINT_WITNESSES_MAX + quorum->n_groups++);
        return 0;
}

bool quorum_is_met(const Quorum *quorum, uint32_t witnesses) {
        uint64_t met = witnesses;

        for (size_t i = 0; i < quorum->n_groups; i++)
                if ((unsigned) __builtin_popcountll(met & quorum->groups[i].members) >= quorum->groups[i].threshold)
                        met |= UINT64_C(1) << (CHECKPOINT_WITNESSES_MAX + i);
        return (met & quorum->wanted) == quorum->wanted;
}

int keyring_parse(const char *text, size_t n, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        int r;

        r = keyring_read(text, n, &keyring, ret_wrong);
        if (r < 0)
                return r;
        if (keyring->n_roots > 0 || keyring->version > 0 || keyring->threshold > 0) {
                (void) snprintf(ret_wrong, KEYRING_WRONG_MAX, "it is for roots to sign, and none has: see assayctl keys ring");
                return -EBADMSG;
        }
        *ret = TAKE_PTR(keyring);
        return 0;
}

int record_keyring_parse(const char *pem, size_t n, RecordKeyring **ret) {
        char wrong[KEYRING_WRONG_MAX];

        assert(pem);
        assert(ret);

        return keyring_parse(pem, n, ret, wrong);
}

int record_keyring_load(const char *path, RecordKeyring **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        assert(path);
        assert(ret);

        r = whole_file_drain(path, KEYRING_FILE_MAX, &text, &n);
        return r < 0 ? r : record_keyring_parse(text, n, ret);
}

RecordKeyring *record_keyring_free(RecordKeyring *keyring) {
        if (!keyring)
                return NULL;
        for (size_t i = 0; i < keyring->n_keys; i++)
                public_key_done(&keyring->keys[i].key);
        for (size_t i = 0; i < keyring->n_roots; i++)
                public_key_done(&keyring->roots[i]);
        free(keyring);
        return NULL;
}

bool record_keyring_wants_proof(const RecordKeyring *keyring) {
        assert(keyring);
        return keyring->n_logs > 0 || keyring->quorum.wanted;
}

const KeyringKey *keyring_find(const RecordKeyring *keyring, const char *key_id) {
        for (size_t i = 0; i < keyring->n_keys; i++)
                if (strcmp(keyring->keys[i].key.id, key_id) == 0)
                        return &keyring->keys[i];
        return NULL;
}

const KeyringLog *keyring_find_log(const RecordKeyring *keyring, const char *origin) {
        for (size_t i = 0; i < keyring->n_logs; i++)
                if (strcmp(keyring->logs[i].key.name, origin) == 0)
                        return &keyring->logs[i];
        return NULL;
}

bool keyring_policy(const RecordKeyring *keyring, const char *origin, CheckpointPolicy *ret) {
        const KeyringLog *log = keyring_find_log(keyring, origin);

        if (!log)
                return false;
        ret->log = log->key;
        ret->n_witnesses = keyring->n_witnesses;
        for (size_t i = 0; i < keyring->n_witnesses; i++)
                ret->witnesses[i] = keyring->witnesses[i].key;
        return true;
}
