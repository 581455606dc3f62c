/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How fast payload goes through a link: every port that is up receives from its far end, all at a time and both ways of a cable, as in a
 * collective. Held against what width and speed of the lanes allow, replays taken off: those are for the lanes, but for more of them
 * than the lanes' own errors make.
 *
 * It is moved MOVES times, and each is judged on its own: what slows half of them, or more, is missed once in 2^MOVES. One slow move is
 * enough, as there is no chance in it: time is what width, speed and code make of the bytes, and what lanes spoil is taken off.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/neuronlink/judge.h"

#define MOVES      10u                  /* 1 in 1024 */
#define MOVE_BYTES (UINT64_C(8) << 20) /* 65 µs at full speed: starting up is no part of it */
/* Of what the lanes carry: 128/130 is their code, 256 of 280 bytes of a frame are payload; together 0.90, which some ports leave out of
 * the time and some do not. */
#define SHARE_LEAST 0.9
#define SHARE_MOST  1.01 /* no port is faster than its lanes */

/* The most that its lanes carry: lanes that were away, or slow, while the width was read may be there while payload is moved. */
static double most_rate(const Judged *judged) {
        return (double) link_port_width(judged->id.port) * LINK_LANE_GBPS / 8;
}

static double built_rate(const Port *port) {
        return (double) port->before.width * port->before.lane_gbps / 8;
}

static void add_move(Port *port, const LinkTransfer *transfer) {
        double rate = ((double) MOVE_BYTES + (double) transfer->replays * WIRE_FRAME_MAX) / (double) transfer->nsec;
        Payload *payload = &port->payload;

        payload->slowest = payload->n_moved == 0 ? rate : fmin(payload->slowest, rate);
        payload->fastest = fmax(payload->fastest, rate);
        payload->n_slow += rate < SHARE_LEAST * built_rate(port);
        payload->replays += transfer->replays;
        payload->n_moved++;
}

static int move_once(Fabric *fabric, const LinkEnd *ends, size_t n) {
        LinkTransfer transfers[CHIPS * PORTS];
        int errors[CHIPS * PORTS], r;

        r = device_link_transfer(fabric->servers[0].device, ends, n, MOVE_BYTES, transfers, errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++) {
                Port *port = &fabric->servers[0].ports[ends[i].chip][ends[i].port];

                if (errors[i] < 0) {
                        port->payload.n_blocked += errors[i] == -EREMOTEIO;
                        port->refused = port->refused || errors[i] != -EREMOTEIO;
                        continue;
                }
                add_move(port, &transfers[i]);
                /* The far end sends them again, and counts them. */
                if (port->heard == HEARD_PORT)
                        fabric_port(fabric, port->from)->n_replays += transfers[i].replays;
        }

        return 0;
}

int fabric_move_payload(Fabric *fabric) {
        LinkEnd ends[CHIPS * PORTS];
        size_t n = 0;
        int r = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++) {
                        PortId id = { 0, (uint8_t) c, (uint8_t) p };

                        if (fabric_port(fabric, id)->before.up && fabric_port(fabric, id)->prbs && fabric_may_drive(fabric, id))
                                ends[n++] = (LinkEnd) { id.chip, id.port };
                }

        for (unsigned i = 0; i < MOVES && n > 0 && r >= 0; i++)
                r = move_once(fabric, ends, n);

        return r;
}

uint64_t judged_payload_frames(const Judged *judged) {
        return judged->port->payload.n_moved * (MOVE_BYTES / WIRE_FRAME_MAX);
}

/* Frames of all moves that the lanes' errors spoil on average, each on its own. */
static double expected_replays(const Judged *judged) {
        double n_frames = (double) judged_payload_frames(judged), spoilt = 0;
        unsigned width = link_port_width(judged->id.port);

        for (unsigned l = 0; l < width; l++) {
                const Lane *lane = &judged->port->lanes[l];

                if (lane->bits > 0)
                        spoilt += (double) lane->errors / (double) lane->bits * WIRE_FRAME_MAX * 8 / width;
        }

        return n_frames * expm1(spoilt); /* those sent again may be spoilt again */
}

