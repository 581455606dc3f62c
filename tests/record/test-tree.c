/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "tests/record/plain-tree.h"

#define LEAVES 67

/* The log of RFC 6962's own tests, as certificate-transparency-go and others carry it. */
static const struct {
        const char *bytes;
        size_t n;
} public_leaves[] = {
        { "", 0 }, { "\x00", 1 }, { "\x10", 1 }, { "\x20\x21", 2 }, { "\x30\x31", 2 }, { "\x40\x41\x42\x43", 4 },
        { "\x50\x51\x52\x53\x54\x55\x56\x57", 8 },
};

/* Sizes 1 to 7. */
static const char *const public_roots[] = {
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
};

static TreeHash leaf_of(unsigned i) {
        uint8_t data[2] = { (uint8_t) i, (uint8_t) (i * 7) };
        TreeHash leaf;

        assert_int_equal(tree_leaf(data, sizeof(data), &leaf), 0);
        return leaf;
}

static void assert_paths_equal(const TreePath *a, const TreePath *b) {
        assert_int_equal(a->n, b->n);
        assert_memory_equal(a->hashes, b->hashes, a->n * sizeof(TreeHash));
}

/* A tree of LEAVES, written down. */
typedef struct Tree {
        TreeHash leaves[LEAVES], nodes[2 * LEAVES], roots[LEAVES + 1];
        size_t n_nodes;
} Tree;

static int read_node(void *userdata, uint64_t position, TreeHash *ret) {
        const Tree *tree = userdata;

        assert_in_range(position, 0, tree->n_nodes - 1);
        *ret = tree->nodes[position];
        return 0;
}

static int setup(void **state) {
        Tree *tree = calloc(1, sizeof(*tree));
        Frontier frontier = {};

        assert_non_null(tree);
        assert_int_equal(frontier_root(&frontier, &tree->roots[0]), 0);
        for (unsigned i = 0; i < LEAVES; i++) {
                TreeHash whole[TREE_LEVELS];
                int n;

                assert_int_equal(tree_position(0, i), tree->n_nodes);
                tree->leaves[i] = leaf_of(i);
                n = frontier_append(&frontier, &tree->leaves[i], whole);
                assert_in_range(n, 1, TREE_LEVELS);
                assert_int_equal(tree_made_whole(i), n);
                for (int k = 0; k < n; k++) {
                        unsigned level;

                        assert_int_equal(tree_position((unsigned) k, i >> k), tree->n_nodes);
                        assert_int_equal(tree_leaf_of(tree->n_nodes, &level), i);
                        assert_int_equal(level, k);
                        tree->nodes[tree->n_nodes++] = whole[k];
                }
                assert_int_equal(tree_whole(i + 1), tree->n_nodes);
                assert_int_equal(frontier_root(&frontier, &tree->roots[i + 1]), 0);
        }
        *state = tree;
        return 0;
}

static int teardown(void **state) {
        free(*state);
        return 0;
}

static void test_the_public_vectors_come_out(void **state) {
        Frontier frontier = {};

        for (size_t i = 0; i < ELEMENTS(public_leaves); i++) {
                TreeHash leaf, root, whole[TREE_LEVELS];
                char hex[DIGEST_HEX];

                assert_int_equal(tree_leaf(public_leaves[i].bytes, public_leaves[i].n, &leaf), 0);
                assert_true(frontier_append(&frontier, &leaf, whole) > 0);
                assert_int_equal(frontier_root(&frontier, &root), 0);
                assert_string_equal(digest_to_hex(root.bytes, hex), public_roots[i]);
        }
}

static void test_roots_are_those_of_the_definition(void **state) {
        const Tree *tree = *state;
        TreeSource source = { read_node, *state };

        for (unsigned n = 0; n <= LEAVES; n++) {
                TreeHash defined = plain_root(tree->leaves, n), root;
                Frontier frontier;

                assert_memory_equal(&defined, &tree->roots[n], sizeof(defined));
                assert_int_equal(tree_frontier(&source, n, &frontier), 0);
                assert_int_equal(frontier.size, n);
                assert_int_equal(frontier_root(&frontier, &root), 0);
                assert_memory_equal(&defined, &root, sizeof(defined));
        }
}

/* The same with a hash more, which stands before all others. */
static TreePath longer(const TreePath *path) {
        TreePath more = { .n = path->n + 1 };

        memcpy(&more.hashes[1], path->hashes, path->n * sizeof(TreeHash));
        return more;
}

