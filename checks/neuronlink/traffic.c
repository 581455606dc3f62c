/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How fast payload goes through a link: every port that is up receives from its far end, all at a time and both ways of a cable, as in a
 * collective. Held against what width and speed of the lanes allow, replays taken off: those are for the lanes, but for more of them
 * than the lanes' own errors make.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks/neuronlink/judge.h"

#define TRANSFER_BYTES (UINT64_C(64) << 20) /* half a millisecond at full speed: starting up is no part of it */
/* Of what the lanes carry: 128/130 is their code, 256 of 280 bytes of a frame are payload; together 0.90, which some ports leave out of
 * the time and some do not. */
#define SHARE_LEAST 0.9
#define SHARE_MOST  1.01 /* no port is faster than its lanes */

int fabric_move_payload(Fabric *fabric) {
        LinkTransfer transfers[CHIPS * PORTS];
        LinkEnd ends[CHIPS * PORTS];
        int errors[CHIPS * PORTS], r;
        size_t n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++) {
                        PortId id = { 0, (uint8_t) c, (uint8_t) p };

                        if (fabric_port(fabric, id)->before.up && fabric_port(fabric, id)->prbs && fabric_may_drive(fabric, id))
                                ends[n++] = (LinkEnd) { id.chip, id.port };
                }

        r = device_link_transfer(fabric->servers[0].device, ends, n, TRANSFER_BYTES, transfers, errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++) {
                Port *port = &fabric->servers[0].ports[ends[i].chip][ends[i].port];

                port->transfer_error = errors[i];
                port->refused = port->refused || (errors[i] < 0 && errors[i] != -EREMOTEIO);
                if (errors[i] < 0)
                        continue;
                port->transfer = transfers[i];
                /* The far end sends them again, and counts them. */
                if (port->heard == HEARD_PORT)
                        fabric_port(fabric, port->from)->n_replays += transfers[i].replays;
        }

        return 0;
}

/* Frames of the transfer that the lanes' errors spoil on average, each on its own. */
static double expected_replays(const Judged *judged) {
        double n_frames = (double) TRANSFER_BYTES / WIRE_FRAME_MAX, spoilt = 0;
        unsigned width = link_port_width(judged->id.port);

        for (unsigned l = 0; l < width; l++) {
                const Lane *lane = &judged->port->lanes[l];

                if (lane->bits > 0)
                        spoilt += (double) lane->errors / (double) lane->bits * WIRE_FRAME_MAX * 8 / width;
        }

        return n_frames * expm1(spoilt); /* those sent again may be spoilt again */
}

static int say_slow(Judged *judged, double gbytes, double built) {
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged) };
        char expected[48], actual[48];
        int r;

        (void) snprintf(expected, sizeof(expected), "%.3g GB/s", built);
        (void) snprintf(actual, sizeof(actual), "%.3g GB/s", gbytes);
        evidence.expected = expected;
        evidence.actual = actual;
        r = step_measure(judged->fabric->step, "neuronlink_bandwidth", gbytes, "GBy/s", LIMIT_GREATER_THAN_OR_EQUAL, SHARE_LEAST * built,
                         &judged->where);
        if (r < 0)
                return r;

        return step_finding(judged->fabric->step, judged->verdict, "link-bandwidth", &judged->where, &evidence,
                            "payload arrives at %s, and %u lanes of %u Gb/s carry %s; from %s", actual, judged->port->before.width,
                            judged->port->before.lane_gbps, expected, judged->far_text);
}

int judge_traffic(Judged *judged) {
        const Port *port = judged->port;
        const LinkTransfer *transfer = &port->transfer;
        double built = (double) port->before.width * port->before.lane_gbps / 8, gbytes, expected;
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged) };

        if (port->transfer_error == -EREMOTEIO && !judged_lanes_fail(judged))
                return step_finding(judged->fabric->step, judged->verdict, "link-bandwidth", &judged->where, &evidence,
                                    "the link is up and its lanes deliver, but no payload comes through; from %s", judged->far_text);
        if (port->transfer_error < 0 || transfer->nsec == 0)
                return 0;

        gbytes = ((double) TRANSFER_BYTES + (double) transfer->replays * WIRE_FRAME_MAX) / (double) transfer->nsec;
        if (gbytes < SHARE_LEAST * built)
                return say_slow(judged, gbytes, built);
        if (gbytes > SHARE_MOST * built)
                return step_finding(judged->fabric->step, judged->verdict, "link-counter", &judged->where, &evidence,
                                    "%.3g GB/s of payload and %" PRIu64 " replays are more than its lanes can carry: its figures are wrong",
                                    gbytes, transfer->replays);

        expected = expected_replays(judged);
        if ((double) transfer->replays <= 3 * expected + 10) /* ten times none where none are expected: no play of chance */
                return 0;
        evidence.has_count = true;
        evidence.count = (double) transfer->replays;
        return step_finding(judged->fabric->step, judged->verdict, "link-bandwidth", &judged->where, &evidence,
                            "%" PRIu64 " frames of %" PRIu64 " had to be sent again, and the errors of its lanes explain %.3g; from %s",
                            transfer->replays, TRANSFER_BYTES / WIRE_FRAME_MAX, expected, judged->far_text);
}
