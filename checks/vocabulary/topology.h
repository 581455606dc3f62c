/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Topology
 *
 * What an operator says of the wiring, in a strict YAML file: which servers stand alone, which four are a ring and in which
 * order, and, as far as it is known, which cable belongs where.
 *
 *     topology: row 7
 *     rings:                    # UltraServers: z+ of each leads to z- of the next, and of the last to the first
 *       - [us0-0, us0-1, us0-2, us0-3]
 *     servers: [trn-4, trn-5]   # without z links
 *     cables:                   # optional, and so is all of a cable but its ends
 *       - {from: us0-0/chip5/link-y+, to: us0-0/chip9/link-y-, serial: NLC0A1B2C3D4E5F, labels: [A17, B17]}
 *
 * Refused with FILE:LINE:COLUMN: rings of other sizes; servers, ports and serials named twice; cables of servers that the file does
 * not name, and cables that the 4×4 torus of a server or its ring does not have. Without a file servers are named by their place:
 * us<U>-<S> is number S, 0 to 3, of a ring, and any other name stands alone.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"

#define TOPOLOGY_RING         4u
#define TOPOLOGY_SERVERS_MAX  1024u
#define TOPOLOGY_CABLES_MAX   65536u
#define TOPOLOGY_SERIAL_MAX   32u /* with the final zero */
#define TOPOLOGY_LABEL_MAX    64u
#define TOPOLOGY_TEXT_MAX     (256u << 10) /* what topology_text() writes of TOPOLOGY_RING servers is less */

typedef struct TopologyCable {
        Location ends[2];
        char serial[TOPOLOGY_SERIAL_MAX]; /* "": not said */
        char labels[2][TOPOLOGY_LABEL_MAX];
} TopologyCable;

typedef struct TopologyRing {
        size_t n; /* TOPOLOGY_RING, or 1 */
        char servers[TOPOLOGY_RING][LOCATION_SERVER_NAME_MAX];
} TopologyRing;

typedef struct Topology {
        char *name;
        size_t n_rings, n_cables;
        TopologyRing *rings;
        TopologyCable *cables;
} Topology;

/* Return 0, or a negative errno with *ret_error set to a malloc'd "FILE:LINE:COLUMN: …", which the caller frees. */
int topology_parse(const char *name, const char *text, size_t n, Topology **ret, char **ret_error);
int topology_load(const char *path, Topology **ret, char **ret_error);
Topology *topology_free(Topology *topology);
DEFINE_CLEANUP(Topology *, topology_free);

/* The ring that SERVER is in, itself first. TOPOLOGY NULL: by names. -ENOENT: the file does not name it. */
int topology_ring(const Topology *topology, const char *server, TopologyRing *ret);

/* Whether the link at PORT of CHIP is a trace of its tray's board, which no file names and nobody can move. */
bool topology_is_trace(unsigned chip, unsigned port);

/* The tray that CHIP of a Trn2 server sits in: two side by side, in the order of the driver's routing table (neuron_dhal_v3.c). */
unsigned topology_tray(unsigned chip);

/* The cable that belongs at PORT and which of its ends does; NULL: nothing is said. */
const TopologyCable *topology_cable(const Topology *topology, const Location *port, unsigned *ret_end);

/* A file that says the same of the rings of SERVERS, and nothing of others; malloc'd, NULL without memory. */
char *topology_text(const Topology *topology, const char *const *servers, size_t n);
