/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The tensor model against a plain array of processing elements that does every multiplication and addition
 * with the host's floats, one after the other, and knows nothing of skipping, sharing or cones.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "checks/cleanup.h"
#include "sim/model.h"
#include "sim/tensor-faults.h"
#include "sim/tensor-memo.h"

extern const Model model_tensor;

/* The chip of this test: every fault acts, unless it is intermittent and the command's number is odd. */
bool fault_is_active(const Fault *fault, const Execution *execution) {
        return fault->persistence != PERSISTENCE_INTERMITTENT || execution->number % 2 == 0;
}

static TensorSettings settings;

TensorSettings chip_tensor(const Chip *chip) {
        return settings;
}

#define WINDOW  (4u << 20)
#define WEIGHTS 0u
#define TAGS    (1u << 16)
#define MOVING  (1u << 17)
#define OUT     (2u << 20)

typedef struct Bench {
        void *state;
        uint8_t *window;
        unsigned rows, columns, keep, group;
        WireCompletion completion;
        uint64_t number;
} Bench;

static uint64_t seed;

static uint32_t draw(void) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t) (seed >> 16);
}

static void bench_init(Bench *bench) {
        *bench = (Bench){};
        bench->state = calloc(1, model_tensor.state_size);
        bench->window = calloc(1, WINDOW);
        assert_non_null(bench->state);
        assert_int_equal(model_tensor.init(bench->state, NULL, 0), 0);
        assert_non_null(bench->window);
}

static void bench_done(Bench *bench) {
        model_tensor.done(bench->state);
        free(bench->state);
        free(bench->window);
        memo_forget();
}

static uint32_t bench_run(Bench *bench, WireCommand *command) {
        Execution execution = {
                .command = command,
                .in = bench->window + command->in_offset,
                .out = bench->window + command->out_offset,
                .window = bench->window,
                .window_bytes = WINDOW,
                .number = bench->number++,
                .completion = &bench->completion,
        };

        bench->completion = (WireCompletion){};
        assert_int_equal(model_tensor.commands[command->type](bench->state, &execution), 0);
        return bench->completion.status;
}

static uint32_t bench_load(Bench *bench, unsigned rows, unsigned columns, unsigned keep, unsigned group) {
        WireCommand command = {
                .type = COMMAND_LOAD_STATIONARY,
                .in_offset = WEIGHTS,
                .in_bytes = rows * columns * 2,
                .load = {.rows = (uint16_t) rows,
                         .columns = (uint16_t) columns,
                         .format = FORMAT_BF16,
                         .flags = keep > 0 ? LOAD_SPARSE : 0,
                         .keep = (uint8_t) keep,
                         .group = (uint8_t) group,
                         .tags_offset = TAGS},
        };

        bench->rows = rows;
        bench->columns = columns;
        bench->keep = keep;
        bench->group = group;
        return bench_run(bench, &command);
}

static unsigned moving_rows(const Bench *bench) {
        return bench->keep > 0 ? bench->rows / bench->keep * bench->group : bench->rows;
}

static uint32_t bench_matmul(Bench *bench, unsigned moving, unsigned bank, unsigned flags) {
        WireCommand command = {
                .type = COMMAND_MATMUL,
                .in_offset = MOVING,
                .in_bytes = moving_rows(bench) * moving * 2,
                .out_offset = OUT,
                .out_bytes = bench->columns * moving * 4,
                .matmul = {.moving = (uint16_t) moving, .bank = (uint8_t) bank, .flags = (uint8_t) flags,
                           .format = FORMAT_BF16},
        };

        return bench_run(bench, &command);
}

static uint16_t *words_at(Bench *bench, uint32_t offset) {
        return (uint16_t *) (bench->window + offset);
}

/* ---- the plain array ---- */

static float to_float(uint32_t bits) {
        float value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

static uint32_t to_bits(float value) {
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        return isnan(value) ? 0x7fc00000 : bits;
}

typedef struct PlainFault {
        const char *kind;
        unsigned row, column, bit, value, position;
} PlainFault;

static uint32_t plain_force(const PlainFault *fault, uint32_t value) {
        return fault->value ? value | 1u << fault->bit : value & ~(1u << fault->bit);
}

static uint32_t plain_register(const PlainFault *faults, size_t n, const char *kind, unsigned row,
                               unsigned column, uint32_t value) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(faults[i].kind, kind) == 0 && faults[i].row == row && faults[i].column == column)
                        value = plain_force(&faults[i], value);

        return value;
}

