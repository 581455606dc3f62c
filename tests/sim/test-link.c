/* SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/neuronlink/prbs.h"
#include "tests/sim/lone-command.h"

#define ULTRA "scenario: test\nseed: 5\ntopology: {ultraservers: 1}\n"

static Lone *open_with(const char *fault) {
        char text[512];

        (void) snprintf(text, sizeof(text), ULTRA "faults: [%s]\n", fault);
        return lone_new(text, NULL);
}

static WireLinkStatus status_of(Lone *lone, unsigned chip, LinkPort port) {
        WireLinkStatus status;

        assert_int_equal(lone_run(lone, "us0-0", chip, (WireCommand) {
                .type = COMMAND_LINK_STATUS, .unit = port, .out_bytes = sizeof(status),
        }).status, STATUS_NRT_SUCCESS);
        memcpy(&status, lone->window + LONE_OUT, sizeof(status));
        return status;
}

static const WireLane *prbs_at(Lone *lone, unsigned chip, LinkPort port, WirePrbs polynomial, uint64_t seed, uint64_t bits) {
        WireCompletion completion;

        completion = lone_run(lone, "us0-0", chip, (WireCommand) {
                .type = COMMAND_LINK_PRBS, .unit = port, .out_bytes = LINK_LANES_MAX * sizeof(WireLane),
                .prbs = { .bits = bits, .seed = seed, .polynomial = polynomial },
        });
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        assert_int_equal(completion.device_nsec, (bits + 31) / 32);
        return (const WireLane *) (lone->window + LONE_OUT);
}

static uint32_t send_frame(Lone *lone, const char *server, unsigned chip, LinkPort port, const char *text) {
        memcpy(lone->window, text, strlen(text));
        return lone_run(lone, server, chip, (WireCommand) {
                .type = COMMAND_LINK_SEND, .unit = port, .in_bytes = (uint32_t) strlen(text),
        }).status;
}

static uint32_t receive_frame(Lone *lone, const char *server, unsigned chip, LinkPort port, char text[static 257]) {
        WireCompletion completion;

        completion = lone_run(lone, server, chip, (WireCommand) {
                .type = COMMAND_LINK_RECEIVE, .unit = port, .out_bytes = WIRE_FRAME_MAX,
        });
        memcpy(text, lone->window + LONE_OUT, completion.out_bytes);
        text[completion.out_bytes] = '\0';
        return completion.status;
}

static void test_frames_arrive_at_the_port_of_the_design(void **state) {
        static const struct {
                LinkPort port, far;
                const char *server;
                unsigned chip;
        } ways[] = { /* from us0-0/chip7: row 1, column 3 */
                { LINK_X_PLUS, LINK_X_MINUS, "us0-0", 4 },  { LINK_X_MINUS, LINK_X_PLUS, "us0-0", 6 },
                { LINK_Y_PLUS, LINK_Y_MINUS, "us0-0", 11 }, { LINK_Y_MINUS, LINK_Y_PLUS, "us0-0", 3 },
                { LINK_Z_PLUS, LINK_Z_MINUS, "us0-1", 7 },  { LINK_Z_MINUS, LINK_Z_PLUS, "us0-3", 7 },
        };
        _cleanup_(lone_freep) Lone *lone = lone_new(ULTRA, NULL);
        char text[257];

        for (size_t i = 0; i < ELEMENTS(ways); i++) {
                assert_int_equal(send_frame(lone, "us0-0", 7, ways[i].port, "hello"), STATUS_NRT_SUCCESS);
                assert_int_equal(receive_frame(lone, ways[i].server, ways[i].chip, ways[i].far, text), STATUS_NRT_SUCCESS);
                assert_string_equal(text, "hello");
                assert_int_equal(receive_frame(lone, ways[i].server, ways[i].chip, ways[i].far, text), STATUS_NRT_QUEUE_EMPTY);
        }
}

