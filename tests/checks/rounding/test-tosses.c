/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "checks/rounding/tosses.h"
#include "tests/hall-device.h"

static const RoundingParameters parameters = {
        .seed = 20061204, .false_alarms = 0.01, .fleet = 400000, .bias = 0.25, .samples = 4096,
};
static Tosses tosses;
static Session session;
static char text[256];

static Device *draw(const char *faults) {
        char scenario[512];
        Device *device;

        (void) snprintf(scenario, sizeof(scenario), "scenario: test\nseed: 3\ntopology: {servers: 1}\nfaults: [%s]\n", faults);
        device = hall_device(scenario, "trn-0", 0, 4u << 20);
        assert_non_null(device);
        assert_int_equal(session_open(&session, device, &parameters), 0);
        assert_int_equal(tosses_draw(&session, 6, ENGINE_SCALAR, &tosses), 0);
        return device;
}

static void test_sound_lanes_are_coins(void **state) {
        Device *device = draw("");
        unsigned other;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                assert_false(tosses_explain(&tosses, lane, text, sizeof(text), &other));
        (void) device_free(device);
}

static void test_a_lane_ahead_of_another_is_told(void **state) {
        Device *device = draw("{at: trn-0/chip0/core6/scalar/lane90, kind: lane-seed-shifted, other: 17, lag: 5}");
        unsigned other;

        assert_true(tosses_explain(&tosses, 90, text, sizeof(text), &other));
        assert_int_equal(other, 17);
        assert_non_null(strstr(text, "4091 of 4091 at 1/2 are as those of lane 17, 5 ahead"));
        assert_false(tosses_explain(&tosses, 91, text, sizeof(text), &other));
        (void) device_free(device);
}

/* Lanes that share a part of their tosses alone. */
static void test_correlated_lanes_are_told(void **state) {
        Device *device = draw("");
        unsigned other;

        for (unsigned i = 0; i < TOSSES / 64; i++)
                tosses.bits[4][i] = (tosses.bits[4][i] & 0xffffff0000000000u) | (tosses.bits[9][i] & 0x000000ffffffffffu);
        assert_true(tosses_explain(&tosses, 4, text, sizeof(text), &other));
        assert_int_equal(other, 9);
        (void) device_free(device);
}

static void test_tosses_that_repeat_are_told(void **state) {
        Device *device = draw("{at: trn-0/chip0/core6/scalar/lane3, kind: rng-short-cycle, words: 61}");
        unsigned other;

        assert_true(tosses_explain(&tosses, 3, text, sizeof(text), &other));
        assert_int_equal(other, ENGINE_LANES);
        assert_non_null(strstr(text, "4035 of 4035 at 1/2 are as the one 61 earlier"));
        (void) device_free(device);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sound_lanes_are_coins),
                cmocka_unit_test(test_a_lane_ahead_of_another_is_told),
                cmocka_unit_test(test_correlated_lanes_are_told),
                cmocka_unit_test(test_tosses_that_repeat_are_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
