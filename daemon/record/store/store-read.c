/* SPDX-License-Identifier: Apache-2.0 */

/* What a store is asked for, by any thread. */

#include "daemon/record/store/store.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define LEAVES_AT_ONCE 256

/* Of ENVELOPE_COLUMNS in store.c. */
enum { COLUMN_ID, COLUMN_ENVELOPE, COLUMN_KEY_ID, COLUMN_SIGNATURE, COLUMN_PAYLOAD, COLUMN_INDEX };

static const void *column_blob(sqlite3_stmt *statement, int column, size_t *ret_n) {
        const void *blob = sqlite3_column_blob(statement, column);

        *ret_n = (size_t) sqlite3_column_bytes(statement, column);
        return blob;
}

/* Older records have the text, newer ones what it is made of. -ENODATA: neither any more. */
static int take_envelope(sqlite3_stmt *statement, Printer *text) {
        size_t n_envelope, n_payload, n_signature;
        const void *envelope = column_blob(statement, COLUMN_ENVELOPE, &n_envelope);
        const void *payload = column_blob(statement, COLUMN_PAYLOAD, &n_payload);
        const void *signature = column_blob(statement, COLUMN_SIGNATURE, &n_signature);

        if (envelope) {
                printer_raw(text, envelope, n_envelope);
                return text->error;
        }
        if (sqlite3_column_type(statement, COLUMN_ENVELOPE) == SQLITE_NULL && sqlite3_column_type(statement, COLUMN_PAYLOAD) == SQLITE_NULL)
                return -ENODATA;
        if (!payload || !signature)
                return -EBADMSG;
        envelope_print(text, (const char *) sqlite3_column_text(statement, COLUMN_KEY_ID), payload, n_payload, signature, n_signature);
        return text->error;
}

static int take_id(sqlite3_stmt *statement, uint8_t ret[static DIGEST_BYTES]) {
        if (sqlite3_column_bytes(statement, COLUMN_ID) != DIGEST_BYTES)
                return -EBADMSG;
        memcpy(ret, sqlite3_column_blob(statement, COLUMN_ID), DIGEST_BYTES);
        return 0;
}

int store_envelope(Store *store, uint64_t index, char **ret, size_t *ret_n, uint8_t ret_id[static DIGEST_BYTES]) {
        sqlite3_stmt *statement = store_ask(store, STORE_ENVELOPE, SQL(sql_number(index)));
        _cleanup_printer_ Printer text = {};
        int r;

        r = store_step(store, statement);
        if (r == 0)
                r = take_envelope(statement, &text);
        if (r == 0)
                r = take_id(statement, ret_id);
        r = store_answered(store, statement, r);
        if (r < 0)
                return r;
        *ret_n = text.n;
        *ret = TAKE_PTR(text.text);
        return 0;
}

int store_parsed(Store *store, uint64_t index, Envelope *ret, uint8_t ret_id[static DIGEST_BYTES]) {
        _cleanup_free_ char *text = NULL;
        const char *wrong;
        size_t n;
        int r;

        r = store_envelope(store, index, &text, &n, ret_id);
        return r < 0 ? r : envelope_parse(text, n, ret, &wrong);
}

static int take_text(sqlite3_stmt *statement, int column, char *to, size_t size) {
        const char *text = (const char *) sqlite3_column_text(statement, column);

        if (!text || sqlite3_column_type(statement, column) != SQLITE_TEXT || strlen(text) >= size)
                return -EBADMSG;
        (void) strcpy(to, text);
        return 0;
}

/* The columns of ENTRY_COLUMNS in store.c. */
static int take_entry(sqlite3_stmt *statement, RecordEntry *ret) {
        char subject[LOCATION_STRING_MAX], result[16];
        RecordEntry entry = { .index = (uint64_t) sqlite3_column_int64(statement, 0) };

        if (sqlite3_column_bytes(statement, 1) != DIGEST_BYTES)
                return -EBADMSG;
        (void) digest_to_hex(sqlite3_column_blob(statement, 1), entry.id);
        if (take_text(statement, 2, entry.type, sizeof(entry.type)) < 0 ||
            take_text(statement, 3, subject, sizeof(subject)) < 0 ||
            take_text(statement, 4, result, sizeof(result)) < 0 ||
            take_text(statement, 5, entry.plan, sizeof(entry.plan)) < 0 ||
            take_text(statement, 6, entry.run, sizeof(entry.run)) < 0)
                return -EBADMSG;
        entry.result = result_from_string(result);
        if (entry.result < 0 || (*subject && location_parse(subject, &entry.subject, NULL, NULL) < 0))
                return -EBADMSG;
        entry.finished_usec = (uint64_t) sqlite3_column_int64(statement, 7);
        *ret = entry;
        return 0;
}

