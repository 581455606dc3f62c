/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "checks/rounding/golden.h"
#include "checks/statistics/serial.h"
#include "checks/text/cleanup.h"

#define N 4096u

static void fill(uint64_t bits[static N / 64], unsigned lane) {
        GoldenLane generator;

        golden_lane_seed(&generator, ENGINE_VECTOR, lane, 7);
        for (unsigned i = 0; i < N / 64; i++)
                bits[i] = 0;
        for (unsigned i = 0; i < N; i++)
                bits[i / 64] |= (uint64_t) (golden_lane_next(&generator) >> 31) << (i % 64);
}

static bool get(const uint64_t *bits, unsigned i) {
        return bits[i / 64] >> (i % 64) & 1;
}

static void set(uint64_t *bits, unsigned i, bool value) {
        bits[i / 64] = (bits[i / 64] & ~(1ull << (i % 64))) | (uint64_t) value << (i % 64);
}

static void test_the_published_generator_passes(void **state) {
        uint64_t bits[N / 64];

        for (unsigned lane = 0; lane < 128; lane++) {
                fill(bits, lane);
                assert_true(serial_test(bits, N).p_value > 1e-7); /* 128 × 66 tests */
        }
}

static void test_agreements_are_counted_bit_by_bit(void **state) {
        uint64_t a[N / 64], b[N / 64];

        fill(a, 1);
        fill(b, 2);
        for (unsigned lag = 0; lag <= 130; lag++)
                for (unsigned n = 256; n <= 321; n += 13) {
                        uint64_t agreements = 0;

                        for (unsigned i = 0; i + lag < n; i++)
                                agreements += get(a, i) == get(b, i + lag);
                        assert_int_equal(serial_agreements(a, b, n, lag), agreements);
                }
}

static void test_what_repeats_is_told_with_its_lag(void **state) {
        uint64_t bits[N / 64];
        Serial serial;

        fill(bits, 3);
        for (unsigned i = 37; i < N; i++)
                set(bits, i, get(bits, i - 37));
        serial = serial_test(bits, N);
        assert_int_equal(serial.test, SERIAL_AUTOCORRELATION);
        assert_int_equal(serial.lag, 37);
        assert_int_equal(serial.value, N - 37);
}

static void test_runs_and_ones_are_told(void **state) {
        uint64_t bits[N / 64];

        fill(bits, 4);
        for (unsigned i = 0; i < N; i += 4) /* one of four is 1, whatever it was */
                set(bits, i, true);
        assert_true(serial_test(bits, N).p_value < 1e-60);

        fill(bits, 4);
        for (unsigned i = 1; i < N; i++) /* half of them are as the one before anyway, and half of the others too */
                if (i % 2)
                        set(bits, i, get(bits, i - 1));
        assert_int_equal(serial_test(bits, N).test, SERIAL_RUNS);
}

/* A maximal register of 23 bits tosses well and is found by its length. */
static void test_a_linear_register_is_told_by_its_length(void **state) {
        uint64_t bits[N / 64] = {};
        uint32_t x = 1;
        Serial serial;

        for (unsigned i = 0; i < N; i++) {
                set(bits, i, x & 1);
                x = x >> 1 | ((x ^ x >> 5) & 1) << 22;
        }
        assert_int_equal(serial_complexity(bits, 256), 23);
        serial = serial_test(bits, N);
        assert_int_equal(serial.test, SERIAL_COMPLEXITY);
        assert_int_equal(serial.value, 23);
}

/* By trying every register: another way than Massey's. */
static unsigned shortest(unsigned sequence, unsigned n) {
        for (unsigned length = 0; length < n; length++)
                for (unsigned taps = 0; taps < 1u << length; taps++) {
                        bool fits = true;

                        for (unsigned i = length; i < n && fits; i++)
                                fits = (unsigned) (__builtin_parity(sequence >> (i - length) & taps)) == (sequence >> i & 1);
                        if (fits)
                                return length;
                }

        return n;
}

static void test_complexity_is_that_of_the_shortest_register(void **state) {
        for (unsigned sequence = 0; sequence < 1u << 10; sequence++)
                assert_int_equal(serial_complexity(&(uint64_t) { sequence }, 10), shortest(sequence, 10));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_published_generator_passes),
                cmocka_unit_test(test_agreements_are_counted_bit_by_bit),
                cmocka_unit_test(test_what_repeats_is_told_with_its_lag),
                cmocka_unit_test(test_runs_and_ones_are_told),
                cmocka_unit_test(test_a_linear_register_is_told_by_its_length),
                cmocka_unit_test(test_complexity_is_that_of_the_shortest_register),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
