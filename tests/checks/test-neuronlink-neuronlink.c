/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/neuronlink/fabric.h"
#include "tests/checks/rehearsal.h"

#define ULTRA  "scenario: test\nseed: 11\ntopology: {ultraservers: 1}\n"
#define SINGLE "scenario: test\nseed: 12\ntopology: {servers: 1}\n"

/* The torus once more, not by arithmetic on the port but by walking the ring of a row or a column. */
static unsigned walk(unsigned chip, LinkPort port) {
        static const uint8_t rows[4][4] = { { 0, 1, 2, 3 }, { 4, 5, 6, 7 }, { 8, 9, 10, 11 }, { 12, 13, 14, 15 } };
        unsigned row = chip >> 2, column = chip & 3;

        switch (port) {
        case LINK_X_PLUS:
                return rows[row][column == 3 ? 0 : column + 1];
        case LINK_X_MINUS:
                return rows[row][column == 0 ? 3 : column - 1];
        case LINK_Y_PLUS:
                return rows[row == 3 ? 0 : row + 1][column];
        case LINK_Y_MINUS:
                return rows[row == 0 ? 3 : row - 1][column];
        case LINK_Z_PLUS:
        case LINK_Z_MINUS:
        case _LINK_PORT_MAX:
        case _LINK_PORT_INVALID:
                break;
        }
        return chip;
}

static void link_text(char *text, size_t size, const char *server, unsigned chip, LinkPort port) {
        (void) snprintf(text, size, "%s/chip%u/link-%s", server, chip, link_port_to_string(port));
}

static void expect_pass(Step *step) {
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_PASSED);
        assert_int_equal(step->n_said, 0);
}

static void test_a_healthy_ring_passes_on_all_six_ports(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "neuronlink", "us0-2");

        for (unsigned i = 0; i < 3; i++) { /* nothing is left behind for the next run */
                expect_pass(step);
                for (unsigned c = 0; c < CHIPS; c++) {
                        assert_int_equal(step->parts[c], VERDICT_PASSED);
                        assert_true(step->ports_tested[c] == 6);
                        assert_true(step->lanes_tested[c] == 160);
                }
        }
}

/* All links of a server are busy at the same time, and so are both ends of each. */
static void test_clocks_of_all_chips_move_by_one_pass_of_prbs(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");
        NeuronlinkParameters *parameters = step->parameters;

        parameters->bits = 4700000; /* without an error in a good lane, so without a second pass */
        parameters->ber = 1e-6;
        expect_pass(step);
        for (unsigned c = 0; c < CHIPS; c++) {
                uint64_t nsec = chip_nsec(server_chip(step->servers[0].server, c));

                assert_in_range(nsec, 4700000 / 32, 4700000 / 32 + 300000);
        }
}

static void test_a_single_server_has_four_ports_a_chip(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");

        expect_pass(step);
        for (unsigned c = 0; c < CHIPS; c++) {
                assert_true(step->ports_tested[c] == 4);
                assert_true(step->lanes_tested[c] == 128);
        }
}

static void test_links_to_servers_outside_the_scan_are_not_driven(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "neuronlink", "us0-2");

        step->servers[1].included = 0;
        expect_pass(step);
        for (unsigned c = 0; c < CHIPS; c++)
                assert_true(step->ports_tested[c] == 5);
        assert_int_equal(device_nsec(step->servers[1].device), 0);
}

static void test_links_to_occupied_chips_are_not_driven(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");

        step->servers[0].included = (uint16_t) ~(1u << 5);
        expect_pass(step);
        assert_int_equal(step->parts[5], _VERDICT_INVALID);
        for (unsigned c = 0; c < CHIPS; c++) {
                bool beside = c == 4 || c == 6 || c == 1 || c == 9;

                assert_true(c == 5 || step->ports_tested[c] == (beside ? 3 : 4));
        }
}

static void test_without_a_link_in_the_scan_the_step_is_skipped(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->servers[0].included = 1u << 3;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(verdict, VERDICT_SKIPPED);
        assert_int_equal(step->skip, REASON_NOT_REQUESTED);
}

typedef struct FaultCase {
        const char *fault;
        const char *findings[4][2]; /* code, location */
} FaultCase;

