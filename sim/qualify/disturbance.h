/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Disturbance
 *
 * Something of a run stands still, once or twice, for half a second to five: its simulator, or all of it. When and for how long follows
 * from the run's seed. A stop is a signal, so nothing of it can be seen in the scenario.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DISTURBANCE_STALLS_MAX 2u

typedef struct Disturbance {
        unsigned n, next; /* of the stalls; the one that comes, or goes on */
        bool stopped;
        struct {
                int64_t begin_msec, end_msec; /* on the clock of the drive */
                bool whole;                   /* with the worker and its children */
        } stalls[DISTURBANCE_STALLS_MAX];
} Disturbance;

/* Draws what will happen to a run that begins NOW. */
Disturbance disturbance_draw(uint64_t seed, int64_t now_msec);
/* Does what is due to the process group of PID, whose leader is the simulator. */
void disturbance_act(Disturbance *disturbance, pid_t pid, int64_t now_msec);
/* When something is due next; INT64_MAX: never. */
int64_t disturbance_next(const Disturbance *disturbance);
