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
        char text[2048];

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

static const WireLane *prbs_with(Lone *lone, unsigned chip, LinkPort port, WireLinkPrbs prbs) {
        assert_int_equal(lone_run(lone, "us0-0", chip, (WireCommand) {
                .type = COMMAND_LINK_PRBS, .unit = port, .out_bytes = LINK_LANES_MAX * sizeof(WireLane), .prbs = prbs,
        }).status, STATUS_NRT_SUCCESS);
        return (const WireLane *) (lone->window + LONE_OUT);
}

static const WireLane *prbs_at(Lone *lone, unsigned chip, LinkPort port, WirePrbs polynomial, uint64_t seed, uint64_t bits) {
        return prbs_with(lone, chip, port, (WireLinkPrbs) { .bits = bits, .seed = seed, .polynomial = polynomial });
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

/* Counters that wrap are nothing to lanes, and yet a fault: the model walks the whole way, which it leaves out where nothing acts. */
static void test_the_short_way_of_sound_links_shows_what_the_long_one_does(void **state) {
        _cleanup_(lone_freep) Lone *sound = lone_new(ULTRA, NULL);
        _cleanup_(lone_freep) Lone *walked = open_with("{at: us0-0/chip3/link-y+, kind: link-counter-wraps}");
        unsigned n_with_errors = 0;

        for (unsigned i = 0; i < 60; i++) {
                WireLinkPrbs prbs = { .bits = 1000000000, .seed = i, .polynomial = PRBS31, .offset = (int8_t) (i % 3 == 0 ? -6 : 6) };
                const WireLane *lanes = prbs_with(sound, 3, LINK_Y_PLUS, prbs);
                bool any = false;

                assert_memory_equal(lanes, prbs_with(walked, 3, LINK_Y_PLUS, prbs), LINK_LANES_XY * sizeof(*lanes));
                for (unsigned l = 0; l < LINK_LANES_XY; l++)
                        any |= lanes[l].errors > 0;
                n_with_errors += any;
        }
        assert_in_range(n_with_errors, 10, 50);
        assert_true(status_of(sound, 3, LINK_Y_PLUS).errors == status_of(walked, 3, LINK_Y_PLUS).errors);
        assert_int_equal(status_of(sound, 3, LINK_Z_PLUS).width, LINK_LANES_Z);
}

/* Half of the commands find it down: which of one kind says nothing of which of another, else who misses it once would always. */
static void test_what_comes_and_goes_does_so_in_each_kind_of_command(void **state) {
        const char *fault = "{at: us0-0/chip3/link-y+, kind: link-down, persistence: intermittent, probability: 0.5}";
        _cleanup_(lone_freep) Lone *asked = open_with(fault), *moved = open_with(fault);
        unsigned alike = 0, n_up = 0;

        for (unsigned i = 0; i < 400; i++) {
                bool up = status_of(asked, 3, LINK_Y_PLUS).up;

                n_up += up;
                alike += up == (transfer_to(moved, 3, LINK_Y_PLUS, 256).status == STATUS_NRT_SUCCESS);
        }
        assert_in_range(n_up, 150, 250);
        assert_in_range(alike, 150, 250); /* 5 sigma */
}

/* Lanes, the commands of a port, ports and halls draw for themselves: counts of all lanes vary by as much as Poisson says, and no more together. */
static void test_lanes_commands_ports_and_halls_have_nothing_to_do_with_each_other(void **state) {
        static const char *const each[] = { "kind: bit-errors, rate: 1e-9", "kind: burst-errors, rate: 1e-9, length: 1, density: 0.5" };
        enum { N = 400, SERIES = 4 };
        static double counts[SERIES][N];

        for (unsigned k = 0; k < ELEMENTS(each); k++) {
                char text[1024];

                (void) snprintf(text, sizeof(text), "{at: us0-0/chip3/link-y+, %s}, {at: us0-0/chip4/link-x-, %s}", each[k], each[k]);
                for (unsigned s = 0; s < SERIES; s++) {
                        _cleanup_(lone_freep) Lone *lone = NULL;
                        char whole[2048];

                        (void) snprintf(whole, sizeof(whole), "scenario: test\nseed: %u\ntopology: {ultraservers: 1}\nfaults: [%s]\n", s == 2 ? 6 : 5, text);
                        lone = lone_new(whole, NULL);
                        for (unsigned i = 0; i < N; i++) {
                                const WireLane *lanes = prbs_at(lone, s == 1 ? 4 : 3, s == 1 ? LINK_X_MINUS : LINK_Y_PLUS, PRBS31, 1, 2000000000);

                                counts[s][i] = 0;
                                for (unsigned l = 0; l < LINK_LANES_XY; l++)
                                        counts[s][i] += (double) lanes[l].errors;
                        }
                }
                for (unsigned i = 0; i < N; i++) /* the fourth: the first, one command later */
                        counts[3][i] = counts[0][(i + 1) % N];

                for (unsigned s = 0; s < SERIES; s++) {
                        double mean = 0, variance = 0, common = 0, expected = 2 * LINK_LANES_XY / (k == 0 ? 1.0 : 2.0);

                        for (unsigned i = 0; i < N; i++)
                                mean += counts[s][i] / N;
                        assert_true(fabs(mean - expected) < 5 * sqrt(expected / N));
                        for (unsigned i = 0; i < N; i++) {
                                variance += (counts[s][i] - mean) * (counts[s][i] - mean) / (N - 1);
                                common += (counts[s][i] - mean) * (counts[0][i] - mean) / N;
                        }
                        assert_true(fabs(variance / expected - 1) < 5 * sqrt(2.0 / N));
                        assert_true(s == 0 || fabs(common / expected) < 5 / sqrt(N));
                }
        }
}

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
        assert_int_equal(lanes[7].errors, 0); /* it is a pattern, if another one's */
}