static const FaultCase fault_cases[] = {
        { "{at: us0-1/chip3/link-x+/lane7, kind: bit-errors, rate: 1e-9}", { { "link-errors", "us0-1/chip3/link-x+/lane7" } } },
        { "{at: us0-1/chip3/link-x+, kind: bit-errors, rate: 1e-9}", { { "link-errors", "us0-1/chip3/link-x+" } } },
        { "{at: us0-1/chip3/link-x+, kind: bit-errors, rate: 0.01}", { { "link-errors", "us0-1/chip3/link-x+" } } },
        { "{at: us0-1/chip3/link-z-/lane15, kind: lane-dead}", { { "link-lane", "us0-1/chip3/link-z-/lane15" } } },
        { "{at: us0-1/chip3/link-y+/lane2, kind: lanes-crossed, with: 30}",
          { { "link-lane", "us0-1/chip3/link-y+/lane2" }, { "link-lane", "us0-1/chip3/link-y+/lane30" } } },
        { "{at: us0-1/chip3/link-y-, kind: link-down}", { { "link-down", "us0-1/chip3/link-y-" } } },
        { "{at: us0-1/chip3/link-z+, kind: link-down}", { { "link-down", "us0-1/chip3/link-z+" } } },
        { "{at: us0-2/chip3/link-z-, kind: link-down}", { } }, /* of the neighbour, and judged there */
        { "{at: us0-1/chip3/link-y-, kind: cable-broken}",
          { { "link-down", "us0-1/chip3/link-y-" }, { "link-down", "us0-1/chip15/link-y+" } } },
        { "{at: us0-1/chip9/link-y+, kind: link-counter-stuck}", { { "link-counter", "us0-1/chip9/link-y+" } } },
        { "{at: us0-0/chip9/link-z+, kind: cable-swapped, with: us0-0/chip4/link-z+}",
          { { "link-miscabled", "us0-1/chip9/link-z-" }, { "link-miscabled", "us0-1/chip4/link-z-" } } },
        { "{at: us0-1/chip9/link-z+, kind: cable-swapped, with: us0-3/chip4/link-z-}",
          { { "link-miscabled", "us0-1/chip9/link-z+" } } },
};

static void test_each_fault_is_found_at_its_port_and_nowhere_else(void **state) {
        for (size_t i = 0; i < ELEMENTS(fault_cases); i++) {
                const FaultCase *one = &fault_cases[i];
                char text[512];
                size_t n = 0;
                Verdict verdict = _VERDICT_INVALID;

                (void) snprintf(text, sizeof(text), ULTRA "faults: [%s]\n", one->fault);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "neuronlink", "us0-1");

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                for (; n < ELEMENTS(one->findings) && one->findings[n][0]; n++)
                        if (!rehearsal_said(step, one->findings[n][0], one->findings[n][1])) {
                                rehearsal_print(step);
                                fail_msg("%s: %s at %s is missing", one->fault, one->findings[n][0], one->findings[n][1]);
                        }
                if (step->n_said != n)
                        rehearsal_print(step);
                assert_int_equal(step->n_said, n);
                assert_int_equal(verdict, n > 0 ? VERDICT_FAILED : VERDICT_PASSED);
        }
}

static void test_a_chip_that_hangs_costs_only_itself(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA "faults: [{at: us0-1/chip6, kind: hang}]\n", "neuronlink", "us0-1");

        expect_pass(step);
        for (unsigned c = 0; c < CHIPS; c++) {
                assert_int_equal(step->parts[c], c == 6 ? VERDICT_ERROR : VERDICT_PASSED);
                assert_true(c == 6 || step->ports_tested[c] == 6);
        }
}

/* Whatever it says wrong, and however: itself fails, and those beside it do not. */
static void test_a_chip_that_garbles_its_answers_costs_only_itself(void **state) {
        static const char *const modes[] = { "status", "oversize", "void" };

        for (size_t i = 0; i < ELEMENTS(modes); i++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[512];

                (void) snprintf(text, sizeof(text), ULTRA "faults: [{at: us0-1/chip6, kind: garble, mode: %s, command: link}]\n",
                                modes[i]);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "neuronlink", "us0-1");

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                if (verdict != VERDICT_FAILED)
                        rehearsal_print(step);
                assert_int_equal(verdict, VERDICT_FAILED);
                for (unsigned c = 0; c < CHIPS; c++) {
                        if (step->parts[c] != (c == 6 ? VERDICT_FAILED : VERDICT_PASSED))
                                rehearsal_print(step);
                        assert_int_equal(step->parts[c], c == 6 ? VERDICT_FAILED : VERDICT_PASSED);
                }
        }
}

static void test_a_server_where_nobody_answers_cannot_be_judged(void **state) {
        char text[2048] = SINGLE "faults:\n";
        Verdict verdict = _VERDICT_INVALID;

        for (unsigned c = 0; c < CHIPS; c++)
                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "  - {at: trn-0/chip%u, kind: hang}\n", c);
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "neuronlink", "trn-0");

        assert_int_equal(rehearsal_run(step, &verdict), -ETIMEDOUT);
}

