/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/lone-stack.h"

#define SMALL "1 1 1 1 2 16 4"
#define WHOLE "16 2 3 4 4 16384 32"
#define SEC   UINT64_C(1000000000)

static Fault soft_error(HbmUpset *upset, const char *at, double after) {
        Fault fault = { .kind = &hbm_disturb_kinds[HBM_DISTURB_UPSET], .persistence = PERSISTENCE_TRANSIENT, .after = after, .parameters = upset };

        assert_int_equal(location_parse(at, &fault.at, NULL, NULL), 0);
        return fault;
}

#define ACCESS "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba1/row3/col2"

static void it_happens_once_and_is_gone_with_the_next_write(void **state) {
        HbmUpset upset = {};
        Fault fault = soft_error(&upset, ACCESS "/bit77", 5);
        LoneStack lone;

        lone_stack_open(&lone, SMALL, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
        (void) lone_stack_march(&lone, MARCH_WRITE, false);
        lone.chip.nsec = 5 * SEC - 1000;
        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 0);
        lone.chip.nsec = 5 * SEC;
        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 1);
        lone.chip.nsec = 6 * SEC;
        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 1);

        /* ECC knows what was written. */
        assert_int_equal(lone_stack_march(&lone, 0, true).result[0], 0);
        assert_int_equal(lone.chip.counted[COUNTER_MEM_ECC_CORRECTED], 1);

        (void) lone_stack_march(&lone, MARCH_WRITE, false);
        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 0);
        model_hbm.heal(&lone.hbm, &fault);
        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 0);
        lone_stack_close(&lone);
}

static void a_shape_needs_its_place(void **state) {
        static const struct {
                int shape;
                const char *at;
        } wrong[] = {
                { HBM_UPSET_BIT, ACCESS }, { HBM_UPSET_BYTE, ACCESS "/bit7" }, { HBM_UPSET_BEAT, "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba1/col2" },
                { HBM_UPSET_BIT, "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba1/sub0/col2/bit4" },
        };

        for (size_t i = 0; i < ELEMENTS(wrong); i++) {
                HbmUpset upset = { .shape = wrong[i].shape };
                Fault fault = soft_error(&upset, wrong[i].at, 0);
                const char *why;

                assert_int_equal(fault.kind->validate(&fault, &why), -EINVAL);
        }
}

static void what_was_copied_in_is_hit_too(void **state) {
        HbmUpset upset = {};
        Fault fault = soft_error(&upset, ACCESS "/bit9", 5);
        WireCommand copy = { .type = COMMAND_HBM_COPY_IN, .in_bytes = MEMORY_ACCESS_BYTES };
        LoneStack lone;

        lone_stack_open(&lone, SMALL, 4096);
        copy.copy.box.first[HBM_BANK] = copy.copy.box.last[HBM_BANK] = 1;
        copy.copy.box.first[HBM_ROW] = copy.copy.box.last[HBM_ROW] = 3;
        copy.copy.box.first[HBM_COLUMN] = copy.copy.box.last[HBM_COLUMN] = 2;
        memset(lone.window, 0x5a, MEMORY_ACCESS_BYTES);
        assert_int_equal(lone_stack_run(&lone, copy).status, STATUS_NRT_SUCCESS);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
        lone.chip.nsec = 6 * SEC;
        memset(lone.window, 0, MEMORY_ACCESS_BYTES);
        copy.type = COMMAND_HBM_COPY_OUT;
        copy.in_bytes = 0;
        copy.out_bytes = MEMORY_ACCESS_BYTES;
        assert_int_equal(lone_stack_run(&lone, copy).status, STATUS_NRT_SUCCESS);
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                assert_int_equal(lone.window[i], i == 1 ? 0x5a ^ 2 : 0x5a);
        lone_stack_close(&lone);
}

/* The bits of one hit: at least two of the shape, and none beside it. */
static void a_shape_keeps_to_its_byte_pin_or_beat(void **state) {
        static const struct {
                int shape;
                unsigned min, max;
        } shapes[] = { { 0, 1, 1 }, { 1, 2, 8 }, { 2, 2, 8 }, { 3, 2, 32 } };
        unsigned seen_max = 0;

        for (size_t s = 0; s < ELEMENTS(shapes); s++)
                for (unsigned place = 0; place < 40; place++) {
                        HbmUpset upset = { .shape = shapes[s].shape };
                        char at[LOCATION_STRING_MAX];
                        WireMismatch mismatch;
                        unsigned n = 0, byte = 0, pin = 0, beat = 0;
                        const char *wrong;
                        LoneStack lone;
                        Fault fault;

                        (void) snprintf(at, sizeof(at), "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba1/row%u/col%u", place % 16, place / 16);
                        if (shapes[s].shape == HBM_UPSET_BIT)
                                (void) snprintf(at + strlen(at), sizeof(at) - strlen(at), "/bit%u", place * 6);
                        fault = soft_error(&upset, at, 0);
                        assert_int_equal(fault.kind->validate(&fault, &wrong), 0);
                        lone_stack_open(&lone, SMALL, 4096);
                        (void) lone_stack_march(&lone, MARCH_WRITE, false);
                        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
                        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 1);
                        memcpy(&mismatch, lone.window, sizeof(mismatch));
                        for (unsigned bit = 0; bit < 256; bit++) {
                                if (!(mismatch.actual[bit / 8] >> bit % 8 & 1))
                                        continue;
                                if (n++ == 0)
                                        byte = bit / 8, pin = bit % 32, beat = bit / 32;
                                assert_true(shapes[s].shape != 1 || bit / 8 == byte);
                                assert_true(shapes[s].shape != 2 || bit % 32 == pin);
                                assert_true(shapes[s].shape != 3 || bit / 32 == beat);
                                assert_true(shapes[s].shape != 0 || bit == place * 6);
                        }
                        assert_in_range(n, shapes[s].min, shapes[s].max);
                        seen_max = n > seen_max ? n : seen_max;
                        lone_stack_close(&lone);
                }
        assert_true(seen_max > 8);
}

