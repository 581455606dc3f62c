/* SPDX-License-Identifier: Apache-2.0 */

/* What parts tell of themselves: serials that are nobody else's, and the same one wherever one part is asked from two sides. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/chip.h"

#define TEXT_MAX 64

static uint8_t window[WIRE_WINDOW_MIN];

/* "": there is no such attribute. */
static const char *ask(Hall *hall, const char *server, unsigned chip, const char *path, char text[static TEXT_MAX]) {
        WireCommand command = { .type = COMMAND_ATTRIBUTE, .in_bytes = (uint32_t) strlen(path), .out_offset = 1024, .out_bytes = TEXT_MAX - 1 };
        WireCompletion completion;

        memcpy(window, path, strlen(path));
        assert_int_equal(chip_execute(server_chip(hall_server(hall, server), chip), 1, &command, window, sizeof(window), &completion), 0);
        assert_true(completion.status == STATUS_NRT_SUCCESS || completion.status == STATUS_NRT_QUEUE_EMPTY);
        memcpy(text, window + 1024, completion.out_bytes);
        text[completion.out_bytes] = '\0';
        return text;
}

static int compare(const void *a, const void *b) {
        return strcmp(a, b);
}

static void serials_of_parts_are_their_own(void **state) {
        static const char *const paths[] = {
                "assay/hbm/0/serial_number", "assay/hbm/1/serial_number", "assay/hbm/2/serial_number", "assay/hbm/3/serial_number",
                "efa/serial_number", "efa/cable_serial_number",
        };
        static char serials[4 * CHIPS * 6][TEXT_MAX];
        _cleanup_(hall_freep) Hall *hall = NULL;
        size_t n = 0;

        assert_int_equal(hall_new(7, 60, true, 1, &hall), 0);
        for (unsigned server = 0; server < 4; server++)
                for (unsigned chip = 0; chip < CHIPS; chip++)
                        for (size_t i = 0; i < 6; i++) {
                                char name[8];

                                (void) snprintf(name, sizeof(name), "us0-%u", server);
                                (void) ask(hall, name, chip, paths[i], serials[n]);
                                assert_true(serials[n++][0] != '\0');
                        }
        qsort(serials, n, TEXT_MAX, compare);
        for (size_t i = 1; i < n; i++)
                assert_string_not_equal(serials[i - 1], serials[i]);
}

/* Two chips each, and what the chips say of their tray by number agrees. */
static void a_tray_has_one_serial_for_both_chips(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        char a[TEXT_MAX], b[TEXT_MAX], tray_a[TEXT_MAX], tray_b[TEXT_MAX];

        assert_int_equal(hall_new(7, 60, true, 1, &hall), 0);
        for (unsigned i = 0; i < CHIPS; i++)
                for (unsigned k = 0; k < CHIPS; k++) {
                        bool same = strcmp(ask(hall, "us0-1", i, "assay/tray", tray_a), ask(hall, "us0-1", k, "assay/tray", tray_b)) == 0;

                        assert_int_equal(same, strcmp(ask(hall, "us0-1", i, "assay/tray_serial_number", a), ask(hall, "us0-1", k, "assay/tray_serial_number", b)) == 0);
                }
        assert_string_not_equal(ask(hall, "us0-1", 0, "assay/tray_serial_number", a), ask(hall, "us0-2", 0, "assay/tray_serial_number", b));
}

static void what_is_the_servers_all_its_chips_tell_alike(void **state) {
        static const char *const paths[] = {
                "assay/software/neuron-driver", "assay/software/neuron-runtime", "assay/software/kernel", "assay/software/bios", "assay/software/bmc",
                "assay/server_part_number", "assay/inlet_temperature", "assay/server_power", "assay/server_serial",
        };
        _cleanup_(hall_freep) Hall *hall = NULL;
        char first[TEXT_MAX], text[TEXT_MAX];

        assert_int_equal(hall_new(7, 60, true, 1, &hall), 0);
        for (size_t i = 0; i < ELEMENTS(paths); i++)
                for (unsigned chip = 0; chip < CHIPS; chip++) {
                        assert_true(ask(hall, "us0-1", chip, paths[i], text)[0] != '\0');
                        assert_string_equal(text, ask(hall, "us0-1", 0, paths[i], first));
                }
}

/* A trace of the board is no cable, and a stack too many is none. */
static void what_is_not_there_tells_nothing(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        char text[TEXT_MAX];

        assert_int_equal(hall_new(7, 60, false, 1, &hall), 0);
        assert_string_equal(ask(hall, "trn-0", 0, "assay/hbm/4/serial_number", text), "");
        assert_string_equal(ask(hall, "trn-0", 0, "assay/hbm/4/part_number", text), "");
        assert_string_equal(ask(hall, "trn-0", 0, "assay/link/x-/cable_part_number", text), "");
        assert_string_equal(ask(hall, "trn-0", 0, "assay/link/z+/cable_part_number", text), "");
        assert_string_equal(ask(hall, "trn-0", 0, "assay/link/x+/cable_part_number", text), "NL-BP-16");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(serials_of_parts_are_their_own),
                cmocka_unit_test(a_tray_has_one_serial_for_both_chips),
                cmocka_unit_test(what_is_the_servers_all_its_chips_tell_alike),
                cmocka_unit_test(what_is_not_there_tells_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
