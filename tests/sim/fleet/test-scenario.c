/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/chip.h"
#include "sim/fleet/scenario.h"

#define HEAD "scenario: t\ntopology: {ultraservers: 1}\n"
#define FAULT(text) HEAD "faults:\n  - {" text "}\n"

typedef struct Refusal {
        const char *text;
        const char *message; /* whole, or what it begins with where it ends in '*' */
} Refusal;

static const Refusal refusals[] = {
        { "", "t.yaml:1:1: the file is empty, expected a scenario" },
        { "topology: {servers: 1}\n", "t.yaml:1:1: *" },
        { "scenario: t\n", "t.yaml:1:1: *" },
        { "scenario: t\ntopology: {}\n", "t.yaml:2:11: expected either ultraservers or servers" },
        { "scenario: t\ntopology: {servers: 1, ultraservers: 1}\n", "t.yaml:2:11: expected either ultraservers or servers" },
        { "scenario: t\ntopology: {servers: 0}\n", "t.yaml:2:21: *" },
        { "scenario: t\ntopology: {servers: 7abc}\n", "t.yaml:2:21: *" },
        { "scenario: t\ntopology: {servers: 25001}\n", "t.yaml:2:21: *" },
        { "scenario: t\ntopology: {servers: 1, hbm: 16-high-16gb}\n", "t.yaml:2:29: *" },
        { HEAD "noise: loud\n", "t.yaml:3:8: *" },
        { HEAD "noise: {soft-errors: -1}\n", "t.yaml:3:22: *" },
        { HEAD "noise: {soft-errors: 1e7}\n", "t.yaml:3:22: *" },
        { HEAD "noise: {hard-errors: 1}\n", "t.yaml:3:9: *" },
        { FAULT("at: us0-1/chip3/hbm0/ch0/pc0/sid0/bg0/ba0/row1/col2/bit3, kind: soft-error"),
          "t.yaml:4:5: \"after\" goes with persistence: transient, and only with it" },
        { FAULT("at: us0-1/chip3/hbm0/ch0/pc0/sid0/bg0/ba0/row1/col2, kind: soft-error, after: 1"),
          "t.yaml:4:10: a hit on one bit is …/rowN/colN/bitN; one on a byte, pin or beat …/rowN/colN with its shape" },
        { FAULT("at: us0-1/chip3/hbm0/ch0/pc0/sid0/bg0/ba0/row20000/col2/bit3, kind: retention"), "t.yaml:4:5: *" },
        { "scenario: t\ntopology: {racks: 1}\n", "t.yaml:2:12: *" },
        { HEAD "speed: 9\n", "t.yaml:3:1: *" },
        { HEAD "tensor: fast\n", "t.yaml:3:9: *" },
        { HEAD "tensor: {ftz: 1}\n", "t.yaml:3:15: '1' is no value for 'ftz', expected true or false" },
        { HEAD "tensor: {formats: bf16}\n", "t.yaml:3:19: expected a list of number formats*" },
        { HEAD "tensor: {formats: []}\n", "t.yaml:3:19: expected at least one number format" },
        { HEAD "tensor: {formats: [bf16, fp4]}\n", "t.yaml:3:26: 'fp4' is no value for 'formats', *" },
        { HEAD "tensor: {formats: [bf16, bf16]}\n", "t.yaml:3:26: bf16 is named twice" },
        { HEAD "tensor: {rounding: up}\n", "t.yaml:3:10: *" },
        { HEAD "seed: -1\n", "t.yaml:3:7: *" },
        { HEAD "temperature: warm\n", "t.yaml:3:14: *" },
        { HEAD "occupied: us0-1\n", "t.yaml:3:11: *" },
        { HEAD "occupied: [us0-4]\n", "t.yaml:3:12: the topology has no server us0-4" },
        { HEAD "occupied: [us0-1/chip3/nic0]\n", "t.yaml:3:12: *" },
        { HEAD "occupied: [us0-1/chip16]\n", "t.yaml:3:18: expected chip0 to chip15" },
        { HEAD "faults: [7]\n", "t.yaml:3:10: expected a fault: {at: …, kind: …}" },
        { FAULT("kind: hang"), "t.yaml:4:5: \"at\" is missing" },
        { FAULT("at: us0-1/chip3"), "t.yaml:4:5: \"kind\" is missing" },
        { FAULT("at: us0-1/chip33, kind: hang"), "t.yaml:4:16: expected chip0 to chip15" },
        { FAULT("at: us0-9/chip3, kind: hang"), "t.yaml:4:10: the topology has no server us0-9" },
        { FAULT("at: us0-1, kind: hang"), "t.yaml:4:10: expected a chip or a part of one" },
        { FAULT("at: us0-1/chip3, kind: melt"), "t.yaml:4:29: no kind is called \"melt\"; assay-sim kinds lists them all" },
        { FAULT("at: us0-1/chip3/core1, kind: hang"), "t.yaml:4:10: hang cannot sit in a core; assay-sim kinds hang tells where it can" },
        { FAULT("at: us0-1/chip3, kind: hang, speed: 3"), "t.yaml:4:35: 'speed' is no key here, *" },
        { FAULT("at: us0-1/chip3, kind: hang, attributes: yes"), "t.yaml:4:47: 'yes' is no value for 'attributes', expected true or false" },
        { FAULT("at: us0-1/chip3, kind: hang, persistence: transient, after: 1"), "t.yaml:4:48: hang cannot be transient" },
        { FAULT("at: us0-1/chip3, kind: hang, persistence: sometimes"), "t.yaml:4:48: 'sometimes' is no value for 'persistence', *" },
        { FAULT("at: us0-1/chip3, kind: hang, probability: 0.5"),
          "t.yaml:4:48: \"probability\" goes with persistence: intermittent, and only with it" },
        { FAULT("at: us0-1/chip3, kind: hang, persistence: intermittent"),
          "t.yaml:4:5: \"probability\" goes with persistence: intermittent, and only with it" },
        { FAULT("at: us0-1/chip3, kind: hang, persistence: intermittent, probability: 1.5"), "t.yaml:4:75: '1.5' is no value for 'probability', expected a number from 0 to 1" },
        { FAULT("at: us0-1/chip3, kind: hang, after: 3"), "t.yaml:4:42: \"after\" goes with persistence: transient, and only with it" },
        { FAULT("at: us0-1/chip3, kind: serial-mismatch, above: 70"), "t.yaml:4:53: serial-mismatch has no \"above\"" },
        { FAULT("at: us0-1/chip3, kind: serial-duplicate"), "t.yaml:4:5: *" },
        { FAULT("at: us0-1/chip3, kind: serial-duplicate, of: 3"), "t.yaml:4:10: a chip cannot take its own serial" },
        { FAULT("at: us0-1/chip3, kind: serial-duplicate, of: 3, server: us1-1"), "t.yaml:4:10: expected a server of the same UltraServer" },
        { FAULT("at: us0-1/chip3, kind: serial-duplicate, of: 16"), "t.yaml:4:51: '16' is no value for 'of', expected a whole number from 0 to 15" },
        { FAULT("at: us0-1/chip3, kind: hang}\n  - {at: us0-1/chip3, kind: hang"),
          "t.yaml:5:5: another fault sits there, and the two cannot be together" },
        { HEAD "expect: {us0-1/chip3: {findings: []}}\n", "t.yaml:3:23: *" },
        { HEAD "expect: {us0-1/chip3: {verdict: broken}}\n", "t.yaml:3:33: *" },
        { HEAD "expect: {us0-8/chip3: {verdict: failed}}\n", "t.yaml:3:10: the topology has no server us0-8" },
        { HEAD "expect: {us0-1/chip3: {verdict: failed, findings: [{code: hbm-lost, at: us0-1}]}}\n",
          "t.yaml:3:59: the catalogue has no code \"hbm-lost\"" },
        { HEAD "expect: {us0-1/chip3: {verdict: failed, findings: [{code: hbm-cell, at: us0-1/bit7}]}}\n", "t.yaml:3:79: *" },
        { HEAD "expect: {us0-1/chip3: {verdict: failed, findings: [{code: hbm-cell, at: …bit7}]}}\n", "t.yaml:3:7*" },
        { HEAD "scenario: again\n", "t.yaml:3:1: *" },
        { "scenario: t\ntopology: {servers: 1}\nfaults: [{at: trn-0/chip3/link-z+, kind: link-down}]\n",
          "t.yaml:3:15: single servers have no z links" },
        { FAULT("at: us0-1/chip3/link-z+/lane16, kind: lane-dead"), "t.yaml:4:10: a z link has lanes 0 to 15" },
};

