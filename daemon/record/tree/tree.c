/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/tree/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"

/* ---- hashes ---- */

/* What is hashed as a leaf or a node begins with another byte, so that neither can be taken for the other. */
int tree_leaf(const void *data, size_t n, TreeHash *ret) {
        uint8_t small[1024];
        uint8_t *text = n < sizeof(small) ? small : malloc(n + 1);
        int r;

        if (!text)
                return -ENOMEM;
        text[0] = 0x00;
        memcpy(text + 1, data, n);
        r = digest_sha256(text, n + 1, ret->bytes);
        if (text != small)
                free(text);
        return r;
}

int tree_node(const TreeHash *left, const TreeHash *right, TreeHash *ret) {
        uint8_t text[1 + 2 * DIGEST_BYTES] = { 0x01 };

        memcpy(text + 1, left->bytes, DIGEST_BYTES);
        memcpy(text + 1 + DIGEST_BYTES, right->bytes, DIGEST_BYTES);
        return digest_sha256(text, sizeof(text), ret->bytes);
}

int tree_empty(TreeHash *ret) {
        return digest_sha256("", 0, ret->bytes);
}

/* ---- growing ---- */

static unsigned ones(uint64_t n) {
        return (unsigned) __builtin_popcountll(n);
}

/* The whole subtrees of N leaves, which one bit each stands for: one of 2^k leaves has 2^(k+1) - 1 nodes. */
uint64_t tree_whole(uint64_t size) {
        return 2 * size - ones(size);
}

/* A node becomes whole with its last leaf, LEVEL places after it. */
uint64_t tree_position(unsigned level, uint64_t index) {
        return tree_whole(((index + 1) << level) - 1) + level;
}

/* There are nearly twice as many nodes as leaves, and never more. */
uint64_t tree_leaf_of(uint64_t position, unsigned *ret_level) {
        uint64_t leaf = position / 2;

        while (tree_whole(leaf + 1) <= position)
                leaf++;
        *ret_level = (unsigned) (position - tree_whole(leaf));
        return leaf;
}

/* One, and one for each bit that is carried. */
unsigned tree_made_whole(uint64_t index) {
        return (unsigned) __builtin_ctzll(~index) + 1;
}

int frontier_append(Frontier *frontier, const TreeHash *leaf, TreeHash ret[static TREE_LEVELS]) {
        unsigned n = ones(frontier->size), merged = 0;
        int r;

        ret[0] = *leaf;
        for (uint64_t rest = frontier->size; rest & 1; rest >>= 1, merged++) {
                r = tree_node(&frontier->hashes[n - 1 - merged], &ret[merged], &ret[merged + 1]);
                if (r < 0)
                        return r;
        }
        frontier->hashes[n - merged] = ret[merged];
        frontier->size++;
        return (int) merged + 1;
}

int frontier_root(const Frontier *frontier, TreeHash *ret) {
        unsigned n = ones(frontier->size);
        TreeHash root;
        int r;

        if (n == 0)
                return tree_empty(ret);
        root = frontier->hashes[n - 1];
        for (unsigned i = n - 1; i > 0; i--) {
                r = tree_node(&frontier->hashes[i - 1], &root, &root);
                if (r < 0)
                        return r;
        }
        *ret = root;
        return 0;
}

/* ---- proving ---- */

static int read_node(const TreeSource *source, unsigned level, uint64_t index, TreeHash *ret) {
        return source->read(source->userdata, tree_position(level, index), ret);
}

/* The frontier of the leaves FIRST … END-1, where FIRST is a multiple of the largest power of two that is not above their number. */
static int read_frontier(const TreeSource *source, uint64_t first, uint64_t end, Frontier *ret) {
        unsigned n = 0;
        int r;

        for (unsigned level = TREE_LEVELS; level-- > 0;)
                if ((end - first) >> level & 1) {
                        uint64_t before = first + ((end - first) >> level >> 1 << 1 << level);

                        r = read_node(source, level, before >> level, &ret->hashes[n++]);
                        if (r < 0)
                                return r;
                }
        ret->size = end - first;
        return 0;
}

static int read_root(const TreeSource *source, uint64_t first, uint64_t end, TreeHash *ret) {
        Frontier frontier;
        int r;

        r = read_frontier(source, first, end, &frontier);
        return r < 0 ? r : frontier_root(&frontier, ret);
}

int tree_frontier(const TreeSource *source, uint64_t size, Frontier *ret) {
        assert(size <= TREE_SIZE_MAX);
        return read_frontier(source, 0, size, ret);
}

/* The largest power of two below N, N > 1. */
static uint64_t split(uint64_t n) {
        return UINT64_C(1) << (63 - __builtin_clzll(n - 1));
}

/* Siblings are met from the root down, and told from the leaf up. */
static void path_reverse(TreePath *path) {
        for (size_t i = 0; i < path->n / 2; i++) {
                TreeHash hash = path->hashes[i];

                path->hashes[i] = path->hashes[path->n - 1 - i];
                path->hashes[path->n - 1 - i] = hash;
        }
}

