/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "checks/port/device.h"

/* A device that answers attributes from one text and counts; it misbehaves as the test says. */
typedef struct Fake {
        uint8_t *window;
        const char *text;
        uint32_t n_text, status, out_bytes; /* out_bytes: claimed instead, where not 0 */
        uint64_t nsec;
        int error;
        unsigned n_calls, n_commands, largest;
        uint8_t chip;
        uint64_t deadline_usec;
        bool closed;
} Fake;

static int fake_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                        uint64_t deadline_usec) {
        Fake *fake = userdata;

        fake->n_calls++;
        fake->n_commands += (unsigned) n;
        fake->largest = n > fake->largest ? (unsigned) n : fake->largest;
        fake->deadline_usec = deadline_usec;
        fake->chip = commands[0].chip;
        if (fake->error < 0)
                return fake->error;

        for (size_t i = 0; i < n; i++) {
                completions[i] = (WireCompletion) { .status = fake->status, .device_nsec = fake->nsec };
                if (commands[i].type != COMMAND_ATTRIBUTE || !fake->text)
                        continue;
                memcpy(fake->window + commands[i].out_offset, fake->text, fake->n_text);
                completions[i].out_bytes = fake->out_bytes ? fake->out_bytes : fake->n_text;
        }
        return 0;
}

static void fake_close(void *userdata) {
        ((Fake *) userdata)->closed = true;
}

static const DeviceTransport fake_transport = { .execute = fake_execute, .close = fake_close };
static uint8_t window[WIRE_WINDOW_MIN] __attribute__((aligned(4096)));

static Device *open_fake(Fake *fake, unsigned chip) {
        Device *device = NULL;

        fake->window = window;
        if (fake->text)
                fake->n_text = (uint32_t) strlen(fake->text);
        assert_int_equal(device_new(&fake_transport, fake, "us0-1", chip, window, sizeof(window), &device),
                         0);
        return device;
}

static void test_many_commands_travel_in_packets_of_the_wire_s_size(void **state) {
        static WireCommand commands[WIRE_BATCH_MAX * 2 + 3];
        static WireCompletion completions[WIRE_BATCH_MAX * 2 + 3];
        Fake fake = { .nsec = 5 };
        _cleanup_(device_freep) Device *device = open_fake(&fake, 7);

        for (size_t i = 0; i < ELEMENTS(commands); i++)
                commands[i] = (WireCommand) { .type = COMMAND_MATMUL, .unit = (uint8_t) (i % CORES) };

        assert_int_equal(device_execute(device, commands, ELEMENTS(commands), completions), 0);
        assert_int_equal(fake.n_calls, 3);
        assert_int_equal(fake.n_commands, ELEMENTS(commands));
        assert_int_equal(fake.largest, WIRE_BATCH_MAX);
        assert_int_equal(fake.chip, 7);
        assert_int_equal(completions[ELEMENTS(commands) - 1].device_nsec, 5);
        /* 256 over eight cores side by side: 32 in a row, twice; then one of the last three. */
        assert_int_equal(device_nsec(device), (32 + 32 + 1) * 5);
}

static void test_what_a_completion_claims_is_bounded(void **state) {
        Fake fake = { .text = "1", .out_bytes = ATTRIBUTE_TEXT_MAX + 1 };
        _cleanup_(device_freep) Device *device = open_fake(&fake, 0);
        WireCommand command = { .type = COMMAND_MATMUL };
        char text[ATTRIBUTE_TEXT_MAX];

        assert_int_equal(device_attribute(device, 0, "info/serial_number", text), -EPROTO);
        assert_int_equal(device_failure(device), -EPROTO);

        fake.nsec = UINT64_MAX;
        assert_int_equal(device_execute(device, &command, 1, NULL), -EPROTO);
        assert_int_equal(device_nsec(device), 0);
}