static void test_each_kind_shows_in_its_lane_alone(void **state) {
        const uint64_t bits = 1000000000;
        _cleanup_(lone_freep) Lone *lone = open_with(
                "{at: us0-0/chip3/link-y+/lane1, kind: lane-inverted}, "
                "{at: us0-0/chip3/link-y+/lane2, kind: lane-skewed, bits: 200}, "
                "{at: us0-0/chip3/link-y+/lane3, kind: lane-dead, level: high}, "
                "{at: us0-0/chip3/link-y+/lane4, kind: clock-slips, per-second: 1000}, "
                "{at: us0-0/chip3/link-y+/lane5, kind: burst-errors, rate: 1e-7, length: 100, density: 0.2}, "
                "{at: us0-0/chip3/link-y+/lane6, kind: crosstalk, from: 7, rate: 1e-6}, "
                "{at: us0-0/chip3/link-y+/lane8, kind: eye-closed, closing: 8, per-degree: 0.2}");
        const WireLane *lanes = prbs_at(lone, 3, LINK_Y_PLUS, PRBS31, 1, bits);

        for (unsigned l = 0; l < LINK_LANES_XY; l++) {
                assert_int_equal(lanes[l].locked, l != 3);
                assert_int_equal(lanes[l].inverted, l == 1);
                assert_int_equal(lanes[l].errors > 0, (l >= 4 && l <= 6) || l == 8);
                assert_int_equal(lanes[l].resyncs > 0, l == 4);
                assert_int_equal(lanes[l].transitions, l == 3 ? 0 : LINK_TRANSITIONS_MAX);
                if (l != 2 && l != 3)
                        assert_int_equal(lanes[l].state, prbs_seed(PRBS31, 1, l));
        }
        assert_int_equal(lanes[2].state, prbs_jump(PRBS31, prbs_seed(PRBS31, 1, 2), (UINT64_C(1) << 31) - 1 - 200));
        assert_int_equal(lanes[3].state, UINT32_MAX);
        assert_int_equal(lanes[4].slipped, lanes[4].resyncs);
        assert_in_range(lanes[4].resyncs, 10, 60);                           /* 31 expected */
        assert_in_range(lanes[5].errors, 20 * 60, 20 * 140);                 /* 100 bursts of 20 */
        assert_in_range(lanes[5].errored_blocks, lanes[5].errors / 40, lanes[5].errors / 4);
        assert_in_range(lanes[6].errors, 500 - 120, 500 + 120);              /* 1e9 × 1/2 × 1e-6 */
        assert_in_range(lanes[8].errors, 3, 70);                             /* Q((32 - 10 ± 0.3) / 4.03) = 1.6e-8 … 3.6e-8 */

        lanes = prbs_with(lone, 3, LINK_Y_PLUS, (WireLinkPrbs) { .bits = bits, .seed = 1, .polynomial = PRBS31, .quiet = 1u << 7 });
        assert_int_equal(lanes[6].errors, 0);
        assert_int_equal(lanes[7].locked, 0);
        assert_int_equal(lanes[7].state, 0);
}

