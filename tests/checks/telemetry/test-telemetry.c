/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/plan/plan.h"
#include "checks/port/device-errors.h"
#include "sim/chip/chip.h"
#include "tests/hall-device.h"

extern const Check check_telemetry;

#define HEAD "scenario: t\nseed: 5\ntopology: {ultraservers: 1}\n"
#define FAULT(text) HEAD "faults: [{at: us0-1/chip3, " text "}]\n"

static Verdict judge(const char *text, unsigned chip, Found *found) {
        return hall_judge(text, &check_telemetry, "us0-1", chip, *check_word_find("telemetry")->parameters_defaults, found);
}

static void healthy_chips_pass_whatever_noise_the_seed_gives(void **state) {
        Found found;

        for (unsigned seed = 0; seed < 200; seed++) {
                char text[128];

                (void) snprintf(text, sizeof(text), "scenario: t\nseed: %u\ntopology: {ultraservers: 1}\n", seed);
                assert_int_equal(judge(text, seed % CHIPS, &found), VERDICT_PASSED);
                assert_int_equal(found.n, 0);
        }
}

static void each_kind_of_error_has_its_code_and_its_stack(void **state) {
        static const struct {
                const char *fault, *code, *at;
                Verdict verdict;
        } cases[] = {
                { "mem_ecc_uncorrected, stack: 2, count: 1", "hbm-uncorrected", "us0-1/chip3/hbm2", VERDICT_FAILED },
                { "mem_ecc_repairable_uncorrected, stack: 1, count: 1", "hbm-repairable", "us0-1/chip3/hbm1", VERDICT_FAILED },
                { "mem_ecc_corrected, stack: 0, count: 200", "hbm-corrected", "us0-1/chip3/hbm0", VERDICT_WARNED },
                { "sram_ecc_uncorrected, count: 1", "sram-uncorrected", "us0-1/chip3", VERDICT_FAILED },
                { "sram_ecc_corrected, count: 11", "sram-corrected", "us0-1/chip3", VERDICT_WARNED },
        };
        Found found;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char text[256];

                (void) snprintf(text, sizeof(text), FAULT("kind: ecc-errors, counter: %s"), cases[i].fault);
                assert_int_equal(judge(text, 3, &found), cases[i].verdict);
                assert_true(found_has(&found, cases[i].code, cases[i].at));
                assert_int_equal(found.n, 1);
                assert_int_equal(judge(text, 4, &found), VERDICT_PASSED);
        }
}

static void more_errors_than_a_mailbox_field_holds_are_no_lie(void **state) {
        Found found;

        assert_int_equal(judge(FAULT("kind: ecc-errors, counter: mem_ecc_uncorrected, stack: 2, count: 400"), 3, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "hbm-uncorrected", "us0-1/chip3/hbm2"));
        assert_non_null(strstr(found.lines, "that no repair mends: 400, limit 0"));
        assert_int_equal(found.n, 1);
}

static void a_few_corrected_errors_are_within_the_limit(void **state) {
        Found found;

        assert_int_equal(judge(FAULT("kind: ecc-errors, counter: mem_ecc_corrected, stack: 0, count: 90"), 3, &found), VERDICT_PASSED);
}

static void a_counter_that_stands_still_while_the_mailbox_counts_lies(void **state) {
        Found found;

        assert_int_equal(judge(FAULT("kind: counter-stuck, counter: mem_ecc_corrected, stack: 1, count: 5"), 3, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "counter-lies", "us0-1/chip3"));
        assert_int_equal(found.n, 1);
}

static void what_a_lying_counter_hides_is_judged_all_the_same(void **state) {
        Found found;

        assert_int_equal(judge(FAULT("kind: counter-stuck, counter: mem_ecc_uncorrected, stack: 1, count: 1"), 3, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "counter-lies", "us0-1/chip3"));
        assert_true(found_has(&found, "hbm-uncorrected", "us0-1/chip3/hbm1"));
}

static void a_heartbeat_that_stands_still_is_found(void **state) {
        Found found;

        assert_int_equal(judge(FAULT("kind: heartbeat-stalled"), 3, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "heartbeat-stalled", "us0-1/chip3"));
        assert_int_equal(found.n, 1);
}

static void heat_beyond_the_limit_is_found_and_less_is_not(void **state) {
        Found found;

        assert_int_equal(judge(FAULT("kind: overheat, celsius: 40"), 3, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "overheated", "us0-1/chip3"));
        assert_int_equal(judge(FAULT("kind: overheat, celsius: 20"), 3, &found), VERDICT_PASSED);
}

static void an_unhealthy_component_that_no_counter_explains_is_found(void **state) {
        Found found;

        assert_int_equal(judge(FAULT("kind: component-unhealthy, component: axi_fabric"), 3, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "component-unhealthy", "us0-1/chip3"));
        assert_int_equal(found.n, 1);
}

static void no_garbled_answer_makes_a_pass(void **state) {
        static const char *const modes[] = { "status", "void", "oversize", "short", "sequence", "count", "magic" };
        Found found;

        for (size_t mode = 0; mode < ELEMENTS(modes); mode++)
                for (unsigned after = 0; after < 15; after++) {
                        char text[256];

                        (void) snprintf(text, sizeof(text), FAULT("kind: garble, mode: %s, after-commands: %u, count: 1"),
                                        modes[mode], after);
                        if (judge(text, 3, &found) == VERDICT_PASSED)
                                fail_msg("%s after %u commands", modes[mode], after);
                }
}

/* ---- errors that a check has planted ---- */

/*
 * The verdict on a chip after a check has announced errors, and then died. In the meantime, and after, the counters named here
 * are moved.
 */
