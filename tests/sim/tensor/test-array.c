/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The healthy tensor engine in all its formats and modes, by its commands, against a plain array of 128 × 128 elements, each of
 * which holds the image that was loaded last, and a PSUM of plain words. The arithmetic is that of plain-format.h.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/faults.h"
#include "tests/sim/plain-format.h"
#include "tests/sim/tensor-bench.h"

typedef struct PlainElement {
        unsigned load; /* 0: never */
        uint32_t image;
        unsigned tag;
} PlainElement;

typedef struct Bench {
        TensorBench engine;
        unsigned n_loads;
        WireLoad loads[4096]; /* by number */
        PlainElement elements[PE_ROWS][PE_COLUMNS];
        uint32_t psum[PSUM_BANKS][PE_COLUMNS][PSUM_ELEMENTS];
} Bench;

static Bench *bench_new(void) {
        Bench *bench = calloc(1, sizeof(*bench));

        assert_non_null(bench);
        tensor_bench_init(&bench->engine);
        return bench;
}

static void bench_free(Bench *bench) {
        tensor_bench_done(&bench->engine);
        free(bench);
}

static WireStatus bench_run(Bench *bench, const WireCommand *command) {
        return tensor_bench_run(&bench->engine, command);
}

/* ---- data ---- */

typedef struct PlainShape {
        unsigned exponent, fraction, low;
} PlainShape;

static const PlainShape plain_shapes[_FORMAT_MAX] = {
        [FORMAT_FP32] = { 8, 23, 0 },     [FORMAT_BF16] = { 8, 7, 0 },      [FORMAT_FP16] = { 5, 10, 0 },    [FORMAT_TF32] = { 8, 10, 13 },
        [FORMAT_FP8_E4M3] = { 4, 3, 0 },  [FORMAT_FP8_E5M2] = { 5, 2, 0 },  [FORMAT_FP8_E3M4] = { 3, 4, 0 },
};

/* One of many kinds: anything, near one, specials, products at the edge of the subnormal numbers, mostly ±0. tf32 has rubbish below. */
static uint32_t draw_number(WireFormat format, unsigned style) {
        PlainShape shape = plain_shapes[format];
        uint32_t top = (1u << shape.exponent) - 1, random = draw(), fraction = random >> 8 & ((1u << shape.fraction) - 1);
        uint32_t sign = random & 1, field = random >> 1 & top, low = draw() & ((1u << shape.low) - 1);

        switch (style % 7) {
        case 0:
                break;
        case 1:
        case 2:
                field = top / 2 + random % 2;
                if (style % 7 == 2 && random % 32 == 0)
                        field = random & 64 ? top : 0;
                break;
        case 3:
                field = top / 4 + random % 3; /* of 8 bits: 2^-64, and products at 2^-126 */
                break;
        case 4:
                field = random % 8 != 0 ? 0 : field;
                fraction = random % 8 != 0 ? 0 : fraction;
                break;
        case 5:
                field = random & 64 ? top : random >> 12 & 1;
                fraction = random & 128 ? 0 : random & 256 ? 1 : fraction;
                break;
        default:
                field = random % 5 == 0 ? 0 : top / 3 + random % 5;
                break;
        }

        return sign << (shape.exponent + shape.fraction + shape.low) | field << (shape.fraction + shape.low) | fraction << shape.low | low;
}

static void fill(Bench *bench, uint32_t offset, WireFormat format, size_t n, unsigned style) {
        unsigned size = wire_format_bytes(format);

        for (size_t i = 0; i < n; i++) {
                uint32_t number = draw_number(format, style);

                memcpy(bench->engine.window + offset + i * size, &number, size);
        }
}

static uint32_t number_at(const Bench *bench, uint32_t offset, WireFormat format, size_t at) {
        unsigned size = wire_format_bytes(format);
        uint32_t number = 0;

        memcpy(&number, bench->engine.window + offset + at * size, size);
        return format == FORMAT_TF32 ? number & 0xffffe000 : number;
}

/* ---- the plain array ---- */

static unsigned plain_side(unsigned n, bool whole) {
        return whole || n > 64 ? 128 : n > 32 ? 64 : 32;
}

static unsigned plain_rows(const WireLoad *load) {
        return plain_side(load->rows, load->flags & LOAD_DOUBLE_ROW);
}

static unsigned plain_columns(const WireLoad *load) {
        return plain_side(load->columns, load->flags != 0);
}

static void plain_load(Bench *bench, const WireLoad *load) {
        size_t half = (size_t) load->rows * load->columns;
        const uint16_t *tags = (const uint16_t *) (bench->engine.window + load->tags_offset);

        assert_true(++bench->n_loads < ELEMENTS(bench->loads));
        bench->loads[bench->n_loads] = *load;
        for (unsigned r = 0; r < plain_rows(load); r++)
                for (unsigned c = 0; c < plain_columns(load); c++) {
                        PlainElement *element = &bench->elements[load->first_row + r][load->first_column + c];
                        size_t at = (size_t) r * load->columns + c;

                        *element = (PlainElement){ .load = bench->n_loads };
                        if (r >= load->rows || c >= load->columns)
                                continue;
                        element->image = number_at(bench, 0, load->format, at);
                        if (load->flags & LOAD_DOUBLE_ROW)
                                element->image |= number_at(bench, 0, load->format, half + at) << 8;
                        if (load->flags & LOAD_SPARSE)
                                element->tag = tags[r * ((load->columns + 3u) / 4) + c / 4] >> 4 * (c % 4) & 15;
                }
}