static void bad_input_is_refused_where_it_stands(void **state) {
        for (size_t i = 0; i < ELEMENTS(refusals); i++) {
                _cleanup_(scenario_freep) Scenario *scenario = NULL;
                _cleanup_free_ char *error = NULL;
                const Refusal *refusal = &refusals[i];
                size_t n = strlen(refusal->message);
                bool whole = refusal->message[n - 1] != '*';

                assert_int_equal(scenario_parse("t.yaml", refusal->text, strlen(refusal->text), &scenario, &error), -EINVAL);
                assert_non_null(error);
                if (whole ? strcmp(error, refusal->message) != 0 : strncmp(error, refusal->message, n - 1) != 0)
fail_msg("%s\nis refused as\n%s\nnot as\n%s", refusal->text, error, refusal->message);
        }
}

static Scenario *parse(const char *text) {
        _cleanup_free_ char *error = NULL;
        Scenario *scenario = NULL;

        if (scenario_parse("t.yaml", text, strlen(text), &scenario, &error) < 0)
                fail_msg("%s", error);
        return scenario;
}

static void the_tensor_engines_are_as_they_are_built(void **state) {
        _cleanup_(scenario_freep) Scenario *plain = parse(HEAD);
        _cleanup_(scenario_freep) Scenario *built = parse(HEAD "tensor: {ftz: true, formats: [bf16, fp8_e4m3]}\n");
        TensorSettings settings = chip_tensor(server_chip(hall_server(plain->hall, "us0-1"), 3));

        assert_false(settings.ftz);
        assert_int_equal(settings.absent, 0);
        settings = chip_tensor(server_chip(hall_server(built->hall, "us0-1"), 3));
        assert_true(settings.ftz);
        assert_int_equal(settings.absent, 1u << FORMAT_FP32 | 1u << FORMAT_FP16 | 1u << FORMAT_TF32 | 1u << FORMAT_FP8_E5M2 |
                                                          1u << FORMAT_FP8_E3M4);
}

