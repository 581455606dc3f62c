/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A tree worked out from all its leaves, as RFC 6962 section 2.1 defines it, word by word. */

#include <stdbool.h>
#include <stdlib.h>

#include "daemon/record/tree/tree.h"

/* The largest power of two below N. */
static inline size_t plain_split(size_t n) {
        size_t k = 1;

        while (2 * k < n)
                k *= 2;
        return k;
}

/* MTH(D[n]) */
static inline TreeHash plain_root(const TreeHash *leaves, size_t n) {
        size_t k = plain_split(n);
        TreeHash left, right, root;

        if (n == 1)
                return leaves[0];
        if (n > 0) {
                left = plain_root(leaves, k);
                right = plain_root(leaves + k, n - k);
        }
        if ((n > 0 ? tree_node(&left, &right, &root) : tree_empty(&root)) < 0)
                abort();
        return root;
}

/* PATH(m, D[n]) */
static inline void plain_path(const TreeHash *leaves, size_t m, size_t n, TreePath *path) {
        size_t k = plain_split(n);

        if (n == 1)
                return;
        plain_path(m < k ? leaves : leaves + k, m < k ? m : m - k, m < k ? k : n - k, path);
        path->hashes[path->n++] = m < k ? plain_root(leaves + k, n - k) : plain_root(leaves, k);
}

/* SUBPROOF(m, D[n], b); PROOF is that of true. */
static inline void plain_subproof(const TreeHash *leaves, size_t m, size_t n, bool b, TreePath *path) {
        size_t k = plain_split(n);

        if (m == n) {
                if (!b)
                        path->hashes[path->n++] = plain_root(leaves, n);
                return;
        }
        plain_subproof(m <= k ? leaves : leaves + k, m <= k ? m : m - k, m <= k ? k : n - k, m <= k && b, path);
        path->hashes[path->n++] = m <= k ? plain_root(leaves + k, n - k) : plain_root(leaves, k);
}
