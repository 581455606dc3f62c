/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The simulator's collectives against their definition, worked out with double and integers, and its time and counters. Rings are laid out
 * here along snakes and columns, and not by the check's tables.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/chip.h"
#include "sim/fleet/scenario.h"
#include "sim/links/link.h"

#define WINDOW (1u << 20)
#define RANKS  16u

typedef struct Bench {
        Scenario *scenario;
        Server *server;
        uint64_t batch;
        _Alignas(64) uint8_t window[WINDOW];
} Bench;

static Bench *bench_new(const char *faults) {
        Bench *bench = calloc(1, sizeof(*bench));
        char text[512], *error = NULL;

        (void) snprintf(text, sizeof(text), "scenario: test\nseed: 5\ntopology: {servers: 1}\nfaults: [%s]\n", faults);
        if (scenario_parse("test", text, strlen(text), &bench->scenario, &error) < 0)
                fail_msg("%s", error);
        bench->server = hall_server(bench->scenario->hall, "trn-0");
        return bench;
}

static void bench_free(Bench *bench) {
        bench->scenario = scenario_free(bench->scenario);
        free(bench);
}

static WireCompletion run(Bench *bench, unsigned chip, const WireCommand *command) {
        WireCompletion completion;

        assert_int_equal(chip_execute(server_chip(bench->server, chip), ++bench->batch, command, bench->window, WINDOW, &completion), 0);
        return completion;
}

/* The ring along rows like a snake: 0 1 2 3 7 6 5 4 8 … 12, and back up by the wrapping link of column 0. */
static const uint8_t snake[RANKS] = { 0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 15, 14, 13, 12 };

static unsigned port_between(unsigned from, unsigned to) {
        static const int8_t moves[4][2] = { { 0, 1 }, { 0, 3 }, { 1, 0 }, { 3, 0 } };

        for (unsigned p = 0; p < 4; p++)
                if (to / 4 == (from / 4 + (unsigned) moves[p][0]) % 4 && to % 4 == (from % 4 + (unsigned) moves[p][1]) % 4)
                        return p;
        fail_msg("%u and %u are no neighbours", from, to);
        return 0;
}

/* Both ways of the snake, or the first only. */
static void lay_rings(WireCollectiveRing *rings, unsigned n_rings, unsigned position) {
        for (unsigned c = 0; c < n_rings; c++) {
                unsigned back = snake[(position + RANKS - 1) % RANKS], on = snake[(position + 1) % RANKS], own = snake[position];

                rings[c] = (WireCollectiveRing) {
                        .send_port = (uint8_t) port_between(own, c == 0 ? on : back),
                        .receive_port = (uint8_t) port_between(own, c == 0 ? back : on),
                        .position = (uint8_t) (c == 0 ? position : (RANKS - position) % RANKS),
                };
                for (unsigned p = 0; p < RANKS; p++)
                        rings[c].order[p] = snake[c == 0 ? p : (RANKS - p) % RANKS];
        }
}

static uint32_t cut(uint32_t n, unsigned parts, unsigned k) {
        return n * k / parts;
}

/* What rank r puts into element i: small whole numbers, so that sums are exact in every format and order. */
static unsigned value_of(unsigned rank, uint32_t i) {
        return (rank * 7 + i * 3 + i / 5) % 16;
}

static unsigned bytes_of(unsigned format) {
        return format == ELEMENT_FP32 ? 4 : format == ELEMENT_BF16 ? 2 : 1;
}

static void put(uint8_t *at, unsigned format, unsigned value) {
        float number = (float) value;
        uint32_t bits;

        memcpy(&bits, &number, 4);
        if (format == ELEMENT_FP32)
                memcpy(at, &bits, 4);
        else if (format == ELEMENT_BF16)
                memcpy(at, (uint16_t[]) { (uint16_t) (bits >> 16) }, 2);
        else
                *at = (uint8_t) value;
}

static unsigned get(const uint8_t *at, unsigned format) {
        uint16_t half;
        uint32_t bits;
        float number;

        if (format == ELEMENT_UINT8)
                return *at;
        memcpy(&half, at, 2);
        memcpy(&bits, at, format == ELEMENT_FP32 ? 4 : 2);
        if (format == ELEMENT_BF16)
                bits = (uint32_t) half << 16;
        memcpy(&number, &bits, 4);
        return (unsigned) number;
}

