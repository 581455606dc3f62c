/* SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/lone-command.h"

#define SINGLE   "scenario: test\nseed: 5\ntopology: {servers: 1}\n"
#define ARRIVALS 1000u

static Lone *open_with(const char *fault) {
        char text[512];

        (void) snprintf(text, sizeof(text), SINGLE "faults: [%s]\n", fault);
        return lone_new(text, NULL);
}

static WireCompletion send_flow(Lone *lone, unsigned from, unsigned to, uint32_t flow, uint32_t packets, uint32_t bytes) {
        return lone_run(lone, "trn-0", from, (WireCommand) {
                .type = COMMAND_NIC_SEND,
                .nic_send = { .server = "trn-0", .chip = to, .flow = flow, .packets = packets, .bytes = bytes, .seed = 77,
                              .path = NIC_PATH_SPRAYED },
        });
}

/* Returns how many arrived; they and the first payloads of flows of MIN bytes and more lie in the window. */
static unsigned receive(Lone *lone, unsigned chip, uint32_t max, uint32_t min, uint32_t payloads) {
        WireCompletion completion;

        completion = lone_run(lone, "trn-0", chip, (WireCommand) {
                .type = COMMAND_NIC_RECEIVE, .out_bytes = (uint32_t) (max * sizeof(WireArrival) + payloads * 8192),
                .nic_receive = { .arrivals_max = max, .payload_min = min, .payload_max = payloads,
                                 .payload_offset = (uint32_t) (LONE_OUT + max * sizeof(WireArrival)) },
        });
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        return (unsigned) completion.result[1];
}

static const WireArrival *arrivals_of(const Lone *lone) {
        return (const WireArrival *) (lone->window + LONE_OUT);
}

static uint64_t counter_of(Lone *lone, unsigned chip, const char *name) {
        WireCompletion completion;
        char path[64];

        (void) snprintf(path, sizeof(path), "hw_counters/%s", name);
        memcpy(lone->window, path, strlen(path));
        completion = lone_run(lone, "trn-0", chip, (WireCommand) {
                .type = COMMAND_ATTRIBUTE, .in_bytes = (uint32_t) strlen(path), .out_bytes = 64,
        });
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        lone->window[LONE_OUT + completion.out_bytes] = 0;
        return strtoull((const char *) lone->window + LONE_OUT, NULL, 10);
}

/* By the definition of CRC32C, and of the payload in wire.h. */
static uint32_t crc_of(const uint8_t *bytes, size_t n) {
        uint32_t crc = 0xffffffff;

        for (size_t i = 0; i < 8 * n; i++)
                crc = ((crc ^ bytes[i / 8] >> i % 8) & 1) ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
        return ~crc;
}

static uint64_t splitmix64(uint64_t x) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

static void payload_of(uint32_t flow, uint32_t sequence, uint32_t n, uint8_t *ret) {
        for (uint32_t i = 0; i < n; i++) {
                uint64_t x = splitmix64(77 ^ (uint64_t) flow << 32 ^ sequence) + i / 8 * 0x9e3779b97f4a7c15u;

                ret[i] = (uint8_t) ((x ^ x >> 32) >> 8 * (i % 8));
        }
}

static void test_each_packet_arrives_once_and_not_in_order(void **state) {
        static const uint32_t counts[] = { 1, 2, 3, 13, 16, 17, 100, 512 };

        for (size_t k = 0; k < ELEMENTS(counts); k++) {
                _cleanup_(lone_freep) Lone *lone = lone_new(SINGLE, NULL);
                unsigned seen[512] = {}, n_late = 0;

                assert_int_equal(send_flow(lone, 2, 9, 4, counts[k], 64).result[0], counts[k]);
                assert_int_equal(receive(lone, 9, ARRIVALS, 0, 0), counts[k]);
                for (uint32_t i = 0; i < counts[k]; i++) {
                        const WireArrival *arrival = &arrivals_of(lone)[i];

                        assert_true(arrival->sequence < counts[k]);
                        seen[arrival->sequence]++;
                        n_late += i > 0 && arrival->sequence < arrivals_of(lone)[i - 1].sequence;
                        assert_int_equal(arrival->chip, 2);
                        assert_string_equal(arrival->server, "trn-0");
                }
                for (uint32_t s = 0; s < counts[k]; s++)
                        assert_int_equal(seen[s], 1);
                assert_true(counts[k] < 100 || n_late > 0);
                assert_int_equal(receive(lone, 9, ARRIVALS, 0, 0), 0);
        }
}

