/* SPDX-License-Identifier: Apache-2.0 */

/* What it says of the cables that a port hears the wrong end, or nobody. */

#include <stdio.h>

#include "checks/neuronlink/judge.h"

/* Follows the wrong plugs from ID until the ring closes. Returns how many there are, 0 where the way is lost. */
static unsigned count_plugs(Fabric *fabric, PortId id) {
        PortId at = id;

        for (unsigned n = 1; n <= RING * CHIPS * PORTS; n++) {
                const Port *port = fabric_port(fabric, at);

                if (port->heard != HEARD_PORT || !fabric_designed(fabric, port->from, &at))
                        return 0;
                if (port_id_equal(at, id))
                        return n;
        }

        return 0;
}

static const char *kind_of_mistake(const Judged *judged) {
        PortId from = judged->port->from, far = judged->far;

        if (port_id_equal(from, judged->id))
                return "hears itself: a loopback plug, or a cable bent back";
        if (from.server == far.server && from.chip == far.chip)
                return "comes from the right chip, but from its wrong port";
        if (from.port == judged->id.port)
                return "is reversed: it comes from a port of its own kind";
        if (from.port / 2 != judged->id.port / 2)
                return "comes from another axis and another chip";
        return "comes from the wrong chip";
}

int judge_cable(Judged *judged) {
        char from[LOCATION_STRING_MAX], other[LOCATION_STRING_MAX], ring[96] = "";
        Fabric *fabric = judged->fabric;
        PortId partner = judged->far;
        Location where;
        unsigned n;
        Evidence evidence = {
                .expected = judged->far_text, .actual = from, .far_end = from, .replaceable = judged_replaceable(judged),
        };

        where = fabric_location(fabric, judged->port->from);
        location_format(&where, from);
        (void) fabric_designed(fabric, judged->port->from, &partner);
        where = fabric_location(fabric, partner);
        location_format(&where, other);

        n = count_plugs(fabric, judged->id);
        if (n == 2)
                (void) snprintf(ring, sizeof(ring), " (two cables are swapped: this one move puts both right)");
        else if (n > 2)
                (void) snprintf(ring, sizeof(ring), " (%u plugs are in each other's place: %u such moves)", n, n - 1);

        return step_finding(fabric->step, judged->verdict, "link-miscabled", &judged->where, &evidence,
                            "%s: %s instead of %s. Exchange this plug with the one at %s%s", kind_of_mistake(judged),
                            from, judged->far_text, other, ring);
}

int judge_nowhere(Judged *judged) {
        Evidence evidence = { .expected = judged->far_text, .actual = "nothing", .replaceable = judged_replaceable(judged) };
        const Port *far = fabric_port(judged->fabric, judged->far);

        /* Explained by a far end that talks nonsense or is down, which is found there. */
        if (far->error < 0 || (judged->far.server == 0 && far->n_sent == 0 && !far->before.up))
                return 0;

        return step_finding(judged->fabric->step, judged->verdict, "link-miscabled", &judged->where, &evidence,
                            "the link is up, but no port of this scan is heard: it should be %s. Follow the cable",
                            judged->far_text);
}
