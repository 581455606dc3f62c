/* SPDX-License-Identifier: Apache-2.0 */

/* How a store is opened, or made. */

#include "daemon/record/store/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID  0x61737379 /* "assy" */
#define WAL_BYTES       (16 * 1024 * 1024) /* then it is copied into the database, and begun anew */
#define ROW_BYTES_MAX   (2 * RECORD_ENVELOPE_MAX) /* who can write the file must not make us read gigabytes */

int store_finish(Store *store, int r) {
        if (r == 0)
                r = store_execute(store, "COMMIT");
        if (r < 0)
                (void) store_execute(store, "ROLLBACK");
        return r;
}

/* Both are per connection or can be refused silently, so they are read back. */
static int make_durable(Store *store, char **ret_wrong) {
        int64_t is_durable = 0;
        int r;

        r = store_execute(store, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
        if (r == 0)
                r = store_number(store, "SELECT (SELECT journal_mode = 'wal' FROM pragma_journal_mode) AND (SELECT synchronous = 2 FROM pragma_synchronous)",
                                 &is_durable);
        if (r < 0 || is_durable)
                return r;
        *ret_wrong = strdup("the file system cannot hold a write-ahead log");
        return -EBADMSG;
}

static int make_log(Store *store, const char *origin) {
        sqlite3_stmt *statement = NULL;
        char pragma[64];
        int r;

        (void) snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d", APPLICATION_ID);
        r = store_execute(store, "BEGIN IMMEDIATE");
        if (r == 0)
                r = store_execute(store, pragma);
        if (r == 0)
                r = store_make_tables(store);
        if (r == 0)
                r = store_error(store, sqlite3_prepare_v2(store->db, "INSERT INTO log VALUES (1, ?1)", -1, &statement, NULL));
        if (r == 0)
                r = store_error(store, sqlite3_bind_text(statement, 1, origin, -1, SQLITE_STATIC));
        if (r == 0)
                r = store_error(store, sqlite3_step(statement));
        (void) sqlite3_finalize(statement);
        return store_finish(store, r);
}

static int read_origin(Store *store, char **ret) {
        return store_text(store, "SELECT origin FROM log", ret);
}

static int check_origin(Store *store, const char *origin, char **ret_wrong) {
        _cleanup_free_ char *theirs = NULL;
        int r;

        r = read_origin(store, &theirs);
        if (r < 0 || strcmp(theirs, origin) == 0)
                return r;
        r = asprintf(ret_wrong,
                     "the log's origin is %s, not %s, and a log keeps its origin: write `origin: %s` into assayd.yaml again, or"
                     " begin a new log (CHANGING THE ORIGIN)",
                     theirs, origin, theirs);
        return r < 0 ? -ENOMEM : -EBADMSG;
}

/* They would do more, or other things, than the statements say that bring older tables up. */
static int check_older(Store *store, char **ret_wrong) {
        int64_t n = 0;
        int r;

        r = store_number(store,
                         "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view') OR (type = 'index' AND sql IS NOT NULL AND"
                         " (name, tbl_name) NOT IN (VALUES ('record_idx', 'record'), ('witnessed', 'checkpoint'), ('rotation', 'entry'),"
                         " ('archive', 'entry'), ('decision', 'entry'), ('hole', 'record')))",
                         &n);
        if (r < 0 || n == 0)
                return r;
        *ret_wrong = strdup("someone added a trigger, a view or an index");
        return -EBADMSG;
}

/*
 * Each table and index with its text, in the order of their names. A table that had another name has its name in quotes. What ANALYZE counts is for whoever
 * chooses between ways to the same rows.
 */
static const char schema[] =
                "SELECT group_concat(quote(type) || quote(name) || quote(tbl_name) ||"
                " quote(replace(sql, 'CREATE TABLE \"' || name || '\" ', 'CREATE TABLE ' || name || ' ')), char(10))"
                " FROM (SELECT * FROM sqlite_schema WHERE NOT (type = 'table' AND name LIKE 'sqlite\\_stat_' ESCAPE '\\') ORDER BY type, name)";

/* A constraint of somebody else makes an index, which can be made to answer for the table what does not stand in it, or changes what a statement does. */
static int check_schema(Store *store, char **ret_wrong) {
        _cleanup_(store_closep) Store *due = NULL;
        _cleanup_free_ char *theirs = NULL, *ours = NULL;
        int r;

        r = store_text(store, schema, &theirs);
        if (r == 0)
                r = store_open_derived(&due);
        if (r == 0)
                r = store_text(due, schema, &ours);
        if (r < 0 || strcmp(theirs, ours) == 0)
                return r;
        free(*ret_wrong); /* a remark of what was brought up */
        *ret_wrong = strdup("someone changed its tables or their indices, or added some");
        return -EBADMSG;
}

static int check_or_make(Store *store, const char *origin, char **ret_wrong) {
        int64_t id = 0, tables = 0;
        int r;

        r = store_number(store, "PRAGMA application_id", &id);
        if (r == 0)
                r = store_number(store, "SELECT count(*) FROM sqlite_schema", &tables);
        if (r < 0)
                return r;
        if (id == 0 && tables == 0)
                return make_log(store, origin);
        if (id != APPLICATION_ID) {
                *ret_wrong = strdup("the database belongs to another program");
                return -EBADMSG;
        }
        r = check_older(store, ret_wrong);
        if (r == 0)
                r = check_origin(store, origin, ret_wrong);
        return r < 0 ? r : store_raise_tables(store, ret_wrong);
}

/* A page holds two records or three without any that goes over its end. Of what a commit reads again a cache of a few pages is enough. */
static const char settings[] = "PRAGMA page_size=8192; PRAGMA cache_size=-512; PRAGMA foreign_keys=OFF;"
                               " PRAGMA trusted_schema=OFF";

/* Older stores have larger pages, and no larger write-ahead log. */
static int bound_wal(Store *store) {
        int64_t page = 0;
        char pragma[64];
        int r;

        r = store_number(store, "PRAGMA page_size", &page);
        if (r < 0)
                return r;
        (void) snprintf(pragma, sizeof(pragma), "PRAGMA wal_autocheckpoint=%lld", (long long) (WAL_BYTES / page));
        return store_execute(store, pragma);
}

int store_open_derived(Store **ret) {
        _cleanup_(store_closep) Store *store = store_new();
        int r;

        if (!store)
                return -ENOMEM;
        r = store_error(store, sqlite3_open_v2(":memory:", &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
        if (r == 0)
                r = make_log(store, "");
        if (r == 0)
                r = store_prepare(store);
        if (r == 0)
                r = store_execute(store, "BEGIN"); /* for good */
        if (r < 0)
                return r;
        *ret = TAKE_PTR(store);
        return 0;
}

int record_log_read_origin(const char *path, char **ret, char **ret_wrong) {
        _cleanup_(store_closep) Store *store = NULL;
        int64_t id = 0, tables = 0;
        int r;

        r = store_check_files(path, ret_wrong);
        if (r < 0)
                return r;
        store = store_new();
        if (!store)
                return -ENOMEM;
        if (access(path, F_OK) < 0)
                return -errno;
        r = store_error(store, sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL));
        if (r < 0)
                return r;
        (void) sqlite3_busy_timeout(store->db, STORE_BUSY_MSEC);
        r = store_number(store, "PRAGMA application_id", &id);
        if (r == 0)
                r = store_number(store, "SELECT count(*) FROM sqlite_schema", &tables);
        if (r < 0)
                return r;
        if (id == 0 && tables == 0)
                return -ENOENT; /* the process that would have made it died before */
        return id == APPLICATION_ID ? read_origin(store, ret) : -EBADMSG;
}

int store_open(const char *path, const char *origin, Store **ret, char **ret_wrong) {
        _cleanup_(store_closep) Store *store = NULL;
        char *wrong = NULL;
        int r;

        r = store_check_place(path, ret_wrong);
        if (r < 0)
                return r;
        store = store_new();
        if (!store)
                return -ENOMEM;
        r = store_error(store, sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL));
        if (r < 0)
                return r;
        (void) sqlite3_busy_timeout(store->db, STORE_BUSY_MSEC);
        (void) sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX);

        r = store_execute(store, settings);
        if (r == 0)
                r = make_durable(store, &wrong);
        if (r == 0)
                r = check_or_make(store, origin, &wrong);
        if (r == 0)
                r = bound_wal(store);
        if (r == 0)
                r = store_prepare(store);
        if (r == 0)
                r = check_schema(store, &wrong);
        if (r == 0)
                r = store_note_files(store);
        if (r < 0) {
                if (!wrong && r == -EBADMSG)
                        wrong = strdup(sqlite3_errmsg(store->db));
                *ret_wrong = wrong;
                return r;
        }
        if (wrong)
                *ret_wrong = wrong;
        *ret = TAKE_PTR(store);
        return 0;
}