static uint32_t plain_activation(const PlainFault *faults, size_t n, unsigned row, unsigned column,
                                 uint32_t value) {
        for (unsigned c = 0; c <= column; c++)
                value = plain_register(faults, n, "activation-stuck", row, c, value);

        return value;
}

static uint16_t plain_operand(Bench *bench, const PlainFault *faults, size_t n, unsigned k, unsigned m,
                              unsigned moving, unsigned at) {
        const uint16_t *x = words_at(bench, MOVING), *tags = words_at(bench, TAGS);
        unsigned tag;

        if (bench->keep == 0)
                return x[k * moving + at];

        tag = tags[k * ((bench->columns + 3) / 4) + m / 4] >> 4 * (m % 4) & 15;
        tag = plain_register(faults, n, "tag-stuck", k, m, tag);
        if (tag >= bench->group)
                return 0;
        for (size_t i = 0; i < n; i++)
                if (strcmp(faults[i].kind, "select-dead") == 0 && faults[i].row == k &&
                    faults[i].position == tag)
                        return 0;

        return x[(k / bench->keep * bench->group + tag) * moving + at];
}

static uint32_t plain_output(Bench *bench, const PlainFault *faults, size_t n, unsigned m, unsigned moving,
                             unsigned at) {
        const uint16_t *w = words_at(bench, WEIGHTS);
        uint32_t psum = 0;

        for (unsigned k = 0; k < bench->rows; k++) {
                uint32_t x = plain_operand(bench, faults, n, k, m, moving, at);
                uint32_t weight = plain_register(faults, n, "weight-stuck", k, m, w[k * bench->columns + m]);
                uint32_t product;

                x = plain_activation(faults, n, k, m, x);
                product = to_bits(to_float(weight << 16) * to_float(x << 16));
                product = plain_register(faults, n, "product-stuck", k, m, product);
                psum = to_bits(to_float(psum) + to_float(product));
                psum = plain_register(faults, n, "psum-stuck", k, m, psum);
        }

        return psum;
}

static void assert_plain(Bench *bench, const PlainFault *faults, size_t n, unsigned moving) {
        const uint32_t *out = (const uint32_t *) (bench->window + OUT);

        for (unsigned m = 0; m < bench->columns; m++)
                for (unsigned at = 0; at < moving; at++) {
                        uint32_t expected = plain_output(bench, faults, n, m, moving, at);

                        if (out[m * moving + at] != expected)
                                fail_msg("column %u, vector %u: %08x, plain array %08x (first fault %s %u.%u bit %u value %u)",
                                         m, at, out[m * moving + at], expected,
                                         n > 0 ? faults[0].kind : "none", n > 0 ? faults[0].row : 0,
                                         n > 0 ? faults[0].column : 0, n > 0 ? faults[0].bit : 0,
                                         n > 0 ? faults[0].value : 0);
                }
}

/* ---- data ---- */

static uint16_t draw_bf16(unsigned style) {
        static const uint16_t odd[] = { 0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x0001, 0x8001,
                                        0x007f, 0x807f, 0x0080, 0x7f7f, 0xff7f, 0x3f80, 0xbf80, 0x7f81 };
        uint32_t x = draw();

        switch (style % 6) {
        case 0:
                return (uint16_t) x; /* anything */
        case 1:
                return (uint16_t) ((x & 0x81ff) | 0x3e00); /* near one */
        case 2:
                return (uint16_t) (x % 16 == 0 ? odd[x / 16 % 16] : (x >> 8 & 0x81ff) | 0x3e00);
        case 3:
                return (uint16_t) ((x & 0x83ff) | 0x1c00); /* products at the edge of subnormals */
        case 4:
                return (uint16_t) (x % 8 != 0 ? (x & 0x8000) : x >> 8); /* mostly ±0 */
        default:
                return odd[x / 16 % 16];
        }
}

static void fill(uint16_t *words, size_t n, unsigned style) {
        for (size_t i = 0; i < n; i++)
                words[i] = draw_bf16(style);
}

static void fill_one_hot(uint16_t *words, unsigned rows, unsigned columns, unsigned style) {
        uint16_t off = draw() % 4 == 0 ? 0x8000 : 0;

        for (size_t i = 0; i < (size_t) rows * columns; i++)
                words[i] = off;
        for (unsigned i = 0; i < columns; i++)
                words[(i % rows) * columns + i] = draw_bf16(style);
}

typedef struct Injected {
        PlainFault plain[4];
        Fault faults[4];
        TensorFault parameters[4];
        size_t n;
} Injected;

