/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/efa/efa.h"
#include "tests/checks/rehearsal.h"

#define SINGLE "scenario: test\nseed: 21\ntopology: {servers: 1}\n"

#define POD    "scenario: test\nseed: 21\ntopology: {ultraservers: 1}\n"

static void expect_pass(Step *step) {
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_PASSED);
        assert_int_equal(step->n_said, 0);
}

static void test_healthy_adapters_pass_again_and_again(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");

        for (unsigned i = 0; i < 3; i++) {
                expect_pass(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], VERDICT_PASSED);
        }
}

static void test_packets_come_out_of_order_and_that_is_measured(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");

        expect_pass(step);
        assert_true(step->reorder > 0 && step->reorder < 240);
}

static void test_any_set_of_two_or_more_chips_can_be_judged(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");
        static const uint16_t sets[] = { 0x0003, 0x8001, 0x0111, 0x00f0, 0x7ffe, 0x1234 };

        for (size_t i = 0; i < ELEMENTS(sets); i++) {
                step->servers[0].included = sets[i];
                expect_pass(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], sets[i] >> c & 1 ? VERDICT_PASSED : _VERDICT_INVALID);
        }
}

/* Also where the first chip takes no part. */
static void test_a_path_is_told_among_any_set_of_chips(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE "faults: [{at: trn-0/chip9/nic9/path5, kind: packet-loss, rate: 0.5}]\n", "efa",
                                                       "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->servers[0].included = 0x7ffe;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(step->n_said, 1);
        assert_true(rehearsal_said(step, "efa-path", "trn-0/chip9/nic9/path5"));
}

static void test_one_adapter_alone_is_skipped(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->servers[0].included = 0x0010;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(verdict, VERDICT_SKIPPED);
        assert_int_equal(step->skip, REASON_NOT_REQUESTED);
}

typedef struct FaultCase {
        const char *fault;
        const char *findings[3][2];
        bool warns;
} FaultCase;