/* ---- noise ---- */

static void no_noise_is_the_default(void **state) {
        LoneStack lone;

        lone_stack_open(&lone, WHOLE, 4096);
        (void) lone_stack_march(&lone, MARCH_WRITE, false);
        lone.chip.nsec = 1000000 * SEC;
        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 0);
        assert_int_equal(lone.chip.counted[COUNTER_MEM_ECC_CORRECTED], 0);
        lone_stack_close(&lone);
}

/* 14,400,000 per chip and hour are 1,000 per stack and second. */
static uint64_t noisy(unsigned steps, uint64_t *ret_hash) {
        LoneStack lone;
        uint64_t n;

        lone_stack_open(&lone, WHOLE, 1u << 18);
        lone.chip.noise = (NoiseRates) { .soft_errors = 14400000 };
        (void) lone_stack_march(&lone, MARCH_WRITE, false);
        for (unsigned i = 1; i <= steps; i++) {
                WireCommand touch = { .type = COMMAND_HBM_MARCH, .march = { .n_ops = 1 } };

                lone.chip.nsec = i * SEC / steps;
                (void) lone_stack_run(&lone, touch);
        }
        lone.chip.nsec = SEC;
        n = lone_stack_march(&lone, 0, false).result[0];
        *ret_hash = 0;
        for (size_t i = 0; i < n * sizeof(WireMismatch) / sizeof(uint64_t); i++)
                *ret_hash = memory_splitmix64(*ret_hash ^ ((const uint64_t *) lone.window)[i]);
        lone_stack_close(&lone);
        return n;
}

static void soft_errors_come_as_often_as_the_rate_says(void **state) {
        uint64_t once, often, hash_once, hash_often;

        once = noisy(1, &hash_once);
        assert_in_range(once, 873, 1127); /* 4 sigma; 32 ms of the writing are forgotten */
        /* However the time is cut into commands. */
        often = noisy(50, &hash_often);
        assert_true(once == often && hash_once == hash_often);
}

static void three_in_four_are_a_single_bit(void **state) {
        unsigned single = 0, byte = 0, n;
        const WireMismatch *mismatches;
        LoneStack lone;

        lone_stack_open(&lone, WHOLE, 1u << 18);
        lone.chip.noise = (NoiseRates) { .soft_errors = 14400000 };
        (void) lone_stack_march(&lone, MARCH_WRITE, false);
        lone.chip.nsec = 4 * SEC;
        n = (unsigned) lone_stack_march(&lone, 0, false).result[0];
        mismatches = (const WireMismatch *) lone.window;
        for (unsigned i = 0; i < n; i++) {
                unsigned bits = 0, bytes = 0;

                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++) {
                        bits += (unsigned) __builtin_popcount(mismatches[i].actual[k]);
                        bytes += mismatches[i].actual[k] != 0;
                }
                single += bits == 1;
                byte += bits > 1 && bytes == 1;
        }
        assert_in_range(n, 3700, 4100);
        assert_in_range(single * 1000 / n, 720, 780);
        /* One in five, and the few beats whose bits happen to lie in one byte. */
        assert_in_range(byte * 1000 / n, 170, 230);
        lone_stack_close(&lone);
}

static void corrected_errors_are_counted_and_nothing_else(void **state) {
        LoneStack lone;

        lone_stack_open(&lone, WHOLE, 4096);
        lone.chip.noise = (NoiseRates) { .corrected = 14400000 };
        (void) lone_stack_march(&lone, MARCH_WRITE, false);
        lone.chip.nsec = SEC;
        assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 0);
        assert_in_range(lone.chip.counted[COUNTER_MEM_ECC_CORRECTED], 873, 1127);
        assert_int_equal(lone.chip.counted[COUNTER_MEM_ECC_UNCORRECTED], 0);
        /* What is too much for one command is dropped, and it goes on. */
        lone.chip.nsec = 3600 * SEC;
        (void) lone_stack_march(&lone, 0, false);
        assert_in_range(lone.chip.counted[COUNTER_MEM_ECC_CORRECTED], 4096, 6000);
        lone_stack_close(&lone);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_happens_once_and_is_gone_with_the_next_write),
                cmocka_unit_test(a_shape_needs_its_place),
                cmocka_unit_test(what_was_copied_in_is_hit_too),
                cmocka_unit_test(a_shape_keeps_to_its_byte_pin_or_beat),
                cmocka_unit_test(no_noise_is_the_default),
                cmocka_unit_test(soft_errors_come_as_often_as_the_rate_says),
                cmocka_unit_test(three_in_four_are_a_single_bit),
                cmocka_unit_test(corrected_errors_are_counted_and_nothing_else),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
