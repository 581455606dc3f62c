/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sim/chip/chip.h"

static uint8_t window[WIRE_WINDOW_MIN];

static Chip *chip_of(Hall *hall, unsigned index) {
        return server_chip(hall_server(hall, "us0-1"), index);
}

/* Seeds the generators of a core: short, and on the core's own engine. Returns how long it took there. */
static uint64_t seed_core(Chip *chip, uint64_t batch, uint8_t core) {
        WireCommand command = { .type = COMMAND_RNG_SEED, .chip = (uint8_t) chip->index, .unit = core };
        WireCompletion completion;

        assert_int_equal(chip_execute(chip, batch, &command, window, sizeof(window), &completion), 0);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        assert_true(completion.device_nsec > 0);
        return completion.device_nsec;
}

static uint64_t read_attribute(Chip *chip, uint64_t batch, const char *path, WireCompletion *ret) {
        WireCommand command = { .type = COMMAND_ATTRIBUTE, .in_bytes = (uint32_t) strlen(path), .out_offset = 1024, .out_bytes = 256 };

        memcpy(window, path, strlen(path));
        assert_int_equal(chip_execute(chip, batch, &command, window, sizeof(window), ret), 0);
        return ret->device_nsec;
}

static void engines_run_side_by_side_and_each_in_order(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        uint64_t a, b, c;
        Chip *chip;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        chip = chip_of(hall, 3);
        a = seed_core(chip, 1, 0);
        b = seed_core(chip, 1, 0);
        c = seed_core(chip, 1, 1);
        assert_int_equal(chip_nsec(chip), a + b);

        /* The next batch begins for all engines when the last has ended. */
        c = seed_core(chip, 2, 1);
        assert_int_equal(chip_nsec(chip), a + b + c);
        assert_int_equal(chip_nsec(chip_of(hall, 4)), 0);
}

static void the_clock_of_a_chip_only_goes_on(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        uint64_t took;
        Chip *chip;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        chip = chip_of(hall, 3);
        chip_advance(chip, 5000);
        chip_advance(chip, 4000);
        assert_int_equal(chip_nsec(chip), 5000);
        took = seed_core(chip, 1, 0);
        assert_int_equal(chip_nsec(chip), 5000 + took);
}

static void commands_for_parts_that_no_chip_has_are_refused(void **state) {
        static const struct {
                uint16_t type;
                uint8_t unit;
                uint32_t status;
        } cases[] = {
                { 0, 0, STATUS_NRT_UNSUPPORTED },
                { _COMMAND_MAX, 0, STATUS_NRT_UNSUPPORTED },
                { UINT16_MAX, 0, STATUS_NRT_UNSUPPORTED },
                { COMMAND_RNG_SEED, CORES, STATUS_NRT_INVALID_HANDLE },
                { COMMAND_HBM_MARCH, STACKS, STATUS_NRT_INVALID_HANDLE },
                { COMMAND_LINK_STATUS, PORTS, STATUS_NRT_INVALID_HANDLE },
                { COMMAND_NIC_RECEIVE, 1, STATUS_NRT_INVALID_HANDLE },
                { COMMAND_RESET, CORES, STATUS_NRT_INVALID_HANDLE },
        };
        _cleanup_(hall_freep) Hall *hall = NULL;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                WireCommand command = { .type = cases[i].type, .unit = cases[i].unit };
                WireCompletion completion;

                assert_int_equal(chip_execute(chip_of(hall, 3), 1, &command, window, sizeof(window), &completion), 0);
                assert_int_equal(completion.status, cases[i].status);
        }
}

static void an_attribute_is_its_whole_path(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        WireCompletion completion;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        (void) read_attribute(chip_of(hall, 3), 1, "core_count", &completion);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        (void) read_attribute(chip_of(hall, 3), 1, "core_coun", &completion);
        assert_int_equal(completion.status, STATUS_NRT_QUEUE_EMPTY);
        (void) read_attribute(chip_of(hall, 3), 1, "core_count/", &completion);
        assert_int_equal(completion.status, STATUS_NRT_QUEUE_EMPTY);
        (void) read_attribute(chip_of(hall, 3), 1, "../neuron16/info/serial_number", &completion);
        assert_int_equal(completion.status, STATUS_NRT_QUEUE_EMPTY);
        (void) read_attribute(chip_of(hall, 3), 1, "../neuron15/info/serial_number", &completion);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
}

static void a_text_that_does_not_fit_is_not_cut(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        WireCommand command = { .type = COMMAND_ATTRIBUTE, .in_bytes = 18, .out_offset = 1024, .out_bytes = 15 };
        WireCompletion completion;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        memcpy(window, "info/serial_number", 18);
        assert_int_equal(chip_execute(chip_of(hall, 3), 1, &command, window, sizeof(window), &completion), 0);
        assert_int_equal(completion.status, STATUS_NRT_INVALID);
        assert_int_equal(completion.out_bytes, 0);
}

