/* SPDX-License-Identifier: Apache-2.0 */

/* The tree, as it stands beside the records: its end, its nodes, and whether these are what its leaves make. */

#include <string.h>

#include "daemon/record/store/store.h"

/* Both tables end at the same record. That none is missing before it the tree tells of entries, and the scrub of records. */
int store_size(Store *store, uint64_t *ret) {
        int64_t n_records = 0, n_entries = 0;
        int r;

        r = store_number(store, "SELECT coalesce(max(idx), -1) + 1 FROM record", &n_records);
        if (r == 0)
                r = store_number(store, "SELECT coalesce(max(idx), -1) + 1 FROM entry", &n_entries);
        if (r < 0)
                return r;
        *ret = (uint64_t) n_records;
        return n_entries == n_records ? 0 : -EBADMSG;
}

static int take_id(sqlite3_stmt *statement, int column, uint8_t ret[static DIGEST_BYTES]) {
        if (sqlite3_column_bytes(statement, column) != DIGEST_BYTES)
                return -EBADMSG;
        memcpy(ret, sqlite3_column_blob(statement, column), DIGEST_BYTES);
        return 0;
}

static int read_id(Store *store, uint64_t index, uint8_t ret[static DIGEST_BYTES]) {
        sqlite3_stmt *statement = store_ask(store, STORE_ID, SQL(sql_number(index)));
        int r;

        r = store_step(store, statement);
        if (r == 0)
                r = take_id(statement, 0, ret);
        return store_answered(store, statement, r);
}

/* Node LEVEL of those that leaf LEAF made whole, of a row that STATEMENT has come to. -EBADMSG: there are not as many as it made. */
static int take_node(sqlite3_stmt *statement, int column, uint64_t leaf, unsigned level, TreeHash *ret) {
        const uint8_t *nodes = sqlite3_column_blob(statement, column);

        if ((unsigned) sqlite3_column_bytes(statement, column) != tree_made_whole(leaf) * sizeof(TreeHash))
                return -EBADMSG;
        memcpy(ret->bytes, nodes + level * sizeof(TreeHash), sizeof(TreeHash));
        return 0;
}

int store_hash(void *userdata, uint64_t position, TreeHash *ret) {
        Store *store = userdata;
        unsigned level;
        uint64_t leaf = tree_leaf_of(position, &level);
        sqlite3_stmt *statement = store_ask(store, STORE_NODES, SQL(sql_number(leaf)));
        int r;

        r = store_step(store, statement);
        if (r == -ENOENT)
                r = -EBADMSG;
        if (r == 0)
                r = take_node(statement, 0, leaf, level, ret);
        return store_answered(store, statement, r);
}

int store_head(Store *store, Head *ret) {
        TreeSource source = { store_hash, store };
        Head head = {};
        uint64_t size;
        int r;

        r = store_size(store, &size);
        if (r == 0 && size > 0)
                r = read_id(store, size - 1, head.id);
        if (r == 0)
                r = tree_frontier(&source, size, &head.tree);
        if (r < 0)
                return r;
        *ret = head;
        return 0;
}

int store_check_head(Store *store, const Head *head) {
        sqlite3_stmt *statement = store_ask(store, STORE_LAST, SQL());
        uint8_t id[DIGEST_BYTES] = {};
        uint64_t size = 0;
        int r;

        r = store_step(store, statement);
        if (r == 0) {
                size = (uint64_t) sqlite3_column_int64(statement, 0) + 1;
                r = take_id(statement, 1, id);
        } else if (r == -ENOENT)
                r = 0;
        if (r == 0 && (size != head->tree.size || memcmp(id, head->id, DIGEST_BYTES) != 0))
                r = -EBADMSG;
        return store_answered(store, statement, r);
}

int store_check_id(Store *store, uint64_t index, const uint8_t id[static DIGEST_BYTES]) {
        uint8_t found[DIGEST_BYTES];
        int r;

        (void) pthread_mutex_lock(&store->mutex);
        (void) sqlite3_db_release_memory(store->db);
        r = read_id(store, index, found);
        (void) pthread_mutex_unlock(&store->mutex);
        return r == -ENOENT || (r == 0 && memcmp(found, id, DIGEST_BYTES) != 0) ? -EBADMSG : r;
}

/* A leaf, which the next row must be of, and the nodes that became whole by it. */
static int check_leaf(Store *store, sqlite3_stmt *rows, Frontier *tree) {
        uint64_t index = tree->size;
        TreeHash leaf, found, nodes[TREE_LEVELS];
        int n, r;

        r = store_step(store, rows);
        if (r == -ENOENT || (r == 0 && (uint64_t) sqlite3_column_int64(rows, 0) != index))
                return -EBADMSG;
        if (r == 0)
                r = take_node(rows, 1, index, 0, &leaf);
        if (r < 0)
                return r;
        n = frontier_append(tree, &leaf, nodes);
        for (int i = 1; i < n; i++) {
                r = take_node(rows, 1, index, (unsigned) i, &found);
                if (r == 0 && memcmp(found.bytes, nodes[i].bytes, DIGEST_BYTES) != 0)
                        r = -EBADMSG;
                if (r < 0)
                        return r;
        }
        return n < 0 ? n : 0;
}

int store_check_tree(Store *store, Frontier *tree, uint64_t size) {
        sqlite3_stmt *rows = store_ask(store, STORE_ALL_NODES, SQL(sql_number(tree->size)));
        int r = 0;

        while (tree->size < size && r == 0)
                r = check_leaf(store, rows, tree);
        return store_answered(store, rows, r);
}
