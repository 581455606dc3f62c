/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Unit: see unit.h. This part asks the devices itself, where the child cannot or the port has not done so (device-control.h).
 *
 * A chip of which no sense can be made while others are sound is broken; when nothing answers as it should, it is
 * the server, its driver or the host, and nobody could judge. So the chip's server is asked, over a connection
 * of its own, which of its chips answer now.
 */

#include <assert.h>

#include "checks/port/occupancy.h"
#include "checks/worker/unit.h"

static uint16_t ask_server(Unit *unit) {
        ScanServer *server = &unit->scan->servers[unit->server];
        _cleanup_(device_freep) Device *device = NULL;
        uint16_t answering = 0;

        if (server->silent)
                return 0; /* it was asked before, and every further question costs a whole patience */

        if (scan_open(unit->scan, unit->server, WIRE_CHIP_ALL, WIRE_WINDOW_MIN, &device) >= 0)
                answering = inventory_answering(device, TARGET_CHIPS_ALL);

        server->silent = answering == 0;
        return answering;
}

bool unit_is_garbled(Unit *unit) {
        assert(unit->chip >= 0);

        return (ask_server(unit) & ~(1u << unit->chip)) != 0;
}

int unit_is_taken(const Unit *unit) {
        const Scan *scan = unit->scan;
        const Check *check = unit_check(unit);
        Disturbs disturbs = check ? check_disturbs(check, unit_step(unit)->parameters) : DISTURBS_NOTHING;
        OccupancyQuestion questions[TARGET_SERVERS_MAX];
        size_t n = 0;

        if (disturbs == DISTURBS_NOTHING || !outcome_blames(&unit->outcome))
                return 0;

        for (size_t i = 0; i < scan->n_servers; i++) {
                const char *server = scan->servers[i].target->name;
                uint16_t chips = scan_included(scan, i, disturbs) & (uint16_t) ~outcome_parts(&unit->outcome, server, REASON_OCCUPIED);

                if (unit->chip >= 0)
                        chips = i == unit->server ? (uint16_t) (1u << unit->chip) : 0;
                if (chips != 0)
                        questions[n++] = (OccupancyQuestion) { scan->servers[i].device, chips };
        }
        return occupancy_ask_any(questions, n);
}