static void errors_count_in_sysfs_and_mailbox_alike(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        WireCompletion completion;
        Chip *chip;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        chip = chip_of(hall, 3);
        chip_count(chip, COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED, 2, 5);
        chip_count(chip, COUNTER_MEM_ECC_UNCORRECTED, 2, 3);
        (void) read_attribute(chip, 1, "mailbox/hbm2_ecc", &completion);
        assert_memory_equal(window + 1024 + 6, "3005", 4);
        (void) read_attribute(chip, 1, "stats/hardware/mem_ecc_repairable_uncorrected", &completion);
        assert_int_equal(completion.out_bytes, 1);
        assert_memory_equal(window + 1024, "5", 1);
        (void) read_attribute(chip, 1, "mailbox/hbm4_ecc", &completion);
        assert_int_equal(completion.status, STATUS_NRT_QUEUE_EMPTY);
}

static uint64_t read_number(Chip *chip, const char *path) {
        WireCompletion completion;

        (void) read_attribute(chip, 1, path, &completion);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        window[1024 + completion.out_bytes] = '\0';
        return strtoull((const char *) window + 1024, NULL, 10);
}

static void a_core_counts_what_ended_well_and_what_did_not(void **state) {
        WireCommand bad = { .type = COMMAND_RNG_SEED, .unit = 5, .seed = { .engine = _ENGINE_MAX } };
        WireCommand reset = { .type = COMMAND_RESET, .unit = 5 };
        _cleanup_(hall_freep) Hall *hall = NULL;
        WireCompletion completion;
        Chip *chip;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        chip = chip_of(hall, 3);
        (void) seed_core(chip, 1, 5);
        (void) seed_core(chip, 1, 5);
        (void) chip_execute(chip, 1, &bad, window, sizeof(window), &completion);
        assert_int_not_equal(completion.status, STATUS_NRT_SUCCESS);
        (void) chip_execute(chip, 1, &reset, window, sizeof(window), &completion);
        assert_int_equal(read_number(chip, "neuron_core5/stats/status/success/total"), 2);
        assert_int_equal(read_number(chip, "neuron_core5/stats/status/failure/total"), 1);
        assert_int_equal(read_number(chip, "neuron_core5/stats/other_info/reset_req_count"), 1);
        assert_int_equal(read_number(chip, "neuron_core4/stats/status/success/total"), 0);
}

/* As firmware that begins anew; what a fault counts it counts again. Of a core that is reset it remembers all. */
static void a_reset_of_the_chip_ends_its_counts(void **state) {
        static const char *const paths[] = {
                "stats/hardware/mem_ecc_corrected",    "stats/hardware/mem_ecc_uncorrected", "stats/hardware/mem_ecc_repairable_uncorrected",
                "stats/hardware/sram_ecc_corrected",   "stats/hardware/sram_ecc_uncorrected",
        };
        static const char *const words[] = { "mailbox/hbm2_ecc", "mailbox/sram_ecc" };
        _cleanup_(hall_freep) Hall *hall = NULL;
        WireCompletion completion;
        Chip *chip;

        assert_int_equal(hall_new(1, 60, true, 1, &hall), 0);
        chip = chip_of(hall, 3);
        for (Counter counter = 0; counter < _COUNTER_MAX; counter++)
                chip_count(chip, counter, counter < COUNTER_SRAM_ECC_CORRECTED ? 2 : 0, 1900);

        (void) chip_execute(chip, 1, &(WireCommand) { .type = COMMAND_RESET, .unit = 5 }, window, sizeof(window), &completion);
        for (size_t i = 0; i < ELEMENTS(paths); i++)
                assert_in_range(read_number(chip, paths[i]), 1900, 1900 + 4 * 3);
        (void) chip_execute(chip, 1, &(WireCommand) { .type = COMMAND_RESET, .unit = WIRE_CHIP_ALL }, window, sizeof(window), &completion);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        for (size_t i = 0; i < ELEMENTS(paths); i++)
                assert_int_equal(read_number(chip, paths[i]), 0);
        for (size_t i = 0; i < ELEMENTS(words); i++) {
                (void) read_attribute(chip, 1, words[i], &completion);
                window[1024 + completion.out_bytes] = '\0';
                assert_int_equal(strtoull((const char *) window + 1024, NULL, 16), 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(engines_run_side_by_side_and_each_in_order),
                cmocka_unit_test(the_clock_of_a_chip_only_goes_on),
                cmocka_unit_test(commands_for_parts_that_no_chip_has_are_refused),
                cmocka_unit_test(an_attribute_is_its_whole_path),
                cmocka_unit_test(a_text_that_does_not_fit_is_not_cut),
                cmocka_unit_test(a_core_counts_what_ended_well_and_what_did_not),
                cmocka_unit_test(errors_count_in_sysfs_and_mailbox_alike),
                cmocka_unit_test(a_reset_of_the_chip_ends_its_counts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
