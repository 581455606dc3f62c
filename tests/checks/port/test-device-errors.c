/* SPDX-License-Identifier: Apache-2.0 */

/* The counters of memory errors: from the simulator, and from a device that says what it likes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "checks/port/device-errors.h"
#include "sim/chip/chip.h"
#include "tests/hall-device.h"

#define HEAD "scenario: t\nseed: 5\ntopology: {ultraservers: 1}\n"

/* The answer that an attribute gets instead of the truth; NULL: the truth. */
static const char *lied_path, *lied_text;

static int lying_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions, uint64_t deadline_usec) {
        HallDevice *hall = userdata;
        int r = hall_execute(hall, commands, n, completions, deadline_usec);

        for (size_t i = 0; i < n && lied_path; i++)
                if (commands[i].type == COMMAND_ATTRIBUTE && commands[i].in_bytes == strlen(lied_path) &&
                    memcmp(hall->reach.window + commands[i].in_offset, lied_path, commands[i].in_bytes) == 0) {
                        completions[i].out_bytes = (uint32_t) strlen(lied_text);
                        memcpy(hall->reach.window + commands[i].out_offset, lied_text, strlen(lied_text));
                }
        return r;
}

static const DeviceTransport lying = { lying_execute, hall_close };

static HallDevice *hall;

static Device *open_device(void) {
        Device *device;

        lied_path = NULL;
        hall = hall_device_new(HEAD, "us0-1", 3, 1 << 20);
        assert_non_null(hall);
        device = hall_connect(hall, &lying, hall);
        assert_non_null(device);
        return device;
}

static void count(Counter counter, unsigned stack, uint64_t n) {
        chip_count(server_chip(hall->reach.server, 3), counter, stack, n);
}

static void both_tellings_and_what_was_planted_are_read(void **state) {
        const uint64_t most[_ERROR_COUNTER_MAX] = { [ERRORS_MEM_REPAIRABLE] = 3, [ERRORS_SRAM_UNCORRECTED] = 200 };
        unsigned both = 1u << ERRORS_MEM_REPAIRABLE | 1u << ERRORS_SRAM_UNCORRECTED;
        _cleanup_(device_freep) Device *device = open_device();
        ErrorCount counts[_ERROR_COUNTER_MAX];
        const char *path;
        bool least;

        count(COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED, 2, 5);
        assert_int_equal(device_errors_announce(device, 3, both, most), 0);
        count(COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED, 2, 4);
        count(COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED, 0, 1);
        count(COUNTER_SRAM_ECC_UNCORRECTED, 0, 144);

        assert_int_equal(device_errors_read(device, 3, ERRORS_ALL, counts, &path), 0);
        assert_true(counts[ERRORS_MEM_REPAIRABLE].open && counts[ERRORS_SRAM_UNCORRECTED].open);
        assert_int_equal(device_errors_end(device, 3, both, 0), 0);
        assert_int_equal(device_errors_read(device, 3, ERRORS_ALL, counts, &path), 0);

        assert_int_equal(counts[ERRORS_MEM_REPAIRABLE].sysfs, 10);
        assert_int_equal(counts[ERRORS_MEM_REPAIRABLE].words[2], 9);
        assert_int_equal(counts[ERRORS_MEM_REPAIRABLE].planted[2], 3);
        assert_int_equal(error_count_own_word(&counts[ERRORS_MEM_REPAIRABLE], 2, &least), 6);
        assert_int_equal(error_count_own_word(&counts[ERRORS_MEM_REPAIRABLE], 0, &least), 0);
        assert_false(least);
        assert_int_equal(error_count_own_sysfs(&counts[ERRORS_MEM_REPAIRABLE]), 6);
        assert_false(counts[ERRORS_MEM_REPAIRABLE].open);
        assert_false(error_count_is_planted(&counts[ERRORS_MEM_REPAIRABLE]));
        assert_true(error_count_is_planted(&counts[ERRORS_SRAM_UNCORRECTED]));
        assert_false(error_count_is_planted(&counts[ERRORS_SRAM_CORRECTED])); /* there is nothing */

        assert_int_equal(device_errors_end(device, 3, ERRORS_SRAM, 1u << ERRORS_SRAM_UNCORRECTED), 0);
        assert_int_equal(device_errors_read(device, 3, ERRORS_SRAM, counts, &path), 0);
        assert_int_equal(counts[ERRORS_SRAM_UNCORRECTED].words[0] + counts[ERRORS_SRAM_UNCORRECTED].sysfs +
                                         counts[ERRORS_SRAM_UNCORRECTED].planted[0], 0);
}

