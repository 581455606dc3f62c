/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tile
 *
 * The software side of structured sparsity: a dense matrix of which each group of `group` rows has at most `keep` numbers in a
 * column, and the same compressed, as LOAD_SPARSE of wire.h takes it. Numbers are images of 16 bits that are not looked into:
 * what is not 0x0000 is kept, −0 too.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct TileShape {
        unsigned keep, group; /* M:N */
        unsigned groups, columns;
} TileShape;

typedef enum TileWrong {
        TILE_RIGHT,
        TILE_CROWDED,   /* dense: more than `keep` numbers in a group */
        TILE_BEYOND,    /* compressed: a number whose tag is outside its group */
        TILE_AMBIGUOUS, /* compressed: two numbers with one tag */
} TileWrong;

typedef struct TileViolation {
        TileWrong wrong;
        unsigned group, column;
        unsigned row;   /* dense: of the first number too many; compressed: of the stored one */
        unsigned count; /* TILE_CROWDED: numbers in that group */
} TileViolation;

/*
 * DENSE is [groups × group][columns], WEIGHTS [groups × keep][columns], TAGS [groups × keep][(columns + 3) / 4]. Tags of a group
 * ascend; where it has fewer numbers than slots, zeros are stored with the lowest rows that are free. Returns 0, or -EINVAL and
 * the first violation, in the order of groups, then columns.
 */
int tile_compress(const TileShape *shape, const uint16_t *dense, uint16_t *weights, uint16_t *tags, TileViolation *ret_violation);

/* The inverse, for tags in any order. A stored zero may have any tag. */
int tile_expand(const TileShape *shape, const uint16_t *weights, const uint16_t *tags, uint16_t *dense, TileViolation *ret_violation);

static inline unsigned tile_tag_words(const TileShape *shape) {
        return (shape->columns + 3) / 4;
}

static inline unsigned tile_tag(const TileShape *shape, const uint16_t *tags, unsigned row, unsigned column) {
        return tags[row * tile_tag_words(shape) + column / 4] >> 4 * (column % 4) & 15;
}
