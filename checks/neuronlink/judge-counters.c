/* SPDX-License-Identifier: Apache-2.0 */

/* What a port's own counters say, held against what went through it; and how they are left. */

#include <inttypes.h>
#include <stdio.h>

#include "checks/neuronlink/judge.h"

#define COUNTER_32 (UINT64_C(1) << 32)

/*
 * How far a counter went. Counters are of 64 bits or of 32, and wrap: the way forward is the one that is shorter than half the range
 * (as RFC 1982 compares serial numbers), and a scan counts nowhere near that. False: it went back.
 */
static bool counter_moved(uint64_t before, uint64_t after, uint64_t *ret) {
        *ret = after - before;
        if (*ret > UINT64_MAX / 2 && before < COUNTER_32 && after < COUNTER_32)
                *ret &= COUNTER_32 - 1;

        return *ret <= (before < COUNTER_32 && after < before ? COUNTER_32 / 2 : UINT64_MAX / 2);
}

static int judge_counter(Judged *judged, const char *name, uint64_t before, uint64_t after, uint64_t least) {
        Evidence evidence = { .address = name };
        char expected[32], actual[32];
        uint64_t moved;
        bool forward;

        forward = counter_moved(before, after, &moved);
        if (forward && moved >= least)
                return 0;

        (void) snprintf(expected, sizeof(expected), "at least %" PRIu64, least);
        (void) snprintf(actual, sizeof(actual), "%" PRId64, forward ? (int64_t) moved : (int64_t) (after - before));
        evidence.expected = expected;
        evidence.actual = actual;
        evidence.decided = (Decided) { "neuronlink_counter_moved", forward ? (double) moved : -1, (double) least };
        return 1 + step_finding(judged->fabric->step, judged->verdict, "link-counter", &judged->where, &evidence,
                                !forward    ? "counter %s runs backwards: it moved by %s, and %" PRIu64 " were seen" :
                                moved == 0  ? "counter %s stands still: it moved by %s, and %" PRIu64 " were seen" :
                                              "counter %s moved by %s, and %" PRIu64 " were seen",
                                name, actual, least);
}

int judge_counters(Judged *judged) {
        const Port *port = judged->port;
        const WireLinkStatus *before = &port->before, *after = &port->after;
        const struct {
                const char *name;
                uint64_t before, after, least;
        } counters[] = {
                { "errors", before->errors, after->errors, port->n_errors },
                { "frames_sent", before->frames_sent, after->frames_sent, port->n_sent },
                { "frames_received", before->frames_received, after->frames_received, port->n_received },
                { "replays", before->replays, after->replays, port->n_replays },
                { "retrains", before->retrains, after->retrains, 0 },
        };

        for (size_t i = 0; i < ELEMENTS(counters); i++) {
                int r;

                r = judge_counter(judged, counters[i].name, counters[i].before, counters[i].after, counters[i].least);
                if (r != 0)
                        return r < 0 ? r : 0;
        }

        return 0;
}

/* ---- how they are left ---- */

/* What it shows is of this scan alone: it stood at zero, and has counted no more than was seen. */
static bool is_ours(uint64_t before, uint64_t after, uint64_t seen) {
        return before == 0 && after > 0 && after <= seen;
}

static bool errors_are_ours(const Port *port) {
        return is_ours(port->before.errors, port->after.errors, port->n_errors + port->payload.replays);
}

static bool replays_are_ours(const Port *port) {
        return is_ours(port->before.replays, port->after.replays, port->n_replays);
}

static int clear_counter(Fabric *fabric, const char *counter, bool (*is_to_clear)(const Port *port)) {
        LinkEnd ends[CHIPS * PORTS];
        int errors[CHIPS * PORTS], r;
        size_t n = 0;

        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                PortId id = port_id_at(i);
                const Port *port = fabric_port(fabric, id);

                if (port->driven && port->error >= 0 && is_to_clear(port))
                        ends[n++] = (LinkEnd) { id.chip, id.port };
        }
        r = device_link_clear(fabric->servers[0].device, ends, n, counter, errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++)
                if (errors[i] < 0)
                        fabric->servers[0].ports[ends[i].chip][ends[i].port].refused = true;
        return 0;
}

int fabric_clear_counters(Fabric *fabric) {
        int r;

        r = clear_counter(fabric, "errors", errors_are_ours);
        return r < 0 ? r : clear_counter(fabric, "replays", replays_are_ours);
}