/* The load that is still whole there. */
static const WireLoad *plain_find(const Bench *bench, unsigned row, unsigned column) {
        unsigned number = row < PE_ROWS && column < PE_COLUMNS ? bench->elements[row][column].load : 0;
        const WireLoad *load = &bench->loads[number];

        if (number == 0 || load->first_row != row || load->first_column != column)
                return NULL;
        for (unsigned r = 0; r < plain_rows(load); r++)
                for (unsigned c = 0; c < plain_columns(load); c++)
                        if (bench->elements[row + r][column + c].load != number)
                                return NULL;

        return load;
}

static unsigned plain_moving_rows(const WireLoad *load) {
        return load->flags & LOAD_SPARSE ? load->rows / load->keep * load->group : load->rows;
}

static uint32_t plain_step(const Bench *bench, const WireLoad *load, const WireMatmul *matmul, unsigned k, unsigned m, unsigned n,
                           uint32_t psum) {
        const PlainElement *element = &bench->elements[load->first_row + k][load->first_column + m];
        size_t at = (size_t) k * matmul->moving + n, half = (size_t) load->rows * matmul->moving;
        uint32_t x = 0, product, second;
        bool ftz = settings.ftz;

        if (!(load->flags & LOAD_SPARSE))
                x = number_at(bench, MOVING, matmul->format, at);
        else if (element->tag < load->group)
                x = number_at(bench, MOVING, matmul->format, (size_t) (k / load->keep * load->group + element->tag) * matmul->moving + n);

        if (matmul->flags & MATMUL_TRANSPOSE) {
                float operand = plain_float(plain_flush(ftz, plain_bits(plain_decode(matmul->format, x))));

                return operand == 0 ? psum : psum | element->image; /* a NaN is no zero */
        }

        product = plain_multiply(ftz, load->format, element->image, matmul->format, x);
        if (load->flags & LOAD_DOUBLE_ROW) {
                second = number_at(bench, MOVING, matmul->format, half + at);
                second = plain_multiply(ftz, load->format, element->image >> 8, matmul->format, second);
                product = plain_add(ftz, product, second);
        }
        return plain_add(ftz, psum, product);
}

static void plain_matmul(Bench *bench, const WireLoad *load, const WireMatmul *matmul) {
        for (unsigned m = 0; m < load->columns; m++)
                for (unsigned n = 0; n < matmul->moving; n++) {
                        uint32_t *there = &bench->psum[matmul->bank][load->first_column + m][matmul->offset + n], psum = 0;

                        for (unsigned k = 0; k < load->rows; k++)
                                psum = plain_step(bench, load, matmul, k, m, n, psum);
                        *there = matmul->flags & MATMUL_OVERWRITE ? psum : plain_add(settings.ftz, *there, psum);
                }
}

static void assert_out(Bench *bench, const WireLoad *load, const WireMatmul *matmul) {
        const uint32_t *out = bench->engine.out;

        for (unsigned m = 0; m < load->columns; m++)
                for (unsigned n = 0; n < matmul->moving; n++) {
                        uint32_t expected = bench->psum[matmul->bank][load->first_column + m][matmul->offset + n];

                        if (out[m * matmul->moving + n] != expected)
                                fail_msg("%s × %s, load flags %u %u:%u, matmul flags %u%s, %u × %u at %u.%u, column %u, vector %u of %u: "
                                         "%08x, plain array %08x",
                                         wire_format_words[load->format], wire_format_words[matmul->format], load->flags, load->keep,
                                         load->group, matmul->flags, settings.ftz ? ", ftz" : "", load->rows, load->columns,
                                         load->first_row, load->first_column, m, n, matmul->moving, out[m * matmul->moving + n], expected);
                }
}

/* ---- commands ---- */

static WireCommand load_command(WireLoad load) {
        unsigned n = load.rows * load.columns * (load.flags & LOAD_DOUBLE_ROW ? 2 : 1);

        load.tags_offset = TAGS;
        return (WireCommand){ .type = COMMAND_LOAD_STATIONARY, .in_bytes = n * wire_format_bytes(load.format), .load = load };
}

static WireCommand matmul_command(const WireLoad *load, WireMatmul matmul) {
        unsigned n = plain_moving_rows(load) * matmul.moving * (load->flags & LOAD_DOUBLE_ROW ? 2 : 1);

        matmul.first_row = load->first_row;
        matmul.first_column = load->first_column;
        return (WireCommand){ .type = COMMAND_MATMUL,
                              .in_offset = MOVING,
                              .in_bytes = n * wire_format_bytes(matmul.format),
                              .out_offset = OUT,
                              .out_bytes = load->columns * matmul.moving * 4,
                              .matmul = matmul };
}

