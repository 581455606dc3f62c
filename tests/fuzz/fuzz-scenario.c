/* SPDX-License-Identifier: Apache-2.0 */

/* A scenario is read whole, with all its faults in their chips, or refused with a position. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/chip.h"
#include "sim/fleet/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

static size_t count_faults(const Hall *hall) {
        size_t n = 0;

        for (size_t s = 0; s < hall_servers(hall); s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        if (hall_server_at(hall, s)->chips[c])
                                n += hall_server_at(hall, s)->chips[c]->n_faults;
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        r = scenario_parse("s", (const char *) data, size, &scenario, &error);
        if (r < 0) {
                HOLDS(!scenario && error && strncmp(error, "s:", 2) == 0);
                for (const char *at = error; *at; at++)
                        HOLDS((unsigned char) *at >= 0x20);
                return 0;
        }

        HOLDS(scenario && scenario->name && scenario->hall);
        HOLDS(hall_servers(scenario->hall) >= 1 && hall_servers(scenario->hall) <= SERVERS_MAX);
        HOLDS(count_faults(scenario->hall) == scenario->n_faults && scenario->n_faults <= SCENARIO_FAULTS_MAX);
        for (size_t i = 0; i < scenario->n_expectations; i++)
                for (size_t k = 0; k < scenario->expectations[i].n_findings; k++)
                        HOLDS(scenario->expectations[i].findings[k].at && scenario->expectations[i].findings[k].code);
        return 0;
}
