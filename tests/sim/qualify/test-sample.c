/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/chip/dispatch.h"
#include "sim/qualify/sample.h"

#define DRAWS 8u

static void draw(uint64_t seed, const FaultKind *kind, unsigned index, DrawnFault *ret) {
        _cleanup_free_ char *why = NULL;
        int r = sample_draw(seed, kind, index, 3, 0, ret, &why);

        if (r < 0)
                fail_msg("%s: %s", kind->name, why ? why : strerror(-r));
}

/* Every kind can be drawn, as what a scenario takes, in the chip that was asked for. */
static void test_every_kind_can_be_drawn(void **state) {
        const FaultKind *kind;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                for (unsigned k = 0; k < DRAWS; k++) {
                        _cleanup_(scenario_freep) Scenario *scenario = NULL;
                        _cleanup_free_ char *item = NULL, *text = NULL, *error = NULL;
                        DrawnFault fault = {};

                        draw(11, kind, k, &fault);
                        assert_true(asprintf(&item, "  - %s\n", fault.text) > 0);
                        text = sample_scenario(1, fault.ring, item);
                        assert_non_null(text);
                        if (scenario_parse("drawn", text, strlen(text), &scenario, &error) < 0)
                                fail_msg("%s", error);
                        assert_int_equal(scenario->n_faults, 1);
                        assert_ptr_equal(fault.kind, kind);
                        if (!kind->is_shared)
                                assert_int_equal(location_index(&fault.at, LOCATION_CHIP), 3);
                        drawn_fault_done(&fault);
                }
}

static void test_a_draw_follows_from_its_seed(void **state) {
        const FaultKind *kind;
        unsigned same = 0, n = 0;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++) {
                DrawnFault first = {}, again = {}, other = {}, seed = {};

                draw(11, kind, 5, &first);
                draw(11, kind, 6, &other);
                draw(11, kind, 5, &again);
                draw(12, kind, 5, &seed);
                assert_string_equal(first.text, again.text);
                same += strcmp(first.text, other.text) == 0 || strcmp(first.text, seed.text) == 0;
                n++;
                drawn_fault_done(&first);
                drawn_fault_done(&again);
                drawn_fault_done(&other);
                drawn_fault_done(&seed);
        }
        /* Kinds without a place of their own and without parameters are always the same. */
        assert_in_range(same, 0, n / 4);
}

/* Every kind says what it should be called, in codes that there are. */
static void test_codes_are_in_the_catalogue(void **state) {
        const FaultKind *kind;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                for (unsigned k = 0; k < DRAWS; k++) {
                        DrawnFault fault = {};

                        draw(13, kind, k, &fault);
                        assert_in_range(fault.diagnosis.n_places, 1, DIAGNOSIS_PLACES_MAX);
                        if (!fault.diagnosis.codes)
                                fail_msg("%s does not say what a finding of it is called (FaultKind.codes)", kind->name);
                        for (const char *const *code = fault.diagnosis.codes; code && *code; code++)
                                if (!catalogue_find(*code))
                                        fail_msg("%s: the catalogue has no code %s", kind->name, *code);
                        drawn_fault_done(&fault);
                }
}

/* What the floors promise: no fault that waits for a hall hotter than this one, or acts in fewer than half of the commands. */
static void test_floors_are_kept(void **state) {
        const FaultKind *kind;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                for (unsigned k = 0; k < DRAWS; k++) {
                        DrawnFault fault = {};
                        const char *at;

                        draw(17, kind, k, &fault);
                        at = strstr(fault.text, "probability: ");
                        if (at)
                                assert_true(strtod(at + strlen("probability: "), NULL) >= SAMPLE_PROBABILITY_MIN);
                        at = strstr(fault.text, "above: ");
                        if (at)
                                assert_true(strtod(at + strlen("above: "), NULL) <= SAMPLE_ABOVE_MAX);
                        drawn_fault_done(&fault);
                }
}

/* As often as was asked for, of all that can come and go. */
static void test_a_probability_is_kept(void **state) {
        const FaultKind *kind;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++) {
                _cleanup_free_ char *why = NULL;
                DrawnFault fault = {};

                assert_int_equal(sample_draw(19, kind, 0, 3, 0.05, &fault, &why), 0);
                assert_int_equal(fault.comes_and_goes, (kind->persistence & PERSISTENCE_INTERMITTENT) != 0);
                if (fault.comes_and_goes)
                        assert_non_null(strstr(fault.text, "probability: 0.05"));
                drawn_fault_done(&fault);
        }
}

static const LocationKind nowhere[] = { LOCATION_SERVER, _LOCATION_KIND_INVALID };

static void test_a_kind_without_a_place_is_refused(void **state) {
        static const FaultKind kind = { .name = "hang", .at = nowhere, .persistence = PERSISTENCE_PERMANENT };
        _cleanup_free_ char *why = NULL;
        DrawnFault fault = {};

        assert_int_equal(sample_draw(1, &kind, 0, 0, 0, &fault, &why), -ERANGE);
        assert_non_null(why);
        assert_null(fault.text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_kind_can_be_drawn),
                cmocka_unit_test(test_a_draw_follows_from_its_seed),
                cmocka_unit_test(test_codes_are_in_the_catalogue),
                cmocka_unit_test(test_floors_are_kept),
                cmocka_unit_test(test_a_probability_is_kept),
                cmocka_unit_test(test_a_kind_without_a_place_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
