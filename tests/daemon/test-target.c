/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "daemon/target.h"

static const char text[] = "origin: a\nproducer: urn:x\n"
                           "targets: [{device: sim:/a, servers: [us0-0, us0-1, us1-0, trn-0, us-1, us0x-1]}]\n";

typedef struct Fixture {
        Config *config;
        Targets targets;
} Fixture;

static int set_up(void **state) {
        static Fixture fixture;
        char *error = NULL;

        fixture = (Fixture) {};
        *state = &fixture;
        if (config_parse("f", text, strlen(text), &fixture.config, &error) < 0)
                return -1;
        return targets_init(&fixture.targets, fixture.config);
}

static int tear_down(void **state) {
        Fixture *fixture = *state;

        targets_done(&fixture->targets);
        config_free(fixture->config);
        return 0;
}

typedef struct Case {
        const char *names[4];
        SelectError error;
        size_t at;
        const char *expected; /* server:mask … */
} Case;

static const Case cases[] = {
        { { NULL },                           SELECT_NOTHING,   0, NULL                    },
        { { "us0-1" },                        SELECT_OK,        0, "us0-1:ffff "           },
        { { "us0-1/chip3", "us0-1/chip0" },   SELECT_OK,        0, "us0-1:0009 "           },
        { { "us0" },                          SELECT_OK,        0, "us0-0:ffff us0-1:ffff " },
        { { "trn-0", "us1" },                 SELECT_OK,        0, "us1-0:ffff trn-0:ffff " },
        { { "us0-1", "us0-1" },               SELECT_TWICE,     1, NULL                    },
        { { "us0-1/chip3", "us0-1" },         SELECT_TWICE,     1, NULL                    },
        { { "us0-1", "us0" },                 SELECT_TWICE,     1, NULL                    },
        { { "us0-2" },                        SELECT_UNKNOWN,   0, NULL                    },
        { { "us2" },                          SELECT_UNKNOWN,   0, NULL                    },
        { { "trn" },                          SELECT_UNKNOWN,   0, NULL                    },
        { { "us" },                           SELECT_UNKNOWN,   0, NULL                    },
        { { "us0/chip1" },                    SELECT_UNKNOWN,   0, NULL                    },
        { { "us0-0", "us0-1/chip16" },        SELECT_MALFORMED, 1, NULL                    },
        { { "us0-1/chip3/hbm0" },             SELECT_DEPTH,     0, NULL                    },
        { { "us0-1/chip03" },                 SELECT_MALFORMED, 0, NULL                    },
        { { "" },                             SELECT_MALFORMED, 0, NULL                    },
        { { "../etc" },                       SELECT_MALFORMED, 0, NULL                    },
};

static void test_names_select_servers_chips_and_ultraservers(void **state) {
        Fixture *fixture = *state;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_free_ Selected *selected = NULL;
                char got[256] = "";
                SelectError error;
                size_t n = 0, at;

                assert_int_equal(targets_select(&fixture->targets, (char *const *) cases[i].names, &selected, &n, &error,
                                                &at),
                                 0);
                assert_int_equal(error, cases[i].error);
                if (error != SELECT_OK) {
                        assert_int_equal(at, cases[i].at);
                        assert_null(selected);
                        continue;
                }

                for (size_t s = 0; s < n; s++)
                        (void) snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s:%04x ",
                                        selected[s].target->config->name, (unsigned) selected[s].chips);
                assert_string_equal(got, cases[i].expected);
        }
}

static void test_only_names_with_two_numbers_belong_to_an_ultraserver(void **state) {
        Fixture *fixture = *state;

        assert_string_equal(targets_find(&fixture->targets, "us0-1")->ultraserver, "us0");
        assert_string_equal(targets_find(&fixture->targets, "trn-0")->ultraserver, "");
        assert_string_equal(targets_find(&fixture->targets, "us-1")->ultraserver, "");
        assert_string_equal(targets_find(&fixture->targets, "us0x-1")->ultraserver, "");
}

static void test_a_record_tells_how_its_chip_stands_and_lets_the_server_be_looked_up_again(void **state) {
        Fixture *fixture = *state;
        Target *target = targets_find(&fixture->targets, "us0-1");
        Location server = { .server = "us0-1" }, chip = server, other = server;

        assert_int_equal(location_append(&chip, LOCATION_CHIP, 3), 0);
        assert_int_equal(location_append(&other, LOCATION_CHIP, 4), 0);
        *target_standing(target, &server) = (TargetStanding) { .known = true, .result = RESULT_PASSED };
        target_take(target, &chip, RESULT_FAILED);
        assert_true(target_standing(target, &chip)->known);
        assert_int_equal(target_standing(target, &chip)->result, RESULT_FAILED);
        assert_false(target_standing(target, &other)->known);
        assert_false(target_standing(target, &server)->known);
        target_take(target, &chip, RESULT_PASSED);
        assert_false(target_standing(target, &chip)->known); /* an earlier failure may stand */
        target_take(target, &server, RESULT_PASSED);
        assert_false(target_standing(target, &server)->known);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_names_select_servers_chips_and_ultraservers, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                                test_a_record_tells_how_its_chip_stands_and_lets_the_server_be_looked_up_again, set_up,
                                tear_down),
                cmocka_unit_test_setup_teardown(test_only_names_with_two_numbers_belong_to_an_ultraserver, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
