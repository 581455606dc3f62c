/* SPDX-License-Identifier: Apache-2.0 */

/* A topology file is read whole, or refused with a position; and what it says of its servers can be said again. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/vocabulary/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(topology_freep) Topology *topology = NULL, *extract = NULL;
        _cleanup_free_ char *error = NULL, *text = NULL;
        const char *servers[1];
        TopologyRing ring;

        if (topology_parse("t", (const char *) data, size, &topology, &error) < 0) {
                HOLDS(!topology && error && strncmp(error, "t:", 2) == 0);
                for (const char *at = error; *at; at++)
                        HOLDS((unsigned char) *at >= 0x20);
                return 0;
        }

        HOLDS(topology && topology->n_rings > 0);
        for (size_t i = 0; i < topology->n_rings && i < 8; i++) {
                HOLDS(topology->rings[i].n == 1 || topology->rings[i].n == TOPOLOGY_RING);
                servers[0] = topology->rings[i].servers[topology->rings[i].n - 1];
                HOLDS(topology_ring(topology, servers[0], &ring) == 0 && strcmp(ring.servers[0], servers[0]) == 0);
                text = topology_text(topology, servers, 1);
                HOLDS(text && topology_parse("t", text, strlen(text), &extract, &error) == 0);
                HOLDS(extract->n_rings == 1 && strlen(text) < TOPOLOGY_TEXT_MAX);
                extract = topology_free(extract);
                free(text);
                text = NULL;
        }

        return 0;
}
