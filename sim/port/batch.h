/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Batch
 *
 * One packet of commands and the packet that answers it, without the socket. Whatever the client put into the packet is
 * checked here: a packet that breaks the agreement is -EPROTO, a command that asks for what is not there completes with
 * the status that says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "checks/wire/wire.h"
#include "sim/chip/topology.h"

#define BATCH_PACKET_MAX (sizeof(WireBatch) + WIRE_BATCH_MAX * sizeof(WireCommand))
#define BATCH_ANSWER_MAX (sizeof(WireBatch) + WIRE_BATCH_MAX * sizeof(WireCompletion))

/* What a connection reaches. */
typedef struct Reach {
        Server *server;
        unsigned chip; /* or WIRE_CHIP_ALL */
        uint8_t *window;
        size_t window_bytes;
} Reach;

/* Whether a command of the packet reaches into another UltraServer: then its caller must have the whole hall to himself, see port.c. */
bool batch_leaves(const Reach *reach, const void *packet, size_t n);

/*
 * Runs the N bytes of PACKET and writes what goes back to ANSWER. Returns its length; 0 where no answer ever comes; or
 * -EPROTO. PACKET must be aligned as a WireCommand.
 */
ssize_t batch_run(const Reach *reach, const void *packet, size_t n, uint8_t answer[static BATCH_ANSWER_MAX]);

/* The connection is over: what its client held of the chips ends. REACH is what batch_run() was given, and tells clients apart. */
void batch_close(const Reach *reach);