static const FaultCase fault_cases[] = {
        { "{at: trn-0/chip9/nic9, kind: packet-loss, rate: 0.5}", { { "efa-loss", "trn-0/chip9/nic9" } } },
        { "{at: trn-0/chip9/nic9, kind: packet-loss, rate: 0.05, direction: send}", { { "efa-loss", "trn-0/chip9/nic9" } } },
        { "{at: trn-0/chip9/nic9, kind: packet-loss, rate: 0.05, direction: receive}", { { "efa-loss", "trn-0/chip9/nic9" } } },
        { "{at: trn-0/chip0/nic0, kind: packet-loss, rate: 0.003}", { { "efa-loss", "trn-0/chip0/nic0" } } },
        { "{at: trn-0/chip15/nic15, kind: packet-corruption, rate: 0.02}", { { "efa-corruption", "trn-0/chip15/nic15" } } },
        { "{at: trn-0/chip15/nic15, kind: packet-corruption, rate: 1}", { { "efa-corruption", "trn-0/chip15/nic15" } } },
        { "{at: trn-0/chip4/nic4, kind: packet-misdelivery, rate: 0.1}", { { "efa-misdelivery", "trn-0/chip4/nic4" } } },
        { "{at: trn-0/chip4/nic4, kind: packet-duplicate, rate: 0.1}", { { "efa-misdelivery", "trn-0/chip4/nic4" } } },
        { "{at: trn-0/chip7/nic7, kind: unresponsive}", { { "efa-unresponsive", "trn-0/chip7/nic7" } } },
        { "{at: trn-0/chip7/nic7, kind: nic-counter-stuck}", { { "efa-counter", "trn-0/chip7/nic7" } } },
        /* What is on one path only is found there. */
        { "{at: trn-0/chip9/nic9/path5, kind: packet-loss, rate: 0.5}", { { "efa-path", "trn-0/chip9/nic9/path5" } } },
        { "{at: trn-0/chip9/nic9/path15, kind: packet-loss, rate: 1, direction: send}", { { "efa-path", "trn-0/chip9/nic9/path15" } } },
        { "{at: trn-0/chip9/nic9/path0, kind: packet-corruption, rate: 0.1, direction: receive}", { { "efa-path", "trn-0/chip9/nic9/path0" } } },
        { "{at: trn-0/chip9/nic9/path7, kind: packet-duplicate, rate: 0.1}", { { "efa-path", "trn-0/chip9/nic9/path7" } } },
        { "{at: trn-0/chip9/nic9/path7, kind: packet-misdelivery, rate: 0.3}", { { "efa-path", "trn-0/chip9/nic9/path7" } } },
        { "{at: trn-0/chip0/nic0/path3, kind: path-drops, rate: 0.3}", { { "efa-path", "trn-0/chip0/nic0/path3" } } },
        { "{at: trn-0/chip0/nic0/path3, kind: path-delay, nsec: 20000}", { { "efa-path", "trn-0/chip0/nic0/path3" } } },
        { "{at: trn-0/chip4/nic4/path1, kind: packet-loss, rate: 0.5}, {at: trn-0/chip4/nic4/path9, kind: path-drops, rate: 0.5}",
          { { "efa-path", "trn-0/chip4/nic4/path1" }, { "efa-path", "trn-0/chip4/nic4/path9" } } },
        { "{at: trn-0/chip4/nic4/path6, kind: fabric-path-drops, rate: 0.2}", { { "efa-fabric", "trn-0" } } },
        /* The fabric's path hides no adapter. */
        { "{at: trn-0/chip4/nic4/path6, kind: fabric-path-drops, rate: 0.4}, {at: trn-0/chip8/nic8, kind: path-drops, rate: 0.2}",
          { { "efa-fabric", "trn-0" }, { "efa-retransmission", "trn-0/chip8/nic8" } } },
        { "{at: trn-0/chip1/nic1, kind: path-drops, rate: 0.1}", { { "efa-retransmission", "trn-0/chip1/nic1" } }, .warns = true },
        { "{at: trn-0/chip1/nic1, kind: path-drops, rate: 0.02, direction: receive}", { { "efa-retransmission", "trn-0/chip1/nic1" } }, .warns = true },
        { "{at: trn-0/chip1/nic1, kind: path-delay, nsec: 9000000}", { { "efa-slow", "trn-0/chip1/nic1" } } },
        { "{at: trn-0/chip11/nic11, kind: nic-slow, share: 0.8}", { { "efa-slow", "trn-0/chip11/nic11" } } },
        { "{at: trn-0/chip11/nic11, kind: nic-slow, share: 0.01}", { { "efa-slow", "trn-0/chip11/nic11" } } },
        { "{at: trn-0/chip3/nic3, kind: nic-clock-off, nsec: 20000}", { { "efa-clock", "trn-0/chip3/nic3" } } },
        { "{at: trn-0/chip3/nic3, kind: nic-clock-off, nsec: 9000, way: behind}", { { "efa-clock", "trn-0/chip3/nic3" } } },
        { "{at: trn-0/chip3/nic3, kind: nic-clock-off, nsec: 10000000, way: behind}, {at: trn-0/chip4/nic4, kind: nic-clock-off, nsec: 10000000}",
          { { "efa-clock", "trn-0/chip3/nic3" }, { "efa-clock", "trn-0/chip4/nic4" } } },
        { "{at: trn-0/chip3/nic3, kind: nic-clock-pace, pace: 0.9}", { { "efa-clock", "trn-0/chip3/nic3" } } },
        { "{at: trn-0/chip3/nic3, kind: nic-clock-pace, pace: 100}", { { "efa-clock", "trn-0/chip3/nic3" } } },
        /* No clock makes a slow adapter fast. */
        { "{at: trn-0/chip3/nic3, kind: nic-slow, share: 0.5}, {at: trn-0/chip3/nic3, kind: nic-clock-pace, pace: 0.5}",
          { { "efa-clock", "trn-0/chip3/nic3" } } },
        { "{at: trn-0/chip6/nic6, kind: receiver-not-ready, rate: 0.05}", { { "efa-not-ready", "trn-0/chip6/nic6" } } },
        { "{at: trn-0/chip6/nic6, kind: single-path, path: 3}", { { "efa-single-path", "trn-0/chip6/nic6" } }, .warns = true },
        { "{at: trn-0/chip6/nic6, kind: packet-flood, packets: 3}", { { "efa-flood", "trn-0/chip6/nic6" } } },
        { "{at: trn-0/chip6/nic6, kind: packet-flood, packets: 65536}", { { "efa-flood", "trn-0/chip6/nic6" } } },
        { "{at: trn-0/chip7/nic7, kind: nic-counter-runs-back}", { { "efa-counter", "trn-0/chip7/nic7" } } },
        { "{at: trn-0/chip7/nic7, kind: nic-counter-wraps}, {at: trn-0/chip8/nic8, kind: nic-counter-stuck}",
          { { "efa-counter", "trn-0/chip8/nic8" } } },
        { "{at: trn-0/chip2/nic2, kind: packet-loss, rate: 0.2}, {at: trn-0/chip3/nic3, kind: packet-corruption, rate: 0.2}",
          { { "efa-loss", "trn-0/chip2/nic2" }, { "efa-corruption", "trn-0/chip3/nic3" } } },
        { "{at: trn-0/chip2/nic2, kind: packet-loss, rate: 0.2}, {at: trn-0/chip3/nic3, kind: packet-loss, rate: 0.2}",
          { { "efa-loss", "trn-0/chip2/nic2" }, { "efa-loss", "trn-0/chip3/nic3" } } },
        { "{at: trn-0/chip2/nic2, kind: unresponsive}, {at: trn-0/chip3/nic3, kind: unresponsive}",
          { { "efa-unresponsive", "trn-0/chip2/nic2" }, { "efa-unresponsive", "trn-0/chip3/nic3" } } },
};

