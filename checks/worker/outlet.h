/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Outlet
 *
 * Where a worker's stream leaves: numbers lines, collects them and writes them out. A stream with a hole
 * would lie, so after the first failure nothing more leaves and the scan is given up.
 */

#include <stddef.h>
#include <stdint.h>

#define OUTLET_BUFFER_BYTES (64u << 10)

typedef struct Outlet {
        int fd;
        uint64_t sequence; /* of the next line */
        uint64_t n_bytes;  /* in all */
        int failure;
        size_t n_buffer;
        char buffer[OUTLET_BUFFER_BYTES];
} Outlet;

/* Takes over LINES (one or more, whole), as the stream's writers return them: NULL is -ENOMEM. */
void outlet_write(Outlet *outlet, char *lines);
/* One line of N bytes with its newline; it is changed but not kept. */
void outlet_forward(Outlet *outlet, char *line, size_t n);
/* Returns the outlet's failure, 0 without. */
int outlet_flush(Outlet *outlet);
