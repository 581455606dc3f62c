/* SPDX-License-Identifier: Apache-2.0 */

/* Whether what a log ends with is ours: then what is signed next follows it. */

#include <stdio.h>
#include <string.h>

#include "daemon/record/log.h"

int log_envelope(RecordLog *log, uint64_t index, char **ret, size_t *ret_n, uint8_t ret_id[static DIGEST_BYTES]) {
        int r = reader_envelope(&log->reader, index, ret, ret_n, ret_id);

        return r == -ENOENT || r == -ENODATA ? -EBADMSG : r;
}

static int refuse(const RecordLog *log, const char *wrong, char **ret_wrong) {
        return asprintf(ret_wrong, "the last record, %llu: %s", (unsigned long long) log->head.tree.size - 1, wrong) < 0 ? -ENOMEM : -EBADMSG;
}

/* A fingerprint that a message may show: the envelope says what it likes. */
static bool is_fingerprint(const char *id) {
        static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        static const char prefix[] = "SHA256:";
        size_t n = sizeof(prefix) - 1;

        return strncmp(id, prefix, n) == 0 && id[n] && !id[n + strspn(id + n, alphabet)];
}

/* Which key is due nobody can prove who has another one: the envelope names it. */
static int refuse_key(const RecordLog *log, const char *text, size_t n, char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        const char *wrong;
        char why[320];
        int r;

        r = envelope_parse(text, n, &envelope, &wrong);
        if (r < 0)
                return r;
        (void) snprintf(why, sizeof(why), "is signed with another key, by its own account %s, and this is %s: give assayd that key again, or begin a new log "
                                          "elsewhere",
                        is_fingerprint(envelope.key_id) ? envelope.key_id : "one without a name", record_key_id(log->key));
        return refuse(log, why, ret_wrong);
}

/* What stands in the tree must be the leaf of this very record: the rest of the tree was worked out from what stands there. */
static int check_leaf(RecordLog *log, const char *text, size_t n, const RecordVerified *last, const uint8_t id[static DIGEST_BYTES],
                      const char **ret_wrong) {
        const KeyringKey *key = keyring_find(log->keyring, last->key_id);
        _cleanup_(envelope_done) Envelope envelope = {};
        TreeHash leaf, found;
        const char *wrong;
        int r;

        r = envelope_parse(text, n, &envelope, &wrong);
        if (r == 0)
                r = key ? leaf_hash(&key->key, id, envelope.signature, envelope.n_signature, &leaf) : -EBADMSG;
        if (r == 0)
                r = store_hash(log->store, tree_position(0, log->head.tree.size - 1), &found);
        if (r == 0 && memcmp(leaf.bytes, found.bytes, DIGEST_BYTES) != 0)
                *ret_wrong = "is not the one that is in the tree";
        return r;
}

/* The last record must be ours and stand where it says: then what is signed next follows it. */
int log_check_last(RecordLog *log, char **ret_wrong) {
        _cleanup_(record_verified_done) RecordVerified last = {};
        _cleanup_free_ char *envelope = NULL;
        uint8_t id[DIGEST_BYTES];
        const char *wrong = NULL;
        RecordTrust trust;
        char hex[DIGEST_HEX];
        size_t n;
        int r;

        if (log->head.tree.size == 0)
                return 0;
        r = log_envelope(log, log->head.tree.size - 1, &envelope, &n, id);
        if (r < 0)
                return r == -EBADMSG ? refuse(log, "has no envelope that can be read", ret_wrong) : r;
        r = record_verify(log->keyring, envelope, n, &trust, &last);
        if (r < 0)
                return r;

        if (trust == RECORD_VERIFIED) {
                r = check_leaf(log, envelope, n, &last, id, &wrong);
                if (r < 0)
                        return r;
        }
        if (trust == RECORD_UNKNOWN_KEY)
                return refuse_key(log, envelope, n, ret_wrong);
        if (trust != RECORD_VERIFIED)
                wrong = last.reason;
        else if (last.entry.index != log->head.tree.size - 1)
                wrong = "has another index";
        else if (strcmp(last.origin, log->station.origin) != 0)
                wrong = "is of another log";
        else if (strcmp(last.entry.id, digest_to_hex(id, hex)) != 0)
                wrong = "is stored under another ID";
        else if (strcmp(last.entry.type, RECORD_TYPE_ROTATION) == 0 && strcmp(last.key_id, record_key_id(log->key)) == 0)
                wrong = "ends this key, and the table beside it does not say so";
        return wrong ? refuse(log, wrong, ret_wrong) : 0;
}