int store_entry(Store *store, uint64_t index, RecordEntry *ret) {
        sqlite3_stmt *statement = store_ask(store, STORE_ENTRY, SQL(sql_number(index)));
        int r;

        r = store_step(store, statement);
        if (r == 0)
                r = take_entry(statement, ret);
        return store_answered(store, statement, r);
}

int store_index(Store *store, StoreStatement which, const StoreValue *values, size_t n, uint64_t *ret) {
        sqlite3_stmt *statement = store_ask(store, which, values, n);
        int r;

        r = store_step(store, statement);
        if (r == 0 && sqlite3_column_type(statement, 0) != SQLITE_INTEGER)
                r = -ENOENT;
        if (r == 0)
                *ret = (uint64_t) sqlite3_column_int64(statement, 0);
        return store_answered(store, statement, r);
}

/* The index by the small table, the entry by the index: never a walk through the history. */
int store_find(Store *store, StoreStatement which, const StoreValue *values, size_t n, RecordEntry *ret) {
        uint64_t index = 0;
        int r;

        r = store_index(store, which, values, n, &index);
        return r < 0 ? r : store_entry(store, index, ret);
}

int store_identity(Store *store, const uint8_t digest[static DIGEST_BYTES], char **ret) {
        sqlite3_stmt *statement = store_ask(store, STORE_IDENTITY, SQL(sql_blob(digest, DIGEST_BYTES)));
        int r;

        r = store_step(store, statement);
        if (r == 0) {
                const char *document = (const char *) sqlite3_column_text(statement, 0);

                *ret = document ? strdup(document) : NULL;
                if (!*ret)
                        r = -ENOMEM;
        }
        return store_answered(store, statement, r);
}

/* ---- many of them, to a file ---- */

static int write_all(int fd, const void *data, size_t n) {
        for (size_t done = 0; done < n;) {
                ssize_t k = write(fd, (const char *) data + done, n - done);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                done += (size_t) k;
        }
        return 0;
}

/* Writes the mark in place of an envelope that was dropped: the key's ID is empty where it is said to be in no archive. */
static int take_pruned(sqlite3_stmt *statement, Printer *text) {
        bool has_archive = sqlite3_column_type(statement, COLUMN_KEY_ID) == SQLITE_NULL;
        char name[RECORD_ARCHIVE_NAME_MAX], hex[DIGEST_HEX];
        sqlite3_int64 index = sqlite3_column_int64(statement, COLUMN_INDEX);
        uint8_t id[DIGEST_BYTES];
        int r;

        r = take_id(statement, id);
        if (r < 0)
                return r;
        printer_text(text, RECORD_PRUNED "{\"index\":");
        printer_unsigned(text, (uint64_t) index);
        printer_member(text, "sha256", digest_to_hex(id, hex));
        printer_member(text, "archive", has_archive ? record_archive_name((uint64_t) index, name) : NULL);
        printer_text(text, "}}");
        return text->error;
}

static int write_record(int fd, sqlite3_stmt *statement, Printer *line) {
        int r;

        line->n = 0;
        r = take_envelope(statement, line);
        if (r == -ENODATA)
                r = take_pruned(statement, line);
        printer_text(line, "\n");
        return r < 0 ? r : line->error ?: write_all(fd, line->text, line->n);
}

int store_export(Store *store, uint64_t first, uint64_t last, int fd) {
        sqlite3_stmt *statement = store_ask(store, STORE_EXPORT, SQL(sql_number(first), sql_number(last)));
        _cleanup_printer_ Printer line = {};
        int n = 0, r = 0;

        while (r == 0 && n < INT_MAX && first + (uint64_t) n < last) {
                r = store_step(store, statement);
                /* A hole in the log, or an end before its end, is no shorter answer, it is damage. */
                if (r == -ENOENT || (r == 0 && (uint64_t) sqlite3_column_int64(statement, COLUMN_INDEX) != first + (uint64_t) n))
                        r = -EBADMSG;
                if (r == 0)
                        r = write_record(fd, statement, &line);
                n += r == 0;
        }
        return store_answered(store, statement, r < 0 ? r : n);
}

int store_leaves(Store *store, uint64_t first, uint64_t last, int fd) {
        TreeHash leaves[LEAVES_AT_ONCE];
        int r = 0;

        for (size_t n = 0; first < last && r == 0; first += n) {
                for (n = 0; n < ELEMENTS(leaves) && first + n < last && r == 0; n++)
                        r = store_hash(store, tree_position(0, first + n), &leaves[n]);
                if (r == 0)
                        r = write_all(fd, leaves, n * sizeof(TreeHash));
        }
        return r;
}
