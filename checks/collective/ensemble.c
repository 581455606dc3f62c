/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/collective/collective.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const codes[] = {
        [TROUBLE_DATA] = "collective-data", [TROUBLE_HANG] = "collective-hang", [TROUBLE_SLOW] = "collective-slow",
};

void ensemble_init(Ensemble *ensemble, Step *step) {
        const char *own = step_unit(step)->server, *dash = strrchr(own, '-');
        /* Servers of a ring are called us<U>-<S>, S = 0 … 3. */
        bool ring = strncmp(own, "us", 2) == 0 && dash && dash[1] >= '0' && dash[1] < (char) ('0' + RING_SERVERS) && !dash[2];

        ensemble->step = step;
        ensemble->parameters = step_parameters(step);
        ensemble->n_servers = ring ? RING_SERVERS : 1;
        ensemble->first = ring ? (unsigned) (dash[1] - '0') : 0;
        for (unsigned s = 0; s < ensemble->n_servers; s++) {
                char *name = ensemble->servers[s].name;

                (void) snprintf(name, LOCATION_SERVER_NAME_MAX, "%s", own);
                if (s > 0)
                        strrchr(name, '-')[1] = (char) ('0' + (ensemble->first + s) % RING_SERVERS);
                ensemble->servers[s].device = s == 0 ? step_device(step) : step_neighbour(step, name);
        }
}

Chair *ensemble_chair(Ensemble *ensemble, Member member) {
        return &ensemble->servers[member.server].chairs[member.chip];
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

int ensemble_find(Ensemble *ensemble, Trouble trouble, Member member, unsigned port, const Evidence *evidence,
                  const char *format, ...) {
        Chair *chair = ensemble_chair(ensemble, member);
        Location where = ensemble_location(ensemble, member, port);
        uint16_t bit = (uint16_t) (1u << (port == NOBODY ? CHAIR_CHIP + 1 : port));
        char message[256];
        va_list arguments;

        ensemble->n_troubles++;
        if (chair->found[trouble] & bit)
                return 0;

        chair->found[trouble] |= bit;
        va_start(arguments, format);
        (void) vsnprintf(message, sizeof(message), format, arguments);
        va_end(arguments);
        return step_finding(ensemble->step, port == NOBODY ? &ensemble->verdict : &chair->verdict, codes[trouble], &where, evidence,
                            "%s", message);
}