static void faults_stand_in_their_chips_with_all_their_words(void **state) {
        _cleanup_(scenario_freep) Scenario *scenario = parse(
                        HEAD "faults:\n"
                             "  - {kind: hang, at: us0-1/chip3, persistence: intermittent, probability: 0.25, above: 71.5, after-commands: 9}\n"
                             "  - {at: us0-3/chip0, kind: ecc-errors, counter: mem_ecc_corrected, count: 3}\n");
        const Fault *fault;

        assert_int_equal(scenario->n_faults, 2);
        fault = server_chip(hall_server(scenario->hall, "us0-1"), 3)->faults[0];
        assert_string_equal(fault->kind->name, "hang");
        assert_int_equal(fault->id, 1);
        assert_int_equal(fault->persistence, PERSISTENCE_INTERMITTENT);
        assert_true(fault->probability == 0.25);
        assert_true(fault->above == 71.5);
        assert_int_equal(fault->after_commands, 9);
        fault = server_chip(hall_server(scenario->hall, "us0-3"), 0)->faults[0];
        assert_int_equal(fault->persistence, PERSISTENCE_PERMANENT);
        assert_true(isinf(fault->above));
}

static void stacks_and_noise_are_as_it_says(void **state) {
        static const struct {
                const char *text;
                unsigned part;
                double soft_errors, corrected;
        } said[] = {
                { HEAD, 0, 0, 0 },
                { HEAD "noise: false\n", 0, 0, 0 },
                { HEAD "noise: true\n", 0, 1.4e-5, 0.01 },
                { HEAD "noise: {soft-errors: 3}\n", 0, 3, 0 },
                { HEAD "noise: {corrected: 1e6, soft-errors: 0.5}\n", 0, 0.5, 1e6 },
                { "scenario: t\ntopology: {ultraservers: 1, hbm: 8-high-24gb}\n", 1, 0, 0 },
                { "scenario: t\ntopology: {ultraservers: 1, hbm: 12-high-16gb}\n", 0, 0, 0 },
        };

        for (size_t i = 0; i < ELEMENTS(said); i++) {
                Scenario *scenario = parse(said[i].text);
                const Chip *chip = server_chip(hall_server(scenario->hall, "us0-2"), 9);

                assert_int_equal(chip_hbm_part(chip), said[i].part);
                assert_true(chip_noise(chip).soft_errors == said[i].soft_errors && chip_noise(chip).corrected == said[i].corrected);
                scenario_free(scenario);
        }
}

