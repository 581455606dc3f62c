/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/tiles.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/sparsity/bank.h"
#include "checks/sparsity/tile.h"
#include "checks/systolic/patterns/exact.h"

#define LARGEST   7 /* exact in every format, and its sums in binary32 */
#define ROWS_MAX  (PE_ROWS / 4 * SPARSE_GROUP_MAX)

/* What a tile needs, kept as long as the process lives. */
typedef struct Made {
        SparseTile tile;
        int8_t dense[ROWS_MAX * PE_COLUMNS], moving[ROWS_MAX * TILE_MOVING];
        uint16_t weights[PE_ROWS * PE_COLUMNS], values[ROWS_MAX * TILE_MOVING];
        uint16_t tags[PE_ROWS * (PE_COLUMNS / 4)];
        uint32_t golden[PE_COLUMNS * TILE_MOVING];
} Made;

static Made *made[TILES];
static uint64_t made_seed; /* of all of them */

static uint64_t next(uint64_t *state) {
        uint64_t x = *state += 0x9e3779b97f4a7c15u; /* splitmix64 (Steele, Lea, Flood 2014) */

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

static int8_t draw(uint64_t *state) {
        return (int8_t) ((int) ((next(state) >> 32) % (2 * LARGEST + 1)) - LARGEST);
}

/* One group in eight has no number, others fewer than `keep` now and then: zeros are stored there. */
static void draw_dense(Made *m, uint64_t *state) {
        const SparseMode *mode = m->tile.mode;

        for (unsigned group = 0; group < mode->rows / mode->group; group++)
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        if (next(state) % 8 == 0)
                                continue;
                        for (unsigned i = 0; i < mode->keep; i++) {
                                unsigned row = group * mode->group + (unsigned) (next(state) >> 32) % mode->group;

                                m->dense[row * PE_COLUMNS + column] = draw(state);
                        }
                }
        for (unsigned i = 0; i < mode->rows * TILE_MOVING; i++)
                m->moving[i] = draw(state);
}

static uint16_t image_of(WireFormat format, int number) {
        return number == 0 ? 0 : (uint16_t) exact_image(format, number < 0, (uint32_t) abs(number), 0);
}

/* Puts IMAGES where the device takes them: 16 bits each, or 8. */
static void pack(WireFormat format, uint16_t *images, size_t n) {
        uint8_t *bytes = (uint8_t *) images;

        if (wire_format_bytes(format) == 1)
                for (size_t i = 0; i < n; i++)
                        bytes[i] = (uint8_t) images[i];
}

static int compress(Made *m, uint64_t *state) {
        const SparseMode *mode = m->tile.mode;
        const TileShape shape = { mode->keep, mode->group, PE_ROWS / mode->keep, PE_COLUMNS };
        size_t n = (size_t) mode->rows * PE_COLUMNS;
        uint16_t *images, sign = image_of(m->tile.format, -1) ^ image_of(m->tile.format, 1);
        TileViolation violation;
        int r;

        images = malloc(n * sizeof(*images));
        if (!images)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                images[i] = image_of(m->tile.format, m->dense[i]);
        r = tile_compress(&shape, images, m->weights, m->tags, &violation);
        free(images);

        for (size_t i = 0; i < PE_ROWS * PE_COLUMNS; i++)
                if (m->weights[i] == 0 && next(state) % 2)
                        m->weights[i] = sign;
        return r;
}

static void multiply(Made *m) {
        const SparseMode *mode = m->tile.mode;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (unsigned n = 0; n < TILE_MOVING; n++) {
                        int sum = 0;

                        for (unsigned row = 0; row < mode->rows; row++)
                                sum += m->dense[row * PE_COLUMNS + column] * m->moving[row * TILE_MOVING + n];
                        m->golden[column * TILE_MOVING + n] = exact_round(sum < 0, (uint64_t) abs(sum), 0);
                }
}

static Made *make(unsigned index, uint64_t seed) {
        static const WireFormat formats[TILES] = {
                FORMAT_BF16, FORMAT_BF16, FORMAT_BF16,     FORMAT_BF16,     FORMAT_BF16,
                FORMAT_BF16, FORMAT_BF16, FORMAT_FP16,     FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4,
        };
        Made *m = calloc(1, sizeof(*m));
        uint64_t state = seed + index; /* neighbours have streams of their own, see next() */

        if (!m)
                return NULL;
        m->tile.mode = sparse_mode_at(index % SPARSE_MODES);
        m->tile.format = formats[index];
        draw_dense(m, &state);
        if (compress(m, &state) < 0) {
                free(m);
                return NULL;
        }
        multiply(m);

        for (unsigned i = 0; i < m->tile.mode->rows * TILE_MOVING; i++)
                m->values[i] = image_of(m->tile.format, m->moving[i]);
        pack(m->tile.format, m->weights, PE_ROWS * PE_COLUMNS);
        pack(m->tile.format, m->values, (size_t) m->tile.mode->rows * TILE_MOVING);
        m->tile.weights = m->weights;
        m->tile.values = m->values;
        m->tile.tags = m->tags;
        m->tile.golden = m->golden;
        m->tile.weights_bytes = PE_ROWS * PE_COLUMNS * wire_format_bytes(m->tile.format);
        m->tile.values_bytes = (size_t) m->tile.mode->rows * TILE_MOVING * wire_format_bytes(m->tile.format);
        return m;
}

const SparseTile *sparse_tile_at(unsigned index, uint64_t seed) {
        assert(index < TILES);

        for (unsigned i = 0; i < TILES && seed != made_seed; i++) {
                free(made[i]);
                made[i] = NULL;
        }
        made_seed = seed;
        if (!made[index])
                made[index] = make(index, seed);
        return made[index] ? &made[index]->tile : NULL;
}

EngineJob sparse_tile_job(const SparseTile *tile, unsigned bank) {
        return (EngineJob){
                .load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = (uint8_t) tile->format, .flags = LOAD_SPARSE,
                          .keep = (uint8_t) tile->mode->keep, .group = (uint8_t) tile->mode->group },
                .matmul = { .moving = TILE_MOVING, .bank = (uint8_t) bank_of(bank, NULL), .flags = MATMUL_OVERWRITE,
                            .format = (uint8_t) tile->format },
                .moving_rows = tile->mode->rows,
                .weights = tile->weights, .tags = tile->tags, .values = tile->values,
                .weights_bytes = tile->weights_bytes, .values_bytes = tile->values_bytes,
        };
}
