/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/sparsity/tile.h"
#include "checks/text/cleanup.h"

static const TileShape shapes[] = {
        { 4, 16, 5, 9 }, { 4, 12, 3, 4 }, { 4, 8, 4, 7 }, { 2, 8, 6, 5 }, { 2, 4, 8, 3 }, { 1, 4, 9, 6 }, { 1, 2, 12, 1 },
};

static uint16_t dense[512 * 8], again[512 * 8], weights[128 * 16], tags[128 * 16], weights_again[128 * 16], tags_again[128 * 16];

static void test_every_mask_comes_back(void **state) {
        static const unsigned masks[] = { 1820, 495, 70, 28, 6, 4, 2 };

        for (unsigned i = 0; i < ELEMENTS(shapes); i++) {
                TileShape shape = { shapes[i].keep, shapes[i].group, 1, 1 };
                unsigned n_masks = 0;

                for (uint32_t mask = 0; mask < 1u << shape.group; mask++) {
                        TileViolation violation = { .wrong = TILE_CROWDED };
                        int r;

                        for (unsigned k = 0; k < shape.group; k++)
                                dense[k] = mask >> k & 1 ? (uint16_t) (0x8000 + k) : 0;
                        r = tile_compress(&shape, dense, weights, tags, &violation);
                        if ((unsigned) __builtin_popcount(mask) > shape.keep) {
                                assert_int_equal(r, -EINVAL);
                                assert_int_equal(violation.wrong, TILE_CROWDED);
                                assert_int_equal(violation.count, __builtin_popcount(mask));
                                assert_true(mask >> violation.row & 1);
                                assert_int_equal(__builtin_popcount(mask & ((1u << violation.row) - 1)), shape.keep);
                                continue;
                        }
                        assert_int_equal(r, 0);
                        assert_int_equal(violation.wrong, TILE_RIGHT);
                        for (unsigned slot = 1; slot < shape.keep; slot++)
                                assert_true(tile_tag(&shape, tags, slot - 1, 0) < tile_tag(&shape, tags, slot, 0));
                        assert_int_equal(tile_expand(&shape, weights, tags, again, &violation), 0);
                        assert_memory_equal(again, dense, shape.group * sizeof(*dense));
                        n_masks += (unsigned) __builtin_popcount(mask) == shape.keep;
                }
                assert_int_equal(n_masks, masks[i]);
        }
}

/* A tile with at most `keep` numbers in each group, −0 among them. */
static void fill(const TileShape *shape) {
        memset(dense, 0, sizeof(dense));
        for (unsigned group = 0; group < shape->groups; group++)
                for (unsigned column = 0; column < shape->columns; column++)
                        for (long n = random() % (shape->keep + 1); n > 0; n--) {
                                size_t row = group * shape->group + (unsigned) random() % shape->group;

                                dense[row * shape->columns + column] = random() % 4 ? (uint16_t) random() : 0x8000;
                        }
}

static void test_random_tiles_come_back(void **state) {
        srandom(3);
        for (unsigned round = 0; round < 700; round++) {
                const TileShape *shape = &shapes[round % ELEMENTS(shapes)];
                size_t n_dense = (size_t) shape->groups * shape->group * shape->columns;
                size_t n_weights = (size_t) shape->groups * shape->keep * shape->columns;
                TileViolation violation;

                fill(shape);
                assert_int_equal(tile_compress(shape, dense, weights, tags, &violation), 0);
                assert_int_equal(tile_expand(shape, weights, tags, again, &violation), 0);
                assert_memory_equal(again, dense, n_dense * sizeof(*dense));
                assert_int_equal(tile_compress(shape, again, weights_again, tags_again, &violation), 0);
                assert_memory_equal(weights_again, weights, n_weights * sizeof(*weights));
                assert_memory_equal(tags_again, tags, (size_t) shape->groups * shape->keep * tile_tag_words(shape) * sizeof(*tags));
        }
}

static void test_a_violation_is_reported_with_group_row_and_column(void **state) {
        const TileShape *shape = &shapes[3]; /* 2:8, 6 groups, 5 columns */
        TileViolation violation;

        memset(dense, 0, sizeof(dense));
        for (unsigned row = 33; row < 37; row++)
                dense[row * 5 + 3] = 7;
        assert_int_equal(tile_compress(shape, dense, weights, tags, &violation), -EINVAL);
        assert_int_equal(violation.wrong, TILE_CROWDED);
        assert_int_equal(violation.group, 4);
        assert_int_equal(violation.row, 35);
        assert_int_equal(violation.column, 3);
        assert_int_equal(violation.count, 4);

        memset(dense, 0, sizeof(dense));
        dense[33 * 5 + 3] = dense[34 * 5 + 3] = 7;
        assert_int_equal(tile_compress(shape, dense, weights, tags, &violation), 0);
        tags[9 * 2] = (uint16_t) ((tags[9 * 2] & 0x0fff) | 9 << 12); /* row 9 is slot 1 of group 4 */
        assert_int_equal(tile_expand(shape, weights, tags, again, &violation), -EINVAL);
        assert_int_equal(violation.wrong, TILE_BEYOND);
        assert_int_equal(violation.group, 4);
        assert_int_equal(violation.row, 9);
        assert_int_equal(violation.column, 3);

        tags[9 * 2] = (uint16_t) ((tags[9 * 2] & 0x0fff) | 1 << 12);
        assert_int_equal(tile_expand(shape, weights, tags, again, &violation), -EINVAL);
        assert_int_equal(violation.wrong, TILE_AMBIGUOUS);
        assert_int_equal(violation.row, 9);

        weights[9 * 5 + 3] = 0; /* a stored zero may have any tag */
        assert_int_equal(tile_expand(shape, weights, tags, again, &violation), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_mask_comes_back),
                cmocka_unit_test(test_random_tiles_come_back),
                cmocka_unit_test(test_a_violation_is_reported_with_group_row_and_column),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
