/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How a store is opened, made, and brought from an older version of its tables to this one. A new one is made as the oldest version and
 * brought up likewise, so that there is one way to get there.
 */

#include "daemon/record/store/store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID  0x61737379 /* "assy" */
#define WAL_BYTES       (16 * 1024 * 1024) /* then it is copied into the database, and begun anew */
#define ROW_BYTES_MAX   (2 * RECORD_ENVELOPE_MAX) /* who can write the file must not make us read gigabytes */

/* One row of one column of a pragma, as a number. */
static int query_number(Store *store, const char *sql, int64_t *ret) {
        sqlite3_stmt *statement = NULL;
        int r;

        r = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        if (r == SQLITE_ROW)
                *ret = sqlite3_column_int64(statement, 0);
        (void) sqlite3_finalize(statement);
        if (r == SQLITE_DONE)
                return -ENOENT;
        return r == SQLITE_ROW ? 0 : store_error(store, r);
}

static int execute(Store *store, const char *sql) {
        return store_error(store, sqlite3_exec(store->db, sql, NULL, NULL, NULL));
}

/* ---- versions of the tables: PRAGMA user_version ---- */

static const char version_1[] =
                "CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), origin TEXT NOT NULL) STRICT;"
                "CREATE TABLE record (idx INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, leaf BLOB NOT NULL,"
                " envelope BLOB NOT NULL) STRICT;"
                "CREATE TABLE entry (idx INTEGER PRIMARY KEY, type TEXT NOT NULL, subject TEXT NOT NULL, result TEXT NOT NULL,"
                " plan TEXT NOT NULL, run TEXT NOT NULL, finished INTEGER NOT NULL) STRICT;"
                "CREATE TABLE newest (subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL,"
                " PRIMARY KEY (subject, plan)) STRICT, WITHOUT ROWID;"
                "CREATE TABLE unfinished (idx INTEGER PRIMARY KEY, run TEXT NOT NULL, subject TEXT NOT NULL) STRICT;"
                "CREATE TABLE identity (digest BLOB PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID;";

/*
 * The tree, of which only leaves were kept; and envelopes that may be pruned. IDs have no index, which every record would write a page
 * of at random; indices have one, so that records are counted without reading their envelopes.
 */
static const char version_2[] =
                "CREATE TABLE hash (pos INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;"
                "CREATE TABLE checkpoint (size INTEGER PRIMARY KEY, note BLOB NOT NULL, at INTEGER NOT NULL) STRICT;"
                "CREATE TABLE kept (idx INTEGER PRIMARY KEY, id BLOB NOT NULL, envelope BLOB) STRICT;"
                "INSERT INTO kept SELECT idx, id, envelope FROM record;"
                "CREATE INDEX record_idx ON kept (idx);";
static const char version_2_end[] = "DROP TABLE record; ALTER TABLE kept RENAME TO record";

/* A leaf, and the nodes that become whole by it. */
static int grow(Store *store, Frontier *tree, sqlite3_stmt *leaves, sqlite3_stmt *insert) {
        TreeHash leaf, nodes[TREE_LEVELS];
        uint64_t size = tree->size;
        int n, r = 0;

        if (sqlite3_column_int64(leaves, 0) != (sqlite3_int64) size || sqlite3_column_bytes(leaves, 1) != DIGEST_BYTES)
                return -EBADMSG;
        memcpy(leaf.bytes, sqlite3_column_blob(leaves, 1), DIGEST_BYTES);
        n = frontier_append(tree, &leaf, nodes);
        for (int i = 0; i < n && r == 0; i++) {
                (void) sqlite3_bind_int64(insert, 1, (sqlite3_int64) tree_position(0, size) + i);
                (void) sqlite3_bind_blob(insert, 2, nodes[i].bytes, DIGEST_BYTES, SQLITE_STATIC);
                r = store_error(store, sqlite3_step(insert));
                (void) sqlite3_reset(insert);
        }
        return n < 0 ? n : r;
}

