/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/store/reader.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void reader_init(Reader *reader, Store *store) {
        reader->store = store;
        (void) pthread_mutex_init(&reader->mutex, NULL);
}

void reader_done(Reader *reader) {
        reader->store = store_close(reader->store);
        (void) pthread_mutex_destroy(&reader->mutex);
}

/* A question: the mutex is held from begin to end, and a statement of the store is in use. */
static sqlite3_stmt *reader_begin(Reader *reader, StoreStatement which) {
        (void) pthread_mutex_lock(&reader->mutex);
        return reader->store->statements[which];
}

static int reader_end(Reader *reader, sqlite3_stmt *statement, int r) {
        (void) sqlite3_reset(statement);
        (void) sqlite3_clear_bindings(statement);
        (void) pthread_mutex_unlock(&reader->mutex);
        return r;
}

/* 0 with a row, -ENOENT without. */
static int reader_step(Reader *reader, sqlite3_stmt *statement) {
        int r = sqlite3_step(statement);

        if (r == SQLITE_ROW)
                return 0;
        return r == SQLITE_DONE ? -ENOENT : store_error(reader->store, r);
}

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

int reader_envelope(Reader *reader, uint64_t index, char **ret, size_t *ret_n,
                    uint8_t ret_id[static DIGEST_BYTES]) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_ENVELOPE);
        _cleanup_printer_ Printer text = {};
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) index);
        r = reader_step(reader, statement);
        if (r == 0)
                r = take_envelope(statement, &text);
        if (r == 0)
                r = take_id(statement, ret_id);
        r = reader_end(reader, statement, r);
        if (r < 0)
                return r;
        *ret_n = text.n;
        *ret = TAKE_PTR(text.text);
        return 0;
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

/* The index by the small table, the entry by the index: never a walk through the history. */
int reader_entry(Reader *reader, uint64_t index, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_ENTRY);
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) index);
        r = reader_step(reader, statement);
        if (r == 0)
                r = take_entry(statement, ret);
        return reader_end(reader, statement, r);
}

/* The index that STATEMENT comes to, and its entry. */
static int reader_found(Reader *reader, sqlite3_stmt *statement, RecordEntry *ret) {
        uint64_t index = 0;
        int r;

        r = reader_step(reader, statement);
        if (r == 0) {
                if (sqlite3_column_type(statement, 0) == SQLITE_NULL)
                        r = -ENOENT;
                index = (uint64_t) sqlite3_column_int64(statement, 0);
        }
        r = reader_end(reader, statement, r);
        return r < 0 ? r : reader_entry(reader, index, ret);
}

int reader_newest(Reader *reader, const Location *subject, const char *plan, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, plan ? STORE_NEWEST_OF_PLAN : STORE_NEWEST);
        char path[LOCATION_STRING_MAX];

        (void) sqlite3_bind_text(statement, 1, location_format(subject, path), -1, SQLITE_STATIC);
        if (plan)
                (void) sqlite3_bind_text(statement, 2, plan, -1, SQLITE_STATIC);
        return reader_found(reader, statement, ret);
}

int reader_newest_before(Reader *reader, const Location *subject, uint64_t before, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_NEWEST_BEFORE);
        char path[LOCATION_STRING_MAX];

        (void) sqlite3_bind_text(statement, 1, location_format(subject, path), -1, SQLITE_STATIC);
        (void) sqlite3_bind_int64(statement, 2, (sqlite3_int64) before);
        return reader_found(reader, statement, ret);
}

int reader_whole_before(Reader *reader, const Location *subject, const char *plan, uint64_t before, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_WHOLE_BEFORE);
        char path[LOCATION_STRING_MAX];

        (void) sqlite3_bind_text(statement, 1, location_format(subject, path), -1, SQLITE_STATIC);
        (void) sqlite3_bind_int64(statement, 2, before > INT64_MAX ? INT64_MAX : (sqlite3_int64) before);
        if (plan)
                (void) sqlite3_bind_text(statement, 3, plan, -1, SQLITE_STATIC);
        return reader_found(reader, statement, ret);
}

int reader_failure(Reader *reader, const Location *subject, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_FAILURES);
        char path[LOCATION_STRING_MAX];

        (void) sqlite3_bind_text(statement, 1, location_format(subject, path), -1, SQLITE_STATIC);
        return reader_found(reader, statement, ret);
}

int reader_entry_behind(Reader *reader, StoreStatement which, uint64_t first, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, which);
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) first);
        r = reader_step(reader, statement);
        if (r == 0)
                r = take_entry(statement, ret);
        return reader_end(reader, statement, r);
}

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