static void test_a_status_that_nobody_knows_breaks_the_agreement(void **state) {
        WireCommand command = { .type = COMMAND_MATMUL };
        Fake fake = { .status = 0x5a5a };
        _cleanup_(device_freep) Device *device = open_fake(&fake, 0);

        assert_int_equal(device_execute(device, &command, 1, NULL), -EPROTO);
        assert_int_equal(device_failure(device), -EPROTO);
}

static void test_a_status_is_told_after_all_commands_ran(void **state) {
        WireCommand commands[WIRE_BATCH_MAX + 1] = {};
        Fake fake = { .status = STATUS_NRT_HW_ERROR };
        _cleanup_(device_freep) Device *device = open_fake(&fake, 0);

        assert_int_equal(device_execute(device, commands, ELEMENTS(commands), NULL), -EREMOTEIO);
        assert_int_equal(fake.n_commands, ELEMENTS(commands));
        assert_int_equal(device_status(device), STATUS_NRT_HW_ERROR);
        assert_int_equal(device_failure(device), 0);
}

static void test_after_a_deadline_the_device_answers_no_more(void **state) {
        WireCommand command = { .type = COMMAND_MATMUL };
        Fake fake = { .error = -ETIMEDOUT };
        _cleanup_(device_freep) Device *device = open_fake(&fake, 0);

        device_set_deadline(device, 1234);
        assert_int_equal(device_execute(device, &command, 1, NULL), -ETIMEDOUT);
        assert_int_equal(fake.deadline_usec, 1234);
        fake.error = 0;
        assert_int_equal(device_execute(device, &command, 1, NULL), -ETIMEDOUT);
        assert_int_equal(fake.n_calls, 1);
        assert_int_equal(device_silence(device), -ETIMEDOUT);
}

/* Adapters are parts of their own. Over a connection to one chip silence is no status. */
static void test_who_was_silent_is_told_once(void **state) {
        Fake fake = { .status = STATUS_NRT_TIMEOUT }, other = fake;
        _cleanup_(device_freep) Device *device = open_fake(&fake, WIRE_CHIP_ALL), *chip = open_fake(&other, 7);
        WireCommand commands[] = { { .type = COMMAND_LINK_STATUS, .chip = 3 }, { .type = COMMAND_NIC_SEND, .chip = 9 },
                                   { .type = COMMAND_NIC_RECEIVE, .chip = 3 }, { .type = COMMAND_HBM_PAUSE, .chip = 15 } };
        DeviceSilence silence;

        assert_int_equal(device_execute(device, commands, ELEMENTS(commands), NULL), -EREMOTEIO);
        assert_int_equal(device_execute(chip, commands, ELEMENTS(commands), NULL), -EREMOTEIO);
        silence = device_take_silence(device);
        assert_int_equal(silence.chips, 1 << 3 | 1 << 15);
        assert_int_equal(silence.adapters, 1 << 9 | 1 << 3);

        fake.status = STATUS_NRT_SUCCESS;
        assert_int_equal(device_execute(device, commands, ELEMENTS(commands), NULL), 0);
        silence = device_take_silence(device);
        assert_int_equal(silence.chips | silence.adapters, 0);
        assert_int_equal(device_take_silence(chip).chips, 0);
}

static void test_the_window_is_a_stack_of_aligned_pieces(void **state) {
        Fake fake = { .text = "42\n" };
        _cleanup_(device_freep) Device *device = open_fake(&fake, 0);
        void *a, *b;
        uint64_t value;

        a = device_window_take(device, 1);
        b = device_window_take(device, sizeof(window) - WIRE_ALIGNMENT);
        assert_int_equal(device_window_offset(device, a), 0);
        assert_int_equal(device_window_offset(device, b), WIRE_ALIGNMENT);
        assert_int_equal(device_window_free(device), 0);
        assert_null(device_window_take(device, 1));
        assert_null(device_window_take(device, SIZE_MAX));
        assert_int_equal(device_attribute_u64(device, 0, "core_count", &value), -ENOSPC);

        device_window_reset(device);
        assert_ptr_equal(device_window_take(device, 64), a);
        assert_int_equal(device_attribute_u64(device, 0, "core_count", &value), 0);
        assert_int_equal(value, 42);
        assert_int_equal(device_window_free(device), sizeof(window) - 64); /* given back */
}