static void occupied_servers_are_all_their_chips(void **state) {
        _cleanup_(scenario_freep) Scenario *scenario = parse(HEAD "occupied: [us0-3, us0-2/chip9]\n");

        assert_int_equal(hall_server(scenario->hall, "us0-3")->occupied, 0xffff);
        assert_int_equal(hall_server(scenario->hall, "us0-2")->occupied, 1 << 9);
        assert_int_equal(hall_server(scenario->hall, "us0-0")->occupied, 0);
}

static void expectations_keep_codes_and_ends_of_places(void **state) {
        _cleanup_(scenario_freep) Scenario *scenario = parse(
                        HEAD "expect:\n  us0-1/chip3: {verdict: failed, findings: [{code: hbm-cell, at: …/row7/bit77}, "
                             "{code: hbm-row, at: us0-1/chip3/hbm2}]}\n  us0-2: {verdict: inconclusive, more: true}\n");
        const Expectation *expectation = &scenario->expectations[0];

        assert_int_equal(scenario->n_expectations, 2);
        assert_int_equal(expectation->result, RESULT_FAILED);
        assert_false(expectation->more);
        assert_int_equal(expectation->n_findings, 2);
        assert_true(expectation->findings[0].is_suffix);
        assert_string_equal(expectation->findings[0].at, "/row7/bit77");
        assert_false(expectation->findings[1].is_suffix);
        assert_int_equal(scenario->expectations[1].result, RESULT_INCONCLUSIVE);
        assert_true(scenario->expectations[1].more);
}

static void a_hall_of_400000_chips_costs_what_is_used_of_it(void **state) {
        _cleanup_(scenario_freep) Scenario *scenario = parse("scenario: t\ntopology: {ultraservers: 6250}\n");

        assert_int_equal(hall_servers(scenario->hall), 25000);
        assert_non_null(hall_server(scenario->hall, "us6249-3"));
        assert_null(hall_server(scenario->hall, "us6250-0"));
        assert_null(hall_server(scenario->hall, "us0-4"));
        assert_null(hall_server(scenario->hall, "us00-1"));
        assert_null(hall_server(scenario->hall, "us0-1x"));
        assert_null(hall_server(scenario->hall, "trn-0"));
        assert_null(hall_server(scenario->hall, "us6249-3")->chips[0]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bad_input_is_refused_where_it_stands),
                cmocka_unit_test(the_tensor_engines_are_as_they_are_built),
                cmocka_unit_test(faults_stand_in_their_chips_with_all_their_words),
                cmocka_unit_test(stacks_and_noise_are_as_it_says),
                cmocka_unit_test(occupied_servers_are_all_their_chips),
                cmocka_unit_test(expectations_keep_codes_and_ends_of_places),
                cmocka_unit_test(a_hall_of_400000_chips_costs_what_is_used_of_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