/* Writes the mark in place of an envelope that was dropped: the key's ID is empty where no archive has it. */
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

int reader_export(Reader *reader, uint64_t first, uint64_t last, int fd) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_EXPORT);
        _cleanup_printer_ Printer line = {};
        int n = 0, r = 0;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) first);
        (void) sqlite3_bind_int64(statement, 2, (sqlite3_int64) last);
        while (r == 0 && n < INT_MAX && first + (uint64_t) n < last) {
                r = reader_step(reader, statement);
                /* A hole in the log, or an end before its end, is no shorter answer, it is damage. */
                if (r == -ENOENT || (r == 0 && (uint64_t) sqlite3_column_int64(statement, COLUMN_INDEX) != first + (uint64_t) n))
                        r = -EBADMSG;
                if (r == 0)
                        r = write_record(fd, statement, &line);
                n += r == 0;
        }
        return reader_end(reader, statement, r < 0 ? r : n);
}

int reader_identity(Reader *reader, const uint8_t digest[static DIGEST_BYTES], char **ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_IDENTITY);
        int r;

        (void) sqlite3_bind_blob(statement, 1, digest, DIGEST_BYTES, SQLITE_STATIC);
        r = reader_step(reader, statement);
        if (r == 0) {
                const char *document = (const char *) sqlite3_column_text(statement, 0);

                *ret = document ? strdup(document) : NULL;
                if (!*ret)
                        r = -ENOMEM;
        }
        return reader_end(reader, statement, r);
}

/* ---- the tree, of which nothing changes that is there ---- */

int reader_newest_checkpoint(Reader *reader, uint64_t last, char **ret, size_t *ret_n) {
        uint64_t size;
        int r;

        (void) pthread_mutex_lock(&reader->mutex);
        r = store_newest_checkpoint(reader->store, last, &size, ret, ret_n);
        (void) pthread_mutex_unlock(&reader->mutex);
        return r;
}

int reader_best_checkpoint(Reader *reader, uint64_t first, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n) {
        int r;

        (void) pthread_mutex_lock(&reader->mutex);
        r = store_best_checkpoint(reader->store, first, last, ret_size, ret, ret_n);
        (void) pthread_mutex_unlock(&reader->mutex);
        return r;
}

int reader_inclusion(Reader *reader, uint64_t index, uint64_t size, TreePath *ret) {
        TreeSource source = { store_hash, reader->store };
        int r;

        (void) pthread_mutex_lock(&reader->mutex);
        r = tree_inclusion(&source, index, size, ret);
        (void) pthread_mutex_unlock(&reader->mutex);
        return r;
}

int reader_consistency(Reader *reader, uint64_t old, uint64_t size, TreePath *ret) {
        TreeSource source = { store_hash, reader->store };
        int r;

        (void) pthread_mutex_lock(&reader->mutex);
        r = tree_consistency(&source, old, size, ret);
        (void) pthread_mutex_unlock(&reader->mutex);
        return r;
}

#define LEAVES_AT_ONCE 256

static int read_leaves(Reader *reader, uint64_t first, size_t n, TreeHash *ret) {
        int r = 0;

        (void) pthread_mutex_lock(&reader->mutex);
        for (size_t i = 0; i < n && r == 0; i++)
                r = store_hash(reader->store, tree_position(0, first + i), &ret[i]);
        (void) pthread_mutex_unlock(&reader->mutex);
        return r;
}

int reader_leaf(Reader *reader, uint64_t index, TreeHash *ret) {
        return read_leaves(reader, index, 1, ret);
}

int reader_leaves(Reader *reader, uint64_t first, uint64_t last, int fd) {
        TreeHash leaves[LEAVES_AT_ONCE];
        int r;

        while (first < last) {
                size_t n = last - first < ELEMENTS(leaves) ? (size_t) (last - first) : ELEMENTS(leaves);

                r = read_leaves(reader, first, n, leaves);
                if (r == 0)
                        r = write_all(fd, leaves, n * sizeof(TreeHash));
                if (r < 0)
                        return r;
                first += n;
        }
        return 0;
}

int reader_index_behind(Reader *reader, StoreStatement which, uint64_t first, uint64_t *ret) {
        sqlite3_stmt *statement = reader_begin(reader, which);
        uint64_t index = 0;
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) first);
        r = reader_step(reader, statement);
        if (r == 0 && sqlite3_column_type(statement, 0) != SQLITE_INTEGER)
                r = -ENOENT;
        if (r == 0)
                index = (uint64_t) sqlite3_column_int64(statement, 0);
        r = reader_end(reader, statement, r);
        if (r == 0)
                *ret = index;
        return r;
}