static void test_every_leaf_is_proven_where_it_is_and_nowhere_else(void **state) {
        const Tree *tree = *state;
        TreeSource source = { read_node, *state };

        for (unsigned n = 1; n <= LEAVES; n++)
                for (unsigned i = 0; i < n; i++) {
                        TreeHash leaf = leaf_of(i), other = leaf_of(i + 1);
                        TreePath path, defined = {}, more;

                        assert_int_equal(tree_inclusion(&source, i, n, &path), 0);
                        more = longer(&path);
                        assert_int_equal(tree_inclusion_verify(&more, &leaf, i, n, &tree->roots[n]), 0);
                        plain_path(tree->leaves, i, n, &defined);
                        assert_paths_equal(&path, &defined);
                        for (unsigned k = 0; k <= n; k++)
                                assert_int_equal(tree_inclusion_verify(&path, &leaf, k, n, &tree->roots[n]), k == i);
                        assert_int_equal(tree_inclusion_verify(&path, &other, i, n, &tree->roots[n]), 0);
                        assert_int_equal(tree_inclusion_verify(&path, &leaf, i, n, &tree->roots[n - 1]), 0);
                }
        assert_int_equal(tree_inclusion(&source, 5, 5, &(TreePath) {}), -ERANGE);
}

static void test_every_growth_is_proven_and_no_other(void **state) {
        const Tree *tree = *state;
        TreeSource source = { read_node, *state };

        for (unsigned n = 0; n <= LEAVES; n++)
                for (unsigned m = 0; m <= n; m++) {
                        TreePath path, defined = {}, more;

                        assert_int_equal(tree_consistency(&source, m, n, &path), 0);
                        more = longer(&path);
                        assert_int_equal(tree_consistency_verify(&more, m, &tree->roots[m], n, &tree->roots[n]), 0);
                        if (m > 0)
                                plain_subproof(tree->leaves, m, n, true, &defined);
                        assert_paths_equal(&path, &defined);
                        assert_int_equal(tree_consistency_verify(&path, m, &tree->roots[m], n, &tree->roots[n]), 1);
                        for (unsigned k = 0; k <= n; k++)
                                if (k != m) {
                                        assert_int_equal(tree_consistency_verify(&path, m, &tree->roots[k], n, &tree->roots[n]), 0);
                                        assert_int_equal(tree_consistency_verify(&path, k, &tree->roots[m], n, &tree->roots[n]), 0);
                                }
                        if (m > 0) /* no leaves are the beginning of any tree */
                                assert_int_equal(tree_consistency_verify(&path, m, &tree->roots[m], n, &tree->roots[n - 1]), 0);
                }
        assert_int_equal(tree_consistency(&source, 6, 5, &(TreePath) {}), -ERANGE);
}

static void test_a_flipped_bit_or_another_number_of_hashes_proves_nothing(void **state) {
        const Tree *tree = *state;
        TreeSource source = { read_node, *state };
        TreeHash leaf = leaf_of(37);
        TreePath path, growth;

        assert_int_equal(tree_inclusion(&source, 37, LEAVES, &path), 0);
        assert_int_equal(tree_consistency(&source, 37, LEAVES, &growth), 0);
        for (size_t bit = 0; bit < path.n * DIGEST_BYTES * 8; bit++) {
                TreePath bad = path;

                bad.hashes[bit / 256].bytes[bit / 8 % 32] ^= (uint8_t) (1 << bit % 8);
                assert_int_equal(tree_inclusion_verify(&bad, &leaf, 37, LEAVES, &tree->roots[LEAVES]), 0);
        }
        for (size_t bit = 0; bit < growth.n * DIGEST_BYTES * 8; bit++) {
                TreePath bad = growth;

                bad.hashes[bit / 256].bytes[bit / 8 % 32] ^= (uint8_t) (1 << bit % 8);
                assert_int_equal(tree_consistency_verify(&bad, 37, &tree->roots[37], LEAVES, &tree->roots[LEAVES]), 0);
        }
        for (size_t n = 0; n <= TREE_PATH_MAX + 1; n++) {
                TreePath bad = path, worse = growth;

                bad.n = worse.n = n;
                assert_int_equal(tree_inclusion_verify(&bad, &leaf, 37, LEAVES, &tree->roots[LEAVES]), n == path.n);
                assert_int_equal(tree_consistency_verify(&worse, 37, &tree->roots[37], LEAVES, &tree->roots[LEAVES]), n == growth.n);
        }
}

static int read_nothing(void *userdata, uint64_t position, TreeHash *ret) {
        return -EIO;
}

static void test_what_cannot_be_read_is_said(void **state) {
        TreeSource source = { read_nothing, NULL };

        assert_int_equal(tree_frontier(&source, 3, &(Frontier) {}), -EIO);
        assert_int_equal(tree_inclusion(&source, 1, 3, &(TreePath) {}), -EIO);
        assert_int_equal(tree_consistency(&source, 1, 3, &(TreePath) {}), -EIO);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_public_vectors_come_out),
                cmocka_unit_test(test_roots_are_those_of_the_definition),
                cmocka_unit_test(test_every_leaf_is_proven_where_it_is_and_nowhere_else),
                cmocka_unit_test(test_every_growth_is_proven_and_no_other),
                cmocka_unit_test(test_a_flipped_bit_or_another_number_of_hashes_proves_nothing),
                cmocka_unit_test(test_what_cannot_be_read_is_said),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