static void post(Bench *bench, unsigned position, WireCollectivePost shape) {
        unsigned rank = snake[position], bytes = bytes_of(shape.format);
        WireCollectiveRing rings[2];
        uint32_t first = 0, n = shape.elements;
        WireCommand command = { .type = COMMAND_COLLECTIVE_POST, .chip = (uint8_t) rank };

        lay_rings(rings, shape.rings, position);
        memcpy(bench->window, rings, shape.rings * sizeof(*rings));
        if (shape.operation == COLLECTIVE_ALL_GATHER) {
                first = cut(shape.elements, RANKS, rank);
                n = cut(shape.elements, RANKS, rank + 1) - first;
        }
        for (uint32_t i = 0; i < n; i++)
                put(bench->window + shape.rings * sizeof(*rings) + (size_t) i * bytes, shape.format, value_of(rank, first + i));
        shape.rank = (uint8_t) rank;
        shape.ranks = RANKS;
        command.collective_post = shape;
        command.in_bytes = (uint32_t) (shape.rings * sizeof(*rings)) + n * bytes;
        assert_int_equal(run(bench, rank, &command).status, STATUS_NRT_SUCCESS);
}

static WireCompletion wait_for(Bench *bench, unsigned chip, WireCollectiveStatus *ret) {
        WireCommand command = {
                .type = COMMAND_COLLECTIVE_WAIT, .chip = (uint8_t) chip, .out_bytes = WINDOW,
                .collective_wait = { .group = 9, .timeout_nsec = 1000000000 },
        };
        WireCompletion completion = run(bench, chip, &command);

        memcpy(ret, bench->window, sizeof(*ret));
        return completion;
}

/* By definition: element i of what comes out at RANK; false where it ends before. */
static bool wanted(const WireCollectivePost *shape, unsigned rank, uint32_t i, unsigned *ret) {
        uint32_t first = cut(shape->elements, RANKS, rank), n = cut(shape->elements, RANKS, rank + 1) - first, at = i;
        unsigned sum = 0;

        if (shape->operation == COLLECTIVE_ALL_TO_ALL) {
                if (n == 0 || i >= n * RANKS)
                        return false;
                *ret = value_of(i / n, first + i % n);
                return true;
        }
        if (shape->operation == COLLECTIVE_REDUCE_SCATTER) {
                if (i >= n)
                        return false;
                at = first + i;
        } else if (i >= shape->elements)
                return false;
        if (shape->operation == COLLECTIVE_ALL_GATHER) {
                unsigned owner = 0;

                while (cut(shape->elements, RANKS, owner + 1) <= i)
                        owner++;
                *ret = value_of(owner, i);
                return true;
        }
        for (unsigned r = 0; r < RANKS; r++)
                sum += value_of(r, at);
        *ret = sum;
        return true;
}

static void expect_data(Bench *bench, const WireCollectivePost *shape) {
        for (unsigned p = 0; p < RANKS; p++)
                post(bench, p, *shape);
        for (unsigned rank = 0; rank < RANKS; rank++) {
                WireCollectiveStatus status;
                WireCompletion completion = wait_for(bench, rank, &status);
                unsigned value, bytes = bytes_of(shape->format);
                uint32_t i = 0;

                assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
                for (; wanted(shape, rank, i, &value); i++)
                        if (get(bench->window + sizeof(status) + (size_t) i * bytes, shape->format) != value)
                                fail_msg("operation %u, %u elements of format %u, rank %u: element %u is not %u", shape->operation,
                                         shape->elements, shape->format, rank, i, value);
                assert_int_equal(completion.out_bytes, sizeof(status) + i * bytes);
        }
}

static void test_every_operation_does_what_it_is_defined_to(void **state) {
        static const uint32_t sizes[] = { 1, 2, 15, 16, 17, 31, 33, 100, 1000 };
        Bench *bench = bench_new("");

        for (unsigned o = 0; o < COLLECTIVE_SEND_RECEIVE; o++)
                for (unsigned f = 0; f < _ELEMENT_MAX; f++)
                        for (size_t i = 0; i < ELEMENTS(sizes); i++)
                                for (unsigned rings = 1; rings <= 2; rings++)
                                        expect_data(bench, &(WireCollectivePost) {
                                                .group = 9, .elements = sizes[i], .repeat = 1 + (uint32_t) i,
                                                .operation = (uint8_t) o, .format = (uint8_t) f, .rings = (uint8_t) rings,
                                        });
        bench_free(bench);
}