/* The leaves of a subtree. */
typedef struct Range {
        uint64_t first, end;
} Range;

/* From RANGE down towards LEAF, to the leaf itself or to the first subtree that ends at STOP; the siblings on the way are told. */
static int descend(const TreeSource *source, uint64_t leaf, uint64_t stop, Range *range, TreePath *path) {
        int r;

        while (range->end - range->first > 1 && range->end != stop) {
                uint64_t middle = range->first + split(range->end - range->first);
                bool is_left = leaf < middle;

                r = read_root(source, is_left ? middle : range->first, is_left ? range->end : middle, &path->hashes[path->n++]);
                if (r < 0)
                        return r;
                if (is_left)
                        range->end = middle;
                else
                        range->first = middle;
        }
        return 0;
}

int tree_inclusion(const TreeSource *source, uint64_t index, uint64_t size, TreePath *ret) {
        Range range = { 0, size };
        TreePath path = {};
        int r;

        if (index >= size || size > TREE_SIZE_MAX)
                return -ERANGE;
        r = descend(source, index, 0, &range, &path);
        if (r < 0)
                return r;
        path_reverse(&path);
        *ret = path;
        return 0;
}

/* Down to the subtree that the old tree ends with. It is told too, unless it is all of the old tree, whose root the reader has. */
int tree_consistency(const TreeSource *source, uint64_t old, uint64_t size, TreePath *ret) {
        Range range = { 0, size };
        TreePath path = {};
        int r = 0;

        if (old > size || size > TREE_SIZE_MAX)
                return -ERANGE;
        if (old > 0)
                r = descend(source, old - 1, old, &range, &path);
        if (r == 0 && range.first > 0)
                r = read_root(source, range.first, range.end, &path.hashes[path.n++]);
        if (r < 0)
                return r;
        path_reverse(&path);
        *ret = path;
        return 0;
}

/* ---- verifying ---- */

/* Each descends as the proof was made, and climbs with the hashes that it has, the last of which is the root's own child. 1; 0: they are not as many. */

/* Makes of HASH, of leaf INDEX, the root of SIZE leaves. */
static int climb(const TreePath *path, size_t n, uint64_t index, uint64_t size, TreeHash *hash) {
        const TreeHash *sibling;
        uint64_t left;
        int r;

        if (size == 1 || n == 0)
                return size == 1 && n == 0;
        left = split(size);
        sibling = &path->hashes[n - 1];
        r = index < left ? climb(path, n - 1, index, left, hash) : climb(path, n - 1, index - left, size - left, hash);
        if (r > 0)
                r = (index < left ? tree_node(hash, sibling, hash) : tree_node(sibling, hash, hash)) ?: 1;
        return r;
}

/* Makes of A and B the roots of the first OLD of SIZE leaves, and of all. They begin as the first, where the path does not tell it: HAS_ROOT. */
static int climb_both(const TreePath *path, size_t n, uint64_t old, uint64_t size, bool has_root, TreeHash *a, TreeHash *b) {
        const TreeHash *sibling;
        uint64_t left;
        int r;

        if (old == size || n == 0) {
                if (!has_root && n == 1)
                        *a = *b = path->hashes[0];
                return old == size && n == (has_root ? 0 : 1);
        }
        left = split(size);
        sibling = &path->hashes[n - 1];
        if (old <= left) {
                r = climb_both(path, n - 1, old, left, has_root, a, b);
                return r > 0 ? tree_node(b, sibling, b) ?: 1 : r;
        }
        r = climb_both(path, n - 1, old - left, size - left, false, a, b);
        if (r > 0)
                r = tree_node(sibling, a, a) ?: tree_node(sibling, b, b) ?: 1;
        return r;
}

static bool hash_equal(const TreeHash *a, const TreeHash *b) {
        return memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

int tree_inclusion_verify(const TreePath *path, const TreeHash *leaf, uint64_t index, uint64_t size, const TreeHash *root) {
        TreeHash hash = *leaf;
        int r;

        if (index >= size || path->n > TREE_PATH_MAX)
                return 0;
        r = climb(path, path->n, index, size, &hash);
        return r > 0 ? hash_equal(&hash, root) : r;
}

int tree_consistency_verify(const TreePath *path, uint64_t old, const TreeHash *old_root, uint64_t size, const TreeHash *root) {
        TreeHash a = *old_root, b = *old_root;
        int r;

        if (old > size || path->n > TREE_PATH_MAX)
                return 0;
        if (old == 0) { /* every tree begins with it */
                r = tree_empty(&a);
                return r < 0 ? r : path->n == 0 && hash_equal(&a, old_root) && (size > 0 || hash_equal(&a, root));
        }
        r = climb_both(path, path->n, old, size, true, &a, &b);
        return r > 0 ? hash_equal(&a, old_root) && hash_equal(&b, root) : r;
}