/* Where the sampling point is moved to, errors come by the eye: half of Q((32 - 16) / 4.03) = 1.8e-5 and, 8 parts narrower, 1.2e-2. */
static void test_eyes_tell_their_margin_at_an_offset(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip3/link-y+/lane8, kind: eye-closed, closing: 8}");

        for (int offset = -16; offset <= 16; offset += 32) {
                const WireLane *lanes = prbs_with(lone, 3, LINK_Y_PLUS, (WireLinkPrbs) {
                        .bits = 10000000, .seed = 1, .polynomial = PRBS31, .offset = (int8_t) offset,
                });

                for (unsigned l = 0; l < LINK_LANES_XY; l++)
                        if (l == 8)
                                assert_in_range(lanes[l].errors, 110000, 130000);
                        else
                                assert_in_range(lanes[l].errors, 180 - 90, 180 + 90);
        }
}

static void test_a_link_trains_as_it_can(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with(
                "{at: us0-0/chip3/link-y+, kind: link-narrowed, width: 8}, {at: us0-0/chip2/link-y+, kind: link-slowed, gbps: 16}, "
                "{at: us0-0/chip1/link-y+, kind: link-throttled, share: 0.25}, {at: us0-0/chip0/link-y+, kind: link-one-way}, "
                "{at: us0-0/chip9/link-y+, kind: link-one-way, site: transmitter-pma}, "
                "{at: us0-0/chip8/link-x+/lane3, kind: lane-skewed, bits: 160}, {at: us0-0/chip8/link-x-/lane3, kind: lane-skewed, bits: 161}");
        char text[257];

        for (unsigned end = 0; end < 2; end++) { /* both ends say so */
                assert_int_equal(status_of(lone, end ? 7 : 3, end ? LINK_Y_MINUS : LINK_Y_PLUS).width, 8);
                assert_int_equal(status_of(lone, end ? 6 : 2, end ? LINK_Y_MINUS : LINK_Y_PLUS).lane_gbps, 16);
        }
        assert_int_equal(transfer_to(lone, 3, LINK_Y_PLUS, 1280000).device_nsec, 40000);
        assert_int_equal(transfer_to(lone, 2, LINK_Y_PLUS, 1280000).device_nsec, 20000);
        assert_int_equal(transfer_to(lone, 1, LINK_Y_PLUS, 1280000).device_nsec, 40000);
        assert_int_equal(transfer_to(lone, 5, LINK_Y_MINUS, 1280000).device_nsec, 10000); /* the other way */

        assert_int_equal(status_of(lone, 0, LINK_Y_PLUS).up, 0);
        assert_int_equal(status_of(lone, 4, LINK_Y_MINUS).up, 1);
        assert_int_equal(status_of(lone, 9, LINK_Y_PLUS).up, 1);
        assert_int_equal(status_of(lone, 13, LINK_Y_MINUS).up, 0);
        assert_int_equal(send_frame(lone, "us0-0", 0, LINK_Y_PLUS, "x"), 0);
        assert_int_equal(send_frame(lone, "us0-0", 4, LINK_Y_MINUS, "x"), STATUS_NRT_HW_ERROR);

        assert_int_equal(send_frame(lone, "us0-0", 9, LINK_X_MINUS, "x"), 0);
        assert_int_equal(receive_frame(lone, "us0-0", 8, LINK_X_PLUS, text), STATUS_NRT_SUCCESS);
        assert_int_equal(send_frame(lone, "us0-0", 11, LINK_X_PLUS, "x"), 0); /* nothing arrives that could be put together */
        assert_int_equal(receive_frame(lone, "us0-0", 8, LINK_X_MINUS, text), STATUS_NRT_QUEUE_EMPTY);
        assert_int_equal(status_of(lone, 11, LINK_X_PLUS).replays, 4);
        assert_int_equal(status_of(lone, 8, LINK_X_MINUS).errors, 5);
}