/* The order of arrival by its definition: every packet takes the path after the last one's, each path delays by a constant, and what
 * was dropped comes later by whole timers. The constants are those that the arrivals show. */
static void test_arrivals_are_the_merge_of_sixteen_paths(void **state) {
        static const char *const faults[] = { "", "{at: trn-0/chip9/nic9/path3, kind: path-drops, rate: 0.5}",
                                              "{at: trn-0/chip2/nic2/path11, kind: path-delay, nsec: 123456}",
                                              "{at: trn-0/chip2/nic2, kind: path-drops, rate: 0.3}" };
        static const uint32_t sizes[] = { 1, 100, 8192 };

        for (size_t k = 0; k < ELEMENTS(faults) * ELEMENTS(sizes); k++) {
                _cleanup_(lone_freep) Lone *lone = open_with(faults[k / ELEMENTS(sizes)]);
                uint32_t bytes = sizes[k % ELEMENTS(sizes)], gap = 20 + bytes * 8 / 200;
                uint64_t latency[NIC_PATHS] = {}, last = 0, n_late = 0;

                assert_int_equal(send_flow(lone, 2, 9, 4, 300, bytes).result[0], 300);
                assert_int_equal(receive(lone, 9, ARRIVALS, 0, 0), 300);
                for (uint32_t i = 0; i < 300; i++) {
                        const WireArrival *arrival = &arrivals_of(lone)[i];
                        uint64_t took = arrival->arrived_nsec - arrival->sent_nsec;

                        assert_true(arrival->arrived_nsec >= last);
                        last = arrival->arrived_nsec;
                        assert_int_equal(arrival->sent_nsec - arrivals_of(lone)[0].sent_nsec,
                                         (uint64_t) gap * (arrival->sequence - (uint64_t) arrivals_of(lone)[0].sequence));
                        if (latency[arrival->path] == 0 || took < latency[arrival->path])
                                latency[arrival->path] = took;
                }
                for (uint32_t i = 0; i < 300; i++) {
                        const WireArrival *arrival = &arrivals_of(lone)[i];
                        uint64_t took = arrival->arrived_nsec - arrival->sent_nsec - latency[arrival->path];

                        assert_int_equal(took % 100000, 0);
                        n_late += took > 0;
                }
                assert_int_equal(n_late > 0, k / ELEMENTS(sizes) % 2);
                assert_int_equal(counter_of(lone, 2, "retrans_pkts") >= n_late, 1);
                assert_int_equal(counter_of(lone, 2, "retrans_timeout_events"), counter_of(lone, 2, "retrans_pkts"));
        }
}

static void test_a_pinned_flow_keeps_to_its_path(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: trn-0/chip1/nic1/path5, kind: path-drops, rate: 0.5}");

        for (uint32_t p = 0; p < NIC_PATHS; p++) {
                unsigned n_late = 0;

                assert_int_equal(lone_run(lone, "trn-0", 0, (WireCommand) {
                        .type = COMMAND_NIC_SEND,
                        .nic_send = { .server = "trn-0", .chip = 1, .flow = p, .packets = 50, .bytes = 1, .path = p },
                }).result[0], 50);
                assert_int_equal(receive(lone, 1, ARRIVALS, 0, 0), 50);
                for (unsigned i = 0; i < 50; i++) {
                        assert_int_equal(arrivals_of(lone)[i].path, p);
                        n_late += arrivals_of(lone)[i].arrived_nsec - arrivals_of(lone)[i].sent_nsec > 100000;
                }
                assert_int_equal(n_late > 0, p == 5);
        }
}

static void test_another_server_is_reached(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new("scenario: test\nseed: 5\ntopology: {servers: 3}\n", NULL);
        WireCommand send = { .type = COMMAND_NIC_SEND, .nic_send = { .server = "trn-2", .chip = 4, .packets = 30, .bytes = 1,
                                                                     .path = NIC_PATH_SPRAYED } };
        WireCommand receive_there = { .type = COMMAND_NIC_RECEIVE, .out_bytes = 30 * sizeof(WireArrival), .nic_receive = { .arrivals_max = 30 } };

        assert_int_equal(lone_run(lone, "trn-0", 7, send).result[0], 30);
        assert_int_equal(lone_run(lone, "trn-2", 4, receive_there).result[1], 30);
        assert_string_equal(arrivals_of(lone)[0].server, "trn-0");
        assert_int_equal(arrivals_of(lone)[0].chip, 7);
}

