/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "checks/step/target.h"

static void test_servers_and_chips_are_told_apart(void **state) {
        const char *wrong;
        Target target;

        assert_int_equal(target_parse("sim:/run/a#b/sim#us0-1/chip3,us0-2,us0-1/chip15,us0-1/chip3", &target,
                                      &wrong),
                         0);
        assert_string_equal(target.socket, "/run/a#b/sim");
        assert_int_equal(target.n_servers, 2);
        assert_string_equal(target.servers[0].name, "us0-1");
        assert_int_equal(target.servers[0].chips, 1 << 3 | 1 << 15);
        assert_int_equal(target.servers[1].chips, TARGET_CHIPS_ALL);

        assert_int_equal(target_parse("sim:s#trn-7/chip0,trn-7", &target, &wrong), 0);
        assert_int_equal(target.servers[0].chips, TARGET_CHIPS_ALL);
}

static void test_what_is_no_target_is_refused_with_a_reason(void **state) {
        static const char *const cases[] = {
                "",
                "sim:",
                "sim:#us0-1",
                "sim:socket",
                "pci:0#us0-1",
                "sim:s#",
                "sim:s#us0-1,",
                "sim:s#,us0-1",
                "sim:s#us0-1/chip16",
                "sim:s#us0-1/chip3/hbm0",
                "sim:s#US0-1",
                "sim:s#us0-1/nic3",
                "sim:s# us0-1",
                "sim:s#us0-0,us0-1,us0-2,us0-3,us0-4",
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                const char *wrong = NULL;
                Target target = { .n_servers = 4711 };

                if (target_parse(cases[i], &target, &wrong) != -EINVAL)
                        print_error("%s\n", cases[i]);
                assert_int_equal(target_parse(cases[i], &target, &wrong), -EINVAL);
                assert_non_null(wrong);
                assert_int_equal(target.n_servers, 4711); /* untouched */
        }
}

static void test_a_path_fits_a_socket_address(void **state) {
        char text[256];
        const char *wrong;
        Target target;

        (void) snprintf(text, sizeof(text), "sim:%0107d#us0-1", 0);
        assert_int_equal(target_parse(text, &target, &wrong), 0);
        (void) snprintf(text, sizeof(text), "sim:%0108d#us0-1", 0);
        assert_int_equal(target_parse(text, &target, &wrong), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_servers_and_chips_are_told_apart),
                cmocka_unit_test(test_what_is_no_target_is_refused_with_a_reason),
                cmocka_unit_test(test_a_path_fits_a_socket_address),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
