/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Counting errors: the sequential test of ber.h over all ports at a time, each look but the first in several commands, for what comes and
 * goes from one to the next. A port whose lanes are all decided drops out; while one is not, the others are counted on with it, which
 * costs nothing and makes what is told of them more exact.
 *
 * All ports of a command are at it until the slowest has its bits. So a port that has trained slower than built is asked for as many as
 * it has in the time of the others, in one count and no more: it fails by its speed, and the time that more bits would take is not the
 * others' to pay. What is wrong with its lanes shows as far as so many bits go, and else they are not judged.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/neuronlink/fabric.h"

/* More than a look is made for, so that a lock found some bits late does not keep it from passing. */
#define SPARE_BITS 8192u

double fabric_budget_sec(const Fabric *fabric) {
        uint64_t nsec = device_nsec(fabric->servers[0].device) - fabric->begin_nsec;

        return fabric->allowed_sec - (double) nsec * 1e-9;
}

static void judge_look(const Fabric *fabric, Port *port, unsigned n_lanes, unsigned look) {
        port->prbs = true;
        port->undecided = false;
        for (unsigned l = 0; l < n_lanes; l++) {
                Lane *lane = &port->lanes[l];

                if (lane->outcome == BER_UNDECIDED) {
                        lane->outcome = (uint8_t) ber_judge(&fabric->looks, look, lane->bits, lane->least, lane->blocks);
                        lane->counted = lane->blocks;
                        lane->limit = lane->least >= fabric->looks.fails[look] ? fabric->looks.fails[look] - 1 :
                                                                                 (uint64_t) MAX(fabric->looks.passes[look], 0);
                }
                port->undecided |= lane->outcome == BER_UNDECIDED && lane_is_sound(lane);
        }
}

/* One of the commands that a look is cut into; the last one is followed by the judgement. */
static int run_part(Fabric *fabric, Run *run, unsigned look, bool last) {
        Lane lanes[LINK_LANES_MAX];
        int r;

        r = run_all(fabric, run, RUN_PRBS);
        if (r < 0)
                return r;

        for (size_t i = 0; i < run->n; i++) {
                Port *port = fabric_port(fabric, run->ids[i]);

                if (run->errors[i] < 0) {
                        port->error = run->errors[i];
                        port->refused = port->refused || port->error != -ETIMEDOUT;
                        continue;
                }
                lanes_classify(run->lanes[i].lanes, run->lanes[i].n, &run->prbs[i], lanes);
                for (unsigned l = 0; l < run->lanes[i].n; l++)
                        lane_add(&port->lanes[l], &lanes[l]);
                if (last)
                        judge_look(fabric, port, run->lanes[i].n, look);
        }

        return 0;
}

static bool whole_server_included(const Fabric *fabric) {
        for (unsigned c = 0; c < CHIPS; c++)
                if (!fabric_includes(fabric, (PortId) { .chip = (uint8_t) c }))
                        return false;

        return true;
}

/* PRBS drives both ends of the cable, so the far one must be known to be in the scan: one end has heard the other, or such cables do not
 * leave the server. */
bool fabric_may_drive(Fabric *fabric, PortId id) {
        const Port *port = fabric_port(fabric, id), *far;
        PortId designed;

        if (!port->driven || port->error < 0)
                return false;
        if (port->heard == HEARD_PORT)
                return fabric_includes(fabric, port->from);
        if (!port->before.up || !fabric_designed(fabric, id, &designed))
                return false;

        far = fabric_port(fabric, designed);
        return (far->heard == HEARD_PORT && port_id_equal(far->from, id)) ||
               (link_port_width(id.port) == LINK_LANES_XY && whole_server_included(fabric));
}

/* The share of their built speed at which its lanes run. */
static double pace_of(const Port *port) {
        return port->before.up ? (double) port->before.lane_gbps / LINK_LANE_GBPS : 1;
}

static bool wants_look(const Port *port, unsigned look) {
        return look == 0 || (port->undecided && (look == 1 || pace_of(port) >= 1));
}

static void choose(Fabric *fabric, Run *run, unsigned look, unsigned part, uint64_t bits) {
        run->n = 0;
        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++) {
                        PortId id = { 0, (uint8_t) c, (uint8_t) p };
                        const Port *port = fabric_port(fabric, id);

                        if (fabric_may_drive(fabric, id) && wants_look(port, look))
                                run_add(fabric, run, id, look * PARTS_MAX + part, (uint64_t) ((double) bits * pace_of(port)));
                }
}

/* Returns 1 where there was nothing to count, or no time to. */
static int run_look(Fabric *fabric, Run *run, unsigned look) {
        uint64_t bits = fabric->looks.bits[look] - (look > 0 ? fabric->looks.bits[look - 1] : 0);
        unsigned n_parts = look > 0 ? (unsigned) fabric->parameters->parts : 1;

        for (unsigned part = 0; part < n_parts; part++) {
                int r;

                choose(fabric, run, look, part, bits / n_parts + SPARE_BITS);
                if (run->n == 0 || (part == 0 && fabric_budget_sec(fabric) < link_sec((double) bits)))
                        return 1;
                r = run_part(fabric, run, look, part + 1 == n_parts);
                if (r < 0)
                        return r;
        }

        return 0;
}

int fabric_count_errors(Fabric *fabric) {
        _cleanup_free_ Run *run = NULL;
        int r = 0;

        run = malloc(sizeof(*run));
        if (!run)
                return -ENOMEM;
        for (unsigned look = 0; look < fabric->looks.n && r == 0; look++)
                r = run_look(fabric, run, look);

        return r < 0 ? r : 0;
}
