/* SPDX-License-Identifier: Apache-2.0 */

/* What arrives that nobody of this round sent, and what it must not be taken for. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/efa/efa.h"
#include "tests/checks/rehearsal.h"

#define SINGLE "scenario: test\nseed: 21\ntopology: {servers: 1}\n"

/* The second run of a step finds in the boxes what the first one has not taken: of the flood, and behind it of everyone. */
static void test_a_flood_makes_nobody_strange_in_the_run_after_it(void **state) {
        static const unsigned packets[] = { 32000, 45000, 65536 };

        for (size_t i = 0; i < ELEMENTS(packets); i++) {
                char text[256];

                (void) snprintf(text, sizeof(text), SINGLE "faults: [{at: trn-0/chip5/nic5, kind: packet-flood, packets: %u}]\n", packets[i]);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

                for (unsigned run = 0; run < 3; run++) {
                        Verdict verdict = _VERDICT_INVALID;

                        assert_int_equal(rehearsal_run(step, &verdict), 0);
                        if (step->n_said != 1 || !rehearsal_said(step, "efa-flood", "trn-0/chip5/nic5")) {
                                rehearsal_print(step);
                                fail_msg("%u packets, run %u", packets[i], run);
                        }
                        /* Its two partners at the most cannot be heard. */
                        for (unsigned c = 0; c < CHIPS; c++)
                                if (c != 5 && c != 6 && c != 10)
                                        assert_int_equal(step->parts[c], VERDICT_PASSED);
                }
        }
}

/* More than can be taken, of a sender that is in order by now. */
static void flood_chip6(Step *step, unsigned n_flows) {
        for (unsigned f = 0; f < n_flows; f++) {
                WireNicSend send = { .chip = 6, .flow = f, .packets = 65536, .bytes = 1, .path = NIC_PATH_SPRAYED };
                NicCompletion completion;
                int error;

                (void) snprintf(send.server, sizeof(send.server), "trn-0");
                assert_int_equal(device_nic_send(step->servers[0].device, &(uint8_t) { 5 }, 1, &send, &completion, &error), 0);
                assert_int_equal(error, 0);
        }
}

static void test_a_box_that_cannot_be_emptied_is_left_out(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        flood_chip6(step, 40);
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(step->n_said, 0);
        assert_true(rehearsal_untested(step, "flooded trn-0/chip6/nic6"));
        for (unsigned c = 0; c < CHIPS; c++)
                assert_int_equal(step->parts[c], c == 6 ? VERDICT_ERROR : VERDICT_PASSED);
        assert_int_equal(step->reasons[6], REASON_AMBIGUOUS);
}

static void test_a_box_that_can_be_emptied_is_judged(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        flood_chip6(step, 16);
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(verdict, VERDICT_PASSED);
        assert_int_equal(step->parts[6], VERDICT_PASSED);
}

/* One of two packets went back to its sender, which takes no path; the arrival says path 0, as the other one's does. */
static void test_what_went_astray_says_nothing_of_paths(void **state) {
        const Hosts hosts = { .n = 1, .hosts = { { .name = "trn-0" } } };
        Traffic traffic;
        uint64_t seen = 0;

        traffic_init(&traffic, &hosts, 0, 0, 15000);
        assert_int_equal(traffic_add(&traffic, 14, 15, NIC_PATH_SPRAYED, 2, 31), 0);
        traffic.seen = &seen;
        for (uint32_t s = 0; s < 2; s++) {
                WireArrival arrival = { .chip = 14, .sequence = s, .bytes = 31, .sent_nsec = 1000, .arrived_nsec = 8000 };

                (void) snprintf(arrival.server, sizeof(arrival.server), "trn-0");
                traffic_account(&traffic, s == 0 ? 15 : 14, &arrival, NULL);
        }
        free(traffic.incidents);
        assert_int_equal(traffic.flows[0].n_here, 1);
        assert_int_equal(traffic.flows[0].n_astray, 1);
        assert_int_equal(traffic.flows[0].paths, 1);
        assert_int_equal(traffic.flows[0].turn, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_flood_makes_nobody_strange_in_the_run_after_it),
                cmocka_unit_test(test_a_box_that_cannot_be_emptied_is_left_out),
                cmocka_unit_test(test_a_box_that_can_be_emptied_is_judged),
                cmocka_unit_test(test_what_went_astray_says_nothing_of_paths),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