static int say_slow(Judged *judged) {
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged) };
        const Payload *payload = &judged->port->payload;
        double built = built_rate(judged->port);
        char expected[48], actual[48], often[48] = "";

        (void) snprintf(expected, sizeof(expected), "%.3g GB/s", built);
        (void) snprintf(actual, sizeof(actual), "%.3g GB/s", payload->slowest);
        if (payload->n_slow < payload->n_moved)
                (void) snprintf(often, sizeof(often), " in %u moves of %u", payload->n_slow, payload->n_moved);
        evidence.expected = expected;
        evidence.actual = actual;
        evidence.decided = (Decided) { "neuronlink_bandwidth", payload->slowest, SHARE_LEAST * built };
        return step_finding(judged->fabric->step, judged->verdict, "link-bandwidth", &judged->where, &evidence,
                            "payload arrives at %s%s, and %u lanes of %u Gb/s carry %s; from %s", actual, often, judged->port->before.width,
                            judged->port->before.lane_gbps, expected, judged->far_text);
}

/* While the link trains nothing arrives, and where lanes fail it is theirs: both are told as such. */
static int say_blocked(Judged *judged) {
        const Payload *payload = &judged->port->payload;
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged),
                              .decided = { "neuronlink_moves_blocked", payload->n_blocked, 0 } };

        if (judged_lanes_fail(judged) || judged_retrained(judged))
                return 0;
        if (payload->n_moved > 0)
                return step_finding(judged->fabric->step, judged->verdict, "link-down", &judged->where, &evidence,
                                    "nothing arrived in %u moves of payload of %u: the link is down at times; from %s", payload->n_blocked,
                                    payload->n_blocked + payload->n_moved, judged->far_text);

        return step_finding(judged->fabric->step, judged->verdict, "link-bandwidth", &judged->where, &evidence,
                            "the link is up and its lanes deliver, but no payload comes through; from %s", judged->far_text);
}

static int say_replays(Judged *judged, double expected) {
        const Payload *payload = &judged->port->payload;
        Evidence evidence = {
                .far_end = judged->far_text, .replaceable = judged_replaceable(judged), .has_count = true, .count = (double) payload->replays,
                .decided = { "neuronlink_replays", (double) payload->replays, 3 * expected + 10 },
        };

        return step_finding(judged->fabric->step, judged->verdict, "link-bandwidth", &judged->where, &evidence,
                            "%" PRIu64 " frames of %" PRIu64 " had to be sent again, and the errors of its lanes explain %.3g; from %s",
                            payload->replays, judged_payload_frames(judged), expected, judged->far_text);
}

int judge_traffic(Judged *judged) {
        const Payload *payload = &judged->port->payload;
        double expected;

        if (payload->n_blocked > 0)
                return judged->port->either_end ? 0 : say_blocked(judged);
        if (payload->n_moved == 0)
                return 0;
        if (payload->n_slow > 0)
                return say_slow(judged);
        if (payload->fastest > SHARE_MOST * most_rate(judged))
                return step_finding(judged->fabric->step, judged->verdict, "link-counter", &judged->where,
                                    &(Evidence) { .far_end = judged->far_text,
                                                  .decided = { "neuronlink_bandwidth_told", payload->fastest, SHARE_MOST * most_rate(judged) } },
                                    "%.3g GB/s of payload and %" PRIu64 " replays are more than its lanes can carry: its figures are wrong",
                                    payload->fastest, payload->replays);

        expected = expected_replays(judged);
        /* Ten times none where none are expected: no play of chance. */
        return (double) payload->replays > 3 * expected + 10 ? say_replays(judged, expected) : 0;
}