/* Puts two cables of a server wrong: A and B get each other's far end. */
static void check_swap(unsigned chip_a, LinkPort a, unsigned chip_b, LinkPort b) {
        char text[512], ports[4][LOCATION_STRING_MAX], hears[4][LOCATION_STRING_MAX];
        Verdict verdict = _VERDICT_INVALID;

        link_text(ports[0], sizeof(ports[0]), "trn-0", chip_a, a);
        link_text(ports[1], sizeof(ports[1]), "trn-0", chip_b, b);
        link_text(ports[2], sizeof(ports[2]), "trn-0", walk(chip_a, a), link_port_opposite(a));
        link_text(ports[3], sizeof(ports[3]), "trn-0", walk(chip_b, b), link_port_opposite(b));
        for (unsigned i = 0; i < 4; i++) /* a to far b, b to far a, and back */
                memcpy(hears[i], ports[3 - i], LOCATION_STRING_MAX);

        (void) snprintf(text, sizeof(text), SINGLE "faults: [{at: %s, kind: cable-swapped, with: %s}]\n", ports[0], ports[1]);
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "neuronlink", "trn-0");

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(verdict, VERDICT_FAILED);
        if (step->n_said != 4)
                rehearsal_print(step);
        assert_int_equal(step->n_said, 4);
        for (unsigned i = 0; i < 4; i++) {
                bool found = false;

                for (size_t k = 0; k < step->n_said; k++)
                        found |= strcmp(step->said[k].at, ports[i]) == 0 && strcmp(step->said[k].actual, hears[i]) == 0 &&
                                 strcmp(step->said[k].code, "link-miscabled") == 0 &&
                                 strstr(step->said[k].message, "two cables are swapped");
                if (!found)
                        rehearsal_print(step);
                assert_true(found);
        }
}

static bool is_cable(unsigned chip, LinkPort port) {
        static const uint8_t trays[CHIPS] = { 0, 4, 4, 0, 1, 5, 5, 1, 3, 7, 7, 3, 2, 6, 6, 2 };

        return trays[chip] != trays[walk(chip, port)];
}

/* Every pair of cables, both ways of exchanging their ends; all of them with ASSAY_TEST_ALL, else every EVERY-th. */
static void check_swaps(unsigned every) {
        unsigned n = 0, n_checked = 0;

        for (unsigned i = 0; i < 32; i++)
                for (unsigned k = i + 1; k < 32; k++)
                        for (unsigned turned = 0; turned < 2; turned++) {
                                LinkPort a = i % 2 ? LINK_Y_PLUS : LINK_X_PLUS, b = k % 2 ? LINK_Y_PLUS : LINK_X_PLUS;
                                unsigned chip_a = i / 2, chip_b = k / 2;

                                if (!is_cable(chip_a, a) || !is_cable(chip_b, b) || n++ % every != 0)
                                        continue;
                                if (turned) {
                                        chip_b = walk(chip_b, b);
                                        b = link_port_opposite(b);
                                }
                                check_swap(chip_a, a, chip_b, b);
                                n_checked++;
                        }

        assert_int_equal(n, 24 * 23); /* 24 of the 32 links are cables */
        assert_true(n_checked >= 40);
}

static void test_every_swap_of_two_cables_is_named_at_all_four_ports(void **state) {
        check_swaps(getenv("ASSAY_TEST_ALL") ? 1 : 13);
}

static void test_no_failing_batch_becomes_a_pass(void **state) {
        static const int errors[] = { -EIO, -ENODEV, -EPROTO, -ETIMEDOUT };

        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (unsigned n = 1;; n++) {
                        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");
                        Verdict verdict = _VERDICT_INVALID;
                        int r;

                        step->fail_at = n;
                        step->failure = errors[e];
                        r = rehearsal_run(step, &verdict);
                        if (step->n_batches < n)
                                break;
                        assert_int_equal(r, errors[e]);
                }
}

static void test_too_few_bits_for_the_promised_ratio_are_refused(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");
        NeuronlinkParameters *parameters = step->parameters;
        Verdict verdict = _VERDICT_INVALID;

        parameters->bits = 91000000000; /* 4.55 of 4.605 */
        assert_int_equal(rehearsal_run(step, &verdict), -EINVAL);
}

static void test_a_budget_too_small_for_prbs_skips(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->budget_sec = 1;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(verdict, VERDICT_SKIPPED);
        assert_int_equal(step->skip, REASON_BUDGET);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_healthy_ring_passes_on_all_six_ports),
                cmocka_unit_test(test_clocks_of_all_chips_move_by_one_pass_of_prbs),
                cmocka_unit_test(test_a_single_server_has_four_ports_a_chip),
                cmocka_unit_test(test_links_to_servers_outside_the_scan_are_not_driven),
                cmocka_unit_test(test_links_to_occupied_chips_are_not_driven),
                cmocka_unit_test(test_without_a_link_in_the_scan_the_step_is_skipped),
                cmocka_unit_test(test_each_fault_is_found_at_its_port_and_nowhere_else),
                cmocka_unit_test(test_a_chip_that_hangs_costs_only_itself),
                cmocka_unit_test(test_a_chip_that_garbles_its_answers_costs_only_itself),
                cmocka_unit_test(test_a_server_where_nobody_answers_cannot_be_judged),
                cmocka_unit_test(test_every_swap_of_two_cables_is_named_at_all_four_ports),
                cmocka_unit_test(test_no_failing_batch_becomes_a_pass),
                cmocka_unit_test(test_too_few_bits_for_the_promised_ratio_are_refused),
                cmocka_unit_test(test_a_budget_too_small_for_prbs_skips),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
