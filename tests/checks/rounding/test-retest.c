/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The second count of a lane, through the whole check: it clears the published generator of bad luck with its seed, and decides about
 * lanes whose words nobody can predict, so that nothing but counting tells what is wrong with them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "checks/rounding/parameters.h"
#include "tests/hall-device.h"
#include "tests/sim/plain-rounding.h"

extern const Check check_rounding;

#define SCENARIO "scenario: test\nseed: 3\ntopology: {servers: 1}\n"
#define LANE     "core2/scalar/lane40"

static Found found;

/* Of seeds 1 to 20000 these are the first two under which a sound lane raises the alarm: none of 50 went up at 1/4 (lane 84 of the
 * GpSimd engine), and 30 did (lane 5 of the Scalar engine). */
static void test_a_sound_chip_is_cleared_of_its_seed(void **state) {
        static const uint64_t unlucky[] = { 448, 940 };

        for (size_t i = 0; i < ELEMENTS(unlucky); i++) {
                RoundingParameters p = { .seed = unlucky[i], .false_alarms = 0.01, .fleet = 400000, .bias = 0.25, .samples = 4096 };
                Device *device = hall_device(SCENARIO, "trn-0", 0, 16u << 20);

                assert_int_equal(hall_scan(device, &check_rounding, &p, &found), VERDICT_PASSED);
                assert_int_equal(found.n, 0);
                assert_true(found_value(&found, "rounding_binomial_retests") == CORES);
                assert_true(found_value(&found, "rounding_p_value") < 1e-5);
                (void) device_free(device);
        }
}

/* ---- a lane that takes its words from noise ---- */

static uint8_t *window;
static unsigned n_conversions, n_unlucky;
static bool biased;

static uint32_t noise(void) {
        static uint64_t x = 88172645463325252u;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return (uint32_t) (x >> 32);
}

/* Each bit of a biased word is 1 once in eight times. In the first commands words are 0, where conversions go down. */
static uint32_t word(void) {
        if (n_conversions <= n_unlucky)
                return 0;
        return biased ? noise() & noise() & noise() : noise();
}

static void draw_from_noise(const WireCommand *command, WireCompletion *completion) {
        const WireConvert *convert = &command->convert;
        const PlainFault *none = NULL;
        const PlainFormat *f = plain_formats;

        if (command->type != COMMAND_CONVERT || command->unit != 2 || convert->engine != ENGINE_SCALAR || !(convert->flags & CONVERT_STOCHASTIC))
                return;
        n_conversions++;
        while (f->format != convert->format)
                f++;
        for (size_t i = 40 * convert->count; i < 41 * convert->count; i++) {
                uint32_t image;
                float value;

                memcpy(&value, window + command->in_offset + 4 * i, 4);
                image = plain_round(f, &none, 40, value, true, word()) << f->lies_at;
                memcpy(window + command->out_offset + f->bytes * i, &image, f->bytes);
        }
}

static void scan_noise(unsigned unlucky, bool is_biased) {
        /* All that is asked at once: no closer look comes between the two counts. */
        RoundingParameters p = { .seed = 20061204, .false_alarms = 0.01, .fleet = 400000, .bias = 0.25, .samples = 4096,
                                 .words = ROUNDING_WORDS_DEFAULT, .resets = ROUNDING_RESETS_DEFAULT, .every_format = true };
        HallDevice *hall = hall_device_new(SCENARIO, "trn-0", 0, 16u << 20);
        Device *device = hall_connect(hall, &hall_transport, hall);

        window = hall->reach.window;
        n_conversions = 0;
        n_unlucky = unlucky;
        biased = is_biased;
        hall_lie = draw_from_noise;
        assert_int_equal(hall_scan(device, &check_rounding, &p, &found), VERDICT_FAILED);
        hall_lie = NULL;
        assert_int_equal(found.n, 1);
        (void) device_free(device);
}

static void test_biased_noise_is_called_so_after_two_counts(void **state) {
        scan_noise(0, true);
        if (!found_has(&found, "rounding-bias", LANE) || !strstr(found.lines, "with a fresh seed, probability"))
                fail_msg("%s", strstr(found.lines, "diagnosis"));
        assert_true(found_value(&found, "rounding_binomial_retests") == 1);
}

/* It is not the seeded generator, but none that is biased. */
static void test_unlucky_noise_is_cleared_of_bias(void **state) {
        scan_noise(3, false);
        if (!found_has(&found, "rounding-generator", LANE))
                fail_msg("%s", strstr(found.lines, "diagnosis"));
        assert_true(found_value(&found, "rounding_binomial_retests") == 1);
        scan_noise(0, false);
        assert_true(found_has(&found, "rounding-generator", LANE));
        assert_true(found_value(&found, "rounding_binomial_retests") == 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_sound_chip_is_cleared_of_its_seed),
                cmocka_unit_test(test_biased_noise_is_called_so_after_two_counts),
                cmocka_unit_test(test_unlucky_noise_is_cleared_of_bias),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