static void test_a_receiver_without_buffers_is_told(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: trn-0/chip1/nic1, kind: receiver-not-ready, rate: 0.2}");
        WireCompletion completion = send_flow(lone, 0, 1, 1, 500, 1);

        assert_int_equal(completion.result[1], 10);
        assert_in_range(completion.result[0], 350, 450);
        assert_int_equal(receive(lone, 1, ARRIVALS, 0, 0), completion.result[0]);
        assert_int_equal(counter_of(lone, 1, "rx_drops"), 500 - completion.result[0]);
        assert_int_equal(counter_of(lone, 0, "retrans_pkts"), 0);

        /* What it sends needs none of its buffers. */
        completion = send_flow(lone, 1, 0, 2, 500, 1);
        assert_int_equal(completion.result[1], 0);
        assert_int_equal(completion.result[0], 500);
}

static void test_payloads_and_checksums_are_those_of_the_definition(void **state) {
        static const uint32_t sizes[] = { 1, 8, 3839, 3840, 4095, 4097, 8192 };
        _cleanup_(lone_freep) Lone *lone = lone_new(SINGLE, NULL);
        const uint8_t *area = lone->window + LONE_OUT + 3 * ELEMENTS(sizes) * sizeof(WireArrival);
        unsigned n_payloads = 0;

        for (uint32_t k = 0; k < ELEMENTS(sizes); k++)
                (void) send_flow(lone, 0, 1, 10 + k, 3, sizes[k]);
        assert_int_equal(receive(lone, 1, 3 * ELEMENTS(sizes), 8, 4), 3 * ELEMENTS(sizes));
        for (unsigned i = 0; i < 3 * ELEMENTS(sizes); i++) {
                const WireArrival *arrival = &arrivals_of(lone)[i];
                uint8_t expected[8192];

                payload_of(arrival->flow, arrival->sequence, sizes[i / 3], expected);
                assert_int_equal(arrival->flow, 10 + i / 3);
                assert_int_equal(arrival->bytes, sizes[i / 3]);
                assert_int_equal(arrival->crc32c, crc_of(expected, sizes[i / 3]));
                /* The first of each flow of 8 bytes and more, but only four of them. */
                assert_int_equal(arrival->payload, i % 3 == 0 && i / 3 >= 1 && i / 3 <= 4 ? ++n_payloads : 0);
                if (arrival->payload > 0)
                        assert_memory_equal(area + (arrival->payload - 1) * 8192, expected, sizes[i / 3]);
        }
}

static void test_what_does_not_fit_waits_for_the_next_time(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new(SINGLE, NULL);
        unsigned seen[40] = {};

        (void) send_flow(lone, 0, 1, 1, 40, 1);
        for (unsigned n = 0; n < 40; n += 10) {
                assert_int_equal(receive(lone, 1, 10, 0, 0), 10);
                for (unsigned i = 0; i < 10; i++)
                        seen[arrivals_of(lone)[i].sequence]++;
        }
        for (unsigned s = 0; s < 40; s++)
                assert_int_equal(seen[s], 1);
}

static void test_counters_move_by_what_happened(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: trn-0/chip1/nic1, kind: packet-loss, rate: 0.25, direction: receive}");
        uint64_t delivered = send_flow(lone, 0, 1, 1, 1000, 100).result[0];

        assert_in_range(delivered, 700, 800 + 40);
        assert_int_equal(receive(lone, 1, ARRIVALS, 0, 0), delivered);
        assert_int_equal(counter_of(lone, 0, "tx_pkts"), 1000);
        assert_int_equal(counter_of(lone, 0, "tx_bytes"), 100000);
        assert_int_equal(counter_of(lone, 0, "retrans_pkts"), 1000 - delivered);
        assert_int_equal(counter_of(lone, 1, "rx_pkts"), delivered);
        assert_int_equal(counter_of(lone, 1, "rx_bytes"), 100 * delivered);
}

static void assert_near(double value, double mean, double sigma) {
        assert_true(value >= mean - 5 * sigma && value <= mean + 5 * sigma);
}

/* Of n packets each is hit with the rate p by itself: n × p, give or take the root of n × p × (1 − p). What is dropped is sent again until
 * it arrives, k times with p^k (1 − p): in all n × p / (1 − p) times, with the variance n × p / (1 − p)². */