static Verdict expect_findings(Step *step, const FaultCase *one, const char *of) {
        Verdict verdict = _VERDICT_INVALID;
        size_t n = 0;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        for (; n < ELEMENTS(one->findings) && one->findings[n][0]; n++)
                if (!rehearsal_said(step, one->findings[n][0], one->findings[n][1])) {
                        rehearsal_print(step);
                        fail_msg("%s, %s: %s at %s is missing", one->fault, of, one->findings[n][0], one->findings[n][1]);
                }
        if (step->n_said != n) {
                rehearsal_print(step);
                fail_msg("%s, %s: too many findings", one->fault, of);
        }
        return verdict;
}

static void test_each_fault_is_found_at_its_adapter_and_nowhere_else(void **state) {
        for (size_t i = 0; i < ELEMENTS(fault_cases); i++) {
                const FaultCase *one = &fault_cases[i];
                char text[512];

                (void) snprintf(text, sizeof(text), SINGLE "faults: [%s]\n", one->fault);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

                assert_int_equal(expect_findings(step, one, "preflight"), one->warns ? VERDICT_WARNED : VERDICT_FAILED);
        }
}

#define PLANE(rate) "{at: trn-0/chip4/nic4/path6, kind: fabric-path-drops, rate: " rate "}"

/* Faults of an adapter on the very path on which the fabric loses packets. */
static const FaultCase plane_cases[] = {
        { PLANE("0.02"), { { "efa-fabric", "trn-0" } } },
        { PLANE("0.5"), { { "efa-fabric", "trn-0" } } },
        { PLANE("0.2") ", {at: trn-0/chip8/nic8, kind: single-path, path: 6}", { { "efa-fabric", "trn-0" }, { "efa-single-path", "trn-0/chip8/nic8" } } },
        { PLANE("0.5") ", {at: trn-0/chip8/nic8, kind: single-path, path: 6}", { { "efa-fabric", "trn-0" }, { "efa-single-path", "trn-0/chip8/nic8" } } },
        { PLANE("0.2") ", {at: trn-0/chip8/nic8/path6, kind: path-drops, rate: 0.4}", { { "efa-fabric", "trn-0" }, { "efa-path", "trn-0/chip8/nic8/path6" } } },
        { PLANE("0.02") ", {at: trn-0/chip8/nic8/path6, kind: path-drops, rate: 0.25, direction: send}",
          { { "efa-fabric", "trn-0" }, { "efa-path", "trn-0/chip8/nic8/path6" } } },
        { PLANE("0.5") ", {at: trn-0/chip8/nic8/path6, kind: path-delay, nsec: 30000}",
          { { "efa-fabric", "trn-0" }, { "efa-path", "trn-0/chip8/nic8/path6" } } },
        { PLANE("0.1") ", {at: trn-0/chip8/nic8/path6, kind: path-drops, rate: 0.4}, {at: trn-0/chip9/nic9/path6, kind: path-drops, rate: 0.4}",
          { { "efa-fabric", "trn-0" }, { "efa-path", "trn-0/chip8/nic8/path6" }, { "efa-path", "trn-0/chip9/nic9/path6" } } },
};