static void test_a_receiver_without_credit_takes_no_more_frames(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(ULTRA, NULL);
        char text[257], name[8];
        unsigned n = 0;

        while (n < 100 && (snprintf(name, sizeof(name), "f%u", n), send_frame(lone, "us0-0", 0, LINK_X_PLUS, name)) == 0)
                n++;
        assert_int_equal(n, 16);
        for (unsigned i = 0; i < n; i++) { /* in order */
                assert_int_equal(receive_frame(lone, "us0-0", 1, LINK_X_MINUS, text), STATUS_NRT_SUCCESS);
                (void) snprintf(name, sizeof(name), "f%u", i);
                assert_string_equal(text, name);
        }
        assert_int_equal(status_of(lone, 0, LINK_X_PLUS).frames_sent, 16);
        assert_int_equal(status_of(lone, 1, LINK_X_MINUS).frames_received, 16);
}

static WireCompletion transfer_to(Lone *lone, unsigned chip, LinkPort port, uint64_t bytes) {
        return lone_run(lone, "us0-0", chip, (WireCommand) { .type = COMMAND_LINK_TRANSFER, .unit = port, .transfer = { bytes } });
}

static void test_a_transfer_takes_its_time_on_the_link(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip3/link-y+/lane7, kind: lane-dead}, "
                                                     "{at: us0-0/chip5/link-x+, kind: bit-errors, rate: 1e-5}, "
                                                     "{at: us0-0/chip9/link-x+, kind: link-down}");
        WireCompletion completion;

        completion = transfer_to(lone, 0, LINK_X_PLUS, 1280000);
        assert_int_equal(completion.device_nsec, 10000); /* 128 GB/s */
        assert_int_equal(completion.result[0], 1280000);
        assert_int_equal(completion.result[1], 0);
        assert_int_equal(status_of(lone, 0, LINK_X_PLUS).frames_received, 5000);
        assert_int_equal(transfer_to(lone, 0, LINK_Z_PLUS, 1280000).device_nsec, 20000);
        assert_int_equal(transfer_to(lone, 3, LINK_Y_PLUS, 1240000).device_nsec, 10000); /* 31 lanes */

        completion = transfer_to(lone, 5, LINK_X_PLUS, 25600000);
        assert_in_range(completion.result[1], 2088 - 250, 2088 + 250); /* of 100,000 frames 1 − (1 − 1e-5)^2048, and those of those */
        assert_int_equal(completion.device_nsec, 200000 + 2 * completion.result[1]);
        assert_int_equal(status_of(lone, 5, LINK_X_PLUS).errors, completion.result[1]);
        assert_int_equal(status_of(lone, 6, LINK_X_MINUS).replays, completion.result[1]);

        assert_int_equal(transfer_to(lone, 9, LINK_X_PLUS, 1).status, STATUS_NRT_HW_ERROR);
        assert_int_equal(transfer_to(lone, 0, LINK_X_PLUS, 0).status, STATUS_NRT_INVALID);
        assert_int_equal(transfer_to(lone, 0, LINK_X_PLUS, UINT64_MAX).status, STATUS_NRT_INVALID);
}

static void test_commands_that_make_no_sense_are_refused(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(ULTRA, NULL);
        WireCommand prbs = { .type = COMMAND_LINK_PRBS, .out_bytes = 1536, .prbs = { .bits = 1000, .polynomial = PRBS31 } };
        WireCommand bad;

        bad = prbs, bad.prbs.bits = 0;
        assert_int_equal(lone_run(lone, "us0-0", 0, bad).status, STATUS_NRT_INVALID);
        bad = prbs, bad.prbs.bits = UINT64_MAX;
        assert_int_equal(lone_run(lone, "us0-0", 0, bad).status, STATUS_NRT_INVALID);
        bad = prbs, bad.prbs.polynomial = _PRBS_MAX;
        assert_int_equal(lone_run(lone, "us0-0", 0, bad).status, STATUS_NRT_INVALID);
        bad = prbs, bad.out_bytes = 1535;
        assert_int_equal(lone_run(lone, "us0-0", 0, bad).status, STATUS_NRT_INVALID);
        bad = prbs, bad.unit = PORTS;
        assert_int_equal(lone_run(lone, "us0-0", 0, bad).status, STATUS_NRT_INVALID_HANDLE);
        bad = (WireCommand) { .type = COMMAND_LINK_SEND, .in_bytes = WIRE_FRAME_MAX + 1 };
        assert_int_equal(lone_run(lone, "us0-0", 0, bad).status, STATUS_NRT_INVALID);
        bad = (WireCommand) { .type = COMMAND_LINK_LOOPBACK, .out_bytes = 1536,
                              .loopback = { .prbs = prbs.prbs, .stage = _LOOPBACK_MAX } };
        assert_int_equal(lone_run(lone, "us0-0", 0, bad).status, STATUS_NRT_INVALID);
}

