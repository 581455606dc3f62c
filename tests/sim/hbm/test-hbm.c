/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/lone-stack.h"

#define GEOMETRY "2 2 1 2 2 16 4"

static const FaultKind *kind(const char *name) {
        for (const FaultKind *const *table = model_hbm.faults; *table; table++)
                for (const FaultKind *k = *table; k->name; k++)
                        if (strcmp(k->name, name) == 0)
                                return k;
        fail_msg("no kind is called %s", name);
        return NULL;
}

static Fault fault_of(const char *name, const char *at, void *parameters) {
        Fault fault = { .kind = kind(name), .persistence = PERSISTENCE_PERMANENT, .parameters = parameters };

        assert_int_equal(location_parse(at, &fault.at, NULL, NULL), 0);
        return fault;
}

/* Writes 1 everywhere and reads it back; returns how many accesses differ. */
static uint64_t failing(LoneStack *lone) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .box = memory_box_whole(&lone->hbm.memory.shape), .n_ops = 2,
                                .ops = { MARCH_WRITE | MARCH_DATA, MARCH_DATA } } };
        WireCompletion completion = lone_stack_run(lone, command);

        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        return completion.result[0];
}

static WireCommand repair_of(unsigned row) {
        WireCommand command = { .type = COMMAND_HBM_REPAIR };

        command.repair.box.first[HBM_ROW] = command.repair.box.last[HBM_ROW] = (uint16_t) row;
        return command;
}

static void a_repair_takes_effect_at_the_reset_and_not_before(void **state) {
        uint64_t zero[2] = {};
        Fault row = fault_of("row-dead", "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row3", zero);
        Fault cell = fault_of("stuck-at", "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row3/col1/bit9", zero);
        Fault other = fault_of("stuck-at", "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row4/col1/bit9", zero);
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &row), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &cell), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &other), 0);
        assert_int_equal(failing(&lone), 5);

        assert_int_equal(lone_stack_run(&lone, repair_of(3)).status, STATUS_NRT_SUCCESS);
        assert_int_equal(failing(&lone), 5);
        model_hbm.reset(&lone.hbm);
        assert_int_equal(failing(&lone), 1);

        /* What was repaired away can still be healed. */
        model_hbm.heal(&lone.hbm, &row);
        model_hbm.heal(&lone.hbm, &cell);
        model_hbm.heal(&lone.hbm, &other);
        assert_int_equal(failing(&lone), 0);
        lone_stack_close(&lone);
}

static const char *attribute(LoneStack *lone, const char *path) {
        static char text[256];

        for (const Attribute *one = model_hbm.attributes; one->path; one++)
                if (strcmp(one->path, path) == 0) {
                        assert_int_equal(one->read(&lone->hbm, &lone->chip, 0, text, sizeof(text)), 0);
                        return text;
                }
        fail_msg("no attribute is called %s", path);
        return NULL;
}

static void assert_spares(LoneStack *lone, unsigned row, unsigned left, WireRepairState state) {
        WireCommand command = repair_of(row);
        WireCompletion completion;

        command.type = COMMAND_HBM_SPARES;
        completion = lone_stack_run(lone, command);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        assert_int_equal(completion.result[0], left);
        assert_int_equal(completion.result[1], state);
}

static void what_became_of_a_repair_is_told(void **state) {
        uint64_t zero[2] = {};
        Fault row = fault_of("row-dead", "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row3", zero);
        Fault again = fault_of("sub-wordline", "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row3/swl2", zero);
        Fault fails = fault_of("repair-fails", "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row3", NULL);
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        assert_spares(&lone, 3, 8, REPAIR_NONE);
        assert_string_equal(attribute(&lone, "mailbox/hbm_repair"), "0x00000000");
        assert_int_equal(model_hbm.inject(&lone.hbm, &row), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fails), 0);

        assert_int_equal(lone_stack_run(&lone, repair_of(3)).status, STATUS_NRT_SUCCESS);
        assert_int_equal(lone_stack_run(&lone, repair_of(3)).status, STATUS_NRT_SUCCESS);
        assert_spares(&lone, 3, 7, REPAIR_PENDING);
        assert_spares(&lone, 4, 7, REPAIR_NONE);
        assert_string_equal(attribute(&lone, "mailbox/hbm_repair"), "0x00000001");

        model_hbm.reset(&lone.hbm);
        assert_spares(&lone, 3, 7, REPAIR_FAILED);
        assert_string_equal(attribute(&lone, "mailbox/hbm_repair"), "0x00000002");
        assert_string_equal(attribute(&lone, "assay/hbm/spares"), "8 0 0 1");
        assert_int_equal(failing(&lone), 4);

        /* Another spare row, another try; and what has been mended may fail again. */
        model_hbm.heal(&lone.hbm, &fails);
        assert_int_equal(lone_stack_run(&lone, repair_of(3)).status, STATUS_NRT_SUCCESS);
        model_hbm.reset(&lone.hbm);
        assert_spares(&lone, 3, 6, REPAIR_DONE);
        assert_int_equal(failing(&lone), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &again), 0);
        assert_int_equal(failing(&lone), 4);
        assert_int_equal(lone_stack_run(&lone, repair_of(3)).status, STATUS_NRT_SUCCESS);
        model_hbm.reset(&lone.hbm);
        assert_int_equal(failing(&lone), 0);
        assert_string_equal(attribute(&lone, "assay/hbm/spares"), "8 2 0 1");
        lone_stack_close(&lone);
}