static void test_a_rate_is_the_share_of_packets_that_is_hit(void **state) {
        static const double rates[] = { 0.001, 0.1, 0.5, 0.9, 1 };
        const double n = 65536;
        char fault[128];

        for (size_t i = 0; i < ELEMENTS(rates); i++) {
                double p = rates[i];

                (void) snprintf(fault, sizeof(fault), "{at: trn-0/chip1/nic1, kind: packet-loss, rate: %g}", p);
                _cleanup_(lone_freep) Lone *lossy = open_with(fault);

                assert_near(n - (double) send_flow(lossy, 0, 1, 1, 65536, 1).result[0], n * p, sqrt(n * p * (1 - p)));
                if (p > 0.5)
                        continue;
                (void) snprintf(fault, sizeof(fault), "{at: trn-0/chip1/nic1, kind: path-drops, rate: %g}", p);
                _cleanup_(lone_freep) Lone *dropping = open_with(fault);

                assert_int_equal(send_flow(dropping, 0, 1, 1, 65536, 1).result[0], 65536);
                assert_near((double) counter_of(dropping, 0, "retrans_pkts"), n * p / (1 - p), sqrt(n * p) / (1 - p));
        }
}

/* A chip that is hot has its adapter fail, whoever sends to it. */
static void test_an_adapter_is_as_hot_as_its_own_chip(void **state) {
        _cleanup_(lone_freep) Lone *sound = lone_new(SINGLE, NULL);
        double here = chip_temperature(lone_chip(sound, "trn-0", 1)), there = chip_temperature(lone_chip(sound, "trn-0", 0));
        unsigned receiver = here > there ? 1 : 0;
        char fault[128];

        for (unsigned hot = 0; hot < 2; hot++) {
                unsigned to = hot ? receiver : 1 - receiver;

                (void) snprintf(fault, sizeof(fault), "{at: trn-0/chip%u/nic%u, kind: packet-loss, rate: 1, above: %.6f}", to, to,
                                (here + there) / 2);
                _cleanup_(lone_freep) Lone *lone = open_with(fault);

                assert_int_equal(send_flow(lone, 1 - to, to, 1, 100, 1).result[0], hot ? 0 : 100);
        }
}

/* What comes and goes at an adapter does so for each flow by itself, whoever sends it as which number of his. */
static void test_what_comes_and_goes_does_so_for_each_flow(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: trn-0/chip1/nic1, kind: packet-loss, rate: 1, persistence: intermittent, "
                                                     "probability: 0.5}");
        unsigned n_lost = 0, n_alike[2] = {};

        for (uint32_t i = 0; i < 400; i++) {
                bool sends = send_flow(lone, 1, 3, i, 1, 1).result[0] == 0, gets = send_flow(lone, 0, 1, i, 1, 1).result[0] == 0;
                bool gets_more = send_flow(lone, 2, 1, i, 1, 1).result[0] == 0;

                n_lost += sends;
                n_alike[0] += sends == gets;
                n_alike[1] += gets == gets_more;
        }
        /* 200 of 400, and five times the root of 100 */
        assert_in_range(n_lost, 150, 250);
        assert_in_range(n_alike[0], 150, 250);
        assert_in_range(n_alike[1], 150, 250);
}

static void test_a_corrupt_packet_has_the_checksum_of_what_arrived(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: trn-0/chip1/nic1, kind: packet-corruption, rate: 1}");

        for (uint32_t flow = 0; flow < 20; flow++) {
                const uint8_t *area = lone->window + LONE_OUT + sizeof(WireArrival);
                unsigned n_wrong = 0;
                uint8_t sent[8192];

                (void) send_flow(lone, 0, 1, flow, 1, 5000);
                assert_int_equal(receive(lone, 1, 1, 1, 1), 1);
                payload_of(flow, 0, 5000, sent);
                for (unsigned i = 0; i < 5000; i++)
                        n_wrong += (unsigned) __builtin_popcount(area[i] ^ sent[i]);
                assert_int_equal(n_wrong, 1);
                assert_int_equal(arrivals_of(lone)[0].crc32c, crc_of(area, 5000));
        }
}

