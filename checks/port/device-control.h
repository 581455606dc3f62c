/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Control
 *
 * A chip that does not answer while others of its server do is broken; where nothing answers, it is the server, its driver, the
 * host, or this very process that stood still, and nobody could judge. So whoever waits for a chip asks its neighbours meanwhile,
 * over a connection of its own, again and again.
 *
 * Answers count and not clocks, which run on while everything stands still. Each of them was asked for and given while the chip
 * owed its own, and the next one is asked for a tenth of a deadline later at the earliest: so a stop of ours, of the server or of
 * both, once or often, is worth no more than one of them, and an answer that was on its way before it is taken first of all.
 */

#include <stdint.h>

#define CONTROL_ANSWERS  10u /* that others give until a chip hangs, a tenth of its deadline apart */
#define CONTROL_PATIENCE 5u  /* deadlines without any answer until nobody could judge */

/* Where the server is reached, and the chip that it is waited for. */
typedef struct ControlOrder {
        const char *path;
        const char *server;
        unsigned chip;
        uint64_t deadline_usec;
} ControlOrder;

/*
 * Waits until FD, on which CHIP owes an answer, has something to read. 0: it has; -ETIMEDOUT: the chip hangs, for others of its
 * server answered CONTROL_ANSWERS times and it did not; -EHOSTDOWN: neither it nor any other chip answered for CONTROL_PATIENCE
 * deadlines.
 */
int control_wait(const ControlOrder *order, int fd);