static void test_a_lossy_fabric_hides_no_adapter_from_either_plan(void **state) {
        for (size_t i = 0; i < ELEMENTS(plane_cases); i++)
                for (unsigned seed = 0; seed < 6; seed++) {
                        char text[512];

                        (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults: [%s]\n", seed,
                                        plane_cases[i].fault);
                        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

                        if (seed % 2 == 1)
                                *(EfaParameters *) step->parameters = (EfaParameters) {
                                        .packets = 4000, .large = 64, .peers = 32, .peers_large = 32, .latency = 15, .bandwidth = 160,
                                };
                        (void) expect_findings(step, &plane_cases[i], seed % 2 == 1 ? "production" : "preflight");
                }
}

/* Where the fabric loses so little that only its sum tells it, no adapter is to blame for its share. */
static void test_a_fabric_that_loses_little_names_no_innocent_adapter(void **state) {
        for (unsigned seed = 0; seed < 12; seed++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[512];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults: [" PLANE("0.001")
                                ", {at: trn-0/chip8/nic8/path6, kind: path-drops, rate: 0.4}]\n", seed);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                if (!rehearsal_said(step, "efa-path", "trn-0/chip8/nic8/path6") ||
                    step->n_said != 1u + rehearsal_said(step, "efa-fabric", "trn-0")) {
                        rehearsal_print(step);
                        fail_msg("seed %u", seed);
                }
        }
}

/* Seeds decide which packets are hit; the one flow that is hit first must not decide who is blamed. */
static void test_a_rare_loss_is_laid_to_the_right_adapter(void **state) {
        unsigned n_found = 0, n_right = 0;

        for (unsigned seed = 0; seed < 100; seed++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[512], at[64];
                unsigned chip = seed % CHIPS;

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\n"
                                "faults: [{at: trn-0/chip%u/nic%u, kind: packet-loss, rate: 0.002}]\n", seed, chip, chip);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                (void) snprintf(at, sizeof(at), "trn-0/chip%u/nic%u", chip, chip);
                if (verdict == VERDICT_FAILED) {
                        n_found++;
                        n_right += step->n_said == 1 && rehearsal_said(step, "efa-loss", at);
                }
        }

        /* 976 packets touch an adapter: 1 - 0.998^976 = 86 % */
        assert_in_range(n_found, 76, 96);
        assert_true(n_right >= n_found - 1);
}

