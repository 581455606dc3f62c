/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Unit: see unit.h. This part asks the neighbours.
 *
 * A chip that does not answer while others do is broken; when nothing answers, it is the server, its driver
 * or the host, and nobody could judge. So the chip's server is asked, over a connection of its own, which of
 * its chips answer now. A chip that answers there after all was only late, unless its neighbours got ahead
 * in the very time it lost.
 */

#include <assert.h>
#include <string.h>

#include "checks/monotonic.h"
#include "checks/unit.h"

static uint16_t ask_server(Unit *unit) {
        ScanServer *server = &unit->scan->servers[unit->server];
        _cleanup_(device_freep) Device *device = NULL;
        uint64_t start = monotonic_usec();
        uint16_t answering = 0;

        if (server->silent)
                return 0; /* it was asked before, and every further question costs a whole deadline */

        if (scan_open(unit->scan, unit->server, WIRE_CHIP_ALL, &device) >= 0)
                answering = inventory_answering(device, TARGET_CHIPS_ALL);

        server->silent = answering == 0;
        unit->scan->stalled_usec += monotonic_usec() - start;
        return answering;
}

static bool answers_itself(Unit *unit) {
        _cleanup_(device_freep) Device *device = NULL;
        uint64_t start = monotonic_usec();
        uint16_t self = (uint16_t) (1u << unit->chip), answering = 0;

        if (scan_open(unit->scan, unit->server, (unsigned) unit->chip, &device) >= 0)
                answering = inventory_answering(device, self);

        unit->scan->stalled_usec += monotonic_usec() - start;
        return answering != 0;
}

/* Others went on after this one began to wait, and it is not the half of them that waits as long. */
static bool neighbours_got_ahead(const Unit *unit) {
        const Request *request = unit->scan->request;
        double usec = 0.9e6 * request->plan->deadline_sec * request->deadline_scale;
        uint64_t now = monotonic_usec();
        unsigned n = 0, n_waiting = 0;
        bool ahead = false;

        for (size_t i = 0; i < unit->scan->n_units; i++) {
                const Unit *other = &unit->scan->units[i];

                if (other == unit || other->server != unit->server || other->chip < 0)
                        continue;

                n++;
                n_waiting += other->open && (double) (now - other->started_usec) >= usec;
                ahead = ahead || other->answered_usec > unit->started_usec;
        }

        return ahead && 2 * n_waiting < n;
}

bool unit_is_to_blame(Unit *unit, const char *code) {
        uint16_t answering, self;

        assert(unit->chip >= 0);

        answering = ask_server(unit);
        self = (uint16_t) (1u << unit->chip);
        if ((answering & ~self) == 0)
                return false;
        if (strcmp(code, "device-hang") != 0)
                return true;

        return !(answering & self) || !answers_itself(unit) || neighbours_got_ahead(unit);
}