static void test_a_link_that_flaps_trains_again_and_lanes_lose_lock(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: us0-0/chip3/link-y+, kind: link-flaps, every: 0.5}");
        const WireLane *lanes = prbs_at(lone, 7, LINK_Y_MINUS, PRBS31, 1, UINT64_C(64000000000)); /* two seconds, and a bit of one */

        for (unsigned l = 0; l < LINK_LANES_XY; l++) {
                assert_int_equal(lanes[l].resyncs, 3);
                assert_int_equal(lanes[l].slipped, 0);
                assert_in_range(lanes[l].bits, 64000000000 - 3 * 32000000 - 1000, 64000000000 - 3 * 32000000 + 3 * 512);
        }
        assert_in_range(status_of(lone, 7, LINK_Y_MINUS).retrains, 3, 4);
        assert_int_equal(status_of(lone, 3, LINK_Y_PLUS).retrains, status_of(lone, 7, LINK_Y_MINUS).retrains);
        chip_heal(lone_chip(lone, "us0-0", 3), 0);
        assert_in_range(status_of(lone, 7, LINK_Y_MINUS).retrains, 3, 4);
}

static void clear(Lone *lone, unsigned chip, const char *path) {
        memcpy(lone->window, path, strlen(path) + 1);
        memcpy(lone->window + strlen(path) + 1, "0", 2);
        assert_int_equal(lone_run(lone, "us0-0", chip, (WireCommand) {
                .type = COMMAND_ATTRIBUTE_WRITE, .in_bytes = (uint32_t) strlen(path) + 2,
        }).status, STATUS_NRT_SUCCESS);
}

static void test_counters_stand_run_back_wrap_and_are_cleared(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with(
                "{at: us0-0/chip3/link-y+, kind: link-counter-stuck}, {at: us0-0/chip2/link-y+, kind: link-counter-runs-back}, "
                "{at: us0-0/chip1/link-y+, kind: link-counter-wraps}, {at: us0-0/chip0/link-y+/lane0, kind: bit-errors, rate: 1e-3}");
        static const int64_t moved[] = { 5, 5 - (INT64_C(1) << 32), -5, 0 }; /* by chip */

        for (unsigned c = 0; c < 4; c++) {
                uint64_t before = status_of(lone, c, LINK_Y_PLUS).frames_received;

                transfer_to(lone, c, LINK_Y_PLUS, 1280);
                assert_int_equal(status_of(lone, c, LINK_Y_PLUS).frames_received - before, moved[c]);
        }

        (void) prbs_at(lone, 0, LINK_Y_PLUS, PRBS31, 1, 100000);
        assert_in_range(status_of(lone, 0, LINK_Y_PLUS).errors, 50, 200);
        clear(lone, 0, "assay/link/y+/errors");
        assert_int_equal(status_of(lone, 0, LINK_Y_PLUS).errors, 0);
}