static int plant_tree(Store *store) {
        sqlite3_stmt *leaves = NULL, *insert = NULL;
        Frontier tree = {};
        int r;

        r = sqlite3_prepare_v2(store->db, "SELECT idx, leaf FROM record ORDER BY idx", -1, &leaves, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_prepare_v2(store->db, "INSERT INTO hash VALUES (?1, ?2)", -1, &insert, NULL);
        r = store_error(store, r);
        while (r == 0) {
                int step = sqlite3_step(leaves);

                if (step == SQLITE_DONE)
                        break;
                r = step == SQLITE_ROW ? grow(store, &tree, leaves, insert) : store_error(store, step) ?: -EIO;
        }
        (void) sqlite3_finalize(leaves);
        (void) sqlite3_finalize(insert);
        return r;
}

/* How many witnesses have signed a checkpoint. */
static const char version_3[] =
                "ALTER TABLE checkpoint ADD COLUMN witnesses INTEGER NOT NULL DEFAULT 0;"
                "CREATE INDEX witnessed ON checkpoint (witnesses, size);";

/* Where keys change: so few that every opening looks at all of them. */
static const char version_4[] = "CREATE INDEX rotation ON entry (idx) WHERE type = '" RECORD_TYPE_ROTATION "'";

/* The nodes that a leaf makes whole, which had a row each, stand with what its record says. */
static const char version_5[] =
                "CREATE TABLE whole (idx INTEGER PRIMARY KEY, type TEXT NOT NULL, subject TEXT NOT NULL, result TEXT NOT NULL,"
                " plan TEXT NOT NULL, run TEXT NOT NULL, finished INTEGER NOT NULL, nodes BLOB NOT NULL) STRICT;";
static const char version_5_end[] =
                "DROP TABLE entry; DROP TABLE hash; ALTER TABLE whole RENAME TO entry;"
                "CREATE INDEX rotation ON entry (idx) WHERE type = '" RECORD_TYPE_ROTATION "'";

/* A payload as it was signed, not as an envelope's text has it: a quarter less to write. Older records stay as they are. */
static const char version_6[] =
                "ALTER TABLE record ADD COLUMN keyid TEXT;"
                "ALTER TABLE record ADD COLUMN signature BLOB;"
                "ALTER TABLE record ADD COLUMN payload BLOB;";

/*
 * Version 7 held copies of `newest` and `unfinished`, whose digest heartbeats signed; 8 and 9 had other rows in them. All are derived anew (store_rebuild()),
 * which whoever gives store_derive() other rules owes the logs of before: a version of its own, and no more. Indices of records were counted by an
 * index of their own, of which each record wrote a page.
 */
static const char version_10[] = "DROP TABLE IF EXISTS held_newest; DROP TABLE IF EXISTS held_unfinished; DROP INDEX record_idx";

/*
 * Envelopes go into archives, and a record says which: so one that is gone otherwise shows. What was pruned before that is marked, by a key's ID that
 * is empty: it was pruned in good faith, and no record says so.
 */
static const char version_11[] =
                "CREATE INDEX archive ON entry (idx) WHERE type = '" RECORD_TYPE_ARCHIVE "';"
                "UPDATE record SET keyid = '' WHERE coalesce(envelope, payload) IS NULL;"
                "CREATE INDEX hole ON record (idx) WHERE " STORE_IS_HOLE ";";

/* The nodes of leaf INDEX, which follow those of the one before. -ENOENT: there is no such leaf. */
static int read_nodes(Store *store, sqlite3_stmt *hashes, uint64_t index, TreeHash nodes[static TREE_LEVELS]) {
        for (unsigned i = 0; i < tree_made_whole(index); i++) {
                int r = sqlite3_step(hashes);

                if (r != SQLITE_ROW)
                        return r != SQLITE_DONE ? store_error(store, r) ?: -EIO : i == 0 ? -ENOENT : -EBADMSG;
                if ((uint64_t) sqlite3_column_int64(hashes, 0) != tree_position(0, index) + i || sqlite3_column_bytes(hashes, 1) != DIGEST_BYTES)
                        return -EBADMSG;
                memcpy(nodes[i].bytes, sqlite3_column_blob(hashes, 1), DIGEST_BYTES);
        }
        return 0;
}

static int move_nodes(Store *store) {
        sqlite3_stmt *hashes = NULL, *insert = NULL;
        TreeHash nodes[TREE_LEVELS];
        uint64_t index;
        int64_t n = 0;
        int r;

        r = sqlite3_prepare_v2(store->db, "SELECT pos, hash FROM hash ORDER BY pos", -1, &hashes, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_prepare_v2(store->db, "INSERT INTO whole SELECT idx, type, subject, result, plan, run, finished, ?2 FROM entry WHERE idx = ?1",
                                       -1, &insert, NULL);
        r = store_error(store, r);
        for (index = 0; r == 0; index++) {
                r = read_nodes(store, hashes, index, nodes);
                if (r < 0)
                        break;
                (void) sqlite3_bind_int64(insert, 1, (sqlite3_int64) index);
                (void) sqlite3_bind_blob(insert, 2, nodes, (int) (tree_made_whole(index) * sizeof(TreeHash)), SQLITE_STATIC);
                r = store_error(store, sqlite3_step(insert));
                if (r == 0 && sqlite3_changes(store->db) != 1)
                        r = -EBADMSG;
                (void) sqlite3_reset(insert);
        }
        (void) sqlite3_finalize(hashes);
        (void) sqlite3_finalize(insert);
        if (r != -ENOENT)
                return r;
        r = query_number(store, "SELECT count(*) FROM entry", &n);
        return r == 0 && (uint64_t) n != index ? -EBADMSG : r;
}

static const struct {
        const char *before, *after; /* NULL: nothing */
        int (*between)(Store *store);
} versions[] = {
        { .before = version_1 },
        { .before = version_2, .between = plant_tree, .after = version_2_end },
        { .before = version_3 },
        { .before = version_4 },
        { .before = version_5, .between = move_nodes, .after = version_5_end },
        { .before = version_6 },
        { .before = "" },
        { .before = "" },
        { .before = "" },
        { .before = version_10 },
        { .before = version_11 },
};

static int raise_version(Store *store, size_t from) {
        char pragma[64];
        int r;

        r = execute(store, versions[from].before);
        if (r == 0 && versions[from].between)
                r = versions[from].between(store);
        if (r == 0 && versions[from].after)
                r = execute(store, versions[from].after);
        (void) snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%zu", from + 1);
        return r < 0 ? r : execute(store, pragma);
}

/* Ends a transaction in which R was the outcome: all or nothing, whatever dies on the way. */
static int finish(Store *store, int r) {
        if (r == 0)
                r = execute(store, "COMMIT");
        if (r < 0)
                (void) execute(store, "ROLLBACK");
        return r;
}

/* Within a transaction. */
static int raise_versions(Store *store, size_t from) {
        int r = 0;

        for (size_t i = from; i < ELEMENTS(versions) && r == 0; i++)
                r = raise_version(store, i);
        return r;
}

/* Within a transaction. */
static int raise_older(Store *store, int64_t version) {
        int r;

        r = raise_versions(store, version == 0 ? 1 : (size_t) version);
        if (r == 0)
                r = store_prepare(store);
        return r < 0 ? r : store_rebuild(store);
}

/* Tables of version 1 bore no number. 0, and *RET_WRONG may hold a remark. */
static int check_version(Store *store, char **ret_wrong) {
        int64_t version = 0;
        int r;

        r = query_number(store, "PRAGMA user_version", &version);
        if (r < 0)
                return r;
        if (version < 0 || version > (int64_t) ELEMENTS(versions)) {
                *ret_wrong = strdup("the database was made by a newer assayd");
                return -EBADMSG;
        }
        if (version == (int64_t) ELEMENTS(versions))
                return 0;
        r = execute(store, "BEGIN IMMEDIATE");
        if (r == 0)
                r = raise_older(store, version);
        r = finish(store, r);
        if (r == 0)
                *ret_wrong = strdup("an older assayd wrote it last, so which records are the newest was worked out anew from all of them");
        if (r == -EBADMSG)
                *ret_wrong = strdup("it was written by an older assayd and cannot be brought up: the log has a gap, or a record cannot be read");
        return r;
}

/* ---- opening ---- */

/* Both are per connection or can be refused silently, so they are read back. */
static int make_durable(Store *store, char **ret_wrong) {
        sqlite3_stmt *statement = NULL;
        int64_t synchronous = -1;
        bool is_wal = false;
        int r;

        r = sqlite3_prepare_v2(store->db, "PRAGMA journal_mode=WAL", -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        if (r == SQLITE_ROW)
                is_wal = sqlite3_column_text(statement, 0) &&
                         strcmp((const char *) sqlite3_column_text(statement, 0), "wal") == 0;
        (void) sqlite3_finalize(statement);
        if (r != SQLITE_ROW)
                return store_error(store, r) ?: -EIO;

        r = execute(store, "PRAGMA synchronous=FULL");
        if (r < 0)
                return r;
        r = query_number(store, "PRAGMA synchronous", &synchronous);
        if (r < 0)
                return r;
        if (is_wal && synchronous == 2)
                return 0;
        *ret_wrong = strdup("the file system cannot hold a write-ahead log");
        return -EBADMSG;
}

static int make_log(Store *store, const char *origin) {
        sqlite3_stmt *statement = NULL;
        char pragma[64];
        int r;

        (void) snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d", APPLICATION_ID);
        r = execute(store, "BEGIN IMMEDIATE");
        if (r == 0)
                r = execute(store, pragma);
        if (r == 0)
                r = raise_versions(store, 0);
        if (r == 0)
                r = store_error(store, sqlite3_prepare_v2(store->db, "INSERT INTO log VALUES (1, ?1)", -1, &statement, NULL));
        if (r == 0)
                r = store_error(store, sqlite3_bind_text(statement, 1, origin, -1, SQLITE_STATIC));
        if (r == 0)
                r = store_error(store, sqlite3_step(statement));
        (void) sqlite3_finalize(statement);
        return finish(store, r);
}

static int read_origin(Store *store, char **ret) {
        sqlite3_stmt *statement = NULL;
        int r;

        r = sqlite3_prepare_v2(store->db, "SELECT origin FROM log", -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        if (r == SQLITE_ROW) {
                const char *origin = (const char *) sqlite3_column_text(statement, 0);

                *ret = strdup(origin ?: "missing");
                r = *ret ? 0 : -ENOMEM;
        } else
                r = r == SQLITE_DONE ? -EBADMSG : store_error(store, r);
        (void) sqlite3_finalize(statement);
        return r;
}

static int check_origin(Store *store, const char *origin, char **ret_wrong) {
        _cleanup_free_ char *theirs = NULL;
        int r;

        r = read_origin(store, &theirs);
        if (r < 0 || strcmp(theirs, origin) == 0)
                return r;
        r = asprintf(ret_wrong,
                     "the log's origin is %s, not %s, and a log keeps its origin: write `origin: %s` into assayd.yaml again, or"
                     " begin a new log (CHANGING THE ORIGIN in assayd(8))",
                     theirs, origin, theirs);
        return r < 0 ? -ENOMEM : -EBADMSG;
}

/* They would do more, or other things, than the statements that we prepare say; an index can be made to answer for a table what does not stand in it. */
static int check_schema(Store *store, char **ret_wrong) {
        int64_t n = 0;
        int r;

        r = query_number(store,
                         "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view') OR (type = 'index' AND sql IS NOT NULL AND"
                         " (name, tbl_name) NOT IN (VALUES ('record_idx', 'record'), ('witnessed', 'checkpoint'), ('rotation', 'entry'),"
                         " ('archive', 'entry'), ('hole', 'record')))",
                         &n);
        if (r < 0 || n == 0)
                return r;
        *ret_wrong = strdup("someone added a trigger, a view or an index");
        return -EBADMSG;
}

static int check_or_make(Store *store, const char *origin, char **ret_wrong) {
        int64_t id = 0, tables = 0;
        int r;

        r = query_number(store, "PRAGMA application_id", &id);
        if (r == 0)
                r = query_number(store, "SELECT count(*) FROM sqlite_schema", &tables);
        if (r < 0)
                return r;
        if (id == 0 && tables == 0)
                return make_log(store, origin);
        if (id != APPLICATION_ID) {
                *ret_wrong = strdup("the database belongs to another program");
                return -EBADMSG;
        }
        r = check_schema(store, ret_wrong);
        if (r == 0)
                r = check_origin(store, origin, ret_wrong);
        return r < 0 ? r : check_version(store, ret_wrong);
}

/* A page holds two records or three without any that goes over its end. Of what a commit reads again a cache of a few pages is enough. */
static const char settings[] = "PRAGMA page_size=8192; PRAGMA cache_size=-512; PRAGMA foreign_keys=OFF;"
                               " PRAGMA trusted_schema=OFF";

/* Older stores have larger pages, and no larger write-ahead log. */
static int bound_wal(Store *store) {
        int64_t page = 0;
        char pragma[64];
        int r;

        r = query_number(store, "PRAGMA page_size", &page);
        if (r < 0)
                return r;
        (void) snprintf(pragma, sizeof(pragma), "PRAGMA wal_autocheckpoint=%lld", (long long) (WAL_BYTES / page));
        return execute(store, pragma);
}

int store_open_derived(Store **ret) {
        _cleanup_(store_closep) Store *store = calloc(1, sizeof(*store));
        int r;

        if (!store)
                return -ENOMEM;
        r = store_error(store, sqlite3_open_v2(":memory:", &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
        if (r == 0)
                r = make_log(store, "");
        if (r == 0)
                r = store_prepare(store);
        if (r == 0)
                r = execute(store, "BEGIN"); /* for good */
        if (r < 0)
                return r;
        *ret = TAKE_PTR(store);
        return 0;
}

int record_log_read_origin(const char *path, char **ret) {
        _cleanup_(store_closep) Store *store = NULL;
        int64_t id = 0, tables = 0;
        int r;

        store = calloc(1, sizeof(*store));
        if (!store)
                return -ENOMEM;
        if (access(path, F_OK) < 0)
                return -errno;
        r = store_error(store, sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL));
        if (r < 0)
                return r;
        (void) sqlite3_busy_timeout(store->db, STORE_BUSY_MSEC);
        r = query_number(store, "PRAGMA application_id", &id);
        if (r == 0)
                r = query_number(store, "SELECT count(*) FROM sqlite_schema", &tables);
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
        store = calloc(1, sizeof(*store));
        if (!store)
                return -ENOMEM;
        store->changes = -1;
        r = store_error(store, sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL));
        if (r < 0)
                return r;
        (void) sqlite3_busy_timeout(store->db, STORE_BUSY_MSEC);
        (void) sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX);

        r = execute(store, settings);
        if (r == 0)
                r = make_durable(store, &wrong);
        if (r == 0)
                r = check_or_make(store, origin, &wrong);
        if (r == 0)
                r = bound_wal(store);
        if (r == 0)
                r = store_prepare(store);
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
