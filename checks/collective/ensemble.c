/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/collective/collective.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const codes[_TROUBLE_MAX] = {
        [TROUBLE_DATA] = "collective-data", [TROUBLE_CABLE] = "collective-cable",
        [TROUBLE_HANG] = "collective-hang", [TROUBLE_SLOW] = "collective-slow",
        [TROUBLE_EITHER] = "collective-either-end",
};

/* Every server counts from the same one, whatever the ring is called: the first by name. */
static unsigned place_in_ring(const TopologyRing *ring) {
        size_t first = 0;

        for (size_t s = 1; s < ring->n; s++)
                if (strcmp(ring->servers[s], ring->servers[first]) < 0)
                        first = s;
        return (unsigned) ((ring->n - first) % ring->n);
}

void ensemble_init(Ensemble *ensemble, Step *step) {
        const char *own = step_unit(step)->server;
        TopologyRing ring = { .n = 1 };

        /* The request was refused where the topology does not name its servers. */
        if (topology_ring(step_topology(step), own, &ring) < 0)
                (void) snprintf(ring.servers[0], sizeof(ring.servers[0]), "%s", own);
        ensemble->step = step;
        ensemble->parameters = step_parameters(step);
        ensemble->shorter = 1;
        ensemble->n_servers = (unsigned) ring.n;
        ensemble->first = place_in_ring(&ring);
        ensemble->n_untested_together = ensemble->first == 0 && ensemble->n_servers > 1 ? RANKS_MAX : 0;
        for (unsigned s = 0; s < ensemble->n_servers; s++) {
                char *name = ensemble->servers[s].name;

                memcpy(name, ring.servers[s], LOCATION_SERVER_NAME_MAX);
                ensemble->servers[s].device = s == 0 ? step_device(step) : step_neighbour(step, name);
        }
}

void ensemble_turn(Ensemble *ensemble, unsigned by) {
        EnsembleServer servers[RING_SERVERS];

        memcpy(servers, ensemble->servers, sizeof(servers));
        for (unsigned s = 0; s < RING_SERVERS; s++)
                ensemble->servers[s] = servers[(s + by) % RING_SERVERS];
        ensemble->first = (ensemble->first + by) % RING_SERVERS;
}

bool ensemble_has_rings(const Ensemble *ensemble, const Wrongs *wrongs, unsigned n_servers) {
        unsigned cables = (1u << (n_servers > 1 ? PORTS : LINK_Z_PLUS)) - 1;

        if (n_servers > ensemble->n_servers)
                return false;
        for (unsigned s = 0; s < n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        if (!ensemble_has(ensemble, (Member) { (uint8_t) s, (uint8_t) c }) ||
                            ensemble->servers[s].chairs[c].silent || wrongs->misrouted[s][c] & cables)
                                return false;
        return true;
}

Chair *ensemble_chair(Ensemble *ensemble, Member member) {
        return &ensemble->servers[member.server].chairs[member.chip];
}

Member ensemble_sender(const Ensemble *ensemble, Member member, unsigned port) {
        Member far = member;

        (void) ensemble_neighbour(ensemble, member, port, &far);
        return far;
}

Location ensemble_location(const Ensemble *ensemble, Member member, unsigned port) {
        Location where = {};

        memcpy(where.server, ensemble->servers[member.server].name, sizeof(where.server));
        if (port != NOBODY)
                (void) location_append(&where, LOCATION_CHIP, member.chip);
        if (port < PORTS)
                (void) location_append(&where, LOCATION_LINK, port);
        return where;
}

char *ensemble_name(const Ensemble *ensemble, Member member, unsigned port, char buffer[static LOCATION_STRING_MAX]) {
        Location where = ensemble_location(ensemble, member, port);

        return location_format(&where, buffer);
}

const char *ensemble_cable(Member member, unsigned port) {
        return topology_is_trace(member.chip, port) ? NULL : "cable";
}

/* As the port tells it, like a finding of neuronlink: "cable NLC…". A port that does not say has a cable all the same. */
static const char *read_cable(const Ensemble *ensemble, Member member, unsigned port, char cable[static ATTRIBUTE_TEXT_MAX + 8]) {
        char path[ATTRIBUTE_PATH_MAX], serial[ATTRIBUTE_TEXT_MAX];

        (void) snprintf(path, sizeof(path), "assay/link/%s/cable", link_port_to_string((LinkPort) port));
        if (device_attribute(ensemble->servers[member.server].device, member.chip, path, serial) < 0 || *serial == '\0')
                return "cable";
        (void) snprintf(cable, ATTRIBUTE_TEXT_MAX + 8, "cable %s", serial);
        return cable;
}

/*
 * Notes a fault of a chip that the collectives of its own server do not show: a scan of that server alone would pass it. So its record
 * tells that other servers were needed to see it, as they are at the ports that lead to them.
 */
static int note_together(const Ensemble *ensemble, Member member, unsigned port) {
        bool leads_out = port == LINK_Z_PLUS || port == LINK_Z_MINUS;
        Location chip = ensemble_location(ensemble, member, CHAIR_CHIP);

        if (port == NOBODY || (!ensemble->is_together && member.server == 0 && !leads_out))
                return 0;
        return step_note(ensemble->step, "collective_found_together", 1, "{chip}", &chip);
}

int ensemble_find(Ensemble *ensemble, Trouble trouble, Member member, unsigned port, const Evidence *evidence,
                  const char *format, ...) {
        Chair *chair = ensemble_chair(ensemble, member);
        Location where = ensemble_location(ensemble, member, port);
        uint16_t bit = (uint16_t) (1u << (port == NOBODY ? CHAIR_CHIP + 1 : port));
        char message[256], cable[ATTRIBUTE_TEXT_MAX + 8];
        Evidence told = evidence ? *evidence : (Evidence) {};
        va_list arguments;
        int r;

        ensemble->n_troubles++;
        if (ensemble->listens && member.server == 0)
                ensemble->servers[0].shown[trouble] |= port == NOBODY ? UINT16_MAX : (uint16_t) (1u << member.chip);
        if (ensemble->listens || chair->found[trouble] & bit)
                return 0;

        chair->found[trouble] |= bit;
        r = member.server > 0 ? ensemble_shows(ensemble, member.server, trouble, member.chip) : 0;
        if (r != 0)
                return r < 0 ? r : 0;

        va_start(arguments, format);
        (void) vsnprintf(message, sizeof(message), format, arguments);
        va_end(arguments);
        if (told.replaceable) /* ensemble_cable() */
                told.replaceable = read_cable(ensemble, member, port, cable);
        r = step_finding(ensemble->step, port == NOBODY ? &ensemble->verdict : &chair->verdict, codes[trouble], &where, &told,
                         "%s", message);
        return r < 0 ? r : note_together(ensemble, member, port);
}