/* With weights of STYLE, tags at random. */
static void load_well(Bench *bench, WireLoad load, unsigned style) {
        WireCommand command = load_command(load);

        fill(bench, 0, load.format, 2 * load.rows * load.columns, style);
        for (size_t i = 0; i < load.rows * ((load.columns + 3u) / 4) * 2; i++)
                bench->engine.window[TAGS + i] = (uint8_t) draw();
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        assert_int_equal(bench->engine.completion.device_nsec, ((64 + load.rows) * 5 + 11) / 12);
        plain_load(bench, &command.load);
}

/* Through the tile of LOAD, comparing all that is read back. */
static void matmul_well(Bench *bench, const WireLoad *load, WireMatmul matmul, unsigned style) {
        WireCommand command = matmul_command(load, matmul);

        fill(bench, MOVING, matmul.format, (size_t) plain_moving_rows(load) * matmul.moving * 2, style);
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        assert_int_equal(bench->engine.completion.out_bytes, command.out_bytes);
        assert_int_equal(bench->engine.completion.device_nsec, ((64 + matmul.moving * (matmul.format == FORMAT_FP32 ? 4 : 1)) * 5 + 11) / 12);
        plain_matmul(bench, load, &command.matmul);
        assert_out(bench, load, &command.matmul);
}

static WireFormat draw_partner(WireFormat format) {
        static const WireFormat narrow[] = { FORMAT_BF16, FORMAT_FP16, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };

        return format == FORMAT_FP32 || format == FORMAT_TF32 ? format : narrow[draw() % 5];
}

static unsigned draw_side(void) {
        return draw() % 4 == 0 ? 1 + draw() % 128 : 1 + draw() % 24;
}

static WireMatmul draw_matmul(WireFormat format) {
        WireMatmul matmul = { .moving = (uint16_t) (1 + draw() % (draw() % 4 ? 12u : 70u)),
                              .bank = draw() % 2,
                              .flags = draw() % 2 ? MATMUL_OVERWRITE : 0,
                              .format = (uint8_t) format };

        matmul.offset = (uint16_t) (draw() % 3 ? draw() % 16 : PSUM_ELEMENTS - matmul.moving);
        return matmul;
}

/* ---- modes, each with all formats ---- */

static void run_modes(bool ftz, unsigned rounds, void (*round)(Bench *bench, WireFormat format)) {
        for (unsigned format = 0; format < _FORMAT_MAX; format++) {
                Bench *bench;

                settings = (TensorSettings){ .ftz = ftz };
                seed = 0x243f6a8885a308d3 + format;
                bench = bench_new();
                for (unsigned i = 0; i < rounds; i++)
                        round(bench, (WireFormat) format);
                bench_free(bench);
        }
        settings = (TensorSettings){};
}

static void dense_round(Bench *bench, WireFormat format) {
        WireLoad load = { .rows = (uint16_t) draw_side(), .columns = (uint16_t) (1 + draw() % 9), .format = (uint8_t) format };

        load_well(bench, load, draw());
        for (unsigned i = 0; i < 3; i++)
                matmul_well(bench, &load, draw_matmul(draw_partner(format)), draw());
}

static void test_dense_products_equal_a_plain_array(void **state) {
        run_modes(false, 250, dense_round);
}

static void test_dense_products_flushed_to_zero_equal_a_plain_array(void **state) {
        run_modes(true, 250, dense_round);
}

static void sparse_round(Bench *bench, WireFormat format) {
        static const uint8_t modes[][2] = { { 4, 16 }, { 4, 12 }, { 4, 8 }, { 2, 8 }, { 2, 4 }, { 1, 4 }, { 1, 2 } };
        const uint8_t *mode = modes[draw() % 7];
        WireLoad load = { .rows = (uint16_t) ((1 + draw() % 8) * mode[0]),
                          .columns = (uint16_t) (1 + draw() % 9),
                          .format = (uint8_t) format,
                          .flags = LOAD_SPARSE,
                          .keep = mode[0],
                          .group = mode[1],
                          .first_row = (uint8_t) (32 * (draw() % 4)) };

        if (wire_format_bytes(format) == 4)
                return;
        load_well(bench, load, draw());
        for (unsigned i = 0; i < 2; i++)
                matmul_well(bench, &load, draw_matmul(draw_partner(format)), draw());
}

static void test_sparse_products_equal_a_plain_array(void **state) {
        run_modes(false, 150, sparse_round);
        run_modes(true, 150, sparse_round);
}

static void double_round(Bench *bench, WireFormat format) {
        static const WireFormat fp8[] = { FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };
        WireLoad load = { .rows = (uint16_t) draw_side(),
                          .columns = (uint16_t) (1 + draw() % 9),
                          .format = (uint8_t) format,
                          .flags = LOAD_DOUBLE_ROW };

        if (wire_format_bytes(format) != 1)
                return;
        load_well(bench, load, draw());
        for (unsigned i = 0; i < 3; i++)
                matmul_well(bench, &load, draw_matmul(fp8[draw() % 3]), draw());
}

