/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns
 *
 * Calls of the bus, before they reach their handlers: each user has a queue, and users are served in turn, one call at a time. The daemon answers in one
 * thread and some answers take milliseconds, so without this a user who asks without end would keep everybody else waiting. Who has too many calls waiting is
 * refused, with LimitsExceeded, but in good time: told at once he would ask again at once, and the bus would be full of that. Root waits for nobody: the
 * hook that asks whether a job may run is his, and asks one thing after another, so for TURNS_USEC after each of his calls others wait as well.
 */

#include <stdbool.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>

#include "checks/text/cleanup.h"
#include "daemon/authorize.h"

#define TURNS_OF_USER  32             /* calls of one user that wait to be served: each holds its arguments, and up to 16 files that came with it */
#define TURNS_OF_USERS 256            /* of all users but root, beside the first call of each newcomer */
#define TURNS_BYTES    (128u << 10)   /* of the arguments of a call: twice the longest that any method takes */
#define TURNS_USEC     UINT64_C(20000) /* a call is served when nothing is left to read, or so long after the one before, and as long again as that took */

#define TURNS_NEWCOMERS    1024           /* senders whose user the bus has not told yet: four users' connections to the system bus */
#define TURNS_REFUSALS     16384          /* that wait: what 128 connections may have in flight on the system bus. Each takes 9 KiB (measured) */
#define TURNS_REFUSAL_USEC UINT64_C(2000) /* from one to the next; the oldest goes sooner where there are too many */

typedef struct Turns Turns;

/* BUS must be attached to an event loop. What AUTHORITY has an answer for has had its turn. */
int turns_new(sd_bus *bus, Authority *authority, Turns **ret);
Turns *turns_free(Turns *turns);
DEFINE_CLEANUP(Turns *, turns_free);
