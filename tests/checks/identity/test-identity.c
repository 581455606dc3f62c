/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/identity/parameters.h"
#include "tests/hall-device.h"

extern const Check check_identity;

#define HEAD "scenario: t\nseed: 5\ntopology: {ultraservers: 1}\n"

static Verdict judge(const char *text, unsigned chip, char *firmware, Found *found) {
        IdentityParameters parameters = { .firmware = firmware };

        return hall_judge(text, &check_identity, "us0-1", chip, &parameters, found);
}

static void every_healthy_chip_is_who_it_should_be(void **state) {
        Found found;

        for (unsigned chip = 0; chip < CHIPS; chip++) {
                assert_int_equal(judge(HEAD, chip, NULL, &found), VERDICT_PASSED);
                assert_int_equal(found.n, 0);
        }
}

static void both_carriers_of_one_serial_are_found(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: serial-duplicate, of: 9}]\n";
        Found found;

        assert_int_equal(judge(text, 3, NULL, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "identity-duplicate", "us0-1/chip3"));
        assert_int_equal(judge(text, 9, NULL, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "identity-duplicate", "us0-1/chip9"));
        assert_int_equal(judge(text, 4, NULL, &found), VERDICT_PASSED);
}

static void firmware_unlike_that_of_most_is_a_warning(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: firmware-mismatch, version: 1.17.9.0}]\n";
        Found found;

        assert_int_equal(judge(text, 3, NULL, &found), VERDICT_WARNED);
        assert_true(found_has(&found, "identity-firmware", "us0-1/chip3"));
        assert_int_equal(judge(text, 4, NULL, &found), VERDICT_PASSED);
}

static void which_chip_is_asked_first_does_not_make_the_rule(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip0, kind: firmware-mismatch, version: 1.17.9.0}]\n";
        Found found;

        assert_int_equal(judge(text, 0, NULL, &found), VERDICT_WARNED);
        assert_int_equal(judge(text, 1, NULL, &found), VERDICT_PASSED);
}

static void firmware_is_what_the_plan_wants_where_it_says_so(void **state) {
        char old[] = "1.17.9.0";
        Found found;

        assert_int_equal(judge(HEAD, 3, old, &found), VERDICT_WARNED);
        assert_true(found_has(&found, "identity-firmware", "us0-1/chip3"));
}

static void a_chip_that_believes_to_sit_elsewhere_is_a_mismatch(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: position-mismatch, routing_id: 15}]\n";
        Found found;

        assert_int_equal(judge(text, 3, NULL, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "identity-mismatch", "us0-1/chip3"));
        assert_int_equal(found.n, 1);
}

static void driver_and_firmware_must_tell_one_serial(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: serial-mismatch}]\n";
        Found found;

        assert_int_equal(judge(text, 3, NULL, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "identity-mismatch", "us0-1/chip3"));
}

static void a_chip_without_a_driver_is_missing_and_not_its_neighbours(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: device-missing}]\n";
        Found found;

        assert_int_equal(judge(text, 3, NULL, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "identity-missing", "us0-1/chip3"));
        assert_int_equal(judge(text, 2, NULL, &found), VERDICT_PASSED);
}

/* The driver shows it: it is there, and gives answers that say nothing. */
static void a_chip_whose_answers_are_empty_is_not_called_missing(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: garble, mode: void}]\n";
        Found found;

        assert_int_equal(judge(text, 3, NULL, &found), VERDICT_ERROR);
        assert_int_equal(found.n, 0);
}

static void a_chip_that_hangs_is_no_pass_and_costs_no_neighbour(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: hang}]\n";
        Found found;

        assert_int_equal(judge(text, 3, NULL, &found), VERDICT_ERROR);
        assert_int_equal(judge(text, 2, NULL, &found), VERDICT_PASSED);
}

/* Every answer of the chip in turn is spoilt in every way: whatever comes of it, it is no pass. */
static void no_garbled_answer_makes_a_pass(void **state) {
        static const char *const modes[] = { "status", "void", "oversize", "short", "sequence", "count", "magic" };
        Found found;

        for (size_t mode = 0; mode < ELEMENTS(modes); mode++)
                for (unsigned after = 0; after < 43; after++) {
                        char text[256];

                        (void) snprintf(text, sizeof(text), HEAD "faults: [{at: us0-1/chip3, kind: garble, mode: %s, "
                                        "after-commands: %u, count: 1}]\n", modes[mode], after);
                        if (judge(text, 3, NULL, &found) == VERDICT_PASSED)
                                fail_msg("%s after %u commands", modes[mode], after);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_healthy_chip_is_who_it_should_be),
                cmocka_unit_test(both_carriers_of_one_serial_are_found),
                cmocka_unit_test(firmware_unlike_that_of_most_is_a_warning),
                cmocka_unit_test(which_chip_is_asked_first_does_not_make_the_rule),
                cmocka_unit_test(firmware_is_what_the_plan_wants_where_it_says_so),
                cmocka_unit_test(a_chip_that_believes_to_sit_elsewhere_is_a_mismatch),
                cmocka_unit_test(driver_and_firmware_must_tell_one_serial),
                cmocka_unit_test(a_chip_without_a_driver_is_missing_and_not_its_neighbours),
                cmocka_unit_test(a_chip_whose_answers_are_empty_is_not_called_missing),
                cmocka_unit_test(a_chip_that_hangs_is_no_pass_and_costs_no_neighbour),
                cmocka_unit_test(no_garbled_answer_makes_a_pass),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
