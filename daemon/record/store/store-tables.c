/* SPDX-License-Identifier: Apache-2.0 */

/* The tables, and how those of an older assayd are brought to these: they are versioned (PRAGMA user_version). */

#include "daemon/record/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VERSION 12
#define VERSION_OF_RULES 11 /* the last one that has changed what stands in `newest` and `unfinished` */

#define COLUMNS_OF_ENTRY                                                                                      \
        "(idx INTEGER PRIMARY KEY, type TEXT NOT NULL, subject TEXT NOT NULL, result TEXT NOT NULL,"          \
        " plan TEXT NOT NULL, run TEXT NOT NULL, finished INTEGER NOT NULL, nodes BLOB NOT NULL) STRICT;"

static const char basic_tables[] =
                "CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), origin TEXT NOT NULL) STRICT;"
                "CREATE TABLE newest (subject TEXT NOT NULL, plan TEXT NOT NULL, idx INTEGER NOT NULL,"
                " PRIMARY KEY (subject, plan)) STRICT, WITHOUT ROWID;"
                "CREATE TABLE unfinished (idx INTEGER PRIMARY KEY, run TEXT NOT NULL, subject TEXT NOT NULL) STRICT;"
                "CREATE TABLE identity (digest BLOB PRIMARY KEY, document TEXT NOT NULL) STRICT, WITHOUT ROWID;";

/* IDs have no index, of which every record would write a page at random; the leaf's nodes stand with what its record says. */
static const char record_tables[] =
                "CREATE TABLE record (idx INTEGER PRIMARY KEY, id BLOB NOT NULL, envelope BLOB, keyid TEXT, signature BLOB, payload BLOB) STRICT;"
                "CREATE TABLE entry " COLUMNS_OF_ENTRY
                "CREATE TABLE checkpoint (size INTEGER PRIMARY KEY, note BLOB NOT NULL, at INTEGER NOT NULL, witnesses INTEGER NOT NULL DEFAULT 0) STRICT;";

/* Of changes of keys, archives and decisions there are so few that every opening looks at all of them; and it finds each envelope that is gone. */
static const char indices[] =
                "CREATE INDEX IF NOT EXISTS witnessed ON checkpoint (witnesses, size);"
                "CREATE INDEX IF NOT EXISTS rotation ON entry (idx) WHERE type = '" RECORD_TYPE_ROTATION "';"
                "CREATE INDEX IF NOT EXISTS archive ON entry (idx) WHERE type = '" RECORD_TYPE_ARCHIVE "';"
                "CREATE INDEX IF NOT EXISTS decision ON entry (idx) WHERE type = '" RECORD_TYPE_DECISION "';"
                "CREATE INDEX IF NOT EXISTS hole ON record (idx) WHERE " STORE_IS_HOLE ";";

/* ---- older tables ---- */

/* Version 1, which bore no number, kept leaves alone: grow() tells what they make whole. */
static const char from_leaves[] =
                "INSERT INTO record (idx, id, envelope) SELECT idx, id, envelope FROM old_record;"
                "INSERT INTO entry SELECT e.*, grow(r.idx, r.leaf) FROM old_record AS r CROSS JOIN old_entry AS e USING (idx) ORDER BY r.idx;"
                "DROP TABLE old_record; DROP TABLE old_entry";

/* Up to version 4 each node had a row. Where one is missing there is none for its leaf's entry, which refuses that. */
static const char from_hashes[] =
                "ALTER TABLE entry RENAME TO old_entry; CREATE TABLE entry " COLUMNS_OF_ENTRY
                "INSERT INTO entry SELECT e.*, (SELECT CASE WHEN count(*) = position(e.idx + 1) - position(e.idx) THEN CAST(group_concat(hash, '') AS BLOB) END"
                " FROM (SELECT hash FROM hash WHERE pos >= position(e.idx) AND pos < position(e.idx + 1) ORDER BY pos)) FROM old_entry AS e;"
                "DROP TABLE hash; DROP TABLE old_entry";

/* Envelopes that were pruned before version 11, when no records told of archives, are marked, so that an export names none in their place. */
static const char from_no_archives[] =
                "UPDATE record SET keyid = '' WHERE coalesce(envelope, payload) IS NULL";

