/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Server
 *
 * A witness over HTTP, in the one thread of an event loop: `POST …/add-checkpoint`, and nothing else. Whoever connects is a stranger, so
 * all is bounded: connections, those of one address, bytes of a head and of a body, and the time that a request may take from
 * its first byte to its last, however busily it dribbles.
 */

#include <systemd/sd-event.h>

#include "daemon/witness/witness.h"

#define SERVER_CONNECTIONS_MAX 256
#define SERVER_ADDRESS_MAX     64   /* connections of one address */
#define SERVER_HEAD_MAX        8192 /* bytes of a request's head, and of an answer */
#define SERVER_REQUEST_SEC     10   /* from connecting, or from the answer before, to the answer */

typedef struct Server Server;

/* A listening socket on "ADDRESS:PORT", "[ADDRESS]:PORT" or "unix:PATH", where a socket that is left over makes room. -EINVAL: none of these. */
int server_listen(const char *where, int *ret_fd);

/* Takes over LISTEN_FD where that succeeds. */
int server_new(sd_event *event, Witness *witness, int listen_fd, Server **ret);
Server *server_free(Server *server);
DEFINE_CLEANUP(Server *, server_free);