static void test_double_rows_equal_a_plain_array(void **state) {
        run_modes(false, 250, double_round);
        run_modes(true, 250, double_round);
}

static void transpose_round(Bench *bench, WireFormat format) {
        WireLoad load = { .rows = (uint16_t) draw_side(), .columns = (uint16_t) (1 + draw() % 9), .format = (uint8_t) format };
        WireMatmul matmul = draw_matmul(draw_partner(format));

        load_well(bench, load, draw());
        matmul.flags = MATMUL_TRANSPOSE | MATMUL_OVERWRITE;
        matmul_well(bench, &load, matmul, draw());
        matmul.flags = 0; /* what passed is added to as to any number */
        matmul_well(bench, &load, matmul, draw());
}

static void test_transposition_passes_bits(void **state) {
        run_modes(false, 100, transpose_round);
        run_modes(true, 100, transpose_round);
}

/* By definition: the identity gives the matrix, column by column, with its NaN. */
static void test_the_identity_transposes(void **state) {
        static const uint16_t w[2][3] = { { 0x7fa1, 0xff80, 0x8000 }, { 0x0001, 0x1234, 0xffff } };
        WireLoad load = { .rows = 2, .columns = 3, .format = FORMAT_BF16 };
        WireCommand command = load_command(load);
        Bench *bench = bench_new();

        memcpy(bench->engine.window, w, sizeof(w));
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        command = matmul_command(&load, (WireMatmul){ .moving = 2, .flags = MATMUL_TRANSPOSE | MATMUL_OVERWRITE, .format = FORMAT_FP8_E5M2 });
        memcpy(bench->engine.window + MOVING, (const uint8_t[]) { 0x3c, 0x80, 0x00, 0x3c }, 4);
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        for (unsigned m = 0; m < 3; m++)
                for (unsigned n = 0; n < 2; n++)
                        assert_int_equal(bench->engine.out[m * 2 + n], w[n][m]);
        bench_free(bench);
}

/* All 128 rows and columns, and enough vectors for every block of them. */
static void test_full_arrays_equal_a_plain_array(void **state) {
        Bench *bench;

        for (unsigned i = 0; i < 2 * _FORMAT_MAX; i++) {
                unsigned format = i / 2;
                WireLoad load = { .rows = 128, .columns = 128, .format = (uint8_t) format,
                                  .flags = (uint8_t) (wire_format_bytes(format) == 1 ? LOAD_DOUBLE_ROW : 0u) };
                WireMatmul matmul = { .moving = 19, .format = (uint8_t) format };

                settings = (TensorSettings){ .ftz = i % 2 };
                seed = 0xc0ac29b7c97c50dd + i;
                bench = bench_new();
                load_well(bench, load, 6);
                matmul_well(bench, &load, matmul, 6);
                matmul.moving = 1;
                matmul.offset = 18;
                matmul_well(bench, &load, matmul, 1);
                bench_free(bench);
        }
        settings = (TensorSettings){};
}

/* ---- tiles ---- */

static WireLoad draw_tile(WireFormat format) {
        unsigned rows = 32u << (draw() % 4 ? 0 : draw() % 3), columns = 32u << (draw() % 4 ? 0 : draw() % 3);

        return (WireLoad){ .rows = (uint16_t) (rows - draw() % 16),
                           .columns = (uint16_t) (columns - draw() % 16),
                           .format = (uint8_t) format,
                           .first_row = (uint8_t) (draw() % (PE_ROWS / rows) * rows),
                           .first_column = (uint8_t) (draw() % (PE_COLUMNS / columns) * columns) };
}

/* Every place that a matmul may name: it works where a whole tile begins, and nowhere else. */
static unsigned matmul_everywhere(Bench *bench) {
        unsigned n = 0;

        for (unsigned place = 0; place < 16; place++) {
                unsigned row = place / 4 * 32, column = place % 4 * 32;
                const WireLoad *load = plain_find(bench, row, column);
                WireLoad none = { .rows = 32, .columns = 32, .first_row = (uint8_t) row, .first_column = (uint8_t) column };
                WireCommand command = matmul_command(&none, (WireMatmul){ .moving = 2, .format = FORMAT_BF16 });

                if (!load) {
                        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
                        continue;
                }
                matmul_well(bench, load, (WireMatmul){ .moving = 2, .format = load->format }, 1);
                n++;
        }

        return n;
}

