/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/lone-stack.h"

#define GEOMETRY "4 2 1 2 2 16 4" /* 2048 accesses */

static WireCompletion read_at(LoneStack *lone, uint64_t address, uint32_t accesses, uint32_t out_bytes) {
        WireCommand command = { .type = COMMAND_HBM_READ_ADDRESS, .out_bytes = out_bytes,
                                .read_address = { .address = address, .accesses = accesses } };

        return lone_stack_run(lone, command);
}

/* Every access holds its own hash; addresses in a row give them in the order of the map, here worked out by hand. */
static void a_read_by_address_gives_what_lies_there(void **state) {
        /* Row 5 = 0101b: channel ^= parity(5 & 0x1111) | parity(5 & 0x2222) << 1 = 1, bank group ^= parity(5 & 0x1249) = 1. */
        static const uint16_t at[][_MEMORY_AXIS_MAX] = {
                { 0x0 ^ 1, 0, 0, 0x0 ^ 1, 0, 5, 0 }, { 0x1 ^ 1, 0, 0, 0x0 ^ 1, 0, 5, 0 }, { 0x2 ^ 1, 0, 0, 0x0 ^ 1, 0, 5, 0 },
                { 0x3 ^ 1, 0, 0, 0x0 ^ 1, 0, 5, 0 }, { 0x0 ^ 1, 1, 0, 0x0 ^ 1, 0, 5, 0 },
        };
        WireCommand fill = { .type = COMMAND_HBM_MARCH, .march = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = 7, .n_ops = 1,
                             .ops = { MARCH_WRITE } } };
        MemoryPattern pattern = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = 7 };
        WireCompletion completion;
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        fill.march.box = memory_box_whole(&lone.hbm.memory.shape);
        assert_int_equal(lone_stack_run(&lone, fill).status, STATUS_NRT_SUCCESS);

        /* 4 channels × 2 pseudo-channels × 2 groups × 2 banks × 4 columns × 32 bytes to a row. */
        completion = read_at(&lone, 5 * 4096, ELEMENTS(at), 4096);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        assert_int_equal(completion.out_bytes, ELEMENTS(at) * MEMORY_ACCESS_BYTES);
        for (size_t i = 0; i < ELEMENTS(at); i++) {
                MemoryBits bits = memory_pattern_bits(&pattern, memory_shape_linear(&lone.hbm.memory.shape, at[i]), 5);

                assert_memory_equal(lone.window + i * MEMORY_ACCESS_BYTES, &bits, sizeof(bits));
        }
        lone_stack_close(&lone);
}

static void what_lies_outside_is_refused(void **state) {
        static const struct {
                uint64_t address;
                uint32_t accesses, out_bytes;
        } wrong[] = {
                { 0, 0, 4096 }, { 1, 1, 4096 }, { 16, 1, 4096 }, { 2048 * 32, 1, 4096 }, { 2047 * 32, 2, 4096 },
                { UINT64_MAX - 31, 1, 4096 }, { 0, READ_ADDRESS_MAX + 1, 4096 }, { 0, UINT32_MAX, 4096 }, { 0, 2, 63 },
                { HBM_ADDRESS(1), 1, 4096 },
        };
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        assert_int_equal(read_at(&lone, 2047 * 32, 1, 32).status, STATUS_NRT_SUCCESS);
        for (size_t i = 0; i < ELEMENTS(wrong); i++)
                assert_int_equal(read_at(&lone, wrong[i].address, wrong[i].accesses, wrong[i].out_bytes).status, STATUS_NRT_INVALID);
        lone_stack_close(&lone);
}

static void only_a_bit_that_the_stack_has_can_be_hashed_wrongly(void **state) {
        struct {
                int hash;
                uint64_t row_bit;
        } wrong = { .hash = 1, .row_bit = 3 };
        Fault fault = { .kind = hbm_address_kinds, .persistence = PERSISTENCE_PERMANENT, .parameters = &wrong };
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        wrong.row_bit = 4; /* of 16 rows */
        assert_int_equal(hbm_address_inject(&lone.hbm, &fault), -EINVAL);
        wrong.row_bit = 3;
        wrong.hash = 2; /* of 4 channels */
        assert_int_equal(hbm_address_inject(&lone.hbm, &fault), -EINVAL);
        wrong.hash = 1;
        assert_int_equal(hbm_address_inject(&lone.hbm, &fault), 0);
        assert_int_equal(hbm_address_inject(&lone.hbm, &fault), -EEXIST);
        hbm_heal(&lone.hbm, &fault);
        assert_null(lone.hbm.map_fault);
        lone_stack_close(&lone);
}

static void each_part_says_what_it_is(void **state) {
        static const struct {
                const char *path, *texts[2];
        } told[] = {
                { "assay/hbm/geometry", { "16 2 3 4 4 16384 32", "16 2 2 4 4 24576 32" } },
                { "assay/hbm/part", { "12-high 16 Gb", "8-high 24 Gb" } },
                { "assay/hbm/subarray", { "512", "768" } },
                { "assay/hbm/map", { "channel 1111 2222 4444 0888 group 1249 2492", "channel 1111 2222 4444 0888 group 1249 2492" } },
        };

        for (unsigned part = 0; part < 2; part++) {
                struct Chip chip = { .hbm_part = part };
                Hbm hbm = {};

                assert_int_equal(model_hbm.init(&hbm, &chip, 0), 0);
                assert_int_equal(hbm.memory.shape.accesses, (UINT64_C(24) << 30) / 32);
                for (size_t i = 0; i < ELEMENTS(told); i++) {
                        const Attribute *attribute = model_hbm.attributes;
                        char text[128];

                        while (strcmp(attribute->path, told[i].path) != 0)
                                attribute++;
                        assert_int_equal(attribute->read(&hbm, &chip, 0, text, sizeof(text)), 0);
                        assert_string_equal(text, told[i].texts[part]);
                }
                model_hbm.done(&hbm);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_read_by_address_gives_what_lies_there),
                cmocka_unit_test(what_lies_outside_is_refused),
                cmocka_unit_test(only_a_bit_that_the_stack_has_can_be_hashed_wrongly),
                cmocka_unit_test(each_part_says_what_it_is),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
