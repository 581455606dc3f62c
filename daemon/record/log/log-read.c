/* SPDX-License-Identifier: Apache-2.0 */

/* What the log is asked for: its tables lead to records, and each record vouches for itself. */

#include "daemon/record/log/log.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * An old copy that is written over the open database is sound in itself, and the writer finds it when it writes next. So whoever asks the tables looks first
 * whether the last record is there that was committed.
 */
static int check_end(RecordLog *log) {
        LogEnd end;
        int r;

        (void) pthread_mutex_lock(&log->mutex);
        end = log->end;
        (void) pthread_mutex_unlock(&log->mutex);
        if (end.size == 0 || atomic_load(&log->has_failed))
                return 0;
        r = store_check_id(log->reader, end.size - 1, end.id);
        if (r == -EBADMSG) {
                log_fail(log, NULL);
                log_tell(log);
        }
        return r;
}

static int find(RecordLog *log, StoreStatement which, const StoreValue *values, size_t n, RecordEntry *ret) {
        int r = check_end(log);

        return r < 0 ? r : store_find(log->reader, which, values, n, ret);
}

int record_log_newest(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret) {
        char path[LOCATION_STRING_MAX];

        assert(log && subject && ret);

        (void) location_format(subject, path);
        return plan ? find(log, STORE_NEWEST_OF_PLAN, SQL(sql_text(path), sql_text(plan)), ret)
                    : find(log, STORE_NEWEST, SQL(sql_text(path)), ret);
}

int record_log_newest_before(RecordLog *log, const Location *subject, uint64_t before, RecordEntry *ret) {
        char path[LOCATION_STRING_MAX];

        assert(log && subject && ret);
        return find(log, STORE_NEWEST_BEFORE, SQL(sql_text(location_format(subject, path)), sql_number(before)), ret);
}

int record_log_whole_before(RecordLog *log, const Location *subject, const char *plan, uint64_t before, RecordEntry *ret) {
        char path[LOCATION_STRING_MAX];

        assert(log && subject && ret);
        return find(log, STORE_WHOLE_BEFORE, SQL(sql_text(location_format(subject, path)), sql_number(before), sql_text(plan)), ret);
}

int record_log_failure(RecordLog *log, const Location *chip, RecordEntry *ret) {
        char path[LOCATION_STRING_MAX];

        assert(log && chip && ret);
        return find(log, STORE_FAILURES, SQL(sql_text(location_format(chip, path))), ret);
}

static int read_record(RecordLog *log, uint64_t index, RecordVerified *ret) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_free_ char *envelope = NULL;
        uint8_t id[DIGEST_BYTES];
        RecordTrust trust;
        size_t n;
        int r;

        r = store_envelope(log->reader, index, &envelope, &n, id);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        r = record_verify_with_policy(&(RecordPolicy) { .keyring = log->keyring, .takes_older_rules = true }, envelope, n, &trust, &verified);
        if (r < 0)
                return r;
        if (trust != RECORD_VERIFIED || verified.entry.index != index || strcmp(verified.origin, log->station.origin) != 0)
                return -EBADMSG;
        *ret = verified;
        verified = (RecordVerified) {};
        return 0;
}

int record_log_verified(RecordLog *log, const Location *subject, const RecordEntry *entry, RecordVerified *ret) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        int r;

        assert(log && subject && entry && ret);

        r = read_record(log, entry->index, &verified);
        if (r < 0)
                return r;
        /* The table that led here proves nothing; the record must be the one that was asked for. */
        if (!location_equal(&verified.entry.subject, subject) || strcmp(verified.entry.plan, entry->plan) != 0 ||
            !record_is_verdict(&verified.entry))
                return -EBADMSG;
        *ret = verified;
        verified = (RecordVerified) {};
        return 0;
}

