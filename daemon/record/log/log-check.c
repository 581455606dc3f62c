/* SPDX-License-Identifier: Apache-2.0 */

/* Whether a record is ours and stands where it says. What a log ends with must be: then what is signed next follows it. */

#include <stdio.h>
#include <string.h>

#include "daemon/record/log/log.h"

int log_envelope(RecordLog *log, uint64_t index, char **ret, size_t *ret_n, uint8_t ret_id[static DIGEST_BYTES]) {
        int r = reader_envelope(&log->reader, index, ret, ret_n, ret_id);

        return r == -ENOENT || r == -ENODATA ? -EBADMSG : r;
}

static int refuse(const RecordLog *log, uint64_t index, const char *wrong, char **ret_wrong) {
        bool is_last = index + 1 == log->head.tree.size;

        return asprintf(ret_wrong, "%s %llu: %s", is_last ? "the last record," : "record", (unsigned long long) index, wrong) < 0 ? -ENOMEM : -EBADMSG;
}

/* A fingerprint that a message may show: the envelope says what it likes. */
static bool is_fingerprint(const char *id) {
        static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        static const char prefix[] = "SHA256:";
        size_t n = sizeof(prefix) - 1;

        return strncmp(id, prefix, n) == 0 && id[n] && !id[n + strspn(id + n, alphabet)];
}

/* Which key is due nobody can prove who has another one: the envelope names it. */
static int refuse_key(const RecordLog *log, uint64_t index, const char *text, size_t n, char **ret_wrong) {
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
        return refuse(log, index, why, ret_wrong);
}

/* What stands in the tree must be the leaf of this very record: the rest of the tree was worked out from what stands there. */
static int check_leaf(RecordLog *log, uint64_t index, const char *text, size_t n, const RecordVerified *record, const uint8_t id[static DIGEST_BYTES],
                      const char **ret_wrong) {
        const KeyringKey *key = keyring_find(log->keyring, record->key_id);
        _cleanup_(envelope_done) Envelope envelope = {};
        TreeHash leaf, found;
        const char *wrong;
        int r;

        r = envelope_parse(text, n, &envelope, &wrong);
        if (r == 0)
                r = key ? leaf_hash(&key->key, id, envelope.signature, envelope.n_signature, &leaf) : -EBADMSG;
        if (r == 0)
                r = store_hash(log->store, tree_position(0, index), &found);
        if (r == 0 && memcmp(leaf.bytes, found.bytes, DIGEST_BYTES) != 0)
                *ret_wrong = "is not the one that is in the tree";
        return r;
}

int log_check_record(RecordLog *log, uint64_t index, RecordVerified *ret, char **ret_wrong) {
        _cleanup_(record_verified_done) RecordVerified record = {};
        _cleanup_free_ char *envelope = NULL;
        uint8_t id[DIGEST_BYTES];
        const char *wrong = NULL;
        RecordTrust trust;
        char hex[DIGEST_HEX];
        size_t n;
        int r;

        r = log_envelope(log, index, &envelope, &n, id);
        if (r < 0)
                return r == -EBADMSG ? refuse(log, index, "has no envelope that can be read", ret_wrong) : r;
        r = record_verify(log->keyring, envelope, n, &trust, &record);
        if (r < 0)
                return r;

        if (trust == RECORD_VERIFIED) {
                r = check_leaf(log, index, envelope, n, &record, id, &wrong);
                if (r < 0)
                        return r;
        }
        if (trust == RECORD_UNKNOWN_KEY)
                return refuse_key(log, index, envelope, n, ret_wrong);
        if (trust != RECORD_VERIFIED)
                wrong = record.reason;
        else if (record.entry.index != index)
                wrong = "has another index";
        else if (strcmp(record.origin, log->station.origin) != 0)
                wrong = "is of another log";
        else if (strcmp(record.entry.id, digest_to_hex(id, hex)) != 0)
                wrong = "is stored under another ID";
        if (wrong)
                return refuse(log, index, wrong, ret_wrong);
        *ret = record;
        record = (RecordVerified) {};
        return 0;
}

int log_check_last(RecordLog *log, char **ret_wrong) {
        _cleanup_(record_verified_done) RecordVerified last = {};
        int r;

        if (log->head.tree.size == 0)
                return 0;
        r = log_check_record(log, log->head.tree.size - 1, &last, ret_wrong);
        if (r < 0)
                return r;
        if (strcmp(last.entry.type, RECORD_TYPE_ROTATION) == 0 && strcmp(last.key_id, record_key_id(log->key)) == 0)
                return refuse(log, last.entry.index, "ends this key, and the table beside it does not say so", ret_wrong);
        return 0;
}