static void what_cannot_be_is_refused_and_named(void **state) {
        static const struct {
                const char *path, *text;
        } lies[] = {
                { "stats/hardware/sram_ecc_corrected", "" },
                { "stats/hardware/sram_ecc_corrected", "-1" },
                { "stats/hardware/sram_ecc_corrected", "0x10" },
                { "stats/hardware/mem_ecc_corrected", "18446744073709551616" },
                { "mailbox/hbm3_ecc", "0x100000000" },
                { "mailbox/hbm3_ecc", "0x" },
                { "mailbox/sram_ecc", "0x12 " },
                { "assay/planted/sram_ecc_corrected", "" },
                { "assay/planted/sram_ecc_corrected", "0 0" },
                { "assay/planted/sram_ecc_corrected", "0 opened" },
                { "assay/planted/sram_ecc_corrected", "4294967296" },
                { "assay/planted/mem_ecc_corrected", "0 0 0" },
                { "assay/planted/mem_ecc_corrected", "0 0 0 0 0" },
                { "assay/planted/mem_ecc_corrected", "0  0 0 0" },
                { "assay/planted/mem_ecc_corrected", "0 0 -1 0" },
                { "assay/planted/mem_ecc_corrected", "0 0 0 99999999999999999999" },
        };
        _cleanup_(device_freep) Device *device = open_device();
        ErrorCount counts[_ERROR_COUNTER_MAX];
        const char *path;

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                lied_path = lies[i].path;
                lied_text = lies[i].text;
                if (device_errors_read(device, 3, ERRORS_ALL, counts, &path) != -EPROTO || !path || strcmp(path, lies[i].path) != 0)
                        fail_msg("%s: \"%s\"", lies[i].path, lies[i].text);
        }
}

static void more_planted_than_counted_cannot_be(void **state) {
        _cleanup_(device_freep) Device *device = open_device();
        ErrorCount counts[_ERROR_COUNTER_MAX];
        const char *path;

        lied_path = "assay/planted/sram_ecc_uncorrected";
        lied_text = "4";
        count(COUNTER_SRAM_ECC_UNCORRECTED, 0, 3);
        assert_int_equal(device_errors_read(device, 3, ERRORS_SRAM, counts, &path), 0);
        assert_false(error_count_is_possible(&counts[ERRORS_SRAM_UNCORRECTED]));
        count(COUNTER_SRAM_ECC_UNCORRECTED, 0, 1);
        assert_int_equal(device_errors_read(device, 3, ERRORS_SRAM, counts, &path), 0);
        assert_true(error_count_is_possible(&counts[ERRORS_SRAM_UNCORRECTED]));

        /* A field that is full counts no further. */
        lied_text = "70000";
        count(COUNTER_SRAM_ECC_UNCORRECTED, 0, 70000);
        assert_int_equal(device_errors_read(device, 3, ERRORS_SRAM, counts, &path), 0);
        assert_true(error_count_is_possible(&counts[ERRORS_SRAM_UNCORRECTED]));
        assert_int_equal(error_count_own_sysfs(&counts[ERRORS_SRAM_UNCORRECTED]), 4);
}

/* A field that is full counts no further, sysfs does: what is planted meanwhile takes nothing from the chip's own errors. */
static void of_a_full_word_sysfs_tells_how_many_are_its_own(void **state) {
        static const struct {
                ErrorCount count;
                uint64_t own; /* of word 0 */
                bool least;
        } cases[] = {
                { { .n_words = 1, .full = 65535, .words = { 65534 }, .sysfs = 65534, .planted = { 576 } }, 64958, false },
                { { .n_words = 1, .full = 65535, .words = { 65535 }, .sysfs = 206986 + 576, .planted = { 576 } }, 206986, false },
                { { .n_words = 1, .full = 65535, .words = { 65535 }, .sysfs = 206986 + 65535, .planted = { 65535 } }, 206986, false },
                { { .n_words = 1, .full = 65535, .words = { 65535 }, .sysfs = 206986 + 70000, .planted = { 70000 } }, 206986, false },
                { { .n_words = 4, .full = 15, .words = { 15, 3, 0, 9 }, .sysfs = 100, .planted = { 0, 1, 0, 9 } }, 88, false },
                { { .n_words = 4, .full = 15, .words = { 15, 3, 15, 9 }, .sysfs = 100, .planted = { 4, 0, 0, 0 } }, 11, true },
                { { .n_words = 4, .full = 15, .words = { 15, 3, 0, 0 }, .sysfs = 16, .planted = { 0 } }, 15, true }, /* one of them lies */
                { { .n_words = 1, .full = 65535, .words = { 65535 }, .sysfs = 1, .planted = { 0 } }, 65535, true },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                bool least;
                uint64_t own = error_count_own_word(&cases[i].count, 0, &least);

                if (own != cases[i].own || least != cases[i].least)
                        fail_msg("case %zu: %s%llu", i, least ? "at least " : "", (unsigned long long) own);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(both_tellings_and_what_was_planted_are_read),
                cmocka_unit_test(what_cannot_be_is_refused_and_named),
                cmocka_unit_test(more_planted_than_counted_cannot_be),
                cmocka_unit_test(of_a_full_word_sysfs_tells_how_many_are_its_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