/* By hand, with a the root: x = a + a^5 at place 0 and y = 1 + a^5 at place 1 look like x + y = 1 + a at place 5. */
static void ecc_corrects_one_symbol_and_may_be_deceived_by_two(void **state) {
        MemoryBits meant = { .w = { 0x0123456789abcdef, 2, 3, 4 } }, got = meant, out;
        MemoryEccTally tally = {};

        got.w[3] ^= UINT64_C(0xbeef) << 48;
        out = hbm_decode(got, &meant, &tally);
        assert_memory_equal(&out, &meant, sizeof(out));
        assert_int_equal(tally.corrected, 1);

        got.w[0] ^= 0x8000;
        out = hbm_decode(got, &meant, &tally);
        assert_memory_equal(&out, &got, sizeof(out));
        assert_int_equal(tally.uncorrected, 1);

        got = meant;
        got.w[0] ^= 0x22 | 0x21 << 16;
        out = hbm_decode(got, &meant, &tally);
        got.w[1] ^= UINT64_C(0x3) << 16;
        assert_memory_equal(&out, &got, sizeof(out));
        assert_int_equal(tally.corrected, 2);
        assert_int_equal(tally.uncorrected, 1);
}

/* Reads back through ECC what was written raw. */
static WireCompletion through_ecc(LoneStack *lone) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .box = memory_box_whole(&lone->hbm.memory.shape), .n_ops = 1,
                                .ops = { MARCH_DATA }, .ecc = 1 } };

        return lone_stack_run(lone, command);
}

static void ecc_that_lies_does_not_correct_or_does_not_count(void **state) {
        uint64_t zero[2] = {};
        Fault line = fault_of("sub-wordline", "us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row3/swl2", zero);
        Fault off = fault_of("ecc-off", "us0-0/chip0/hbm0", NULL), silent = fault_of("ecc-silent", "us0-0/chip0/hbm0", NULL);
        uint64_t *counted;
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        counted = &lone.chip.counted[COUNTER_MEM_ECC_CORRECTED];
        assert_int_equal(model_hbm.inject(&lone.hbm, &line), 0);
        assert_int_equal(failing(&lone), 4);
        assert_int_equal(through_ecc(&lone).result[0], 0);
        assert_int_equal(*counted, 4);

        assert_int_equal(model_hbm.inject(&lone.hbm, &silent), 0);
        assert_int_equal(through_ecc(&lone).result[0], 0);
        assert_int_equal(*counted, 4);
        model_hbm.heal(&lone.hbm, &silent);

        assert_int_equal(model_hbm.inject(&lone.hbm, &off), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &off), -EEXIST);
        assert_int_equal(through_ecc(&lone).result[0], 4);
        assert_int_equal(*counted, 4);
        model_hbm.heal(&lone.hbm, &off);
        assert_int_equal(through_ecc(&lone).result[0], 0);
        assert_int_equal(*counted, 8);
        lone_stack_close(&lone);
}

/* The words of wire.h. */
static uint64_t address_word(uint64_t seed, uint64_t index) {
        uint64_t x = (seed ^ index) + 0x9e3779b97f4a7c15ull;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return x ^ x >> 31;
}

static WireCompletion whole_march(LoneStack *lone, bool ecc, uint64_t seed) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .box = memory_box_whole(&lone->hbm.memory.shape), .n_ops = 2,
                                .background = MEMORY_BACKGROUND_ADDRESS, .seed = seed, .ecc = ecc, .ops = { MARCH_WRITE, 0 } } };

        return lone_stack_run(lone, command);
}