static void test_a_packet_astray_arrives_somewhere_else_once(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: trn-0/chip1/nic1, kind: packet-misdelivery, rate: 0.3}");
        unsigned n = 0, seen[200] = {};

        (void) send_flow(lone, 0, 1, 1, 200, 8);
        for (unsigned c = 0; c < CHIPS; c++) {
                unsigned here = receive(lone, c, ARRIVALS, 0, 0);

                n += here;
                for (unsigned i = 0; i < here; i++)
                        seen[arrivals_of(lone)[i].sequence]++;
                if (c == 1)
                        assert_in_range(here, 110, 170);
        }
        assert_int_equal(n, 200);
        for (unsigned s = 0; s < 200; s++)
                assert_int_equal(seen[s], 1);
}

static void test_unresponsive_and_absent_remotes_are_told(void **state) {
        _cleanup_(lone_freep) Lone *lone = open_with("{at: trn-0/chip1/nic1, kind: unresponsive}, {at: trn-0/chip2, kind: hang}");
        WireCommand absent = { .type = COMMAND_NIC_SEND, .nic_send = { .server = "trn-9", .packets = 1, .bytes = 1 } };

        assert_int_equal(send_flow(lone, 0, 1, 1, 10, 1).result[1], 13);
        assert_int_equal(send_flow(lone, 0, 2, 1, 10, 1).result[1], 13);
        assert_int_equal(send_flow(lone, 1, 0, 1, 10, 1).status, STATUS_NRT_TIMEOUT);
        assert_int_equal(lone_run(lone, "trn-0", 0, absent).result[1], 15);
        assert_int_equal(counter_of(lone, 0, "unresponsive_remote_events"), 2);
}

static void test_areas_and_numbers_out_of_range_are_refused(void **state) {
        static const WireCommand refused[] = {
                { .type = COMMAND_NIC_SEND, .nic_send = { .server = "trn-0", .packets = 0, .bytes = 1 } },
                { .type = COMMAND_NIC_SEND, .nic_send = { .server = "trn-0", .packets = 65537, .bytes = 1 } },
                { .type = COMMAND_NIC_SEND, .nic_send = { .server = "trn-0", .packets = 1, .bytes = 0 } },
                { .type = COMMAND_NIC_SEND, .nic_send = { .server = "trn-0", .packets = 1, .bytes = 8193 } },
                { .type = COMMAND_NIC_SEND, .nic_send = { .server = "trn-0", .packets = 1, .bytes = 1, .path = 16 } },
                { .type = COMMAND_NIC_RECEIVE, .out_bytes = 63, .nic_receive = { .arrivals_max = 1 } },
                { .type = COMMAND_NIC_RECEIVE, .out_bytes = 64 + 8192, .out_offset = LONE_OUT,
                  .nic_receive = { .arrivals_max = 1, .payload_max = 1, .payload_offset = LONE_OUT } },
                { .type = COMMAND_NIC_RECEIVE, .out_bytes = 64 + 8192, .out_offset = LONE_OUT,
                  .nic_receive = { .arrivals_max = 1, .payload_max = 2, .payload_offset = LONE_OUT + 64 } },
                { .type = COMMAND_NIC_RECEIVE, .nic_receive = { .arrivals_max = UINT32_MAX } },
        };
        _cleanup_(lone_freep) Lone *lone = lone_new(SINGLE, NULL);

        for (size_t i = 0; i < ELEMENTS(refused); i++)
                assert_int_equal(lone_run(lone, "trn-0", 0, refused[i]).status, STATUS_NRT_INVALID);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_packet_arrives_once_and_not_in_order),
                cmocka_unit_test(test_arrivals_are_the_merge_of_sixteen_paths),
                cmocka_unit_test(test_a_pinned_flow_keeps_to_its_path),
                cmocka_unit_test(test_another_server_is_reached),
                cmocka_unit_test(test_a_receiver_without_buffers_is_told),
                cmocka_unit_test(test_payloads_and_checksums_are_those_of_the_definition),
                cmocka_unit_test(test_what_does_not_fit_waits_for_the_next_time),
                cmocka_unit_test(test_counters_move_by_what_happened),
                cmocka_unit_test(test_a_rate_is_the_share_of_packets_that_is_hit),
                cmocka_unit_test(test_an_adapter_is_as_hot_as_its_own_chip),
                cmocka_unit_test(test_what_comes_and_goes_does_so_for_each_flow),
                cmocka_unit_test(test_a_corrupt_packet_has_the_checksum_of_what_arrived),
                cmocka_unit_test(test_a_packet_astray_arrives_somewhere_else_once),
                cmocka_unit_test(test_unresponsive_and_absent_remotes_are_told),
                cmocka_unit_test(test_areas_and_numbers_out_of_range_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