/* ---- the drawn lane against one that is run bit by bit ---- */

typedef struct Moments {
        double n, sum, squares;
} Moments;

static void moments_add(Moments *moments, double value) {
        moments->n++;
        moments->sum += value;
        moments->squares += value * value;
}

static double mean_of(const Moments *moments) {
        return moments->sum / moments->n;
}

static double variance_of(const Moments *moments) {
        return moments->squares / moments->n - mean_of(moments) * mean_of(moments);
}

/* xorshift64*: any generator but the model's. */
static double uniform(uint64_t *x) {
        *x ^= *x >> 12;
        *x ^= *x << 25;
        *x ^= *x >> 27;
        return (double) (*x * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

/* Sends BITS bits of lane LANE through a line of error ratio RATE and checks them against the seeded pattern. */
static WireLane run_lane(WirePrbs polynomial, uint64_t seed, unsigned lane, uint64_t bits, double rate, uint64_t *random) {
        uint32_t sender = prbs_seed(polynomial, seed, lane), checker = sender;
        WireLane result = { .bits = bits, .state = sender, .locked = 1 };
        unsigned last = 2;

        for (uint64_t i = 0; i < bits; i++) {
                unsigned bit = prbs_next(polynomial, &sender) ^ (uniform(random) < rate);

                result.errors += bit != prbs_next(polynomial, &checker);
                result.transitions += last < 2 && bit != last;
                last = bit;
        }
        return result;
}

static void test_drawn_lanes_are_distributed_as_lanes_run_bit_by_bit(void **state) {
        static const double rates[] = { 0.01, 0.002, 0.0002 };
        const uint64_t bits = 20000;
        const unsigned runs = 1500;

        for (size_t k = 0; k < ELEMENTS(rates); k++) {
                Moments drawn = {}, run = {}, zero_drawn = {}, zero_run = {};
                char fault[160];
                uint64_t random = 88172645463325252u;

                (void) snprintf(fault, sizeof(fault), "{at: us0-0/chip3/link-y+/lane7, kind: bit-errors, rate: %g}", rates[k]);
                _cleanup_(lone_freep) Lone *lone = open_with(fault);

                for (unsigned i = 0; i < runs; i++) {
                        const WireLane *lanes = prbs_at(lone, 3, LINK_Y_PLUS, PRBS15, i, bits);
                        WireLane truth = run_lane(PRBS15, i, 7, bits, rates[k], &random);

                        assert_int_equal(lanes[7].state, truth.state);
                        assert_int_equal(lanes[6].errors, 0);
                        assert_true(fabs((double) lanes[7].transitions - (double) truth.transitions) < 600);
                        moments_add(&drawn, (double) lanes[7].errors);
                        moments_add(&run, (double) truth.errors);
                        moments_add(&zero_drawn, lanes[7].errors == 0);
                        moments_add(&zero_run, truth.errors == 0);
                }

                double expected = (double) bits * rates[k], sigma = sqrt(expected / runs);

                assert_true(fabs(mean_of(&drawn) - expected) < 5 * sigma);
                assert_true(fabs(mean_of(&drawn) - mean_of(&run)) < 5 * sigma * sqrt(2));
                assert_true(fabs(variance_of(&drawn) / variance_of(&run) - 1) < 0.2);
                assert_true(fabs(mean_of(&zero_drawn) - mean_of(&zero_run)) < 0.06);
        }
}

static void test_transitions_are_those_of_the_sequence_over_whole_periods(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(ULTRA, NULL);

        for (unsigned p = PRBS7; p <= PRBS15; p++) {
                uint64_t period = (UINT64_C(1) << prbs_degree((WirePrbs) p)) - 1, random = 1;
                const WireLane *lanes = prbs_at(lone, 0, LINK_X_PLUS, (WirePrbs) p, 9, 3 * period);
                WireLane truth = run_lane((WirePrbs) p, 9, 5, 3 * period + 1, 0, &random); /* one bit more closes the ring */

                assert_int_equal(lanes[5].transitions, truth.transitions);
                assert_int_equal(lanes[5].state, truth.state);
        }
}

static void test_good_lanes_make_an_error_in_1e15_bits(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(ULTRA, NULL);
        uint64_t errors = 0;

        for (unsigned i = 0; i < 400; i++) {
                const WireLane *lanes = prbs_at(lone, 2, LINK_X_PLUS, PRBS31, i, UINT64_C(100000000000000));

                for (unsigned l = 0; l < LINK_LANES_XY; l++)
                        errors += lanes[l].errors;
        }
        assert_in_range(errors, 1280 - 180, 1280 + 180); /* 400 × 32 × 1e14 × 1e-15 ± 5 sigma */
        assert_int_equal(status_of(lone, 2, LINK_X_PLUS).errors, errors);
}

/* ---- faults ---- */

static void test_a_dead_lane_shows_no_errors_and_no_transitions(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip3/link-y+/lane7, kind: lane-dead}");
        const WireLane *lanes = prbs_at(lone, 3, LINK_Y_PLUS, PRBS31, 1, 1000000);

        assert_int_equal(lanes[7].errors, 0);
        assert_int_equal(lanes[7].transitions, 0);
        assert_int_equal(lanes[7].locked, 0);
        assert_int_equal(lanes[8].locked, 1);
        assert_int_equal(status_of(lone, 3, LINK_Y_PLUS).width, 31);
        assert_int_equal(status_of(lone, 7, LINK_Y_MINUS).width, 32); /* the other way is sound */
}

static void test_crossed_lanes_show_each_others_streams(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip3/link-y+/lane7, kind: lanes-crossed, with: 2}");
        const WireLane *lanes = prbs_at(lone, 3, LINK_Y_PLUS, PRBS31, 1, 1000000);

        assert_int_equal(lanes[7].state, prbs_seed(PRBS31, 1, 2));
        assert_int_equal(lanes[2].state, prbs_seed(PRBS31, 1, 7));
        assert_in_range(lanes[7].errors, 497000, 503000);
}