/* In a whole stack each bit that is dropped agrees with half of the hashes: they are counted, one by one where it matters. */
static void counts_against_hashes_are_exact_and_bounded(void **state) {
        uint64_t zero[2] = {}, wanted = 0;
        Fault column = fault_of("column-select", "us0-0/chip0/hbm0/ch2/pc1/sid2/bg3/ba1/col7/bit130", zero);
        Fault dead = fault_of("pseudo-channel-dead", "us0-0/chip0/hbm0/ch9/pc0", zero);
        uint64_t bank = (((2 * 2 + 1) * 3 + 2) * 4 + 3) * 4 + 1;
        WireCompletion completion;
        LoneStack lone;

        lone_stack_open(&lone, "16 2 3 4 4 16384 32", 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &column), 0);
        for (uint64_t row = 0; row < 16384; row++)
                wanted += address_word(77, 4 * ((bank * 16384 + row) * 32 + 7) + 2) >> 2 & 1;
        assert_int_equal(whole_march(&lone, false, 77).result[0], wanted);
        assert_int_equal(whole_march(&lone, true, 77).result[0], 0);
        assert_int_equal(lone.chip.counted[COUNTER_MEM_ECC_CORRECTED], wanted);

        /* 25 million accesses: beyond 2^20 at least so many, and not all of them are looked at. */
        assert_int_equal(model_hbm.inject(&lone.hbm, &dead), 0);
        completion = whole_march(&lone, true, 77);
        assert_true(completion.result[0] > UINT64_C(1) << 20);
        assert_true(completion.result[0] <= UINT64_C(48) * 16384 * 32);
        assert_int_equal(completion.status, STATUS_NRT_REPAIRABLE_HBM_UE);
        assert_int_equal(whole_march(&lone, false, 77).result[0], UINT64_C(48) * 16384 * 32 + wanted);
        lone_stack_close(&lone);
}

static void a_bank_has_only_so_many_spare_rows(void **state) {
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        for (unsigned i = 0; i < HBM_SPARES_PER_BANK; i++)
                assert_int_equal(lone_stack_run(&lone, repair_of(i)).status, STATUS_NRT_SUCCESS);
        assert_int_equal(lone_stack_run(&lone, repair_of(9)).status, STATUS_NRT_RESOURCE);
        lone_stack_close(&lone);
}

static void what_is_out_of_range_is_refused(void **state) {
        static const uint16_t beyond[_MEMORY_AXIS_MAX] = { 2, 2, 1, 2, 2, 16, 4 };
        WireCommand good = { .type = COMMAND_HBM_MARCH, .out_bytes = 480, .march = { .n_ops = 1, .mismatches_max = 10 } }, bad;
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        assert_int_equal(lone_stack_run(&lone, good).status, STATUS_NRT_SUCCESS);

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                bad = good;
                bad.march.box.last[axis] = beyond[axis];
                assert_int_equal(lone_stack_run(&lone, bad).status, STATUS_NRT_INVALID);
                bad.type = COMMAND_HBM_COPY_OUT;
                assert_int_equal(lone_stack_run(&lone, bad).status, STATUS_NRT_INVALID);
        }
#define REFUSED(field, value)                                                                                \
        do {                                                                                                 \
                bad = good;                                                                                  \
                bad.march.field = value;                                                                     \
                assert_int_equal(lone_stack_run(&lone, bad).status, STATUS_NRT_INVALID);                     \
        } while (0)
        REFUSED(order, _MEMORY_ORDER_MAX);
        REFUSED(descending, 2);
        REFUSED(background, _MEMORY_BACKGROUND_MAX);
        REFUSED(parameter, 8);
        REFUSED(ecc, 2);
        REFUSED(n_ops, 0);
        REFUSED(n_ops, MARCH_OPS_MAX + 1);
        REFUSED(ops[0], 0x40);
        REFUSED(mismatches_max, 11);
        bad = (WireCommand) { .type = COMMAND_HBM_PAUSE, .pause = { .nsec = UINT64_MAX } };
        assert_int_equal(lone_stack_run(&lone, bad).status, STATUS_NRT_INVALID);
        bad = (WireCommand) { .type = COMMAND_HBM_HAMMER, .hammer = { .activations = UINT64_MAX } };
        assert_int_equal(lone_stack_run(&lone, bad).status, STATUS_NRT_INVALID);
        lone_stack_close(&lone);
}

