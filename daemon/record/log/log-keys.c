/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which key signed which records of a log. The records themselves tell: a rotation is signed by the key that ends with it, and names both. What
 * follows it is signed by the new key and names the rotation as its previous record, so that whoever holds the newest key holds them all, and
 * nobody who can write the database can put another key before it.
 */

#include "daemon/record/log/log.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/key-rotation.h"

static int refuse(char **ret_wrong, uint64_t index, const char *what) {
        if (*ret_wrong)
                return -EBADMSG;
        return asprintf(ret_wrong, "record %llu, by which the key was changed, %s", (unsigned long long) index, what) < 0 ? -ENOMEM : -EBADMSG;
}

/* Record INDEX, as far as one key of the log vouches for it. -EBADMSG: none does. None that keys follow from is ever pruned. */
static int read_record(RecordLog *log, uint64_t index, LogRecord *ret) {
        _cleanup_free_ char *wrong = NULL;
        int r = log_check_record(log, log->reader, index, ret, &wrong);

        return r == -ENODATA ? -EBADMSG : r;
}

/* Which keys the rotation INDEX is about, by its own account. */
static int read_claim(RecordLog *log, uint64_t index, KeyRotation *ret) {
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_json_ json_t *statement = NULL;
        uint8_t id[DIGEST_BYTES];
        const char *wrong;
        int r;

        r = store_parsed(log->reader, index, &envelope, id);
        if (r == 0)
                r = envelope_read_payload(&envelope, &statement, &wrong);
        if (r == 0)
                r = key_rotation_parse(json_object_get(statement, "predicate"), ret);
        return r == -ENOENT || r == -ENODATA ? -EBADMSG : r;
}

/* Takes over KEY. -EBADMSG: it was a key of this log before. */
static int add_key(RecordKeyring *keyring, PublicKey *key, uint64_t from, uint64_t until) {
        KeyringKey entry = { .key = *key, .from_index = from, .until_index = until };
        size_t n = keyring->n_keys;
        int r;

        *key = (PublicKey) {};
        r = keyring_add_key(keyring, &entry);
        return r < 0 ? r : keyring->n_keys == n ? -EBADMSG : 0;
}

/* The rotation before FROM, of that ID, is the previous record of the first one that the new key signed, unless there is none yet. */
static int check_first(RecordLog *log, uint64_t from, const uint8_t id[static DIGEST_BYTES], char **ret_wrong) {
        _cleanup_(log_record_done) LogRecord first = {};
        int r;

        if (from == 0 || from >= log->head.tree.size)
                return 0;
        r = read_record(log, from, &first);
        if (r == -EBADMSG || (r == 0 && !log_record_follows(&first, id)))
                return refuse(ret_wrong, from - 1, "is not the one that the new key follows");
        return r;
}

/* The subject of rotation INDEX, verified by the key that it ends, must be the key that it names. Its ID. */
static int check_rotation(RecordLog *log, uint64_t index, const PublicKey *new, uint8_t ret_id[static DIGEST_BYTES]) {
        _cleanup_(log_record_done) LogRecord record = {};
        uint8_t digest[DIGEST_BYTES];
        const json_t *subject;
        char hex[DIGEST_HEX];
        int r;

        r = read_record(log, index, &record);
        if (r == 0)
                r = digest_sha256(new->spki, new->n_spki, digest);
        if (r < 0)
                return r;
        memcpy(ret_id, record.id, DIGEST_BYTES);
        subject = json_object_get(json_array_get(json_object_get(record.statement, "subject"), 0), "digest");
        return strcmp(text_of(subject, "sha256"), digest_to_hex(digest, hex)) == 0 ? 0 : -EBADMSG;
}

/*
 * Reads the rotation INDEX, in which the key that signs from FROM on ends. NEXT: the key that is due, with an empty id before the first; afterwards
 * the key that the rotation names. ID: of the rotation before, and then of this one.
 */
static int take_rotation(RecordLog *log, uint64_t from, uint64_t index, PublicKey *next, uint8_t id[static DIGEST_BYTES], char **ret_wrong) {
        KeyRotation rotation = {};
        int r;

        r = read_claim(log, index, &rotation);
        if (r < 0)
                return r;
        r = *next->id && strcmp(next->id, rotation.old.id) != 0 ? -EBADMSG : add_key(log->keyring, &rotation.old, from, index);
        if (r == 0)
                r = check_first(log, from, id, ret_wrong);
        if (r == 0)
                r = check_rotation(log, index, &rotation.new, id);
        if (r == 0) {
                public_key_done(next);
                *next = rotation.new;
                rotation.new = (PublicKey) {};
        }
        key_rotation_done(&rotation);
        return r;
}

/* Tells whose turn it is, and what to do where a rotation was committed and the file with the key was not changed. */
static int refuse_key(RecordLog *log, uint64_t from, const PublicKey *due, char **ret_wrong) {
        const char *id = record_key_id(log->key);
        bool is_old = keyring_find(log->keyring, id);
        int n;

        n = is_old ? asprintf(ret_wrong, "record %llu changed the key to %s, and this is still %s: put the new key in its place, which "
                                         "`assayctl keys rotate --finish %s` does",
                              (unsigned long long) from - 1, due->id, id, due->id)
                   : asprintf(ret_wrong, "since record %llu its key is %s, and this is %s", (unsigned long long) from - 1, due->id, id);
        return n < 0 ? -ENOMEM : -EBADMSG;
}

/* Ours comes last: the one that the last rotation names, or where there is none the only one. */
static int add_own(RecordLog *log, uint64_t from, const PublicKey *due, char **ret_wrong) {
        const PublicKey *own = key_public(log->key);
        PublicKey key;
        int r;

        if (*due->id && strcmp(due->id, own->id) != 0)
                return refuse_key(log, from, due, ret_wrong);
        r = public_key_from_spki(&key, own->spki, own->n_spki);
        return r < 0 ? r : add_key(log->keyring, &key, from, UINT64_MAX);
}

int log_read_keys(RecordLog *log, char **ret_wrong) {
        _cleanup_(public_key_done) PublicKey due = {};
        uint8_t id[DIGEST_BYTES] = {};
        uint64_t from = 0, index;
        int r;

        log->keyring = keyring_new();
        if (!log->keyring)
                return -ENOMEM;
        while ((r = store_index(log->reader, STORE_ROTATION, SQL(sql_number(from)), &index)) == 0) {
                r = take_rotation(log, from, index, &due, id, ret_wrong);
                if (r < 0)
                        return r == -EBADMSG ? refuse(ret_wrong, index, "cannot be believed") : r;
                from = index + 1;
        }
        if (r != -ENOENT)
                return r;
        r = add_own(log, from, &due, ret_wrong);
        return r < 0 ? r : check_first(log, from, id, ret_wrong);
}

int record_log_public_keys(const RecordLog *log, char **ret) {
        _cleanup_printer_ Printer pems = {};

        for (size_t i = log->keyring->n_keys; i-- > 0;) {
                _cleanup_free_ char *pem = NULL;
                int r = public_key_to_pem(&log->keyring->keys[i].key, &pem);

                if (r < 0)
                        return r;
                printer_text(&pems, pem);
        }
        printer_raw(&pems, "", 1);
        if (pems.error < 0)
                return pems.error;
        *ret = TAKE_PTR(pems.text);
        return 0;
}