static void test_a_link_to_a_chip_that_hangs_does_not_train(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip4, kind: hang}");
        const WireLane *lanes;

        assert_int_equal(status_of(lone, 0, LINK_Y_PLUS).up, 0);
        assert_int_equal(status_of(lone, 0, LINK_X_PLUS).up, 1);
        assert_int_equal(send_frame(lone, "us0-0", 0, LINK_Y_PLUS, "x"), STATUS_NRT_HW_ERROR);
        lanes = prbs_at(lone, 0, LINK_Y_PLUS, PRBS31, 1, 1000);
        for (unsigned l = 0; l < LINK_LANES_XY; l++)
                assert_int_equal(lanes[l].locked, 0);
}

static bool near_loopback_works(Lone *lone, unsigned chip, LinkPort port, WireLoopback stage) {
        WireCompletion completion;

        completion = lone_run(lone, "us0-0", chip, (WireCommand) {
                .type = COMMAND_LINK_LOOPBACK, .unit = port, .out_bytes = 1536,
                .loopback = { .prbs = { .bits = 1000, .seed = 1, .polynomial = PRBS31 }, .stage = stage },
        });
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        return ((const WireLane *) (lone->window + LONE_OUT))[0].locked;
}

static void test_loopback_stages_bracket_a_dead_transceiver_and_a_broken_cable(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip0/link-y+, kind: link-down}, "
                                                     "{at: us0-0/chip1/link-y+, kind: cable-broken}");
        static const bool expected[3][_LOOPBACK_MAX] = { /* near PCS, near PMA, far PMA, far PCS */
                { true, false, false, false }, { true, true, false, false }, { true, true, true, true },
        };

        for (unsigned s = 0; s < _LOOPBACK_MAX; s++)
                for (unsigned c = 0; c < 3; c++)
                        assert_int_equal(near_loopback_works(lone, c, LINK_Y_PLUS, (WireLoopback) s), expected[c][s]);
}