static void device_time_comes_from_the_bandwidth(void **state) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .n_ops = 10 } };
        LoneStack lone;

        lone_stack_open(&lone, "16 2 3 4 4 16384 32", 4096);
        command.march.box = memory_box_whole(&lone.hbm.memory.shape);
        memset(command.march.ops, MARCH_WRITE, 10);
        /* 24 GiB ten times at 725 GB/s. */
        assert_int_equal(lone_stack_run(&lone, command).device_nsec / 1000000, 355);
        lone_stack_close(&lone);
}

static void a_healed_cell_holds_what_it_held_until_it_is_written(void **state) {
        uint64_t zero[2] = {};
        Fault cell = fault_of("stuck-at", "us0-0/chip0/hbm0/ch1/pc0/sid0/bg0/ba0/row3/col1/bit9", zero);
        WireCommand read = { .type = COMMAND_HBM_MARCH, .march = { .n_ops = 1, .ops = { MARCH_DATA } } };
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        read.march.box = memory_box_whole(&lone.hbm.memory.shape);
        assert_int_equal(model_hbm.inject(&lone.hbm, &cell), 0);
        assert_int_equal(failing(&lone), 1);
        model_hbm.heal(&lone.hbm, &cell);
        assert_int_equal(lone_stack_run(&lone, read).result[0], 1);
        assert_int_equal(failing(&lone), 0);
        lone_stack_close(&lone);
}

/* As many layers as boxes would be slow and, in the end, refused: those side by side become one. */
static void banks_written_one_by_one_are_one_layer(void **state) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .n_ops = 1, .ops = { MARCH_WRITE } } };
        LoneStack lone;
        size_t before;

        lone_stack_open(&lone, GEOMETRY, 4096);
        before = lone.hbm.memory.content.n_layers;
        for (unsigned i = 0; i < 16; i++) {
                WireBox box = memory_box_whole(&lone.hbm.memory.shape);

                box.first[HBM_CHANNEL] = box.last[HBM_CHANNEL] = (uint16_t) (i >> 3);
                box.first[HBM_PSEUDO_CHANNEL] = box.last[HBM_PSEUDO_CHANNEL] = i >> 2 & 1;
                box.first[HBM_BANK_GROUP] = box.last[HBM_BANK_GROUP] = i >> 1 & 1;
                box.first[HBM_BANK] = box.last[HBM_BANK] = i & 1;
                command.march.box = box;
                assert_int_equal(lone_stack_run(&lone, command).status, STATUS_NRT_SUCCESS);
        }
        assert_true(lone.hbm.memory.content.n_layers <= before + 1);
        lone_stack_close(&lone);
}

static void faults_that_cannot_both_be_are_refused(void **state) {
        uint64_t zero[2] = {};
        Fault cell = fault_of("stuck-at", "us0-0/chip0/hbm0/ch1/pc0/sid0/bg0/ba0/row3/col1/bit9", zero);
        Fault row = fault_of("row-dead", "us0-0/chip0/hbm0/ch1/pc0/sid0/bg0/ba0/row3", zero);
        Fault beyond = fault_of("row-dead", "us0-0/chip0/hbm0/ch1/pc0/sid0/bg0/ba0/row16", zero);
        LoneStack lone;

        lone_stack_open(&lone, GEOMETRY, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &cell), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &cell), -EEXIST);
        assert_int_equal(model_hbm.inject(&lone.hbm, &row), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &row), -EEXIST);
        assert_int_equal(model_hbm.inject(&lone.hbm, &beyond), -EINVAL);
        lone_stack_close(&lone);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_repair_takes_effect_at_the_reset_and_not_before),
                cmocka_unit_test(what_became_of_a_repair_is_told),
                cmocka_unit_test(ecc_corrects_one_symbol_and_may_be_deceived_by_two),
                cmocka_unit_test(ecc_that_lies_does_not_correct_or_does_not_count),
                cmocka_unit_test(counts_against_hashes_are_exact_and_bounded),
                cmocka_unit_test(a_bank_has_only_so_many_spare_rows),
                cmocka_unit_test(what_is_out_of_range_is_refused),
                cmocka_unit_test(device_time_comes_from_the_bandwidth),
                cmocka_unit_test(a_healed_cell_holds_what_it_held_until_it_is_written),
                cmocka_unit_test(banks_written_one_by_one_are_one_layer),
                cmocka_unit_test(faults_that_cannot_both_be_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
