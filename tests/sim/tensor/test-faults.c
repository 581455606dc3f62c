/* SPDX-License-Identifier: Apache-2.0 */

/* What kinds of the tensor engine say of themselves: which places they refuse, which finding is right, what nobody can see. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/chip/fault.h"
#include "sim/chip/topology.h"
#include "sim/tensor/faults.h"

static Hall *hall;

static int setup(void **state) {
        return hall_new(9, 60, true, 1, &hall);
}

static int teardown(void **state) {
        (void) hall_free(hall);
        return 0;
}

static Fault *read_fault(const char *text, const char *expected) {
        _cleanup_yaml_ Yaml yaml = {};
        Fault *fault = NULL;
        int r;

        assert_int_equal(yaml_parse(&yaml, "fault", text, strlen(text)), 0);
        r = fault_read(&yaml, yaml_root(&yaml), hall, &fault);
        if (!expected && r < 0)
                fail_msg("%s", yaml.error);
        if (expected) {
                assert_int_equal(r, -EINVAL);
                if (!strstr(yaml.error, expected))
                        fail_msg("%s is not about %s", yaml.error, expected);
        }
        return fault;
}

#define AT(place, rest) "{at: us0-1/chip3/core5" place ", kind: " rest "}"

static void places_outside_are_refused(void **state) {
        (void) read_fault(AT("/pe128.0", "psum-stuck, bit: 3, value: 1"), "pe0.0 to pe127.127");
        (void) read_fault(AT("/pe0.128", "psum-slow, bit: 3, edge: rise"), "pe0.0 to pe127.127");
        (void) read_fault(AT("/pe0.128", "multiplier-gate-stuck, a: 0, b: 0, value: 1"), "pe0.0 to pe127.127");
        (void) read_fault(AT("/pe1.1", "multiplier-gate-stuck, a: 5, b: 0, value: 1, lane: 1"), "5 by 5");
        (void) read_fault(AT("/pe1.1", "multiplier-gate-stuck, a: 0, b: 11, value: 1, lane: 1"), "5 by 5");
        (void) read_fault(AT("", "psum-stuck, bit: 3, value: 1"), "cannot sit in");
        (void) read_fault(AT("/pe1.1", "pe-block-dead, row-group: 0, column-group: 0"), "cannot sit in");
        (void) read_fault(AT("", "format-refused, format: bf16, droop: 5"), "droop");
        (void) fault_free(read_fault(AT("/pe127.127", "multiplier-gate-stuck, a: 4, b: 4, value: 1, lane: 1, droop: 50"), NULL));
}

static void products_of_fp8_have_no_low_bits(void **state) {
        static const struct {
                const char *text;
                bool seen;
        } cases[] = {
                { AT("/pe1.1", "product-stuck, bit: 13, value: 0, lane: 1"), false },
                { AT("/pe1.1", "product-stuck, bit: 14, value: 0, lane: 1"), true },
                { AT("/pe1.1", "product-stuck, bit: 13, value: 1, lane: 1"), true },
                { AT("/pe1.1", "product-stuck, bit: 13, value: 0"), true },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(fault_freep) Fault *fault = read_fault(cases[i].text, NULL);

                if ((fault->kind->undetectable(fault) == NULL) != cases[i].seen)
                        fail_msg("%s", cases[i].text);
        }
}

static void findings_that_cannot_be_told_apart_are_all_right(void **state) {
        static const struct {
                const char *text, *codes, *places;
        } cases[] = {
                { AT("/pe7.1", "activation-stuck, bit: 3, value: 1"), "systolic-pe", "pe7.1" },
                { AT("/pe7.0", "activation-stuck, bit: 3, value: 1"), "systolic-pe systolic-row", "core5 pe7.0" },
                { AT("/pe7.0", "activation-slow, bit: 3, edge: fall"), "systolic-pe systolic-row", "core5 pe7.0" },
                { AT("", "row-lane-stuck, row: 7, bit: 3, value: 1"), "systolic-pe systolic-row", "core5 pe7.0" },
                { AT("/pe126.9", "psum-stuck, bit: 3, value: 1"), "systolic-pe", "pe126.9" },
                { AT("/pe127.9", "psum-stuck, bit: 3, value: 1"), "systolic-pe systolic-column", "core5 pe127.9" },
                { AT("", "column-lane-stuck, column: 9, bit: 3, value: 1"), "systolic-pe systolic-column", "core5 pe127.9" },
                { AT("", "pe-block-dead, row-group: 1, column-group: 2"), "systolic-block", "core5" },
                { AT("", "format-wrong, format: bf16"), "systolic-mode", "core5" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(fault_freep) Fault *fault = read_fault(cases[i].text, NULL);
                Diagnosis diagnosis = { .codes = fault->kind->codes, .n_places = 1, .places = { fault->at } };
                char codes[128] = "", places[256] = "";

                if (fault->kind->diagnose)
                        fault->kind->diagnose(fault, &diagnosis);
                for (size_t c = 0; diagnosis.codes[c]; c++)
                        (void) snprintf(codes + strlen(codes), sizeof(codes) - strlen(codes), "%s%s", c > 0 ? " " : "", diagnosis.codes[c]);
                for (unsigned p = 0; p < diagnosis.n_places; p++) {
                        char text[LOCATION_STRING_MAX];

                        (void) location_format(&diagnosis.places[p], text);
                        (void) snprintf(places + strlen(places), sizeof(places) - strlen(places), "%s%s", p > 0 ? " " : "",
                                        strrchr(text, '/') + 1);
                }
                assert_string_equal(codes, cases[i].codes);
                assert_string_equal(places, cases[i].places);
        }
}

static void one_bit_is_stuck_once(void **state) {
        static const struct {
                const char *a, *b;
                bool collide;
        } cases[] = {
                { AT("/pe3.4", "psum-stuck, bit: 5, value: 1"), AT("/pe3.4", "psum-stuck, bit: 5, value: 0"), true },
                { AT("/pe3.4", "psum-stuck, bit: 5, value: 1"), AT("/pe3.4", "psum-stuck, bit: 6, value: 1"), false },
                { AT("/pe3.4", "psum-slow, bit: 5, edge: rise"), AT("/pe3.4", "psum-slow, bit: 5, edge: fall"), true },
                { AT("/pe3.4", "product-stuck, bit: 20, value: 1"), AT("/pe3.4", "product-stuck, bit: 20, value: 1, lane: 1"), false },
                { AT("/pe3.4", "multiplier-gate-stuck, a: 1, b: 2, value: 1"),
                  AT("/pe3.4", "multiplier-gate-stuck, a: 2, b: 1, value: 1"), false },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(fault_freep) Fault *a = read_fault(cases[i].a, NULL);
                _cleanup_(fault_freep) Fault *b = read_fault(cases[i].b, NULL);

                assert_int_equal(tensor_faults_collide(a, b), cases[i].collide);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(places_outside_are_refused),
                cmocka_unit_test(products_of_fp8_have_no_low_bits),
                cmocka_unit_test(findings_that_cannot_be_told_apart_are_all_right),
                cmocka_unit_test(one_bit_is_stuck_once),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