static void test_a_chip_that_hangs_costs_only_itself(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE "faults: [{at: trn-0/chip6, kind: hang}]\n", "efa", "trn-0");

        expect_pass(step);
        for (unsigned c = 0; c < CHIPS; c++)
                assert_int_equal(step->parts[c], c == 6 ? VERDICT_ERROR : VERDICT_PASSED);
}

static void test_an_adapter_that_garbles_its_answers_costs_only_its_chip(void **state) {
        static const char *const modes[] = { "status", "oversize", "void" };

        for (size_t i = 0; i < ELEMENTS(modes); i++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[512];

                (void) snprintf(text, sizeof(text), SINGLE "faults: [{at: trn-0/chip6, kind: garble, mode: %s, command: nic}]\n",
                                modes[i]);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                for (unsigned c = 0; c < CHIPS; c++) {
                        if (step->parts[c] != (c == 6 ? VERDICT_FAILED : VERDICT_PASSED))
                                rehearsal_print(step);
                        assert_int_equal(step->parts[c], c == 6 ? VERDICT_FAILED : VERDICT_PASSED);
                }
        }
}

/* chip6 only; each once. */
static void deny_delivery(Step *step, const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_NIC_SEND && command->chip == 6 && step->n_tampered++ == 0)
                completion->result[0] = 0;
}

static void refuse_to_receive(Step *step, const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_NIC_RECEIVE && command->chip == 6 && step->n_tampered++ == 0)
                *completion = (WireCompletion) { .status = STATUS_NRT_FAILURE };
}

static void expect_only_chip6(Step *step, const char *code) {
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_true(step->n_tampered > 0);
        assert_int_equal(verdict, VERDICT_FAILED);
        assert_int_equal(step->n_said, 1);
        assert_true(rehearsal_said(step, code, "trn-0/chip6/nic6"));
}

static void test_an_adapter_that_denies_what_it_delivered_is_a_liar(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");

        step->tamper = deny_delivery;
        expect_only_chip6(step, "efa-counter");
}

static void test_a_command_refused_before_the_traffic_counts_too(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");

        step->tamper = refuse_to_receive;
        expect_only_chip6(step, "efa-unresponsive");
}

/* Of a ring the servers before and behind take part; what is wrong with them is not this server's. */
static void test_servers_of_the_scan_talk_to_each_other(void **state) {
        static const char *const elsewhere[] = { "", "{at: us0-2/chip3/nic3, kind: packet-loss, rate: 0.4}",
                                                 "{at: us0-0/chip8/nic8, kind: unresponsive}",
                                                 "{at: us0-2/chip3/nic3, kind: packet-corruption, rate: 0.2}" };
        Verdict verdict = _VERDICT_INVALID;
        char text[512];

        for (size_t i = 0; i < ELEMENTS(elsewhere); i++) {
                (void) snprintf(text, sizeof(text), POD "faults: [%s]\n", elsewhere[i]);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "us0-1");

                expect_pass(step);
        }
        (void) snprintf(text, sizeof(text), POD "faults: [%s]\n", "{at: us0-1/chip3/nic3, kind: packet-loss, rate: 0.1}");
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "us0-1");

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_true(verdict == VERDICT_FAILED && step->n_said == 1 && rehearsal_said(step, "efa-loss", "us0-1/chip3/nic3"));
}

static void test_what_is_left_out_is_said_by_name(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(POD "faults: [{at: us0-1/chip6, kind: hang}]\n", "efa", "us0-1");

        step->servers[1].included = 0xfff7; /* chip3 in service */
        step->servers[2].included = 0xefff;
        step->servers[0].included = 0;
        expect_pass(step);
        assert_int_equal(step->n_untested, 4);
        assert_true(rehearsal_untested(step, "out_of_scan us0-1/chip3/nic3"));
        assert_true(rehearsal_untested(step, "silent us0-1/chip6/nic6"));
        assert_true(rehearsal_untested(step, "out_of_scan us0-2/chip12/nic12"));
        assert_true(rehearsal_untested(step, "out_of_scan us0-0"));

        step->servers[0].included = step->servers[1].included = step->servers[2].included = 0xffff;
        expect_pass(step);
        assert_int_equal(step->n_untested, 1);
}