typedef struct Planting {
        uint64_t announced, counted, later; /* uncorrected errors of SRAM */
        bool alive;                         /* it has not died, but plants on */
} Planting;

static Verdict judge_planting(const Planting *planting, Found *found) {
        const uint64_t most[_ERROR_COUNTER_MAX] = { [ERRORS_SRAM_UNCORRECTED] = planting->announced };
        HallDevice *hall = hall_device_new(HEAD, "us0-1", 3, 1 << 20);
        Device *device = hall_connect(hall, &hall_transport, hall);
        Chip *chip = server_chip(hall->reach.server, 3);
        Verdict verdict;

        assert_int_equal(device_errors_announce(device, 3, ERRORS_SRAM, most), 0);
        chip_count(chip, COUNTER_SRAM_ECC_UNCORRECTED, 0, planting->counted);
        if (!planting->alive)
                batch_close(&hall->reach);
        chip_count(chip, COUNTER_SRAM_ECC_UNCORRECTED, 0, planting->later);
        verdict = hall_scan(device, &check_telemetry, *check_word_find("telemetry")->parameters_defaults, found);
        (void) device_free(device);
        return verdict;
}

static void errors_that_a_check_left_behind_are_none_of_the_chips(void **state) {
        Found found;

        assert_int_equal(judge_planting(&(Planting) { .announced = 144, .counted = 144 }, &found), VERDICT_PASSED);
        assert_int_equal(judge_planting(&(Planting) { .announced = 144, .counted = 60 }, &found), VERDICT_PASSED);
        assert_int_equal(judge_planting(&(Planting) { .announced = 144 }, &found), VERDICT_PASSED);
        assert_true(found_value(&found, "telemetry_sram_uncorrected") == 0);
}

/* However few they are, and also where fewer were planted than announced: what comes when the check is dead is the chip's. */
static void errors_beside_them_are_found_and_counted(void **state) {
        static const Planting cases[] = {
                { .announced = 144, .counted = 145 },
                { .announced = 144, .counted = 60, .later = 1 },
                { .announced = 144, .later = 1 },
                { .announced = 65535, .counted = 9, .later = 1 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Found found;

                assert_int_equal(judge_planting(&cases[i], &found), VERDICT_FAILED);
                assert_true(found_has(&found, "sram-uncorrected", "us0-1/chip3"));
                assert_non_null(strstr(found.lines, "uncorrected SRAM errors: 1, limit 0"));
                assert_int_equal(found.n, 1);
        }
}

/* Also where as many were planted as the mailbox's word holds. */
static void what_is_planted_beside_a_full_word_takes_nothing_from_the_count(void **state) {
        static const uint64_t planted[] = { 576, PLANTED_MAX };

        for (size_t i = 0; i < ELEMENTS(planted); i++) {
                Found found;

                assert_int_equal(judge_planting(&(Planting) { .announced = planted[i], .counted = planted[i], .later = 206986 }, &found),
                                 VERDICT_FAILED);
                assert_non_null(strstr(found.lines, "uncorrected SRAM errors: 206986, limit 0"));
                assert_int_equal(found.n, 1);
        }
}

/* Then sysfs counts them together, and nobody knows whose how many are. */
static void where_two_words_are_full_their_counts_are_lower_bounds(void **state) {
        static const char text[] = HEAD "faults: [{at: us0-1/chip3, kind: ecc-errors, counter: mem_ecc_uncorrected, stack: 2, count: 400}, "
                                   "{at: us0-1/chip3, kind: ecc-errors, counter: mem_ecc_uncorrected, stack: 0, count: 40}]\n";
        Found found;

        assert_int_equal(judge(text, 3, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "hbm-uncorrected", "us0-1/chip3/hbm2"));
        assert_true(found_has(&found, "hbm-uncorrected", "us0-1/chip3/hbm0"));
        assert_non_null(strstr(found.lines, "that no repair mends: at least 15, limit 0"));
        assert_int_equal(found.n, 2);
}

static void while_another_plants_nobody_can_judge(void **state) {
        Found found;

        assert_int_equal(judge_planting(&(Planting) { .announced = 144, .counted = 144, .alive = true }, &found), VERDICT_ERROR);
        assert_int_equal(judge_planting(&(Planting) { .announced = 144, .alive = true }, &found), VERDICT_ERROR);
        assert_int_equal(found.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(healthy_chips_pass_whatever_noise_the_seed_gives),
                cmocka_unit_test(each_kind_of_error_has_its_code_and_its_stack),
                cmocka_unit_test(more_errors_than_a_mailbox_field_holds_are_no_lie),
                cmocka_unit_test(a_few_corrected_errors_are_within_the_limit),
                cmocka_unit_test(a_counter_that_stands_still_while_the_mailbox_counts_lies),
                cmocka_unit_test(what_a_lying_counter_hides_is_judged_all_the_same),
                cmocka_unit_test(a_heartbeat_that_stands_still_is_found),
                cmocka_unit_test(heat_beyond_the_limit_is_found_and_less_is_not),
                cmocka_unit_test(an_unhealthy_component_that_no_counter_explains_is_found),
                cmocka_unit_test(no_garbled_answer_makes_a_pass),
                cmocka_unit_test(errors_that_a_check_left_behind_are_none_of_the_chips),
                cmocka_unit_test(errors_beside_them_are_found_and_counted),
                cmocka_unit_test(what_is_planted_beside_a_full_word_takes_nothing_from_the_count),
                cmocka_unit_test(where_two_words_are_full_their_counts_are_lower_bounds),
                cmocka_unit_test(while_another_plants_nobody_can_judge),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