static void test_tiles_live_side_by_side_until_overwritten(void **state) {
        unsigned n = 0, most = 0;
        Bench *bench;

        settings = (TensorSettings){};
        seed = 0x3f84d5b5b5470917;
        bench = bench_new();
        assert_int_equal(matmul_everywhere(bench), 0);

        for (unsigned i = 0; i < 150; i++) {
                load_well(bench, draw_tile((WireFormat) (draw() % _FORMAT_MAX)), 1);
                n = matmul_everywhere(bench);
                most = n > most ? n : most;
        }
        assert_true(most >= 6); /* or the draws are poor */

        for (unsigned place = 0; place < 16; place++) /* as many as there can be */
                load_well(bench, (WireLoad){ .rows = 32, .columns = 32, .format = FORMAT_BF16, .first_row = (uint8_t) (place / 4 * 32),
                                             .first_column = (uint8_t) (place % 4 * 32) }, 1);
        assert_int_equal(matmul_everywhere(bench), 16);

        load_well(bench, (WireLoad){ .rows = 1, .columns = 1, .format = FORMAT_FP8_E4M3, .flags = LOAD_DOUBLE_ROW }, 1);
        assert_int_equal(matmul_everywhere(bench), 1); /* it takes all there is */

        model_tensor.reset(bench->engine.state);
        memset(bench->elements, 0, sizeof(bench->elements));
        assert_int_equal(matmul_everywhere(bench), 0);
        bench_free(bench);
}

/* A sparse tile takes all columns of its rows. */
static void test_a_sparse_tile_is_one_of_rows(void **state) {
        WireLoad dense = { .rows = 8, .columns = 8, .format = FORMAT_BF16, .first_row = 32, .first_column = 96 };
        WireLoad sparse = { .rows = 8, .columns = 8, .format = FORMAT_BF16, .flags = LOAD_SPARSE, .keep = 2, .group = 4 };
        WireCommand command;
        Bench *bench;

        seed = 77;
        bench = bench_new();
        load_well(bench, dense, 1);
        load_well(bench, sparse, 1);
        assert_int_equal(matmul_everywhere(bench), 2);
        sparse.first_row = 32;
        load_well(bench, sparse, 1);
        assert_int_equal(matmul_everywhere(bench), 2); /* the dense one is gone */
        sparse.first_column = 32;
        command = load_command(sparse);
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
        bench_free(bench);
}

/* ---- what is refused ---- */

typedef struct Refusal {
        WireStatus status;
        WireLoad load;
} Refusal;

static void test_hostile_loads_are_refused(void **state) {
        static const Refusal refusals[] = {
                { STATUS_NRT_SUCCESS, { 8, 8, FORMAT_BF16 } },
                { STATUS_NRT_INVALID, { 0, 8, FORMAT_BF16 } },
                { STATUS_NRT_INVALID, { 8, 0, FORMAT_BF16 } },
                { STATUS_NRT_INVALID, { 129, 8, FORMAT_BF16 } },
                { STATUS_NRT_INVALID, { 8, 129, FORMAT_BF16 } },
                { STATUS_NRT_INVALID, { 8, 8, _FORMAT_MAX } },
                { STATUS_NRT_INVALID, { 8, 8, 255 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_BF16, 4 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_BF16, LOAD_DOUBLE_ROW } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_FP32, LOAD_DOUBLE_ROW } },
                { STATUS_NRT_SUCCESS, { 8, 8, FORMAT_FP8_E3M4, LOAD_DOUBLE_ROW } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_FP8_E3M4, LOAD_DOUBLE_ROW, .first_row = 32 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_FP8_E3M4, LOAD_DOUBLE_ROW, .first_column = 32 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_FP8_E3M4, LOAD_DOUBLE_ROW | LOAD_SPARSE, 2, 4 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_FP32, LOAD_SPARSE, 2, 4 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_TF32, LOAD_SPARSE, 2, 4 } },
                { STATUS_NRT_SUCCESS, { 8, 8, FORMAT_FP16, LOAD_SPARSE, 2, 4 } },
                { STATUS_NRT_INVALID, { 7, 8, FORMAT_FP16, LOAD_SPARSE, 2, 4 } },
                { STATUS_NRT_UNSUPPORTED, { 8, 8, FORMAT_FP16, LOAD_SPARSE, 2, 5 } },
                { STATUS_NRT_UNSUPPORTED, { 8, 8, FORMAT_FP16, LOAD_SPARSE, 0, 0 } },
                { STATUS_NRT_SUCCESS, { 8, 8, FORMAT_BF16, .first_row = 96, .first_column = 32 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_BF16, .first_row = 16 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_BF16, .first_column = 33 } },
                { STATUS_NRT_INVALID, { 33, 8, FORMAT_BF16, .first_row = 32 } },
                { STATUS_NRT_SUCCESS, { 33, 8, FORMAT_BF16, .first_row = 64 } },
                { STATUS_NRT_INVALID, { 65, 8, FORMAT_BF16, .first_row = 64 } },
                { STATUS_NRT_INVALID, { 8, 65, FORMAT_BF16, .first_column = 64 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_BF16, .first_row = 128 } },
                { STATUS_NRT_INVALID, { 8, 8, FORMAT_BF16, .first_column = 224 } },
        };
        Bench *bench = bench_new();

        for (size_t i = 0; i < ELEMENTS(refusals); i++) {
                WireCommand command = load_command(refusals[i].load);

                if (bench_run(bench, &command) != refusals[i].status)
                        fail_msg("load %zu: status %u", i, bench->engine.completion.status);
                for (unsigned wrong = 0; wrong < 2 && refusals[i].status == STATUS_NRT_SUCCESS; wrong++) {
                        command.in_bytes += wrong ? 2 : (uint32_t) -1;
                        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
                }
        }
        bench_free(bench);
}