/*
 * A ring on which nothing is wrong is worked out at once, any other step by step. A chip that would stop at a step that no ring has
 * makes it the other; links of unequal speed make ranks wait.
 */
static void test_sound_rings_are_what_their_steps_make_of_them(void **state) {
#define SLOWER "{at: trn-0/chip1/link-x-, kind: link-narrowed, width: 8}, {at: trn-0/chip9/link-x+, kind: link-throttled, share: 0.7}"
        static const uint32_t sizes[] = { 1, 15, 31, 100, 1000 };
        Bench *at_once = bench_new(SLOWER), *stepwise = bench_new(SLOWER ", {at: trn-0/chip6, kind: collective-stall, step: 128}");

        for (unsigned i = 0; i < COLLECTIVE_ALL_TO_ALL * ELEMENTS(sizes) * 2; i++) {
                WireCollectivePost shape = {
                        .group = 9, .elements = sizes[i / 2 % ELEMENTS(sizes)], .repeat = 1 + 777 * i, .rings = (uint8_t) (1 + i % 2),
                        .operation = (uint8_t) (i / 2 / ELEMENTS(sizes)), .format = (uint8_t) (i % _ELEMENT_MAX),
                };

                for (unsigned p = 0; p < RANKS; p++) {
                        post(at_once, p, shape);
                        post(stepwise, p, shape);
                }
                for (unsigned rank = 0; rank < RANKS; rank++) {
                        WireCollectiveStatus one, other;
                        WireCompletion a = wait_for(at_once, rank, &one), b = wait_for(stepwise, rank, &other);

                        assert_int_equal(a.status, STATUS_NRT_SUCCESS);
                        assert_memory_equal(&a, &b, sizeof(a));
                        assert_memory_equal(at_once->window, stepwise->window, a.out_bytes);
                }
        }
        bench_free(at_once);
        bench_free(stepwise);
}

/* 15 steps of a block of 64 KiB: hop, link and CC-core each time, on a ring of which every rank is ready at the same time. */
static void test_time_and_counters_follow_from_the_links(void **state) {
        WireCollectivePost shape = { .group = 9, .elements = 16 * 256, .repeat = 64, .operation = COLLECTIVE_ALL_GATHER, .rings = 1 };
        const double link = 65536.0 * 8 / (LINK_LANES_XY * LINK_LANE_GBPS), work = COLLECTIVE_STEP_NSEC + 65536.0 / COLLECTIVE_BYTES_PER_NSEC;
        Bench *bench = bench_new("");

        for (unsigned p = 0; p < RANKS; p++)
                post(bench, p, shape);
        for (unsigned rank = 0; rank < RANKS; rank++) {
                WireCollectiveStatus status;
                const WireCollectiveProgress *progress = &status.progress[0];

                assert_int_equal(wait_for(bench, rank, &status).status, STATUS_NRT_SUCCESS);
                assert_int_equal(progress->steps, 15);
                assert_int_equal(progress->begun, 15);
                assert_int_equal(progress->arrived, 15);
                assert_int_equal(progress->done, 15);
                assert_int_equal(progress->sent, 15 * 65536);
                assert_int_equal(progress->received, 15 * 65536);
                assert_int_equal(progress->wait_nsec, 0);
                assert_true(status.nsec >= (uint64_t) (15 * (link + work)) &&
                            status.nsec <= (uint64_t) (15 * (link + work + COLLECTIVE_HOP_NSEC)));
                assert_true(progress->transfer_nsec + progress->work_nsec == status.nsec);
        }
        bench_free(bench);
}

