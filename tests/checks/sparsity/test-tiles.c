/* SPDX-License-Identifier: Apache-2.0 */

/* Random tiles: what is compressed, expanded again and multiplied densely is what the device is held to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/sparsity/tile.h"
#include "checks/sparsity/tiles.h"

#define ROWS_MAX (PE_ROWS / 4 * SPARSE_GROUP_MAX)

static uint16_t image_at(const SparseTile *tile, const void *images, size_t i) {
        return wire_format_bytes(tile->format) == 1 ? ((const uint8_t *) images)[i] : ((const uint16_t *) images)[i];
}

/* By the width of its exponent; the numbers of tiles are zero or normal. */
static float number_of(WireFormat format, uint16_t image) {
        static const unsigned widths[_FORMAT_MAX][2] = {
                [FORMAT_BF16] = { 8, 7 }, [FORMAT_FP16] = { 5, 10 }, [FORMAT_FP8_E4M3] = { 4, 3 }, [FORMAT_FP8_E5M2] = { 5, 2 },
                [FORMAT_FP8_E3M4] = { 3, 4 },
        };
        unsigned exponent_bits = widths[format][0], fraction_bits = widths[format][1], sign = image >> (exponent_bits + fraction_bits) & 1;
        int exponent = (int) (image >> fraction_bits & ((1u << exponent_bits) - 1)), bias = (1 << (exponent_bits - 1)) - 1;
        float fraction = (float) (image & ((1u << fraction_bits) - 1)) / (float) (1u << fraction_bits);

        if (exponent == 0) {
                assert_true(fraction == 0);
                return sign ? -0.0f : 0;
        }
        return ldexpf(sign ? -1 - fraction : 1 + fraction, exponent - bias);
}

typedef struct Seen {
        unsigned stored_zeros, negative_zeros, empty_groups;
} Seen;

static void look_at_zeros(const SparseTile *tile, const uint16_t *weights, Seen *seen) {
        unsigned keep = tile->mode->keep;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (unsigned row = 0, zeros = 0; row < PE_ROWS; row++) {
                        float number = number_of(tile->format, weights[row * PE_COLUMNS + column]);

                        zeros = (row % keep == 0 ? 0 : zeros) + (number == 0);
                        seen->stored_zeros += number == 0 && !signbit(number);
                        seen->negative_zeros += number == 0 && signbit(number);
                        seen->empty_groups += row % keep == keep - 1 && zeros == keep;
                }
}

static void test_each_tile_is_a_dense_product_of_what_it_expands_to(void **state) {
        static uint16_t weights[PE_ROWS * PE_COLUMNS], dense[ROWS_MAX * PE_COLUMNS];
        static float w[ROWS_MAX], x[ROWS_MAX * TILE_MOVING];

        for (unsigned i = 0; i < 3 * TILES; i++) { /* of three seeds, the last one as large as any */
                const SparseTile *tile = sparse_tile_at(i % TILES, i / TILES == 2 ? UINT64_MAX : i / TILES);
                const TileShape shape = { tile->mode->keep, tile->mode->group, PE_ROWS / tile->mode->keep, PE_COLUMNS };
                TileViolation violation;
                Seen seen = {};

                for (size_t k = 0; k < PE_ROWS * PE_COLUMNS; k++)
                        weights[k] = image_at(tile, tile->weights, k);
                for (size_t k = 0; k < tile->mode->rows * TILE_MOVING; k++)
                        x[k] = number_of(tile->format, image_at(tile, tile->values, k));
                look_at_zeros(tile, weights, &seen);
                assert_true(seen.stored_zeros > 100 && seen.negative_zeros > 100 && seen.empty_groups > 100);

                /* Zeros stored with a sign are numbers to tile_expand(); their tags are inside of the group and free. */
                assert_int_equal(tile_expand(&shape, weights, tile->tags, dense, &violation), 0);
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        for (unsigned row = 0; row < tile->mode->rows; row++)
                                w[row] = number_of(tile->format, dense[row * PE_COLUMNS + column]);
                        for (unsigned n = 0; n < TILE_MOVING; n++) {
                                float sum = 0, golden;

                                for (unsigned row = 0; row < tile->mode->rows; row++)
                                        sum += w[row] * x[row * TILE_MOVING + n]; /* integers: exact */
                                memcpy(&golden, &tile->golden[column * TILE_MOVING + n], sizeof(golden));
                                assert_true(golden == sum);
                        }
                }
        }
}

/* The seed decides the draw: another scan has other tiles, and a repeated one the same. */
static void test_another_seed_draws_other_tiles(void **state) {
        for (unsigned i = 0; i < TILES; i++) {
                const SparseTile *tile = sparse_tile_at(i, 7);
                uint8_t *first = malloc(tile->values_bytes);

                memcpy(first, tile->values, tile->values_bytes);
                tile = sparse_tile_at(i, 8);
                assert_memory_not_equal(tile->values, first, tile->values_bytes);
                tile = sparse_tile_at(i, 7);
                assert_memory_equal(tile->values, first, tile->values_bytes);
                free(first);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_tile_is_a_dense_product_of_what_it_expands_to),
                cmocka_unit_test(test_another_seed_draws_other_tiles),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