static void refuse_tags_at(Bench *bench, uint32_t offset, WireStatus status) {
        WireCommand command = load_command((WireLoad){ 4, 5, FORMAT_BF16, LOAD_SPARSE, 2, 4 });

        command.load.tags_offset = offset;
        assert_int_equal(bench_run(bench, &command), status);
}

static void test_tags_must_lie_in_the_window(void **state) {
        Bench *bench = bench_new();

        refuse_tags_at(bench, WINDOW - 16, STATUS_NRT_SUCCESS);
        refuse_tags_at(bench, WINDOW - 14, STATUS_NRT_INVALID);
        refuse_tags_at(bench, WINDOW - 17, STATUS_NRT_INVALID);
        refuse_tags_at(bench, WINDOW, STATUS_NRT_INVALID);
        refuse_tags_at(bench, UINT32_MAX - 1, STATUS_NRT_INVALID);
        bench_free(bench);
}

typedef struct MatmulRefusal {
        WireStatus status;
        WireLoad load;
        WireMatmul matmul;
} MatmulRefusal;

static void test_hostile_matmuls_are_refused(void **state) {
        static const WireLoad bf16 = { 8, 8, FORMAT_BF16 }, fp32 = { 8, 8, FORMAT_FP32 }, tf32 = { 8, 8, FORMAT_TF32 },
                              double_row = { 8, 8, FORMAT_FP8_E5M2, LOAD_DOUBLE_ROW }, sparse = { 8, 8, FORMAT_FP16, LOAD_SPARSE, 2, 4 };
        static const uint8_t pass = MATMUL_TRANSPOSE | MATMUL_OVERWRITE;
        const MatmulRefusal refusals[] = {
                { STATUS_NRT_SUCCESS, bf16, { 4, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 0, .format = FORMAT_BF16 } },
                { STATUS_NRT_SUCCESS, bf16, { 512, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 513, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 4, .bank = 8, .format = FORMAT_BF16 } },
                { STATUS_NRT_SUCCESS, bf16, { 4, .bank = 7, .offset = 508, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 4, .offset = 509, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 4, .offset = 512, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 4, .offset = 65535, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 4, .flags = 4, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 4, .format = _FORMAT_MAX } },
                { STATUS_NRT_INVALID, bf16, { 4, .format = 255 } },
                { STATUS_NRT_SUCCESS, bf16, { 4, .format = FORMAT_FP8_E4M3 } },
                { STATUS_NRT_INVALID, bf16, { 4, .format = FORMAT_FP32 } },
                { STATUS_NRT_INVALID, bf16, { 4, .format = FORMAT_TF32 } },
                { STATUS_NRT_INVALID, fp32, { 4, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, fp32, { 4, .format = FORMAT_TF32 } },
                { STATUS_NRT_SUCCESS, fp32, { 4, .format = FORMAT_FP32 } },
                { STATUS_NRT_INVALID, tf32, { 4, .format = FORMAT_FP32 } },
                { STATUS_NRT_INVALID, tf32, { 4, .format = FORMAT_FP16 } },
                { STATUS_NRT_SUCCESS, tf32, { 4, .format = FORMAT_TF32 } },
                { STATUS_NRT_SUCCESS, double_row, { 4, .format = FORMAT_FP8_E3M4 } },
                { STATUS_NRT_INVALID, double_row, { 4, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, sparse, { 4, .format = FORMAT_FP32 } },
                { STATUS_NRT_SUCCESS, sparse, { 4, .format = FORMAT_FP8_E3M4 } },
                { STATUS_NRT_SUCCESS, bf16, { 4, .flags = pass, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, bf16, { 4, .flags = MATMUL_TRANSPOSE, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, sparse, { 4, .flags = pass, .format = FORMAT_BF16 } },
                { STATUS_NRT_INVALID, double_row, { 4, .flags = pass, .format = FORMAT_FP8_E5M2 } },
        };
        Bench *bench = bench_new();
        WireCommand command;

        for (size_t i = 0; i < ELEMENTS(refusals); i++) {
                command = load_command(refusals[i].load);
                assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
                command = matmul_command(&refusals[i].load, refusals[i].matmul);
                if (bench_run(bench, &command) != refusals[i].status)
                        fail_msg("matmul %zu: status %u", i, bench->engine.completion.status);
        }

        command = load_command(bf16);
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        command = matmul_command(&bf16, (WireMatmul){ 4, .format = FORMAT_BF16 });
        command.in_bytes++;
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
        command.in_bytes -= 2;
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
        command.in_bytes++;
        command.out_bytes--;
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
        command.out_bytes += 5; /* more room than is needed */
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        assert_int_equal(bench->engine.completion.out_bytes, 8 * 4 * 4);
        command.matmul.first_row = 32;
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
        bench_free(bench);
}

/* A refused load takes nothing away, and a refused matmul leaves PSUM alone. */
static void test_what_is_refused_changes_nothing(void **state) {
        WireLoad load = { 40, 8, FORMAT_BF16 };
        WireCommand command;
        Bench *bench;

        seed = 99;
        bench = bench_new();
        load_well(bench, load, 1);
        matmul_well(bench, &load, (WireMatmul){ 4, .format = FORMAT_BF16 }, 1);
        command = load_command((WireLoad){ 8, 8, FORMAT_BF16, LOAD_DOUBLE_ROW });
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
        command = matmul_command(&load, (WireMatmul){ 4, .format = FORMAT_FP32 });
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_INVALID);
        assert_int_equal(bench->engine.completion.out_bytes, 0);
        matmul_well(bench, &load, (WireMatmul){ 4, .format = FORMAT_BF16 }, 1);
        bench_free(bench);
}

static void test_nothing_is_read_back_without_room(void **state) {
        WireLoad load = { 8, 8, FORMAT_FP16 };
        WireCommand command;
        Bench *bench;

        seed = 101;
        bench = bench_new();
        load_well(bench, load, 1);
        fill(bench, MOVING, FORMAT_FP16, 32, 1);
        command = matmul_command(&load, (WireMatmul){ 4, .offset = 100, .format = FORMAT_FP16 });
        command.out_bytes = 0;
        memset(bench->engine.window + OUT, 0xa5, 8 * 4 * 4);
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        assert_int_equal(bench->engine.completion.out_bytes, 0);
        for (unsigned i = 0; i < 8 * 4 * 4; i++)
                assert_int_equal(bench->engine.window[OUT + i], 0xa5);
        plain_matmul(bench, &load, &command.matmul);
        matmul_well(bench, &load, (WireMatmul){ 4, .offset = 100, .format = FORMAT_FP16 }, 1);
        bench_free(bench);
}

static void test_a_core_without_a_format_says_so(void **state) {
        WireLoad load = { 8, 8, FORMAT_BF16 };
        char text[128];
        WireCommand command;
        Bench *bench;

        settings = (TensorSettings){ .absent = 1u << FORMAT_FP8_E3M4 | 1u << FORMAT_FP32 };
        bench = bench_new();
        for (const Attribute *attribute = model_tensor.attributes; attribute->path; attribute++) {
                assert_int_equal(attribute->read(bench->engine.state, NULL, 0, text, sizeof(text)), 0);
                if (strcmp(attribute->path, "assay/tensor/formats") == 0)
                        assert_string_equal(text, "bf16 fp16 tf32 fp8_e4m3 fp8_e5m2");
                else
                        assert_string_equal(text, "0");
        }

        command = load_command((WireLoad){ 8, 8, FORMAT_FP8_E3M4 });
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_UNSUPPORTED);
        load_well(bench, load, 1);
        command = matmul_command(&load, (WireMatmul){ 4, .format = FORMAT_FP8_E3M4 });
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_UNSUPPORTED);
        matmul_well(bench, &load, (WireMatmul){ 4, .format = FORMAT_FP8_E4M3 }, 1);
        bench_free(bench);
        settings = (TensorSettings){};
}

/* −1.5 × 2^-126 + 2^-126 is flushed to −0; what is added then is a zero whose sign counts: x = +0 makes it +0, x = −0 leaves it. Few
 * numbers move in these rows, so that the zeros are not multiplied one by one. */
static void test_zeros_are_added_to_what_was_flushed(void **state) {
        static const uint16_t w[] = { 0xbfc0, 0x3f80, 0x3f80 };
        static const uint16_t x[3][16] = { { 0x0080, 0x0080 }, { 0x0080, 0x0080 }, { 0x0000, 0x8000 } };
        WireLoad load = { 3, 1, FORMAT_BF16 };
        WireMatmul matmul = { 16, .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16 };
        WireCommand command = load_command(load);
        const uint32_t *out;
        Bench *bench;

        settings = (TensorSettings){ .ftz = true };
        bench = bench_new();
        out = bench->engine.out;
        memcpy(bench->engine.window, w, sizeof(w));
        memcpy(bench->engine.window + MOVING, x, sizeof(x));
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        command = matmul_command(&load, matmul);
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
        assert_int_equal(out[0], 0x00000000);
        assert_int_equal(out[1], 0x80000000);
        bench_free(bench);
        settings = (TensorSettings){};
}

static void inject_format(Bench *bench, Fault *fault, const char *kind, TensorFault *parameters) {
        *fault = (Fault){ .kind = tensor_kind(kind), .persistence = PERSISTENCE_PERMANENT, .parameters = parameters };
        assert_int_equal(location_parse("us0-0/chip0/core0", &fault->at, NULL, NULL), 0);
        assert_int_equal(model_tensor.inject(bench->engine.state, fault), 0);
}

static void test_a_core_may_refuse_a_format(void **state) {
        TensorFault parameters = { .format = FORMAT_FP16 };
        WireLoad load = { 8, 8, FORMAT_BF16 };
        WireCommand command;
        Bench *bench;
        Fault fault;

        seed = 103;
        bench = bench_new();
        inject_format(bench, &fault, "format-refused", &parameters);
        command = load_command((WireLoad){ 8, 8, FORMAT_FP16 });
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_UNSUPPORTED);
        load_well(bench, load, 1);
        command = matmul_command(&load, (WireMatmul){ 4, .format = FORMAT_FP16 });
        assert_int_equal(bench_run(bench, &command), STATUS_NRT_UNSUPPORTED);
        matmul_well(bench, &load, (WireMatmul){ 4, .format = FORMAT_FP8_E4M3 }, 1);
        model_tensor.heal(bench->engine.state, &fault);
        matmul_well(bench, &load, (WireMatmul){ 4, .format = FORMAT_FP16 }, 1);
        bench_free(bench);
}

