/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Unit: see unit.h. This part asks the neighbours, where not the port itself has done so (device-control.h).
 *
 * A chip of which no sense can be made while others are sound is broken; when nothing answers as it should, it is
 * the server, its driver or the host, and nobody could judge. So the chip's server is asked, over a connection
 * of its own, which of its chips answer now.
 */

#include <assert.h>

#include "checks/unit.h"

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