/* In this order. Tables and indices that versions 2 to 9 had besides are gone; their `newest` and `unfinished` are derived anew. */
static const struct {
        int64_t from, to; /* the versions that need it */
        const char *sql;
} steps[] = {
        { 1, 1,  "ALTER TABLE record RENAME TO old_record; ALTER TABLE entry RENAME TO old_entry" },
        { 1, 1,  record_tables },
        { 1, 1,  from_leaves },
        { 2, 2,  "ALTER TABLE checkpoint ADD COLUMN witnesses INTEGER NOT NULL DEFAULT 0" },
        { 2, 4,  from_hashes },
        { 2, 5,  "ALTER TABLE record ADD COLUMN keyid TEXT; ALTER TABLE record ADD COLUMN signature BLOB; ALTER TABLE record ADD COLUMN payload BLOB" },
        { 2, 9,  "DROP TABLE IF EXISTS held_newest; DROP TABLE IF EXISTS held_unfinished; DROP INDEX record_idx" },
        { 2, 10, from_no_archives },
        { 2, 11, "DROP INDEX IF EXISTS hole" },
};

/* position(LEAF): where its hash stands among all nodes. */
static void sql_position(sqlite3_context *context, int n, sqlite3_value **values) {
        sqlite3_result_int64(context, (sqlite3_int64) tree_position(0, (uint64_t) sqlite3_value_int64(values[0])));
}

/* grow(INDEX, LEAF): the nodes that it makes whole, of leaves in their order. */
static void sql_grow(sqlite3_context *context, int n, sqlite3_value **values) {
        Frontier *tree = sqlite3_user_data(context);
        TreeHash leaf, nodes[TREE_LEVELS];
        int n_nodes;

        if ((uint64_t) sqlite3_value_int64(values[0]) != tree->size || sqlite3_value_bytes(values[1]) != DIGEST_BYTES)
                return sqlite3_result_error_code(context, SQLITE_CORRUPT);
        memcpy(leaf.bytes, sqlite3_value_blob(values[1]), DIGEST_BYTES);
        n_nodes = frontier_append(tree, &leaf, nodes);
        if (n_nodes < 0)
                return sqlite3_result_error_code(context, SQLITE_IOERR);
        sqlite3_result_blob(context, nodes, n_nodes * (int) sizeof(TreeHash), SQLITE_TRANSIENT);
}

static int finish_tables(Store *store) {
        char pragma[64];
        int r;

        r = store_execute(store, indices);
        (void) snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%d", VERSION);
        return r < 0 ? r : store_execute(store, pragma);
}

int store_make_tables(Store *store) {
        int r;

        r = store_execute(store, basic_tables);
        if (r == 0)
                r = store_execute(store, record_tables);
        return r < 0 ? r : finish_tables(store);
}

static int raise_tables(Store *store, int64_t version) {
        Frontier tree = {};
        int r;

        r = sqlite3_create_function(store->db, "position", 1, SQLITE_UTF8, NULL, sql_position, NULL, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_create_function(store->db, "grow", 2, SQLITE_UTF8, &tree, sql_grow, NULL, NULL);
        r = store_error(store, r);
        for (size_t i = 0; i < ELEMENTS(steps) && r == 0; i++)
                if (version >= steps[i].from && version <= steps[i].to)
                        r = store_execute(store, steps[i].sql);
        (void) sqlite3_create_function(store->db, "grow", 2, SQLITE_UTF8, NULL, NULL, NULL, NULL);
        return r < 0 ? r : finish_tables(store);
}

/* Within a transaction. */
static int raise_all(Store *store, int64_t version) {
        int r;

        r = raise_tables(store, version);
        if (r == 0)
                r = store_prepare(store);
        return r < 0 || version >= VERSION_OF_RULES ? r : store_rebuild(store);
}

int store_raise_tables(Store *store, char **ret_wrong) {
        int64_t version = 0;
        int r;

        r = store_number(store, "PRAGMA user_version", &version);
        if (r < 0 || version == VERSION)
                return r;
        if (version < 0 || version > VERSION) {
                *ret_wrong = strdup("the database was made by a newer assayd");
                return -EBADMSG;
        }
        r = store_execute(store, "BEGIN IMMEDIATE");
        if (r == 0)
                r = store_finish(store, raise_all(store, version ?: 1));
        if (r == 0 && version < VERSION_OF_RULES)
                *ret_wrong = strdup("an older assayd wrote it last, so which records are the newest was worked out anew from all of them");
        if (r == -EBADMSG)
                *ret_wrong = strdup("it was written by an older assayd and cannot be brought up: the log has a gap, or a record cannot be read");
        return r;
}

int store_check_pages(Store *store, char **ret_wrong) {
        _cleanup_free_ char *says = NULL;
        int r;

        r = store_text(store, "SELECT integrity_check FROM pragma_integrity_check(1)", &says);
        if (r < 0 || strcmp(says, "ok") == 0)
                return r;
        return asprintf(ret_wrong, "its tables and their indices do not belong together: %s", says) < 0 ? -ENOMEM : -EBADMSG;
}
