/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WorkerConnection
 *
 * A worker is its connection: plan and target go in, the stream comes out, closing ends it. Installed it is
 * the socket of assay-run.socket, behind which systemd starts a worker as another user; in a checkout a
 * socketpair with assay-run executed at its other end.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <systemd/sd-event.h>

#include "checks/text/cleanup.h"

#define WORKER_SOCKET_PATH "/run/assay/assay-run.socket"

typedef struct WorkerPlace {
        const char *socket_path; /* NULL: execute */
        const char *run_path;    /* the program */
} WorkerPlace;

typedef struct WorkerConnection WorkerConnection;

/* What came: N bytes at the end; the return value says how many were used, or ends the connection when
 * negative. */
typedef ssize_t (*WorkerBytes)(const char *bytes, size_t n, void *userdata);
/* No more will come: 0 at its end of file, or what broke it. The handler frees the connection. */
typedef void (*WorkerGone)(int error, void *userdata);

/* Opens a worker and sends it HEADER (copied) as it reads. */
int worker_connection_new(sd_event *event, const WorkerPlace *place, const void *header, size_t n_header,
                          WorkerBytes bytes, WorkerGone gone, void *userdata, WorkerConnection **ret);
/* Ends the worker. */
WorkerConnection *worker_connection_free(WorkerConnection *connection);
DEFINE_CLEANUP(WorkerConnection *, worker_connection_free);
