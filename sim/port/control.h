/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Control
 *
 * How `assay-sim inject`, `heal`, `faults`, `use` and `reset` talk to a simulator that is serving: one request as the first packet of a
 * connection to its socket, answered by one packet with a memfd that holds the text, so that a slow reader delays nobody.
 * Only root and the user who runs the simulator may ask. This is between programs of the same build; it is no door.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/chip/fault.h"
#include "sim/chip/topology.h"

#define CONTROL_MAGIC    0x746c7561u /* "ault" */

typedef enum ControlVerb {
        CONTROL_INJECT = 1, /* text: one fault, as in a scenario */
        CONTROL_HEAL,       /* text: an id, a location (all faults in it), or "all" */
        CONTROL_FAULTS,     /* text: "" or "json" */
        CONTROL_USE,        /* text: which rows are in use, as in a scenario; "": all that are, and how much was overwritten */
        CONTROL_RESET,      /* text: a chip, or a server for all of its chips */
} ControlVerb;

typedef struct ControlHeader {
        uint32_t magic;
        uint32_t verb;
        int32_t status;   /* of an answer: 0, or an errno, with the reason as text */
        uint32_t n_bytes; /* of the text: behind the header of a request, in the memfd of an answer */
} ControlHeader;

/* ---- in the simulator ---- */

/* Does what VERB says and writes the answer to OUT; nothing else may run in HALL meanwhile. Returns 0, or a negative errno
 * with the reason in OUT. */
int control_run(Hall *hall, uint32_t verb, const char *text, FILE *out);
/* Answers the request of N bytes that came on FD. -EPROTO, -EPERM, or the errno of answering: the connection is over. */
int control_serve(Hall *hall, int fd, const void *request, size_t n);
/* One fault per line, or as a JSON array. */
int control_list(const Hall *hall, bool json, FILE *out);

/* ---- in the verbs ---- */

/* Sends, writes the answer to OUT (refusals to stderr); returns a status for main(). */
int control_ask(const char *socket_path, ControlVerb verb, const char *text, FILE *out);