int record_log_regions_verified(RecordLog *log, const Location *subject, const char *plan, RecordVerified *ret) {
        char key[STORE_PLAN_MAX];
        RecordEntry entry;
        int r;

        assert(log && subject && plan && ret);

        if (snprintf(key, sizeof(key), "%s" STORE_REGIONS, plan) >= (int) sizeof(key))
                return -ENOENT;
        r = record_log_newest(log, subject, key, &entry);
        if (r < 0)
                return r;
        if (strcmp(entry.plan, plan) != 0)
                return -EBADMSG;
        return record_log_verified(log, subject, &entry, ret);
}

/*
 * Places keep their names when trays are exchanged. Sixteen are asked for while others wait for the event loop, and no verdict hangs on the answer: the part's
 * digest in what the database has will do, for no other text in a record is that.
 */
int record_log_is_of(RecordLog *log, uint64_t index, const RecordSubject *chip, const RecordSubject *host) {
        _cleanup_(envelope_done) Envelope envelope = {};
        uint8_t id[DIGEST_BYTES];
        char hex[DIGEST_HEX];
        Identity identity;
        const char *payload;
        size_t n;
        int r;

        assert(log && chip && host);

        r = identity_of(&log->station.issuer, chip, host, &identity);
        if (r == 0)
                r = store_parsed(log->reader, index, &envelope, id);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        payload = envelope_payload(&envelope, &n);
        (void) digest_to_hex(identity.digest, hex);
        return memmem(payload, n, hex, strlen(hex)) != NULL;
}

int record_log_identity(RecordLog *log, const char *sha256, char **ret) {
        uint8_t digest[DIGEST_BYTES];

        assert(log && sha256 && ret);

        if (digest_from_hex(sha256, digest) < 0)
                return -EINVAL;
        return store_identity(log->reader, digest, ret);
}

int record_log_export(RecordLog *log, uint64_t first, uint64_t count, int fd) {
        uint64_t size;

        assert(log);

        size = record_log_size(log);
        if (first >= size)
                return -ERANGE;
        return store_export(log->reader, first, count < size - first ? first + count : size, fd);
}

static int next_entry(RecordLog *log, StoreStatement which, uint64_t *cursor, RecordEntry *ret) {
        int r;

        assert(log && cursor && ret);

        r = find(log, which, SQL(sql_number(*cursor)), ret);
        if (r == 0)
                *cursor = ret->index + 1;
        return r;
}

/* Whether the run that START began has its roll-up: the tables say where one may stand, and only the record itself says that it is one. 1, 0, -errno. */
static int has_ended(RecordLog *log, const RecordEntry *start) {
        char path[LOCATION_STRING_MAX];
        RecordEntry entry = *start;
        bool has = false;
        int r = 0;

        (void) location_format(&start->subject, path);
        while (!has && (r = find(log, STORE_NEXT_ROLLUP, SQL(sql_number(entry.index), sql_text(start->run), sql_text(path)), &entry)) == 0) {
                _cleanup_(record_verified_done) RecordVerified verified = {};

                has = record_log_verified(log, &start->subject, &entry, &verified) == 0 && strcmp(verified.entry.type, RECORD_TYPE_SUMMARY) == 0 &&
                      strcmp(verified.entry.run, start->run) == 0;
        }
        return has || r == -ENOENT ? has : r;
}

int record_log_unfinished(RecordLog *log, uint64_t *cursor, RecordEntry *ret) {
        int r;

        do
                r = next_entry(log, STORE_UNFINISHED, cursor, ret);
        while (r == 0 && (r = has_ended(log, ret)) > 0);
        return r;
}

int record_log_next_start(RecordLog *log, uint64_t *cursor, RecordEntry *ret) {
        return next_entry(log, STORE_NEXT_START, cursor, ret);
}

int record_log_next_verdict(RecordLog *log, uint64_t *cursor, RecordEntry *ret) {
        return next_entry(log, STORE_NEXT_VERDICT, cursor, ret);
}
