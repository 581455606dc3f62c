/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Player
 *
 * One run of a qualification: a process that serves a scenario on a socket of its own, starts one worker against it, and
 * ends when the worker does. What goes wrong in either stays in this process: the qualification sees how it ended, and the
 * stream that came until then.
 */

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "checks/text/cleanup.h"

enum {
        PLAYER_LOST   = 125, /* the simulator could not be set up, or broke */
        PLAYER_KILLED = 126, /* a signal ended the worker */
};

typedef struct PlayerOrder {
        const char *scenario; /* its text */
        const char *socket;   /* where to serve it: a path that is free */
        const char *parts;    /* what of it the worker scans: "trn-0" */
        const char *worker;   /* path of assay-run */
        const char *plan;
        const char *deadline_scale; /* NULL: 1 */
        uint64_t seed;        /* of the worker */
} PlayerOrder;

typedef struct Player {
        pid_t pid;      /* of its process group, too; 0: none */
        int pidfd;      /* readable once it has ended; -EBADF: none */
        FILE *stream;   /* what the worker says, and */
        FILE *messages; /* what it and the simulator complain about */
} Player;

#define PLAYER_NONE ((Player) { .pidfd = -EBADF })

int player_start(const PlayerOrder *order, Player *ret);
/* Once its pidfd is readable: the worker's exit status, or one of the above. Both files are at their beginning. */
int player_end(Player *player);
/* Ends it and everything it started, whatever they do. */
void player_done(Player *player);
DEFINE_CLEANUP(FILE *, fclose);
