/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/reader.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

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

int reader_envelope(Reader *reader, uint64_t index, char **ret, size_t *ret_n,
                    uint8_t ret_id[static DIGEST_BYTES]) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_ENVELOPE);
        char *text = NULL;
        size_t n = 0;
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) index);
        r = reader_step(reader, statement);
        if (r == 0) {
                const void *blob = sqlite3_column_blob(statement, 0);

                n = (size_t) sqlite3_column_bytes(statement, 0);
                text = malloc(n + 1);
                if (!text)
                        r = -ENOMEM;
                else if (sqlite3_column_type(statement, 0) == SQLITE_NULL)
                        r = -ENODATA;
                else if (!blob || sqlite3_column_bytes(statement, 1) != DIGEST_BYTES)
                        r = -EBADMSG;
                else {
                        memcpy(text, blob, n);
                        memcpy(ret_id, sqlite3_column_blob(statement, 1), DIGEST_BYTES);
                }
        }
        r = reader_end(reader, statement, r);
        if (r < 0) {
                free(text);
                return r;
        }
        *ret = text;
        *ret_n = n;
        return 0;
}

static int take_text(sqlite3_stmt *statement, int column, char *to, size_t size) {
        const char *text = (const char *) sqlite3_column_text(statement, column);

        if (!text || strlen(text) >= size)
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
        if (entry.result < 0 || location_parse(subject, &entry.subject, NULL, NULL) < 0)
                return -EBADMSG;
        entry.finished_usec = (uint64_t) sqlite3_column_int64(statement, 7);
        *ret = entry;
        return 0;
}

/* The index by the small table, the entry by the index: never a walk through the history. */
static int reader_entry(Reader *reader, uint64_t index, RecordEntry *ret) {
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

int reader_failure(Reader *reader, const Location *subject, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_FAILURES);
        char path[LOCATION_STRING_MAX];

        (void) sqlite3_bind_text(statement, 1, location_format(subject, path), -1, SQLITE_STATIC);
        return reader_found(reader, statement, ret);
}

int reader_unfinished(Reader *reader, uint64_t first, RecordEntry *ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_UNFINISHED);
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) first);
        r = reader_step(reader, statement);
        if (r == 0)
                r = take_entry(statement, ret);
        return reader_end(reader, statement, r);
}

static int write_line(int fd, const void *text, size_t n) {
        char newline = '\n';
        size_t done = 0;

        while (done < n + 1) {
                size_t left = done < n ? n - done : 0;
                struct iovec parts[2] = {
                        { (char *) text + n - left, left },
                        { &newline, 1 },
                };
                ssize_t k = writev(fd, parts, ELEMENTS(parts));

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                done += (size_t) k;
        }
        return 0;
}

/* Columns index, envelope and ID. In place of an envelope that was pruned stands that it was. */
static int write_record(int fd, sqlite3_stmt *statement) {
        char text[64 + DIGEST_HEX], hex[DIGEST_HEX];

        if (sqlite3_column_type(statement, 1) != SQLITE_NULL)
                return write_line(fd, sqlite3_column_blob(statement, 1), (size_t) sqlite3_column_bytes(statement, 1));
        if (sqlite3_column_bytes(statement, 2) != DIGEST_BYTES)
                return -EBADMSG;
        (void) snprintf(text, sizeof(text), "{\"pruned\":{\"index\":%lld,\"sha256\":\"%s\"}}", sqlite3_column_int64(statement, 0),
                        digest_to_hex(sqlite3_column_blob(statement, 2), hex));
        return write_line(fd, text, strlen(text));
}

int reader_export(Reader *reader, uint64_t first, uint64_t last, int fd) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_EXPORT);
        int n = 0, r = 0;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) first);
        (void) sqlite3_bind_int64(statement, 2, (sqlite3_int64) last);
        while (r == 0 && n < INT_MAX && first + (uint64_t) n < last) {
                r = reader_step(reader, statement);
                /* A hole in the log, or an end before its end, is no shorter answer, it is damage. */
                if (r == -ENOENT || (r == 0 && (uint64_t) sqlite3_column_int64(statement, 0) != first + (uint64_t) n))
                        r = -EBADMSG;
                if (r == 0)
                        r = write_record(fd, statement);
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

static int read_leaves(Reader *reader, uint64_t first, size_t n, TreeHash *ret) {
        int r = 0;

        (void) pthread_mutex_lock(&reader->mutex);
        for (size_t i = 0; i < n && r == 0; i++)
                r = store_hash(reader->store, tree_position(0, first + i), &ret[i]);
        (void) pthread_mutex_unlock(&reader->mutex);
        return r;
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

int reader_rotation(Reader *reader, uint64_t first, uint64_t *ret) {
        sqlite3_stmt *statement = reader_begin(reader, STORE_ROTATION);
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
