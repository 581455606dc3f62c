/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/tile.h"

#include <errno.h>
#include <string.h>

static void set_tag(const TileShape *shape, uint16_t *tags, unsigned row, unsigned column, unsigned tag) {
        tags[row * tile_tag_words(shape) + column / 4] |= (uint16_t) (tag << 4 * (column % 4));
}

/* Which rows of a group are stored. */
static int choose(const TileShape *shape, const uint16_t *dense, unsigned group, unsigned column, uint32_t *ret_mask,
                  TileViolation *violation) {
        unsigned count = 0, missing;
        uint32_t mask = 0;

        for (unsigned i = 0; i < shape->group; i++) {
                if (dense[(size_t) (group * shape->group + i) * shape->columns + column] == 0)
                        continue;
                mask |= 1u << i;
                if (++count == shape->keep + 1)
                        *violation = (TileViolation){ .wrong = TILE_CROWDED, .group = group, .column = column,
                                                      .row = group * shape->group + i };
        }
        if (count > shape->keep) {
                violation->count = count;
                return -EINVAL;
        }

        missing = shape->keep - count;
        for (unsigned i = 0; i < shape->group && missing > 0; i++)
                if (!(mask >> i & 1)) {
                        mask |= 1u << i;
                        missing--;
                }

        *ret_mask = mask;
        return 0;
}

int tile_compress(const TileShape *shape, const uint16_t *dense, uint16_t *weights, uint16_t *tags, TileViolation *ret_violation) {
        memset(tags, 0, (size_t) shape->groups * shape->keep * tile_tag_words(shape) * sizeof(*tags));

        for (unsigned group = 0; group < shape->groups; group++)
                for (unsigned column = 0; column < shape->columns; column++) {
                        unsigned row = group * shape->keep;
                        uint32_t mask;
                        int r;

                        r = choose(shape, dense, group, column, &mask, ret_violation);
                        if (r < 0)
                                return r;

                        for (; mask; mask &= mask - 1, row++) {
                                unsigned i = (unsigned) __builtin_ctz(mask);

                                weights[(size_t) row * shape->columns + column] =
                                                dense[(size_t) (group * shape->group + i) * shape->columns + column];
                                set_tag(shape, tags, row, column, i);
                        }
                }

        *ret_violation = (TileViolation){};
        return 0;
}

int tile_expand(const TileShape *shape, const uint16_t *weights, const uint16_t *tags, uint16_t *dense, TileViolation *ret_violation) {
        memset(dense, 0, (size_t) shape->groups * shape->group * shape->columns * sizeof(*dense));

        for (unsigned row = 0; row < shape->groups * shape->keep; row++)
                for (unsigned column = 0; column < shape->columns; column++) {
                        unsigned group = row / shape->keep, tag = tile_tag(shape, tags, row, column);
                        uint16_t weight = weights[(size_t) row * shape->columns + column];
                        size_t place = (size_t) (group * shape->group + tag) * shape->columns + column;

                        if (weight == 0)
                                continue;
                        if (tag >= shape->group || dense[place] != 0) {
                                *ret_violation = (TileViolation){
                                        .wrong = tag >= shape->group ? TILE_BEYOND : TILE_AMBIGUOUS,
                                        .group = group, .column = column, .row = row,
                                };
                                return -EINVAL;
                        }
                        dense[place] = weight;
                }

        *ret_violation = (TileViolation){};
        return 0;
}