static const FaultKind *kind_find(const char *name) {
        for (const FaultKind *const *table = model_tensor.faults; *table; table++)
                for (const FaultKind *kind = *table; kind->name; kind++)
                        if (strcmp(kind->name, name) == 0)
                                return kind;

        fail_msg("no kind is called %s", name);
        return NULL;
}

/* Returns what inject() says. */
static int inject(Bench *bench, Injected *injected, PlainFault plain) {
        Fault *fault = &injected->faults[injected->n];
        char text[LOCATION_STRING_MAX];
        int r;

        injected->parameters[injected->n] =
                        (TensorFault){ .bit = plain.bit, .value = plain.value, .position = plain.position };
        if (strcmp(plain.kind, "tag-stuck") == 0)
                (void) snprintf(text, sizeof(text), "us0-0/chip0/core0/sparse/row%u/slot%u", plain.row,
                                plain.column);
        else if (strcmp(plain.kind, "select-dead") == 0)
                (void) snprintf(text, sizeof(text), "us0-0/chip0/core0/sparse/row%u", plain.row);
        else
                (void) snprintf(text, sizeof(text), "us0-0/chip0/core0/pe%u.%u", plain.row, plain.column);

        *fault = (Fault){ .kind = kind_find(plain.kind),
                          .persistence = PERSISTENCE_PERMANENT,
                          .parameters = &injected->parameters[injected->n] };
        assert_int_equal(location_parse(text, &fault->at, NULL, NULL), 0);

        r = model_tensor.inject(bench->state, fault);
        if (r >= 0)
                injected->plain[injected->n++] = plain;
        return r;
}

static PlainFault draw_fault(const Bench *bench) {
        static const char *const kinds[] = { "weight-stuck", "activation-stuck", "product-stuck",
                                             "psum-stuck",   "tag-stuck",        "select-dead" };
        static const unsigned bits[] = { 16, 16, 32, 32, 4, 1 };
        unsigned kind = draw() % (bench->keep > 0 ? 6 : 4);

        return (PlainFault){ .kind = kinds[kind],
                             .row = draw() % bench->rows,
                             .column = kind == 5 ? 0 : draw() % bench->columns,
                             .bit = draw() % bits[kind],
                             .value = kind == 5 ? 0 : draw() % 2,
                             .position = kind == 5 ? draw() % 16 : 0 };
}

static void heal_all(Bench *bench, Injected *injected) {
        for (size_t i = 0; i < injected->n; i++)
                model_tensor.heal(bench->state, &injected->faults[i]);
        injected->n = 0;
}

static void load_random(Bench *bench, bool sparse) {
        static const unsigned modes[][2] = {
                {4,  16},
                { 4, 12},
                { 4, 8 },
                { 2, 8 },
                { 2, 4 },
                { 1, 4 },
                { 1, 2 }
        };
        const unsigned *mode = modes[draw() % 7];
        unsigned rows = sparse ? (1 + draw() % 6) * mode[0] : 1 + draw() % 24, columns = 1 + draw() % 9;

        fill(words_at(bench, WEIGHTS), (size_t) rows * columns, draw());
        fill(words_at(bench, TAGS), (size_t) rows * ((columns + 3) / 4), 0);
        assert_int_equal(bench_load(bench, rows, columns, sparse ? mode[0] : 0, sparse ? mode[1] : 0),
                         STATUS_NRT_SUCCESS);
}