static void test_a_server_alone_says_that_nothing_is_known_of_others(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");

        expect_pass(step);
        assert_int_equal(step->n_untested, 1);
        assert_true(rehearsal_untested(step, "other_servers trn-0"));
        ((EfaParameters *) step->parameters)->peers = 0; /* nobody asked */
        expect_pass(step);
        assert_int_equal(step->n_untested, 0);
}

/* Chip 6 gets from other servers at half the speed, as its clock and the chips that send to it say. */
static void slow_from_elsewhere(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;

        if (server != 1 && command->type == COMMAND_NIC_SEND && command->nic_send.chip == 6 && command->nic_send.bytes == 8192 &&
            strcmp(command->nic_send.server, "us0-1") == 0)
                completion->device_nsec += command->nic_send.packets * UINT64_C(347);
        for (uint64_t i = 0; server == 1 && command->type == COMMAND_NIC_RECEIVE && command->chip == 6 && i < completion->result[1]; i++)
                if (strcmp(arrivals[i].server, "us0-1") != 0 && arrivals[i].bytes == 8192) {
                        arrivals[i].sent_nsec -= (16 - arrivals[i].sequence) * 347;
                        step->n_tampered++;
                }
}

static void test_bandwidth_between_servers_is_measured_where_it_is_asked_for(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(POD, "efa", "us0-1");
        EfaParameters *parameters = step->parameters;
        Verdict verdict = _VERDICT_INVALID;

        step->rewrite = slow_from_elsewhere;
        expect_pass(step);
        assert_int_equal(step->n_tampered, 0);

        parameters->peers_large = 16;
        parameters->latency = 90; /* what took long to be sent is not late */
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_true(step->n_tampered > 0);
        assert_true(verdict == VERDICT_FAILED && step->n_said == 1 && rehearsal_said(step, "efa-slow", "us0-1/chip6/nic6"));

        step->rewrite = NULL;
        parameters->latency = 15;
        expect_pass(step);
}

/* What chip 6's adapter makes of what arrived there. */
static void (*spoil_arrival)(WireArrival *arrival);

static void spoil_arrivals(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;

        for (uint64_t i = 0; command->type == COMMAND_NIC_RECEIVE && command->chip == 6 && i < completion->result[1]; i++) {
                spoil_arrival(&arrivals[i]);
                step->n_tampered++;
        }
}

static void from_nowhere(WireArrival *arrival) {
        (void) snprintf(arrival->server, sizeof(arrival->server), "trn-77");
}

static void of_no_flow(WireArrival *arrival) {
        arrival->flow += 1000000;
}

static void without_end(WireArrival *arrival) {
        memset(arrival->server, 'x', sizeof(arrival->server));
}

static void on_no_path(WireArrival *arrival) {
        arrival->path = NIC_PATHS;
}

static void before_it_was_sent(WireArrival *arrival) {
        arrival->arrived_nsec = arrival->sent_nsec - 1;
}

static void sent_at_once(WireArrival *arrival) {
        arrival->sent_nsec = 0;
}

static void of_no_chip(WireArrival *arrival) {
        arrival->chip = CHIPS;
}

static void test_arrivals_that_cannot_be_are_named(void **state) {
        static const struct {
                void (*spoil)(WireArrival *arrival);
                const char *code;
        } lies[] = {
                { from_nowhere, "efa-misdelivery" }, { of_no_flow, "efa-misdelivery" }, { without_end, "efa-counter" },
                { on_no_path, "efa-counter" },       { before_it_was_sent, "efa-clock" }, { of_no_chip, "efa-counter" },
                { sent_at_once, "efa-clock" },
        };

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");
                Verdict verdict = _VERDICT_INVALID;

                spoil_arrival = lies[i].spoil;
                step->rewrite = spoil_arrivals;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_print(step);
                assert_true(step->n_tampered > 0);
                assert_int_equal(verdict, VERDICT_FAILED);
                assert_true(rehearsal_said(step, lies[i].code, "trn-0/chip6/nic6"));
                for (size_t k = 0; k < step->n_said; k++)
                        assert_string_equal(step->said[k].at, "trn-0/chip6/nic6");
        }
}

