/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Port
 *
 * The device port as a Unix socket: one acceptor, and as many threads as there are cores, each with the UltraServers that
 * are its own. A connection says first what it wants: a server (WireHello, answered with its window) or a change of the
 * faults (a control request, see control.h). A client that breaks the agreement loses its connection and nobody else
 * notices; none can make the port wait or grow without bound.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/text/cleanup.h"
#include "sim/fleet/scenario.h"

#define PORT_CONNECTIONS_MAX 4096u
#define PORT_WINDOWS_MAX     ((size_t) 8 << 30) /* bytes of all windows together */
#define PORT_HELLO_SEC       5                  /* a connection that has not said what it wants by then is closed */

typedef struct Port Port;

/* Listens at PATH, which must not exist, with MODE (0: as the umask says). THREADS 0: one per core. */
int port_new(Scenario *scenario, const char *path, unsigned mode, unsigned threads, Port **ret);
/* Serves until STOP_FD is readable. */
int port_run(Port *port, int stop_fd);
/* Closes all connections and removes the socket. */
Port *port_free(Port *port);
DEFINE_CLEANUP(Port *, port_free);
