/* SPDX-License-Identifier: Apache-2.0 */

/* What could not be tested, and why: a measurement for each adapter or server, which stands there. */

#include <stdio.h>
#include <string.h>

#include "checks/efa/efa.h"

#define OUT_OF_SCAN "efa_untested_out_of_scan" /* not asked for, does not answer, or in service: it is not to be disturbed */

static const char *untested_why(const Round *round, unsigned adapter) {
        if (!(round->asked >> adapter & 1))
                return OUT_OF_SCAN;
        if (round->silent >> adapter & 1)
                return "efa_untested_silent";
        if (round->flooded >> adapter & 1)
                return "efa_untested_flooded"; /* what is its own cannot be told from what else it gets */
        if (round->open >> adapter & 1)
                return "efa_untested_either_end"; /* what went wrong between it and a single other one may be either's */
        return NULL;
}

static bool takes_part(const Round *round, const char *server) {
        for (size_t h = 0; h < round->hosts.n; h++)
                if (strncmp(round->hosts.hosts[h].name, server, sizeof(round->hosts.hosts[h].name)) == 0)
                        return true;

        return false;
}

/* Of the servers that should have been partners. */
static int tell_servers(const Round *round) {
        const char *server;
        int r = 0;

        if (round->parameters->peers == 0)
                return 0;
        if (!step_server(round->step, 1))
                return step_note(round->step, "efa_untested_other_servers", 1, "1", NULL);
        for (size_t i = 1; (server = step_server(round->step, i)) && r >= 0; i++) {
                Location where = {};

                if (!round_is_partner(round, i) || takes_part(round, server))
                        continue;
                (void) snprintf(where.server, sizeof(where.server), "%s", server);
                r = step_note(round->step, OUT_OF_SCAN, 1, "{server}", &where);
        }

        return r;
}

/* An adapter without partners that nobody asked for is tested by the others alone, which clears it of nothing. */
static int tell_unasked(const Round *round) {
        unsigned n = step_unasked(round->step);
        int r = 0;

        for (unsigned a = 0; a < CHIPS && n > 0 && r >= 0; a++) {
                Location where = round_adapter(round, a);

                if (round->asked >> a & 1)
                        r = step_note(round->step, "efa_untested_partners", n, "{adapter}", &where);
        }
        return r;
}

int round_tell_untested(const Round *round) {
        int r = 0;

        for (unsigned a = 0; a < round->hosts.n * CHIPS && r >= 0; a++) {
                const char *why = untested_why(round, a);
                Location where = round_adapter(round, a);

                if (why)
                        r = step_note(round->step, why, 1, "{adapter}", &where);
        }

        if (r >= 0)
                r = tell_unasked(round);
        return r < 0 ? r : tell_servers(round);
}
