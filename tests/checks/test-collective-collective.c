/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/collective/collective.h"
#include "tests/checks/rehearsal.h"

#define SINGLE "scenario: test\nseed: 21\ntopology: {servers: 1}\n"
#define ULTRA  "scenario: test\nseed: 21\ntopology: {ultraservers: 1}\n"

static void expect_pass(Step *step) {
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_PASSED);
        assert_int_equal(step->n_said, 0);
}

static CollectiveParameters *parameters_of(Step *step) {
        return step->parameters;
}

static void few(Step *step) {
        parameters_of(step)->operations = parameters_of(step)->sizes = CHOICE_FEW;
}

static void test_healthy_chips_pass_again_and_again(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "collective", "trn-0");

        for (unsigned i = 0; i < 3; i++, step->seed++) {
                expect_pass(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], VERDICT_PASSED);
        }
}

static void test_healthy_ultraservers_pass(void **state) {
        for (unsigned s = 0; s < 4; s++) {
                char server[] = "us0-0";

                server[4] = (char) ('0' + s);
                _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "collective", server);

                expect_pass(step);
        }
}

static void test_any_set_of_neighbours_can_be_judged(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "collective", "trn-0");
        static const uint16_t sets[] = { 0x0003, 0x8008, 0x7ffe, 0x1111, 0xfffe };

        for (size_t i = 0; i < ELEMENTS(sets); i++) {
                step->servers[0].included = sets[i];
                expect_pass(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], sets[i] >> c & 1 ? VERDICT_PASSED : _VERDICT_INVALID);
        }
}

static void test_chips_that_are_no_neighbours_are_skipped(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "collective", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->servers[0].included = 0x0021; /* chips 0 and 5 */
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(verdict, VERDICT_SKIPPED);
        assert_int_equal(step->skip, REASON_NOT_REQUESTED);
}

typedef struct FaultCase {
        const char *fault;
        const char *findings[4][2];
} FaultCase;

static const FaultCase fault_cases[] = {
        { "{at: trn-0/chip9, kind: reduce-stuck-bit, bit: 0, value: 1}", { { "collective-data", "trn-0/chip9" } } },
        { "{at: trn-0/chip9, kind: reduce-stuck-bit, bit: 31, value: 0}", { { "collective-data", "trn-0/chip9" } } },
        { "{at: trn-0/chip2, kind: reduce-stuck-bit, bit: 30, value: 1}", { { "collective-data", "trn-0/chip2" } } },
        { "{at: trn-0/chip2, kind: reduce-stuck-bit, bit: 26, value: 0}", { { "collective-data", "trn-0/chip2" } } },
        { "{at: trn-0/chip0, kind: dma-corrupt, rate: 1}", { { "collective-data", "trn-0/chip0" } } },
        { "{at: trn-0/chip0, kind: dma-corrupt, rate: 0.05}", { { "collective-data", "trn-0/chip0" } } },
        { "{at: trn-0/chip7, kind: collective-stall, step: 0}", { { "collective-hang", "trn-0/chip7" } } },
        { "{at: trn-0/chip7, kind: collective-stall, step: 1}", { { "collective-hang", "trn-0/chip7" } } },
        { "{at: trn-0/chip7, kind: collective-stall, step: 29}", { { "collective-hang", "trn-0/chip7" } } },
        { "{at: trn-0/chip15, kind: semaphore-lost, step: 0}", { { "collective-hang", "trn-0/chip15" } } },
        { "{at: trn-0/chip15, kind: semaphore-lost, step: 13}", { { "collective-hang", "trn-0/chip15" } } },
        { "{at: trn-0/chip15, kind: semaphore-lost, step: 29}", { { "collective-hang", "trn-0/chip15" } } },
        { "{at: trn-0/chip4/link-x+, kind: link-stall, bytes: 0}", { { "collective-hang", "trn-0/chip4/link-x+" } } },
        { "{at: trn-0/chip4/link-y-, kind: link-stall, bytes: 1000}", { { "collective-hang", "trn-0/chip4/link-y-" } } },
        { "{at: trn-0/chip4/link-x-, kind: link-stall, bytes: 100000000}", { { "collective-hang", "trn-0/chip4/link-x-" } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 2}", { { "collective-slow", "trn-0/chip11" } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 1000}", { { "collective-slow", "trn-0/chip11" } } },
        { "{at: trn-0/chip11/link-y+, kind: link-down}", { { "collective-hang", "trn-0/chip11/link-y+" } } },
        { "{at: trn-0/chip4/link-x+, kind: cable-broken}",
          { { "collective-hang", "trn-0/chip4/link-x+" }, { "collective-hang", "trn-0/chip5/link-x-" } } },
        { "{at: trn-0/chip0/link-x+, kind: cable-swapped, with: trn-0/chip5/link-y+}",
          { { "collective-data", "trn-0/chip0/link-x+" }, { "collective-data", "trn-0/chip1/link-x-" },
            { "collective-data", "trn-0/chip5/link-y+" }, { "collective-data", "trn-0/chip9/link-y-" } } },
        { "{at: trn-0/chip3, kind: reduce-stuck-bit, bit: 22, value: 1}, {at: trn-0/chip12, kind: dma-corrupt, rate: 0.3}",
          { { "collective-data", "trn-0/chip3" }, { "collective-data", "trn-0/chip12" } } },
        { "{at: trn-0/chip3, kind: chip-slow, factor: 5}, {at: trn-0/chip12, kind: reduce-stuck-bit, bit: 3, value: 0}",
          { { "collective-slow", "trn-0/chip3" }, { "collective-data", "trn-0/chip12" } } },
};

static void expect_findings(const char *topology, const char *server, const FaultCase *one, bool is_few) {
        Verdict verdict = _VERDICT_INVALID;
        char text[512];
        size_t n = 0;

        (void) snprintf(text, sizeof(text), "%sfaults: [%s]\n", topology, one->fault);
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", server);

        if (is_few)
                few(step);
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        for (; n < ELEMENTS(one->findings) && one->findings[n][0]; n++)
                if (!rehearsal_said(step, one->findings[n][0], one->findings[n][1])) {
                        rehearsal_print(step);
                        fail_msg("%s: %s at %s is missing", one->fault, one->findings[n][0], one->findings[n][1]);
                }
        if (step->n_said != n) {
                rehearsal_print(step);
                fail_msg("%s: too many findings", one->fault);
        }
        assert_int_equal(verdict, VERDICT_FAILED);
}

static void test_each_fault_is_found_in_its_place_and_nowhere_else(void **state) {
        for (size_t i = 0; i < ELEMENTS(fault_cases); i++) {
                expect_findings(SINGLE, "trn-0", &fault_cases[i], true);
                expect_findings(SINGLE, "trn-0", &fault_cases[i], false);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_healthy_chips_pass_again_and_again),
                cmocka_unit_test(test_healthy_ultraservers_pass),
                cmocka_unit_test(test_any_set_of_neighbours_can_be_judged),
                cmocka_unit_test(test_chips_that_are_no_neighbours_are_skipped),
                cmocka_unit_test(test_each_fault_is_found_in_its_place_and_nowhere_else),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