/* Every format is taken for another of its width, of both matrices; what goes together is said by the commands all the same. */
static void test_a_core_may_take_a_format_for_another(void **state) {
        for (unsigned format = 0; format < _FORMAT_MAX; format++) {
                TensorFault parameters = { .format = (int) format };
                WireLoad load = { 8, 8, (uint8_t) format };
                WireMatmul matmul = { 4, .flags = MATMUL_OVERWRITE, .format = (uint8_t) format };
                WireFormat other;
                WireCommand command;
                Bench *bench;
                Fault fault;

                seed = 107 + format;
                bench = bench_new();
                inject_format(bench, &fault, "format-wrong", &parameters);
                other = tensor_fault_format(&fault, (WireFormat) format);
                assert_int_not_equal(other, format);
                assert_int_equal(wire_format_bytes(other), wire_format_bytes(format));

                for (unsigned healed = 0; healed < 2; healed++) {
                        command = load_command(load);
                        fill(bench, 0, (WireFormat) format, 64, 1);
                        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
                        load.format = (uint8_t) (healed ? format : other);
                        plain_load(bench, &load);

                        load.format = (uint8_t) format;
                        command = matmul_command(&load, matmul);
                        fill(bench, MOVING, (WireFormat) format, 32, 1);
                        assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
                        load.format = command.matmul.format = (uint8_t) (healed ? format : other);
                        plain_matmul(bench, &load, &command.matmul);
                        assert_out(bench, &load, &command.matmul);
                        load.format = (uint8_t) format;
                        if (!healed)
                                model_tensor.heal(bench->engine.state, &fault);
                }
                bench_free(bench);
        }
}

