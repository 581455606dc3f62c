/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/book.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/record/store/database.h"

#define APPLICATION_ID "0x61737777" /* "asww" */
#define ANCHOR_BYTES   21           /* twenty digits and a line feed, always: they are written over */

struct Book {
        sqlite3 *db;
        sqlite3_stmt *read, *write;
        int anchor_fd;
        uint64_t number; /* the last that was used */
        bool is_open;    /* a group */
        uint64_t change; /* the number of the last change in it; 0: there is none */
        int error;       /* it has come to nothing */
};

static int error_of(const Book *book, int error) {
        return database_error(book->db, error);
}

static int execute(Book *book, const char *sql) {
        return error_of(book, sqlite3_exec(book->db, sql, NULL, NULL, NULL));
}

/* ---- opening ---- */

/* EXCLUSIVE: a second witness over the same book finds it busy. Without it the WAL would ask for shared memory as well. */
static const char settings[] = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL";

static const char tables[] = "BEGIN IMMEDIATE;"
                             "CREATE TABLE IF NOT EXISTS log (origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, note BLOB NOT NULL,"
                             " at INTEGER NOT NULL, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
                             "PRAGMA application_id=" APPLICATION_ID "; PRAGMA user_version=1;"
                             "COMMIT";

/* 1: the database answers QUESTION with WANTED; 0: with something else. */
static int answers(Book *book, const char *question, const char *wanted) {
        sqlite3_stmt *statement = NULL;
        const char *text;
        int r;

        r = sqlite3_prepare_v2(book->db, question, -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        text = r == SQLITE_ROW ? (const char *) sqlite3_column_text(statement, 0) : NULL;
        r = r == SQLITE_ROW ? text && strcmp(text, wanted) == 0 : error_of(book, r);
        (void) sqlite3_finalize(statement);
        return r;
}

static int refuse(char **ret_wrong, const char *sentence) {
        *ret_wrong = strdup(sentence);
        return -EBADMSG;
}

/* An empty database becomes a book; what is neither is left alone. */
static int check_or_make(Book *book, char **ret_wrong) {
        int is_empty, r;

        is_empty = answers(book, "SELECT count(*) FROM sqlite_schema", "0");
        if (is_empty < 0)
                return is_empty;
        if (is_empty)
                return execute(book, tables);

        r = answers(book, "SELECT printf('0x%x %d', (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version))",
                    APPLICATION_ID " 1");
        if (r == 0)
                return refuse(ret_wrong, "the database is no book of a witness, or of a newer version");
        if (r > 0)
                r = answers(book, "SELECT group_concat(type || ' ' || name) FROM sqlite_schema", "table log");
        if (r == 0)
                return refuse(ret_wrong, "somebody added tables, triggers or views to the database");
        if (r > 0)
                r = answers(book, "PRAGMA quick_check(1)", "ok");
        return r == 0 ? refuse(ret_wrong, "the database is damaged") : r < 0 ? r : 0;
}

static int open_database(Book *book, const char *folder, char **ret_wrong) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (asprintf(&path, "%s/witness.db", folder) < 0)
                return -ENOMEM;
        r = sqlite3_open_v2(path, &book->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
        if (!book->db)
                return -ENOMEM;
        if (r == SQLITE_OK)
                r = sqlite3_exec(book->db, settings, NULL, NULL, NULL);
        r = error_of(book, r);
        if (r == 0)
                r = check_or_make(book, ret_wrong);
        if (r < 0)
                return r;

        if (answers(book, "PRAGMA journal_mode", "wal") <= 0 || answers(book, "PRAGMA synchronous", "2") <= 0)
                return refuse(ret_wrong, "the database cannot promise that what it took is on the disk");
        r = sqlite3_prepare_v3(book->db, "SELECT size, root, at, note FROM log WHERE origin = ?1", -1, SQLITE_PREPARE_PERSISTENT, &book->read, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_prepare_v3(book->db,
                                       "INSERT INTO log VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (origin) DO UPDATE SET size = excluded.size,"
                                       " root = excluded.root, note = excluded.note, at = excluded.at, number = excluded.number"
                                       " WHERE excluded.size > log.size",
                                       -1, SQLITE_PREPARE_PERSISTENT, &book->write, NULL);
        return error_of(book, r);
}

static int read_number(Book *book) {
        sqlite3_stmt *statement = NULL;
        int r;

        r = sqlite3_prepare_v2(book->db, "SELECT coalesce(max(number), 0) FROM log", -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        if (r == SQLITE_ROW)
                book->number = (uint64_t) sqlite3_column_int64(statement, 0);
        r = error_of(book, r);
        (void) sqlite3_finalize(statement);
        return r;
}

/* ---- the anchor ---- */

static int anchor_write(const Book *book, uint64_t number) {
        char text[ANCHOR_BYTES + 1];
        ssize_t n;

        (void) snprintf(text, sizeof(text), "%020" PRIu64 "\n", number);
        n = pwrite(book->anchor_fd, text, ANCHOR_BYTES, 0);
        return n == ANCHOR_BYTES ? 0 : n < 0 ? -errno : -EIO;
}

/* 1, and what it says; 0: it is empty. */
static int anchor_read(const Book *book, uint64_t *ret) {
        char text[ANCHOR_BYTES + 2], again[ANCHOR_BYTES + 1];
        ssize_t n = pread(book->anchor_fd, text, sizeof(text) - 1, 0);
        uint64_t number;

        if (n <= 0)
                return n < 0 ? -errno : 0;
        text[n] = '\0';
        number = strtoull(text, NULL, 10);
        (void) snprintf(again, sizeof(again), "%020" PRIu64 "\n", number);
        if (strcmp(text, again) != 0)
                return -EBADMSG;
        *ret = number;
        return 1;
}

static int anchor_check(const Book *book, const char *path, char **ret_wrong) {
        uint64_t number = 0;
        int r;

        r = anchor_read(book, &number);
        if (r == -EBADMSG || (r == 0 && book->number > 0))
                r = asprintf(ret_wrong, "%s is %s: whether this is the newest state cannot be told. If it is, start once with --accept-state", path,
                             r == 0 ? "missing or empty" : "no anchor");
        else if (r > 0 && number > book->number)
                r = asprintf(ret_wrong,
                             "this is an old copy: it knows %" PRIu64 " changes, and %s says there were %" PRIu64
                             ". Bring back the newest; a witness whose newest is lost needs a new name and key",
                             book->number, path, number);
        else
                return r < 0 ? r : 0;
        return r < 0 ? -ENOMEM : -EBADMSG;
}

static int open_anchor(Book *book, const char *folder, const char *anchor, bool is_newest, char **ret_wrong) {
        _cleanup_free_ char *beside = NULL;
        int r;

        if (!anchor && asprintf(&beside, "%s/anchor", folder) < 0)
                return -ENOMEM;
        book->anchor_fd = open(anchor ?: beside, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (book->anchor_fd < 0)
                return -errno;
        r = is_newest ? 0 : anchor_check(book, anchor ?: beside, ret_wrong);
        if (r < 0)
                return r;
        if (is_newest && ftruncate(book->anchor_fd, 0) < 0)
                return -errno;
        r = anchor_write(book, book->number);
        return r == 0 && fsync(book->anchor_fd) < 0 ? -errno : r;
}

int book_open(const char *folder, const char *anchor, bool is_newest, Book **ret, char **ret_wrong) {
        _cleanup_(book_closep) Book *book = NULL;
        int r;

        book = calloc(1, sizeof(*book));
        if (!book)
                return -ENOMEM;
        book->anchor_fd = -EBADF;
        r = open_database(book, folder, ret_wrong);
        if (r == 0)
                r = read_number(book);
        if (r == 0)
                r = open_anchor(book, folder, anchor, is_newest, ret_wrong);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(book);
        return 0;
}

Book *book_close(Book *book) {
        if (!book)
                return NULL;
        (void) sqlite3_finalize(book->read);
        (void) sqlite3_finalize(book->write);
        (void) sqlite3_close(book->db);
        (void) close_fd(book->anchor_fd);
        free(book);
        return NULL;
}

/* ---- reading and writing ---- */

static int read_row(sqlite3_stmt *row, Held *ret) {
        Held held = { .size = (uint64_t) sqlite3_column_int64(row, 0), .usec = (uint64_t) sqlite3_column_int64(row, 2) };

        if (held.size > TREE_SIZE_MAX || sqlite3_column_bytes(row, 1) != DIGEST_BYTES)
                return -EBADMSG;
        memcpy(held.root.bytes, sqlite3_column_blob(row, 1), DIGEST_BYTES);
        *ret = held;
        return 0;
}

/* NOTE NULL: it is not asked for. */
static int read_log(Book *book, const char *origin, Held *ret, char **note, size_t *n) {
        int r;

        (void) sqlite3_bind_text(book->read, 1, origin, -1, SQLITE_STATIC);
        r = sqlite3_step(book->read);
        if (r == SQLITE_ROW)
                r = read_row(book->read, ret);
        else
                r = r == SQLITE_DONE ? -ENOENT : error_of(book, r) ?: -EIO;
        if (r == 0 && note) {
                const char *blob = sqlite3_column_blob(book->read, 3);

                *note = strndup(blob ?: "", (size_t) sqlite3_column_bytes(book->read, 3));
                *n = *note ? strlen(*note) : 0;
                r = *note ? 0 : -ENOMEM;
        }
        (void) sqlite3_reset(book->read);
        return r;
}

int book_read(Book *book, const char *origin, Held *ret) {
        Held none = {};
        int r = read_log(book, origin, ret, NULL, NULL);

        if (r != -ENOENT)
                return r;
        r = tree_empty(&none.root);
        if (r == 0)
                *ret = none;
        return r;
}

int book_read_note(Book *book, const char *origin, Held *ret, char **ret_note, size_t *ret_n) {
        return read_log(book, origin, ret, ret_note, ret_n);
}

/* That a log only grows stands in the statement as well, whoever calls. */
static int write_row(Book *book, const char *origin, const Held *held, const char *note, size_t n) {
        uint64_t number = book->number + 1;
        int r;

        (void) sqlite3_bind_text(book->write, 1, origin, -1, SQLITE_STATIC);
        (void) sqlite3_bind_int64(book->write, 2, (sqlite3_int64) held->size);
        (void) sqlite3_bind_blob(book->write, 3, held->root.bytes, DIGEST_BYTES, SQLITE_STATIC);
        (void) sqlite3_bind_blob(book->write, 4, note, (int) n, SQLITE_STATIC);
        (void) sqlite3_bind_int64(book->write, 5, (sqlite3_int64) held->usec);
        (void) sqlite3_bind_int64(book->write, 6, (sqlite3_int64) number);
        r = error_of(book, sqlite3_step(book->write));
        (void) sqlite3_reset(book->write);
        book->number = number; /* whatever came of it: no number is used twice */
        return r;
}

/* What fails may have ended the transaction, and nothing more may be written as one of its own. */
int book_write(Book *book, const char *origin, const Held *held, const char *note, size_t n) {
        if (!book->is_open) {
                book->error = execute(book, "BEGIN IMMEDIATE");
                book->is_open = true;
                book->change = 0;
        }
        if (book->error == 0)
                book->error = write_row(book, origin, held, note, n);
        if (book->error < 0)
                return book->error;
        if (sqlite3_changes(book->db) != 1)
                return -ESTALE;
        book->change = book->number;
        return 0;
}

/* One sync for the whole group, which is what takes time. */
int book_commit(Book *book) {
        int r = book->error;

        if (!book->is_open)
                return 0;
        if (r == 0)
                r = execute(book, "COMMIT");
        if (r < 0 && !sqlite3_get_autocommit(book->db))
                (void) execute(book, "ROLLBACK");
        book->is_open = false;
        book->error = 0;
        /* A number that no row has would make this state an old one. */
        return r < 0 || book->change == 0 ? r : anchor_write(book, book->change);
}
