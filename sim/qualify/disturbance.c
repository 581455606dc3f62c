/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/disturbance.h"

#include <math.h>
#include <signal.h>

#include "sim/chip/sample.h"

#define HASH_STALLS  0x7374616cu
#define BEGIN_MSEC   400.0 /* on average after the beginning, or after the last one: a scan of preflight lasts as long */
#define LENGTH_MIN   500.0
#define LENGTH_MAX   5000.0

Disturbance disturbance_draw(uint64_t seed, int64_t now_msec) {
        Sample sample = { .state = sample_hash(seed, HASH_STALLS) };
        Disturbance disturbance = { .n = 1 + (unsigned) sample_below(&sample, DISTURBANCE_STALLS_MAX) };

        for (unsigned i = 0; i < disturbance.n; i++) {
                int64_t begin = now_msec - (int64_t) (BEGIN_MSEC * log(sample_between(&sample, 0.02, 1)));

                disturbance.stalls[i].begin_msec = begin;
                now_msec = disturbance.stalls[i].end_msec = begin + (int64_t) sample_between(&sample, LENGTH_MIN, LENGTH_MAX);
                disturbance.stalls[i].whole = sample_below(&sample, 3) == 0;
        }
        return disturbance;
}

void disturbance_act(Disturbance *disturbance, pid_t pid, int64_t now_msec) {
        while (disturbance_next(disturbance) <= now_msec) {
                bool whole = disturbance->stalls[disturbance->next].whole;

                (void) kill(whole ? -pid : pid, disturbance->stopped ? SIGCONT : SIGSTOP);
                disturbance->next += disturbance->stopped;
                disturbance->stopped = !disturbance->stopped;
        }
}

int64_t disturbance_next(const Disturbance *disturbance) {
        if (disturbance->next == disturbance->n)
                return INT64_MAX;
        return disturbance->stopped ? disturbance->stalls[disturbance->next].end_msec : disturbance->stalls[disturbance->next].begin_msec;
}