static void test_swapped_cables_swap_both_directions_and_their_numbers(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip0/link-y+, kind: cable-swapped, with: us0-0/chip9/link-x-}");
        char text[257];

        assert_int_equal(send_frame(lone, "us0-0", 0, LINK_Y_PLUS, "a"), 0);
        assert_int_equal(receive_frame(lone, "us0-0", 8, LINK_X_PLUS, text), 0);
        assert_int_equal(send_frame(lone, "us0-0", 8, LINK_X_PLUS, "b"), 0);
        assert_int_equal(receive_frame(lone, "us0-0", 0, LINK_Y_PLUS, text), 0);
        assert_int_equal(send_frame(lone, "us0-0", 9, LINK_X_MINUS, "c"), 0);
        assert_int_equal(receive_frame(lone, "us0-0", 4, LINK_Y_MINUS, text), 0);
        assert_int_equal(send_frame(lone, "us0-0", 4, LINK_Y_MINUS, "d"), 0);
        assert_int_equal(receive_frame(lone, "us0-0", 9, LINK_X_MINUS, text), 0);
        assert_string_equal(text, "d");

        chip_heal(lone_chip(lone, "us0-0", 0), 0);
        assert_int_equal(send_frame(lone, "us0-0", 0, LINK_Y_PLUS, "e"), 0);
        assert_int_equal(receive_frame(lone, "us0-0", 4, LINK_Y_MINUS, text), 0);
        assert_string_equal(text, "e");
}

static void test_what_cannot_be_is_refused(void **state) {
        static const char *const refused[][2] = {
                { "{at: us0-0/chip3/link-x+, kind: cable-swapped, with: us0-0/chip9/link-y+}", "trace of their board" },
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped, with: us0-0/chip2/link-x-}", "trace of their board" },
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped, with: us0-0/chip9/link-y+}", "the same cable" },
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped, with: us0-0/chip9/link-z+}", "do not fit" },
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped, with: us0-1/chip9/link-y+}", "do not leave their server" },
                { "{at: us0-0/chip9/link-z+, kind: cable-swapped, with: us1-0/chip8/link-z+}", "do not leave their UltraServer" },
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped, with: us0-0/chip9}", "no link port" },
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped}", "with" },
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped, with: us0-0/chip13/link-y-}", "the same cable" },
                { "{at: us0-0/chip9/link-z+/lane16, kind: lane-dead}", "0 to 15" },
                { "{at: us0-0/chip9/link-z+/lane6, kind: lanes-crossed, with: 16}", "0 to 15" },
                { "{at: us0-0/chip9/link-z+/lane6, kind: lanes-crossed, with: 6}", "with itself" },
                { "{at: us0-0/chip1/link-x+, kind: cable-broken}", "trace of their board" },
        };

        for (size_t i = 0; i < ELEMENTS(refused); i++) {
                _cleanup_free_ char *error = NULL;
                char text[512];

                (void) snprintf(text, sizeof(text), ULTRA "faults: [%s]\n", refused[i][0]);
                assert_null(lone_new(text, &error));
                if (!strstr(error, refused[i][1]))
                        fail_msg("%s: %s", refused[i][0], error);
        }
}

static void test_a_single_server_has_no_z_ports(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new("scenario: test\nseed: 5\ntopology: {servers: 1}\n", NULL);
        WireCommand command = { .type = COMMAND_LINK_STATUS, .unit = LINK_Z_PLUS, .out_bytes = sizeof(WireLinkStatus) };

        assert_int_equal(lone_run(lone, "trn-0", 0, command).status, STATUS_NRT_INVALID_HANDLE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_frames_arrive_at_the_port_of_the_design),
                cmocka_unit_test(test_a_receiver_without_credit_takes_no_more_frames),
                cmocka_unit_test(test_a_transfer_takes_its_time_on_the_link),
                cmocka_unit_test(test_commands_that_make_no_sense_are_refused),
                cmocka_unit_test(test_drawn_lanes_are_distributed_as_lanes_run_bit_by_bit),
                cmocka_unit_test(test_transitions_are_those_of_the_sequence_over_whole_periods),
                cmocka_unit_test(test_good_lanes_make_an_error_in_1e15_bits),
                cmocka_unit_test(test_a_dead_lane_shows_no_errors_and_no_transitions),
                cmocka_unit_test(test_crossed_lanes_show_each_others_streams),
                cmocka_unit_test(test_a_link_to_a_chip_that_hangs_does_not_train),
                cmocka_unit_test(test_loopback_stages_bracket_a_dead_transceiver_and_a_broken_cable),
                cmocka_unit_test(test_swapped_cables_swap_both_directions_and_their_numbers),
                cmocka_unit_test(test_what_cannot_be_is_refused),
                cmocka_unit_test(test_a_single_server_has_no_z_ports),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