/* Equal bytes of another format, or in a core that flushes, are not the same product. */
static void test_cores_share_only_what_is_equal(void **state) {
        static const uint32_t expected[2][2] = { { 0x00000001, 0x00000002 }, { 0, 0 } };
        WireLoad load = { 1, 1, FORMAT_FP32 };
        Bench *benches[2];

        for (unsigned ftz = 0; ftz < 2; ftz++) {
                settings = (TensorSettings){ .ftz = ftz };
                benches[ftz] = bench_new();
        }
        for (unsigned i = 0; i < 4; i++) {
                WireCommand command = load_command(load);
                Bench *bench = benches[i % 2];

                *(uint32_t *) bench->engine.window = 0x00000001;
                *(uint32_t *) (bench->engine.window + MOVING) = i < 2 ? 0x3f800000 : 0x40000000;
                assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
                command = matmul_command(&load, (WireMatmul){ 1, .flags = MATMUL_OVERWRITE, .format = FORMAT_FP32 });
                assert_int_equal(bench_run(bench, &command), STATUS_NRT_SUCCESS);
                assert_int_equal(bench->engine.out[0], expected[i % 2][i / 2]);
        }
        bench_free(benches[0]);
        bench_free(benches[1]);
        settings = (TensorSettings){};
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dense_products_equal_a_plain_array),
                cmocka_unit_test(test_dense_products_flushed_to_zero_equal_a_plain_array),
                cmocka_unit_test(test_zeros_are_added_to_what_was_flushed),
                cmocka_unit_test(test_sparse_products_equal_a_plain_array),
                cmocka_unit_test(test_double_rows_equal_a_plain_array),
                cmocka_unit_test(test_transposition_passes_bits),
                cmocka_unit_test(test_the_identity_transposes),
                cmocka_unit_test(test_full_arrays_equal_a_plain_array),
                cmocka_unit_test(test_tiles_live_side_by_side_until_overwritten),
                cmocka_unit_test(test_a_sparse_tile_is_one_of_rows),
                cmocka_unit_test(test_hostile_loads_are_refused),
                cmocka_unit_test(test_tags_must_lie_in_the_window),
                cmocka_unit_test(test_hostile_matmuls_are_refused),
                cmocka_unit_test(test_what_is_refused_changes_nothing),
                cmocka_unit_test(test_nothing_is_read_back_without_room),
                cmocka_unit_test(test_a_core_without_a_format_says_so),
                cmocka_unit_test(test_a_core_may_refuse_a_format),
                cmocka_unit_test(test_a_core_may_take_a_format_for_another),
                cmocka_unit_test(test_cores_share_only_what_is_equal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
