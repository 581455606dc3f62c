/* SPDX-License-Identifier: Apache-2.0 */

/* Whether the tree that was kept is the one that its leaves make: every node is worked out again, in the order in which they stand. */

#include <string.h>

#include "daemon/record/store/store.h"

/* A leaf, which the next row must be of, and the nodes that became whole by it. */
static int check_leaf(Store *store, Frontier *tree) {
        sqlite3_stmt *statement = store->statements[STORE_ALL_NODES];
        uint64_t index = tree->size;
        TreeHash leaf, found, nodes[TREE_LEVELS];
        int n, r;

        r = sqlite3_step(statement);
        if (r != SQLITE_ROW)
                return r == SQLITE_DONE ? -EBADMSG : store_error(store, r) ?: -EIO;
        if ((uint64_t) sqlite3_column_int64(statement, 0) != index)
                return -EBADMSG;
        r = store_take_node(statement, 1, index, 0, &leaf);
        if (r < 0)
                return r;
        n = frontier_append(tree, &leaf, nodes);
        for (int i = 1; i < n; i++) {
                r = store_take_node(statement, 1, index, (unsigned) i, &found);
                if (r == 0 && memcmp(found.bytes, nodes[i].bytes, DIGEST_BYTES) != 0)
                        r = -EBADMSG;
                if (r < 0)
                        return r;
        }
        return n < 0 ? n : 0;
}

int store_check_tree(Store *store, Frontier *tree, uint64_t size) {
        int r = 0;

        (void) sqlite3_bind_int64(store->statements[STORE_ALL_NODES], 1, (sqlite3_int64) tree->size);
        while (tree->size < size && r == 0)
                r = check_leaf(store, tree);
        (void) sqlite3_reset(store->statements[STORE_ALL_NODES]);
        return r;
}