/* What chip 6 has in memory is not what its checksums are of. */
static void spoil_payloads(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        if (command->type == COMMAND_NIC_RECEIVE && command->chip == 6 && completion->result[1] > 0)
                for (uint32_t i = 0; i < command->nic_receive.payload_max; i++) {
                        out[command->nic_receive.payload_offset - command->out_offset + i * NIC_PAYLOAD_MAX + 30] ^= 0x10;
                        step->n_tampered++;
                }
}

static void test_a_checksum_alone_is_not_believed(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");

        for (step->seed = 1; step->seed <= 10; step->seed++) { /* chooses of which length messages are compared */
                step->rewrite = spoil_payloads;
                expect_only_chip6(step, "efa-corruption");
        }
}

/* Long messages of a slow adapter are so far apart that they come in order, over as many paths as ever. */
static void test_what_is_slow_is_not_taken_for_one_path(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE "faults: [{at: trn-0/chip6/nic6, kind: nic-slow, share: 0.1}]\n", "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        ((EfaParameters *) step->parameters)->large = 64;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(step->n_said, 1);
        assert_true(rehearsal_said(step, "efa-slow", "trn-0/chip6/nic6"));
        assert_string_equal(step->said[0].replaceable, "cable"); /* which is reseated before the adapter is replaced */
}

static void test_no_failing_batch_becomes_a_pass(void **state) {
        static const int errors[] = { -EIO, -ENODEV, -EPROTO, -ETIMEDOUT };

        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (unsigned n = 1;; n++) {
                        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "efa", "trn-0");
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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_healthy_adapters_pass_again_and_again),
                cmocka_unit_test(test_packets_come_out_of_order_and_that_is_measured),
                cmocka_unit_test(test_any_set_of_two_or_more_chips_can_be_judged),
                cmocka_unit_test(test_a_path_is_told_among_any_set_of_chips),
                cmocka_unit_test(test_one_adapter_alone_is_skipped),
                cmocka_unit_test(test_each_fault_is_found_at_its_adapter_and_nowhere_else),
                cmocka_unit_test(test_a_lossy_fabric_hides_no_adapter_from_either_plan),
                cmocka_unit_test(test_a_fabric_that_loses_little_names_no_innocent_adapter),
                cmocka_unit_test(test_a_rare_loss_is_laid_to_the_right_adapter),
                cmocka_unit_test(test_a_chip_that_hangs_costs_only_itself),
                cmocka_unit_test(test_an_adapter_that_garbles_its_answers_costs_only_its_chip),
                cmocka_unit_test(test_an_adapter_that_denies_what_it_delivered_is_a_liar),
                cmocka_unit_test(test_a_command_refused_before_the_traffic_counts_too),
                cmocka_unit_test(test_servers_of_the_scan_talk_to_each_other),
                cmocka_unit_test(test_what_is_left_out_is_said_by_name),
                cmocka_unit_test(test_a_server_alone_says_that_nothing_is_known_of_others),
                cmocka_unit_test(test_bandwidth_between_servers_is_measured_where_it_is_asked_for),
                cmocka_unit_test(test_arrivals_that_cannot_be_are_named),
                cmocka_unit_test(test_a_checksum_alone_is_not_believed),
                cmocka_unit_test(test_what_is_slow_is_not_taken_for_one_path),
                cmocka_unit_test(test_no_failing_batch_becomes_a_pass),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
