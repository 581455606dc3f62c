/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Counting errors lane by lane. Every receiving port has a seed of its own and lanes differ, so the state a lane shows
 * says whose stream it is; errors alone would pass a dead line, which has none.
 *
 * A sequential test: a lane passes with so few errors that the promised ratio is excluded, fails with so many that no
 * good lane made them, and is counted once more in between. A good lane (1e-15) makes an error in 93e9 bits once in ten
 * thousand times; that must not cost a chip, and enough more to fail it will not make.
 */

#include <errno.h>
#include <string.h>

#include "checks/neuronlink/ber.h"
#include "checks/neuronlink/fabric.h"
#include "checks/neuronlink/prbs.h"

#define ENDS_MAX      (CHIPS * PORTS)
#define LOOPBACK_BITS 1000000u

typedef struct Pass {
        size_t n;
        LinkEnd ends[ENDS_MAX];
        WireLinkPrbs prbs[ENDS_MAX];
        LinkLanes lanes[ENDS_MAX];
        int errors[ENDS_MAX];
} Pass;

static WireLinkPrbs prbs_for(const Fabric *fabric, PortId id, unsigned pass, uint64_t bits) {
        uint64_t place = (uint64_t) id.server << 16 | (uint64_t) id.chip << 8 | id.port;

        return (WireLinkPrbs) {
                .bits = bits,
                .seed = fabric_hash(fabric->seed, 3 + pass, place),
                .polynomial = (uint8_t) fabric->parameters->polynomial,
        };
}

static void look_at_lane(Port *port, unsigned l, unsigned n_lanes, const WireLane *lane, const WireLinkPrbs *prbs) {
        WirePrbs polynomial = (WirePrbs) prbs->polynomial;
        int source, skew = 0;

        port->errors[l] += lane->errors;
        port->n_errors += lane->errors;
        if (lane->transitions == 0) {
                port->dead |= UINT32_C(1) << l;
                return;
        }
        if (!lane->locked) {
                port->unlocked |= UINT32_C(1) << l;
                return;
        }
        if (lane->state == prbs_seed(polynomial, prbs->seed, l))
                return;

        source = prbs_whose(polynomial, prbs->seed, n_lanes, lane->state, &skew);
        port->crossed |= UINT32_C(1) << l;
        port->source[l] = (uint8_t) (source < 0 ? (int) LINK_LANES_MAX : source);
        port->skewed[l] = skew != 0;
}

/* Between passing and failing, and not to be judged by anything else. */
static bool is_undecided(const Fabric *fabric, const Port *port, unsigned n_lanes) {
        for (unsigned l = 0; l < n_lanes; l++)
                if (port->errors[l] > (uint64_t) fabric->allowed[port->n_passes] &&
                    port->errors[l] < (uint64_t) fabric->certain[port->n_passes] &&
                    !((port->dead | port->unlocked | port->crossed) >> l & 1))
                        return true;

        return false;
}

static int run_pass(Fabric *fabric, Pass *pass, unsigned number) {
        int r;

        for (size_t i = 0; i < pass->n; i++)
                pass->prbs[i] = prbs_for(fabric, (PortId) { 0, pass->ends[i].chip, pass->ends[i].port }, number,
                                         fabric->parameters->bits);

        r = device_link_prbs(fabric->servers[0].device, pass->ends, pass->n, pass->prbs, pass->lanes, pass->errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < pass->n; i++) {
                Port *port = &fabric->servers[0].ports[pass->ends[i].chip][pass->ends[i].port];

                if (pass->errors[i] < 0) {
                        port->error = pass->errors[i];
                        port->refused = port->refused || port->error != -ETIMEDOUT;
                        continue;
                }
                port->prbs = true;
                port->n_passes++;
                for (unsigned l = 0; l < pass->lanes[i].n; l++)
                        look_at_lane(port, l, pass->lanes[i].n, &pass->lanes[i].lanes[l], &pass->prbs[i]);
                port->undecided = number + 1 < PASSES_MAX && is_undecided(fabric, port, pass->lanes[i].n);
        }

        return 0;
}

static bool whole_server_included(const Fabric *fabric) {
        for (unsigned c = 0; c < CHIPS; c++)
                if (!fabric_includes(fabric, (PortId) { .chip = (uint8_t) c }))
                        return false;

        return true;
}

/* PRBS drives both ends of the cable, so the far one must be known to be in the scan. */
static bool may_drive(const Fabric *fabric, const Port *port, unsigned p, bool whole) {
        if (!port->driven || port->error < 0)
                return false;
        if (port->heard == HEARD_PORT)
                return fabric_includes(fabric, port->from);

        return port->before.up && whole && link_port_width(p) == LINK_LANES_XY; /* such cables do not leave the server */
}

static size_t choose(Fabric *fabric, bool undecided, LinkEnd *ret) {
        bool whole = whole_server_included(fabric);
        size_t n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++) {
                        const Port *port = &fabric->servers[0].ports[c][p];

                        if (may_drive(fabric, port, p, whole) && (!undecided || port->undecided))
                                ret[n++] = (LinkEnd) { (uint8_t) c, (uint8_t) p };
                }

        return n;
}

int fabric_count_errors(Fabric *fabric) {
        double sec = (double) fabric->parameters->bits / (LINK_LANE_GBPS * 1e9);
        _cleanup_free_ Pass *pass = NULL;
        int r;

        pass = malloc(sizeof(*pass));
        if (!pass)
                return -ENOMEM;

        pass->n = choose(fabric, false, pass->ends);
        r = run_pass(fabric, pass, 0);

        for (unsigned number = 1; number < PASSES_MAX && r >= 0; number++) {
                pass->n = choose(fabric, true, pass->ends);
                if (pass->n == 0 || step_budget_sec(fabric->step) < (number + 1) * sec)
                        break;
                r = run_pass(fabric, pass, number);
        }

        return r;
}

int fabric_hears_itself(Fabric *fabric, PortId id) {
        WireLinkPrbs prbs = prbs_for(fabric, id, PASSES_MAX, LOOPBACK_BITS);
        LinkEnd end = { id.chip, id.port };
        LinkLanes lanes = {};
        int error = 0, r;

        r = device_link_loopback(fabric->servers[id.server].device, &end, 1, LOOPBACK_NEAR_PMA, &prbs, &lanes, &error);
        if (r < 0)
                return r;
        if (error < 0)
                return error == -ETIMEDOUT ? -ETIMEDOUT : 0;

        for (unsigned l = 0; l < lanes.n; l++)
                if (!lanes.lanes[l].locked || lanes.lanes[l].transitions == 0 || lanes.lanes[l].errors > 0)
                        return 0;

        return 1;
}
