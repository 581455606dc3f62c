/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/neuronlink/fabric.h"

#include <stdio.h>
#include <string.h>

uint64_t fabric_hash(uint64_t seed, uint64_t a, uint64_t b) {
        uint64_t x = seed ^ a * UINT64_C(0x9e3779b97f4a7c15) ^ b * UINT64_C(0xc2b2ae3d27d4eb4f);

        x ^= x >> 32;
        x *= UINT64_C(0xd6e8feb86659fd93);
        x ^= x >> 32;
        x *= UINT64_C(0xd6e8feb86659fd93);
        return x ^ x >> 32;
}

static_assert(RING == TOPOLOGY_RING, "a ring is a ring");

static void name_servers(Fabric *fabric) {
        const char *own = step_unit(fabric->step)->server;
        TopologyRing ring = { .n = 1 };

        /* The request was refused where the topology does not name its servers. */
        if (topology_ring(step_topology(fabric->step), own, &ring) < 0)
                (void) snprintf(ring.servers[0], sizeof(ring.servers[0]), "%s", own);
        fabric->n_servers = (unsigned) ring.n;
        for (unsigned s = 0; s < fabric->n_servers; s++) {
                FabricServer *server = &fabric->servers[s];

                memcpy(server->name, ring.servers[s], sizeof(server->name));
                server->device = s == 0 ? step_device(fabric->step) : step_neighbour(fabric->step, server->name);
        }
}

/* What should be plugged in, as far as the operator says. */
static void name_cables(Fabric *fabric) {
        const Topology *topology = step_topology(fabric->step);

        for (size_t i = 0; topology && i < topology->n_cables; i++)
                for (unsigned end = 0; end < 2; end++) {
                        const TopologyCable *cable = &topology->cables[i];
                        int chip = location_index(&cable->ends[end], LOCATION_CHIP), port = location_index(&cable->ends[end], LOCATION_LINK);

                        for (unsigned s = 0; s < fabric->n_servers; s++)
                                if (strcmp(fabric->servers[s].name, cable->ends[end].server) == 0) {
                                        fabric->servers[s].ports[chip][port].wanted_cable = cable->serial;
                                        fabric->servers[s].ports[chip][port].wanted_label = cable->labels[end];
                                }
                }
}

void fabric_init(Fabric *fabric, Step *step, const NeuronlinkParameters *parameters) {
        fabric->step = step;
        fabric->parameters = parameters;
        fabric->seed = fabric_hash(step_seed(step), 1, 0);
        name_servers(fabric);
        name_cables(fabric);

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++)
                        fabric->servers[0].ports[c][p].lanes = fabric->lanes[c][p];

        for (unsigned s = 0; s < fabric->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS; p++) {
                                PortId id = { (uint8_t) s, (uint8_t) c, (uint8_t) p }, far;

                                /* Of the other servers only what the ring is made of. */
                                fabric_port(fabric, id)->driven =
                                                (s == 0 || p == LINK_Z_PLUS || p == LINK_Z_MINUS) &&
                                                fabric_designed(fabric, id, &far) && fabric_includes(fabric, id) &&
                                                fabric_includes(fabric, far);
                        }
}

PortId port_id_at(unsigned number) {
        return (PortId) { (uint8_t) (number / (CHIPS * PORTS)), (uint8_t) (number / PORTS % CHIPS), (uint8_t) (number % PORTS) };
}

Port *fabric_port(Fabric *fabric, PortId id) {
        return &fabric->servers[id.server].ports[id.chip][id.port];
}

bool fabric_designed(const Fabric *fabric, PortId id, PortId *ret) {
        unsigned row = id.chip / 4, column = id.chip % 4, ahead = id.port % 2 == 0 ? 1 : 3;

        *ret = id;
        ret->port = (uint8_t) link_port_opposite((LinkPort) id.port);
        if (id.port == LINK_X_PLUS || id.port == LINK_X_MINUS)
                ret->chip = (uint8_t) (4 * row + (column + ahead) % 4);
        else if (id.port == LINK_Y_PLUS || id.port == LINK_Y_MINUS)
                ret->chip = (uint8_t) (4 * ((row + ahead) % 4) + column);
        else
                ret->server = (uint8_t) ((id.server + ahead) % RING);

        return ret->server < fabric->n_servers && (ret->server != id.server || ret->chip != id.chip);
}

PortId fabric_sender(Fabric *fabric, PortId id) {
        const Port *port = fabric_port(fabric, id);
        PortId far = id;

        if (port->heard == HEARD_PORT)
                return port->from;

        (void) fabric_designed(fabric, id, &far);
        return far;
}

/* A sender tells that nobody takes its frames. Why is for the port that does not receive: it is looked for, and told, there. */
static bool other_end_is_down(Fabric *fabric, PortId id) {
        const Port *other = fabric_port(fabric, fabric_sender(fabric, id));
        bool own = fabric_sender(fabric, id).server == 0;

        return !fabric->as_designed && other->driven && other->error >= 0 &&
               (!other->before.up || (own && (!other->after.up || other->after.retrains > other->before.retrains)));
}

bool fabric_refused(Fabric *fabric, PortId id) {
        const Port *port = fabric_port(fabric, id);

        if (fabric_port(fabric, fabric_sender(fabric, id))->broken)
                return false;
        return port->refused || (port->unsent && !other_end_is_down(fabric, id));
}

bool port_id_equal(PortId a, PortId b) {
        return a.server == b.server && a.chip == b.chip && a.port == b.port;
}

bool fabric_includes(const Fabric *fabric, PortId id) {
        const FabricServer *server = &fabric->servers[id.server];

        return server->device && step_includes(fabric->step, server->name, id.chip);
}

Location fabric_location(const Fabric *fabric, PortId id) {
        Location where = {};

        memcpy(where.server, fabric->servers[id.server].name, sizeof(where.server));
        (void) location_append(&where, LOCATION_CHIP, id.chip);
        (void) location_append(&where, LOCATION_LINK, id.port);
        return where;
}

size_t fabric_ends(const Fabric *fabric, unsigned server, LinkEnd *ret) {
        size_t n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++)
                        if (fabric->servers[server].ports[c][p].driven)
                                ret[n++] = (LinkEnd) { (uint8_t) c, (uint8_t) p };

        return n;
}
