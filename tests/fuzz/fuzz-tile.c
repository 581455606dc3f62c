/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Any numbers and tags as a compressed tile: it is refused at a place that is wrong, or it means a dense one that compresses into
 * a tile which means the same. The same numbers as a dense tile: refused, or they come back.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/sparsity/tile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

#define GROUPS  4u
#define COLUMNS 6u

static uint16_t weights[GROUPS * 4 * COLUMNS], tags[GROUPS * 4 * 2], dense[GROUPS * 16 * COLUMNS], again[GROUPS * 16 * COLUMNS];

static void judge_violation(const TileShape *shape, const TileViolation *violation, unsigned rows) {
        HOLDS(violation->wrong != TILE_RIGHT && violation->group < shape->groups && violation->column < shape->columns);
        HOLDS(violation->row / rows == violation->group);
}

static void judge_dense(const TileShape *shape) {
        TileViolation violation;

        if (tile_compress(shape, dense, weights, tags, &violation) < 0) {
                judge_violation(shape, &violation, shape->group);
                HOLDS(violation.count > shape->keep);
                return;
        }
        HOLDS(violation.wrong == TILE_RIGHT);
        HOLDS(tile_expand(shape, weights, tags, again, &violation) == 0);
        HOLDS(memcmp(dense, again, (size_t) shape->groups * shape->group * shape->columns * sizeof(*dense)) == 0);
}

static void take(const uint8_t **data, size_t *size, void *to, size_t n) {
        memset(to, 0, n);
        n = n < *size ? n : *size;
        memcpy(to, *data, n);
        *data += n;
        *size -= n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const TileShape shapes[] = { { 4, 16, GROUPS, COLUMNS }, { 4, 12, GROUPS, COLUMNS }, { 4, 8, GROUPS, COLUMNS },
                                            { 2, 8, GROUPS, COLUMNS },  { 2, 4, GROUPS, COLUMNS },  { 1, 4, GROUPS, COLUMNS },
                                            { 1, 2, GROUPS, COLUMNS } };
        const TileShape *shape = &shapes[size > 0 ? data[0] % 7 : 0];
        TileViolation violation;

        if (size > 0)
                data++, size--;
        take(&data, &size, tags, sizeof(tags));
        take(&data, &size, weights, sizeof(weights));
        take(&data, &size, dense, sizeof(dense));

        judge_dense(shape);
        if (tile_expand(shape, weights, tags, dense, &violation) < 0) {
                judge_violation(shape, &violation, shape->keep);
                HOLDS(violation.wrong != TILE_CROWDED);
                return 0;
        }
        judge_dense(shape);
        return 0;
}
