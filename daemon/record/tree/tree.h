/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tree
 *
 * The Merkle tree of RFC 6962 section 2.1 over the leaves of a log: leaf = SHA-256(0x00 || data), node =
 * SHA-256(0x01 || left || right), and n > 1 leaves split at the largest power of two below n.
 *
 * A node is whole once all 2^level leaves below it are there, and never changes again; nodes are named by level
 * (0: leaves) and index within the level. Every hash of a tree that grows follows from whole nodes, and those are
 * written down in the order in which they become whole: tree_position() says which one stands where.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/record/encode/digest.h"

#define TREE_LEVELS    64
#define TREE_PATH_MAX  63 /* hashes in a proof: no tree of 2^63 leaves asks for more */
#define TREE_SIZE_MAX  (UINT64_C(1) << 53) /* a log index is a number of JSON */

typedef struct TreeHash {
        uint8_t bytes[DIGEST_BYTES];
} TreeHash;

/* All three: 0, or -EIO where the library refuses; -ENOMEM for a leaf beyond a kilobyte. */
int tree_leaf(const void *data, size_t n, TreeHash *ret);
int tree_node(const TreeHash *left, const TreeHash *right, TreeHash *ret);
int tree_empty(TreeHash *ret); /* the root of no leaves: SHA-256("") */

/* ---- a tree that grows ---- */

/* The roots of the whole subtrees that SIZE leaves consist of, largest first: one for each bit of SIZE. */
typedef struct Frontier {
        uint64_t size;
        TreeHash hashes[TREE_LEVELS];
} Frontier;

/*
 * Adds a leaf and returns how many nodes became whole by it, 1 … TREE_LEVELS, lowest (the leaf) first in RET: those belong
 * at positions tree_position(0, size before) onwards. Or -EIO.
 */
int frontier_append(Frontier *frontier, const TreeHash *leaf, TreeHash ret[static TREE_LEVELS]);
int frontier_root(const Frontier *frontier, TreeHash *ret);

/* Where node INDEX of LEVEL stands among all whole nodes in the order of frontier_append(). Needs (INDEX + 1) << LEVEL < 2^63. */
uint64_t tree_position(unsigned level, uint64_t index);
/* The other way: the leaf that made the node at POSITION whole, and its level. */
uint64_t tree_leaf_of(uint64_t position, unsigned *ret_level);
/* How many nodes leaf INDEX makes whole, itself among them. */
unsigned tree_made_whole(uint64_t index);
/* How many nodes of a tree of SIZE leaves are whole: where the next one goes. */
uint64_t tree_whole(uint64_t size);

/* ---- a tree that was written down ---- */

/* Reads the node that stands at POSITION. 0, or a negative errno, which the caller of whatever asked gets. */
typedef struct TreeSource {
        int (*read)(void *userdata, uint64_t position, TreeHash *ret);
        void *userdata;
} TreeSource;

typedef struct TreePath {
        size_t n;
        TreeHash hashes[TREE_PATH_MAX]; /* from the leaf's side to the root's */
} TreePath;

/* Reads what a tree of SIZE needs to grow. */
int tree_frontier(const TreeSource *source, uint64_t size, Frontier *ret);
/* That leaf INDEX is in the tree of SIZE (RFC 6962 section 2.1.1). -ERANGE: it is not. */
int tree_inclusion(const TreeSource *source, uint64_t index, uint64_t size, TreePath *ret);
/* That the tree of SIZE begins with the one of OLD (RFC 6962 section 2.1.2). -ERANGE: OLD is larger. Nothing to prove for 0 and SIZE. */
int tree_consistency(const TreeSource *source, uint64_t old, uint64_t size, TreePath *ret);

/* ---- proofs, untrusted, by the definitions of the same sections. 1: holds, 0: does not, -EIO ---- */

int tree_inclusion_verify(const TreePath *path, const TreeHash *leaf, uint64_t index, uint64_t size, const TreeHash *root);
int tree_consistency_verify(const TreePath *path, uint64_t old, const TreeHash *old_root, uint64_t size, const TreeHash *root);