/* Which stages of loopback at either end see a fault at chip 0, y+, by where it sits. */
static void test_loopback_stages_bracket_every_site(void **state) {
        static const struct {
                const char *site;
                bool near[_LOOPBACK_MAX + 1], far[_LOOPBACK_MAX + 1]; /* near PCS, near PMA, far PMA, far PCS, the real way in */
        } sites[] = {
                { "line",            { 0, 0, 1, 1, 1 }, { 0, 0, 1, 1, 0 } },
                { "receiver-pma",    { 0, 1, 1, 1, 1 }, { 0, 0, 1, 1, 0 } },
                { "receiver-pcs",    { 1, 1, 1, 1, 1 }, { 0, 0, 0, 1, 0 } },
                { "transmitter-pma", { 0, 1, 1, 1, 0 }, { 0, 0, 1, 1, 1 } },
                { "transmitter-pcs", { 1, 1, 1, 1, 0 }, { 0, 0, 0, 1, 1 } },
        };

        for (size_t s = 0; s < ELEMENTS(sites); s++) {
                char fault[160];

                (void) snprintf(fault, sizeof(fault), "{at: us0-0/chip0/link-y+/lane5, kind: lane-inverted, site: %s}", sites[s].site);
                _cleanup_(lone_freep) Lone *lone = open_with(fault);

                for (unsigned end = 0; end < 2; end++)
                        for (unsigned stage = 0; stage <= _LOOPBACK_MAX; stage++) {
                                WireLinkPrbs prbs = { .bits = 10000, .seed = 1, .polynomial = PRBS31 };
                                WireCommand command = { .unit = end ? LINK_Y_MINUS : LINK_Y_PLUS, .out_bytes = 1536 };
                                const WireLane *lanes = (const WireLane *) (lone->window + LONE_OUT);

                                command.type = stage < _LOOPBACK_MAX ? COMMAND_LINK_LOOPBACK : COMMAND_LINK_PRBS;
                                if (stage < _LOOPBACK_MAX)
                                        command.loopback = (WireLinkLoopback) { .prbs = prbs, .stage = (uint8_t) stage };
                                else
                                        command.prbs = prbs;
                                assert_int_equal(lone_run(lone, "us0-0", end ? 4 : 0, command).status, STATUS_NRT_SUCCESS);
                                assert_int_equal(lanes[5].inverted, end ? sites[s].far[stage] : sites[s].near[stage]);
                                assert_int_equal(lanes[4].inverted, 0);
                        }
        }
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
                { "{at: us0-0/chip9/link-y+, kind: cable-swapped, with: us0-0/chip2/link-x-}", "trace of a tray" },
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
                cmocka_unit_test(test_good_lanes_make_an_error_in_1e15_bits),
                cmocka_unit_test(test_the_short_way_of_sound_links_shows_what_the_long_one_does),
                cmocka_unit_test(test_what_comes_and_goes_does_so_in_each_kind_of_command),
                cmocka_unit_test(test_lanes_commands_ports_and_halls_have_nothing_to_do_with_each_other),
                cmocka_unit_test(test_a_dead_lane_shows_no_errors_and_no_transitions),
                cmocka_unit_test(test_crossed_lanes_show_each_others_streams),
                cmocka_unit_test(test_each_kind_shows_in_its_lane_alone),
                cmocka_unit_test(test_eyes_tell_their_margin_at_an_offset),
                cmocka_unit_test(test_a_link_trains_as_it_can),
                cmocka_unit_test(test_a_link_that_flaps_trains_again_and_lanes_lose_lock),
                cmocka_unit_test(test_counters_stand_run_back_wrap_and_are_cleared),
                cmocka_unit_test(test_loopback_stages_bracket_every_site),
                cmocka_unit_test(test_a_link_to_a_chip_that_hangs_does_not_train),
                cmocka_unit_test(test_loopback_stages_bracket_a_dead_transceiver_and_a_broken_cable),
                cmocka_unit_test(test_swapped_cables_swap_both_directions_and_their_numbers),
                cmocka_unit_test(test_what_cannot_be_is_refused),
                cmocka_unit_test(test_a_single_server_has_no_z_ports),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