static void test_a_slower_link_slows_all_and_is_told_at_its_port(void **state) {
        WireCollectivePost shape = { .group = 9, .elements = 16 * 256, .repeat = 4096, .operation = COLLECTIVE_ALL_GATHER, .rings = 1 };
        Bench *bench = bench_new("{at: trn-0/chip1/link-x-, kind: link-narrowed, width: 8}");
        WireCollectiveStatus statuses[RANKS];

        for (unsigned p = 0; p < RANKS; p++)
                post(bench, p, shape);
        for (unsigned rank = 0; rank < RANKS; rank++)
                assert_int_equal(wait_for(bench, rank, &statuses[rank]).status, STATUS_NRT_SUCCESS);
        for (unsigned rank = 0; rank < RANKS; rank++) {
                double ratio = (double) statuses[1].progress[0].transfer_nsec / (double) statuses[rank].progress[0].transfer_nsec;

                assert_true(rank == 1 ? ratio == 1 : ratio > 3);
                /* The others wait for it, and that is all they do beside their own. */
                if (rank != 1)
                        assert_int_equal(statuses[rank].progress[0].wait_nsec + statuses[rank].progress[0].transfer_nsec +
                                         statuses[rank].progress[0].work_nsec, statuses[rank].nsec);
                assert_true(rank == 2 ? statuses[rank].progress[0].wait_nsec > 0 : true);
        }
        bench_free(bench);
}

/* Nobody waits for ever, and afterwards everything works as before. */
static void test_what_hangs_can_be_used_again(void **state) {
        WireCollectivePost shape = { .group = 9, .elements = 64, .repeat = 1, .operation = COLLECTIVE_ALL_REDUCE, .rings = 2 };
        Bench *bench = bench_new("");
        WireCollectiveStatus status;

        for (unsigned p = 1; p < RANKS; p++) /* chip 0 is missing */
                post(bench, p, shape);
        for (unsigned rank = 1; rank < RANKS; rank++) {
                WireCompletion completion = wait_for(bench, rank, &status);

                assert_int_equal(completion.status, STATUS_NRT_HW_ERR_COLLECTIVES);
                assert_int_equal(completion.out_bytes, sizeof(status));
                assert_int_equal(completion.device_nsec, 1000000000);
                assert_true(status.progress[0].done < status.progress[0].steps);
        }
        assert_int_equal(wait_for(bench, 0, &status).status, STATUS_NRT_INVALID);
        expect_data(bench, &shape);
        bench_free(bench);
}

static void test_nonsense_is_refused(void **state) {
        WireCollectivePost good = { .group = 9, .elements = 16, .repeat = 1, .operation = COLLECTIVE_ALL_REDUCE, .ranks = RANKS, .rings = 1 };
        WireCollectivePost bad[] = { good, good, good, good, good, good, good, good };
        Bench *bench = bench_new("");

        bad[0].operation = _COLLECTIVE_MAX;
        bad[1].format = _ELEMENT_MAX;
        bad[2].ranks = COLLECTIVE_RANKS_MAX + 1;
        bad[3].rank = RANKS;
        bad[4].rings = COLLECTIVE_RINGS_MAX + 1;
        bad[5].elements = UINT32_MAX;
        bad[6].repeat = 0;
        bad[7].elements = 17; /* more than comes in */
        for (size_t i = 0; i < ELEMENTS(bad) + 3; i++) {
                WireCommand command = { .type = COMMAND_COLLECTIVE_POST, .in_bytes = sizeof(WireCollectiveRing) + 64 };
                WireCollectiveRing ring;

                lay_rings(&ring, 1, 0);
                if (i == ELEMENTS(bad))
                        ring.send_port = PORTS;
                if (i == ELEMENTS(bad) + 1)
                        ring.position = 1; /* where another rank is */
                if (i == ELEMENTS(bad) + 2)
                        ring.order[3] = ring.order[4];
                memcpy(bench->window, &ring, sizeof(ring));
                command.collective_post = i < ELEMENTS(bad) ? bad[i] : good;
                assert_int_equal(run(bench, 0, &command).status, STATUS_NRT_INVALID);
        }
        bench_free(bench);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_operation_does_what_it_is_defined_to),
                cmocka_unit_test(test_sound_rings_are_what_their_steps_make_of_them),
                cmocka_unit_test(test_time_and_counters_follow_from_the_links),
                cmocka_unit_test(test_a_slower_link_slows_all_and_is_told_at_its_port),
                cmocka_unit_test(test_what_hangs_can_be_used_again),
                cmocka_unit_test(test_nonsense_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
