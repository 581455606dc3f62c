/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whether a record is ours and stands where it says, as its own bytes vouch for it: signature, ID, leaf, index, origin. Rules of what a verdict follows from
 * may change, and no log is refused by these: what contradicts them is told, and is no damage.
 */

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/log.h"
#include "daemon/record/verify/verify.h"

void log_record_done(LogRecord *record) {
        json_decref(record->statement);
        record_verified_done(&record->verified);
        *record = (LogRecord) {};
}

bool log_record_follows(const LogRecord *record, const uint8_t id[static DIGEST_BYTES]) {
        const json_t *previous = json_object_get(json_object_get(record->statement, "predicate"), "previous");
        char hex[DIGEST_HEX];

        return strcmp(text_of(previous, "sha256"), digest_to_hex(id, hex)) == 0;
}

static int refuse_record(const RecordLog *log, uint64_t index, const char *wrong, char **ret_wrong) {
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
static int refuse_key(const RecordLog *log, uint64_t index, const Envelope *envelope, char **ret_wrong) {
        char why[320];

        (void) snprintf(why, sizeof(why), "is signed with another key, by its own account %s, and this is %s: give assayd that key again, or begin a new log "
                                          "elsewhere",
                        is_fingerprint(envelope->signatures[0].key_id) ? envelope->signatures[0].key_id : "one without a name", record_key_id(log->key));
        return refuse_record(log, index, why, ret_wrong);
}

/* A sentence in *RET_REASON (malloc'd) where it is refused; UNKNOWN: it is signed with another key. */
static int take_signed(RecordLog *log, Envelope *envelope, LogRecord *ret, bool *ret_unknown, char **ret_reason) {
        _cleanup_(verification_done) Verification v = {};
        int r;

        r = verify_envelope(&(RecordPolicy) { .keyring = log->keyring, .takes_older_rules = true }, envelope, &v);
        if (r < 0)
                return r;
        *ret_unknown = v.trust == RECORD_UNKNOWN_KEY;
        if (v.trust != RECORD_VERIFIED) {
                *ret_reason = TAKE_PTR(v.verified.reason);
                return -EBADMSG;
        }
        ret->statement = TAKE_PTR(v.statement);
        ret->verified = v.verified;
        v.verified = (RecordVerified) {};
        return 0;
}

/* The hash in the tree must be the leaf of this very record: the rest of the tree is worked out from what stands there. */
static int check_place(RecordLog *log, Store *store, uint64_t index, const Envelope *envelope, const LogRecord *record, const char **ret_wrong) {
        const KeyringKey *key = keyring_find(log->keyring, record->verified.key_id);
        TreeHash leaf, found;
        int r;

        r = key ? leaf_hash(envelope, &key->key, &leaf) : -EBADMSG;
        if (r == 0)
                r = store_hash(store, tree_position(0, index), &found);
        if (r < 0)
                return r;
        if (record->verified.entry.index != index)
                *ret_wrong = "has another index";
        else if (strcmp(record->verified.origin, log->station.origin) != 0)
                *ret_wrong = "is of another log";
        else if (memcmp(leaf.bytes, found.bytes, DIGEST_BYTES) != 0)
                *ret_wrong = "is not the one that is in the tree";
        else if (strcmp(envelope->signatures[0].key_id, record->verified.key_id) != 0)
                *ret_wrong = "names another key than the one that signed it";
        return 0;
}

static int check(RecordLog *log, Store *store, uint64_t index, Envelope *envelope, const uint8_t stored[static DIGEST_BYTES], LogRecord *ret,
                 char **ret_wrong) {
        _cleanup_free_ char *reason = NULL;
        const char *wrong = NULL;
        bool is_unknown = false;
        int r;

        r = take_signed(log, envelope, ret, &is_unknown, &reason);
        if (r == -EBADMSG && is_unknown)
                return refuse_key(log, index, envelope, ret_wrong);
        if (r == -EBADMSG)
                return refuse_record(log, index, reason ?: "cannot be read", ret_wrong);
        if (r == 0)
                r = check_place(log, store, index, envelope, ret, &wrong);
        if (r == 0 && !wrong && memcmp(stored, envelope->id, DIGEST_BYTES) != 0)
                wrong = "is stored under another ID";
        return r < 0 || !wrong ? r : refuse_record(log, index, wrong, ret_wrong);
}

int log_check_record(RecordLog *log, Store *store, uint64_t index, LogRecord *ret, char **ret_wrong) {
        _cleanup_(log_record_done) LogRecord record = {};
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_free_ char *text = NULL;
        const char *wrong;
        size_t n;
        int r;

        r = store_envelope(store, index, &text, &n, record.id);
        if (r == -EBADMSG || r == -ENOENT)
                return refuse_record(log, index, "has no envelope that can be read", ret_wrong);
        if (r < 0)
                return r;
        r = envelope_parse(text, n, &envelope, &wrong);
        if (r == -EBADMSG)
                return refuse_record(log, index, wrong, ret_wrong);
        if (r == 0)
                r = check(log, store, index, &envelope, record.id, &record, ret_wrong);
        if (r < 0)
                return r;
        *ret = record;
        record = (LogRecord) {};
        return 0;
}

int log_check_last(RecordLog *log, char **ret_wrong) {
        _cleanup_(log_record_done) LogRecord last = {};
        int r;

        if (log->head.tree.size == 0)
                return 0;
        r = log_check_record(log, log->reader, log->head.tree.size - 1, &last, ret_wrong);
        if (r == -ENODATA)
                return refuse_record(log, log->head.tree.size - 1, "has no envelope that can be read", ret_wrong);
        if (r < 0)
                return r;
        if (strcmp(last.verified.entry.type, RECORD_TYPE_ROTATION) == 0 && strcmp(last.verified.key_id, record_key_id(log->key)) == 0)
                return refuse_record(log, last.verified.entry.index, "ends this key, and the table beside it does not say so", ret_wrong);
        return 0;
}