static unsigned move_random(Bench *bench) {
        unsigned moving = 1 + draw() % 40;

        if (draw() % 2)
                fill_one_hot(words_at(bench, MOVING), moving_rows(bench), moving, draw());
        else
                fill(words_at(bench, MOVING), (size_t) moving_rows(bench) * moving, draw());

        assert_int_equal(bench_matmul(bench, moving, draw() % 8, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
        assert_int_equal(bench->completion.out_bytes, bench->columns * moving * 4);
        assert_true(bench->completion.device_nsec > 0);
        return moving;
}

static void run_random(bool sparse, unsigned n_faults, unsigned rounds, uint64_t first_seed) {
        Bench bench;

        bench_init(&bench);
        seed = first_seed;
        print_message("# seed %llu\n", (unsigned long long) seed);

        for (unsigned round = 0; round < rounds; round++) {
                Injected injected = {};
                unsigned moving;

                load_random(&bench, sparse);
                for (unsigned i = 0; i < n_faults; i++)
                        (void) inject(&bench, &injected, draw_fault(&bench));

                moving = move_random(&bench);
                assert_plain(&bench, injected.plain, injected.n, moving);
                heal_all(&bench, &injected);
        }

        bench_done(&bench);
}

static void test_healthy_dense_products_equal_a_plain_array(void **state) {
        run_random(false, 0, 1500, 0x243f6a8885a308d3);
}

static void test_healthy_sparse_products_equal_a_plain_array(void **state) {
        run_random(true, 0, 1000, 0x13198a2e03707344);
}

static void test_one_fault_makes_what_it_makes_of_a_plain_array(void **state) {
        run_random(false, 1, 3000, 0xa4093822299f31d0);
        run_random(true, 1, 2500, 0x082efa98ec4e6c89);
}

static void test_several_faults_make_what_they_make_of_a_plain_array(void **state) {
        run_random(false, 4, 2000, 0x452821e638d01377);
        run_random(true, 4, 1500, 0xbe5466cf34e90c6c);
}

static void test_a_full_array_equals_a_plain_array(void **state) {
        Injected injected = {};
        Bench bench;

        bench_init(&bench);
        seed = 0xc0ac29b7c97c50dd;
        fill(words_at(&bench, WEIGHTS), 128 * 128, 2);
        fill(words_at(&bench, MOVING), 128 * 96, 1);
        assert_int_equal(bench_load(&bench, 128, 128, 0, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(bench_matmul(&bench, 96, 0, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
        assert_plain(&bench, NULL, 0, 96);

        assert_int_equal(inject(&bench, &injected, (PlainFault){ "activation-stuck", 17, 93, 9, 1, 0 }), 0);
        assert_int_equal(bench_matmul(&bench, 96, 0, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
        assert_plain(&bench, injected.plain, injected.n, 96);
        bench_done(&bench);
}

static void test_the_hosts_flush_modes_do_not_reach_the_array(void **state) {
#if defined(__x86_64__)
        uint32_t plain[64];
        unsigned saved = _mm_getcsr();
        Bench bench;

        bench_init(&bench);
        seed = 0x3f84d5b5b5470917;
        fill(words_at(&bench, WEIGHTS), 8 * 8, 3);
        fill(words_at(&bench, MOVING), 8 * 8, 3);
        assert_int_equal(bench_load(&bench, 8, 8, 0, 0), STATUS_NRT_SUCCESS);
        for (unsigned i = 0; i < 64; i++)
                plain[i] = plain_output(&bench, NULL, 0, i / 8, 8, i % 8);

        _mm_setcsr(saved | 0x8040 | 0x6000); /* FTZ, DAZ, towards zero */
        assert_int_equal(bench_matmul(&bench, 8, 0, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
        _mm_setcsr(saved);

        assert_memory_equal(bench.window + OUT, plain, sizeof(plain));
        bench_done(&bench);
#else
        skip(); /* no such modes are known here */
#endif
}

static void test_a_bank_adds_and_keeps_what_is_outside(void **state) {
        uint32_t *out;
        Bench bench;

        bench_init(&bench);
        out = (uint32_t *) (bench.window + OUT);
        words_at(&bench, WEIGHTS)[0] = 0x3f80; /* 1 */
        for (unsigned i = 0; i < 4; i++)
                words_at(&bench, MOVING)[i] = 0x4000; /* 2 */

        assert_int_equal(bench_load(&bench, 1, 1, 0, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(bench_matmul(&bench, 4, 3, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(out[3], 0x40000000);
        assert_int_equal(bench_matmul(&bench, 2, 3, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(out[1], 0x40800000); /* 4 */
        assert_int_equal(bench_matmul(&bench, 1, 3, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
        assert_int_equal(out[0], 0x40000000);
        assert_int_equal(bench_matmul(&bench, 4, 3, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(out[0], 0x40800000);
        assert_int_equal(out[1], 0x40c00000); /* 6 */
        assert_int_equal(out[2], 0x40800000);

        model_tensor.reset(bench.state);
        assert_int_equal(bench_matmul(&bench, 1, 3, 0), STATUS_NRT_INVALID);
        assert_int_equal(bench_load(&bench, 1, 1, 0, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(bench_matmul(&bench, 1, 3, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(out[0], 0x40c00000); /* a reset leaves PSUM as it is */
        bench_done(&bench);
}

static void test_an_intermittent_fault_comes_and_goes(void **state) {
        Injected injected = {};
        uint32_t *out;
        Bench bench;

        bench_init(&bench);
        out = (uint32_t *) (bench.window + OUT);
        words_at(&bench, WEIGHTS)[0] = 0x3f80;
        words_at(&bench, MOVING)[0] = 0x3f80;
        assert_int_equal(inject(&bench, &injected, (PlainFault){ "psum-stuck", 0, 0, 31, 1, 0 }), 0);
        injected.faults[0].persistence = PERSISTENCE_INTERMITTENT;

        assert_int_equal(bench_load(&bench, 1, 1, 0, 0), STATUS_NRT_SUCCESS);
        assert_int_equal(bench_matmul(&bench, 1, 0, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
        assert_int_equal(out[0], 0x3f800000);
        assert_int_equal(bench_matmul(&bench, 1, 0, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
        assert_int_equal(out[0], 0xbf800000);
        bench_done(&bench);
}

static void test_what_the_core_does_not_have_is_refused(void **state) {
        WireCommand load = {
                .type = COMMAND_LOAD_STATIONARY,
                .in_bytes = 2,
                .load = {.rows = 1, .columns = 1, .format = FORMAT_BF16}
        };
        Bench bench;

        bench_init(&bench);
        assert_int_equal(bench_run(&bench, &load), STATUS_NRT_SUCCESS);
        assert_int_equal(bench_matmul(&bench, 0, 0, 0), STATUS_NRT_INVALID);

        load.load.rows = 129;
        assert_int_equal(bench_run(&bench, &load), STATUS_NRT_INVALID);
        load.load.rows = 2; /* in_bytes do not fit */
        assert_int_equal(bench_run(&bench, &load), STATUS_NRT_INVALID);
        load.load.rows = 1;
        load.load.flags = LOAD_SPARSE;
        load.load.keep = 3;
        load.load.group = 8;
        assert_int_equal(bench_run(&bench, &load), STATUS_NRT_UNSUPPORTED);
        load.load.keep = 1;
        load.load.group = 4;
        load.load.tags_offset = WINDOW - 1;
        assert_int_equal(bench_run(&bench, &load), STATUS_NRT_INVALID);
        load.load.tags_offset = WINDOW;
        assert_int_equal(bench_run(&bench, &load), STATUS_NRT_INVALID);
        load.load.tags_offset = WINDOW - 2;
        assert_int_equal(bench_run(&bench, &load), STATUS_NRT_SUCCESS);
        bench_done(&bench);
}

static void test_the_memo_stays_within_its_bounds(void **state) {
        Bench bench;

        bench_init(&bench);
        seed = 0x9216d5d98979fb1b;
        for (unsigned i = 0; i < 400; i++) {
                fill(words_at(&bench, WEIGHTS), 4, 1);
                assert_int_equal(bench_load(&bench, 2, 2, 0, 0), STATUS_NRT_SUCCESS);
                fill(words_at(&bench, MOVING), 2 * 512, 1);
                assert_int_equal(bench_matmul(&bench, 512, i % 8, MATMUL_OVERWRITE), STATUS_NRT_SUCCESS);
                if (i % 50 == 0)
                        assert_plain(&bench, NULL, 0, 512);
        }
        bench_done(&bench);
}

static void test_the_same_bit_cannot_be_stuck_twice(void **state) {
        Injected injected = {};
        Bench bench;

        bench_init(&bench);
        assert_int_equal(inject(&bench, &injected, (PlainFault){ "psum-stuck", 3, 4, 5, 1, 0 }), 0);
        assert_int_equal(inject(&bench, &injected, (PlainFault){ "psum-stuck", 3, 4, 5, 0, 0 }), -EEXIST);
        assert_int_equal(inject(&bench, &injected, (PlainFault){ "psum-stuck", 3, 4, 6, 0, 0 }), 0);
        bench_done(&bench);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_healthy_dense_products_equal_a_plain_array),
                cmocka_unit_test(test_healthy_sparse_products_equal_a_plain_array),
                cmocka_unit_test(test_one_fault_makes_what_it_makes_of_a_plain_array),
                cmocka_unit_test(test_several_faults_make_what_they_make_of_a_plain_array),
                cmocka_unit_test(test_a_full_array_equals_a_plain_array),
                cmocka_unit_test(test_the_hosts_flush_modes_do_not_reach_the_array),
                cmocka_unit_test(test_a_bank_adds_and_keeps_what_is_outside),
                cmocka_unit_test(test_an_intermittent_fault_comes_and_goes),
                cmocka_unit_test(test_what_the_core_does_not_have_is_refused),
                cmocka_unit_test(test_the_memo_stays_within_its_bounds),
                cmocka_unit_test(test_the_same_bit_cannot_be_stuck_twice),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
