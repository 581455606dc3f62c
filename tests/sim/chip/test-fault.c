/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "sim/chip/chip.h"
#include "sim/chip/fault.h"

typedef struct Bench {
        Hall *hall;
        Chip *chip;
        Fault *fault;
} Bench;

/* The fault of TEXT, in a chip of its own. */
static Bench bench(const char *text) {
        _cleanup_yaml_ Yaml yaml = {};
        Bench b = {};

        assert_int_equal(hall_new(9, 60, true, 1, &b.hall), 0);
        assert_int_equal(yaml_parse(&yaml, "fault", text, strlen(text)), 0);
        if (fault_read(&yaml, yaml_root(&yaml), b.hall, &b.fault) < 0)
                fail_msg("%s", yaml.error);
        b.chip = server_chip(hall_server(b.hall, "us0-1"), 3);
        return b;
}

static void bench_done(Bench *b) {
        (void) fault_free(b->fault);
        (void) hall_free(b->hall);
}

static bool active(const Bench *b, uint64_t number, uint64_t nsec) {
        Execution execution = { .chip = b->chip, .number = number, .start_nsec = nsec };

        return fault_is_active(b->fault, &execution);
}

#define GARBLE "{at: us0-1/chip3, kind: garble, mode: void"

static void a_permanent_fault_always_acts(void **state) {
        Bench b = bench(GARBLE "}");

        for (uint64_t number = 0; number < 100; number++)
                assert_true(active(&b, number, number * 1000));
        bench_done(&b);
}

static void an_intermittent_fault_acts_as_often_as_it_says_and_the_same_again(void **state) {
        Bench b = bench(GARBLE ", persistence: intermittent, probability: 0.2}");
        unsigned n = 0;

        for (uint64_t number = 0; number < 10000; number++) {
                bool first = active(&b, number, 0);

                assert_int_equal(first, active(&b, number, 77));
                n += first;
        }
        assert_in_range(n, 1800, 2200);
        bench_done(&b);
}

static void a_transient_fault_acts_in_one_command_only(void **state) {
        Bench b = bench(GARBLE ", persistence: transient, after: 2.5}");

        assert_false(active(&b, 0, 0));
        assert_false(active(&b, 1, 2499999999));
        assert_true(active(&b, 2, 2500000000));
        assert_true(active(&b, 2, 2500000000)); /* asked again by the same command */
        assert_false(active(&b, 3, 2600000000));
        bench_done(&b);
}

static void triggers_wait_for_heat_and_work(void **state) {
        Bench b = bench(GARBLE ", above: 80, after-commands: 5}");

        assert_false(active(&b, 9, 0));
        b.chip->heat = 30;
        assert_true(active(&b, 9, 0));
        assert_true(active(&b, 5, 0));
        assert_false(active(&b, 4, 0));
        bench_done(&b);
}

static void a_droop_waits_for_the_supply_to_sag(void **state) {
        Bench b = bench(GARBLE "}");
        Execution execution = { .chip = b.chip };

        b.fault->droop = 12.5;
        assert_false(fault_is_active(b.fault, &execution));
        execution.sag = 12.4;
        assert_false(fault_is_active(b.fault, &execution));
        execution.sag = 12.5;
        assert_true(fault_is_active(b.fault, &execution));
        bench_done(&b);
}

static void a_droop_goes_with_kinds_that_have_it(void **state) {
        const char *text = GARBLE ", droop: 20}";
        _cleanup_yaml_ Yaml yaml = {};
        Fault *fault;
        Hall *hall;

        assert_int_equal(hall_new(9, 60, true, 1, &hall), 0);
        assert_int_equal(yaml_parse(&yaml, "fault", text, strlen(text)), 0);
        assert_int_equal(fault_read(&yaml, yaml_root(&yaml), hall, &fault), -EINVAL);
        assert_non_null(strstr(yaml.error, "garble has no \"droop\""));
        (void) hall_free(hall);
}

static void a_fault_that_is_refused_stays_the_callers(void **state) {
        Bench b = bench(GARBLE "}"), c = bench(GARBLE "}");

        assert_int_equal(fault_inject(b.hall, b.fault), 0);
        assert_int_equal(fault_inject(b.hall, c.fault), -EEXIST);
        assert_int_equal(b.chip->n_faults, 1);
        chip_heal(b.chip, 0);
        assert_int_equal(fault_inject(b.hall, c.fault), 0);
        assert_int_equal(c.fault->id, 2);
        (void) hall_free(b.hall);
        (void) hall_free(c.hall);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_permanent_fault_always_acts),
                cmocka_unit_test(an_intermittent_fault_acts_as_often_as_it_says_and_the_same_again),
                cmocka_unit_test(a_transient_fault_acts_in_one_command_only),
                cmocka_unit_test(triggers_wait_for_heat_and_work),
                cmocka_unit_test(a_droop_waits_for_the_supply_to_sag),
                cmocka_unit_test(a_droop_goes_with_kinds_that_have_it),
                cmocka_unit_test(a_fault_that_is_refused_stays_the_callers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
