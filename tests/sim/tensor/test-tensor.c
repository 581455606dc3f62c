/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is no matter of formats, modes or faults, which have tests of their own: modes of the host, and the bounds of what engines share.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/sim/plain-format.h"
#include "tests/sim/tensor-bench.h"

#define SIDE 8u /* rows, and columns */

static void fill(TensorBench *bench, uint32_t offset, size_t n, uint16_t fixed) {
        for (size_t i = 0; i < n; i++) {
                uint16_t number = (uint16_t) ((draw() & 0x83ff) | fixed);

                memcpy(bench->window + offset + i * sizeof(number), &number, sizeof(number));
        }
}

static void load(TensorBench *bench) {
        const WireCommand command = { .type = COMMAND_LOAD_STATIONARY, .in_bytes = SIDE * SIDE * 2,
                                      .load = { .rows = SIDE, .columns = SIDE, .format = FORMAT_BF16 } };

        assert_int_equal(tensor_bench_run(bench, &command), STATUS_NRT_SUCCESS);
}

static void multiply(TensorBench *bench, unsigned moving, unsigned bank) {
        const WireCommand command = { .type = COMMAND_MATMUL, .in_offset = MOVING, .in_bytes = SIDE * moving * 2, .out_offset = OUT,
                                      .out_bytes = SIDE * moving * 4,
                                      .matmul = { .moving = (uint16_t) moving, .bank = (uint8_t) bank, .flags = MATMUL_OVERWRITE,
                                                  .format = FORMAT_BF16 } };

        assert_int_equal(tensor_bench_run(bench, &command), STATUS_NRT_SUCCESS);
}

static uint32_t plain_output(const TensorBench *bench, unsigned moving, unsigned m, unsigned n) {
        const uint16_t *w = (const uint16_t *) (bench->window + WEIGHTS), *x = (const uint16_t *) (bench->window + MOVING);
        uint32_t psum = 0;

        for (unsigned k = 0; k < SIDE; k++)
                psum = plain_add(false, psum, plain_multiply(false, FORMAT_BF16, w[k * SIDE + m], FORMAT_BF16, x[k * moving + n]));
        return psum;
}

static void assert_plain(const TensorBench *bench, unsigned moving) {
        for (unsigned i = 0; i < SIDE * moving; i++)
                assert_int_equal(bench->out[i], plain_output(bench, moving, i / moving, i % moving));
}

/* Products at the edge of subnormal numbers. */
static void test_the_hosts_flush_modes_do_not_reach_the_array(void **state) {
#if defined(__x86_64__)
        unsigned saved = _mm_getcsr();
        TensorBench bench;

        tensor_bench_init(&bench);
        fill(&bench, WEIGHTS, SIDE * SIDE, 0x1c00);
        fill(&bench, MOVING, SIDE * SIDE, 0x1c00);
        _mm_setcsr(saved | 0x8040 | 0x6000); /* FTZ, DAZ, towards zero */
        load(&bench);
        multiply(&bench, SIDE, 0);
        _mm_setcsr(saved);
        assert_plain(&bench, SIDE);
        tensor_bench_done(&bench);
#else
        skip(); /* no such modes are known here */
#endif
}

/* More matrices, products and bytes than are kept. */
static void test_what_is_shared_is_bounded_and_right(void **state) {
        TensorBench bench;

        tensor_bench_init(&bench);
        for (unsigned i = 0; i < 400; i++) {
                fill(&bench, WEIGHTS, SIDE * SIDE, 0x3c00);
                load(&bench);
                fill(&bench, MOVING, SIDE * MOVING_MAX, 0x3c00);
                multiply(&bench, MOVING_MAX, i % PSUM_BANKS);
                if (i % 50 == 0 || i > 390)
                        assert_plain(&bench, MOVING_MAX);
        }
        tensor_bench_done(&bench);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_hosts_flush_modes_do_not_reach_the_array),
                cmocka_unit_test(test_what_is_shared_is_bounded_and_right),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