static void test_numbers_are_whole_or_refused(void **state) {
        static const struct {
                const char *text;
                int error;
                uint64_t value;
        } cases[] = {
                { "0", 0, 0 },
                { "18446744073709551615\n", 0, UINT64_MAX },
                { "0xfFfFfFfFfFfFfFfF", 0, UINT64_MAX },
                { "18446744073709551616", -EPROTO, 0 },
                { "", -EPROTO, 0 },
                { "0x", -EPROTO, 0 },
                { "-1", -EPROTO, 0 },
                { "7abc", -EPROTO, 0 },
                { " 7", -EPROTO, 0 },
                { "7\n\n", -EPROTO, 0 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Fake fake = { .text = cases[i].text };
                _cleanup_(device_freep) Device *device = open_fake(&fake, 0);
                uint64_t value = 4711;

                assert_int_equal(device_attribute_u64(device, 0, "core_count", &value), cases[i].error);
                assert_int_equal(value, cases[i].error < 0 ? 4711 : cases[i].value);
        }
}

static void test_text_that_no_sysfs_has_is_refused(void **state) {
        static const struct {
                const char text[4];
                uint32_t n;
        } cases[] = { { "a\0b", 3 }, { "\xff", 1 }, { "\x1b[m", 3 } };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Fake fake = { .text = cases[i].text };
                _cleanup_(device_freep) Device *device = open_fake(&fake, 0);
                char text[ATTRIBUTE_TEXT_MAX];

                fake.n_text = cases[i].n;
                assert_int_equal(device_attribute(device, 0, "info/serial_number", text), -EPROTO);
        }
}

static void test_an_attribute_that_is_not_there_is_told_from_an_error(void **state) {
        const char *const paths[] = { "a", "b" };
        char texts[2][ATTRIBUTE_TEXT_MAX];
        Fake fake = { .status = STATUS_NRT_QUEUE_EMPTY };
        _cleanup_(device_freep) Device *device = open_fake(&fake, 0);
        int errors[2];

        assert_int_equal(device_attributes(device, 0, paths, 2, texts, errors), 0);
        assert_int_equal(errors[0], -ENOENT);
        assert_int_equal(device_attribute(device, 0, "a", texts[0]), -ENOENT);
        assert_int_equal(device_attribute_write(device, 0, "a", "1"), -ENOENT);

        fake.status = STATUS_NRT_FAILURE;
        assert_int_equal(device_attributes(device, 0, paths, 2, texts, errors), -EREMOTEIO);
        fake.error = -EIO;
        assert_int_equal(device_attribute(device, 0, "a", texts[0]), -EIO);
}

static void test_a_freed_device_closes_its_transport(void **state) {
        Fake fake = {};

        assert_null(device_free(open_fake(&fake, WIRE_CHIP_ALL)));
        assert_true(fake.closed);
        assert_null(device_free(NULL));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_many_commands_travel_in_packets_of_the_wire_s_size),
                cmocka_unit_test(test_what_a_completion_claims_is_bounded),
                cmocka_unit_test(test_a_status_that_nobody_knows_breaks_the_agreement),
                cmocka_unit_test(test_a_status_is_told_after_all_commands_ran),
                cmocka_unit_test(test_after_a_deadline_the_device_answers_no_more),
                cmocka_unit_test(test_who_was_silent_is_told_once),
                cmocka_unit_test(test_the_window_is_a_stack_of_aligned_pieces),
                cmocka_unit_test(test_numbers_are_whole_or_refused),
                cmocka_unit_test(test_text_that_no_sysfs_has_is_refused),
                cmocka_unit_test(test_an_attribute_that_is_not_there_is_told_from_an_error),
                cmocka_unit_test(test_a_freed_device_closes_its_transport),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
