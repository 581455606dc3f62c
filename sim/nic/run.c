/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs: when the packets of a flow arrive. The sender emits one every gap, the paths in turn, so each path carries an arithmetic
 * sequence of times with the period of all paths; it delays its own by a constant and keeps them in order. What arrives next is thus the
 * merge of sixteen such sequences, which repeats every period: sorted once by phase, it is walked without a heap. Packets that
 * were dropped come in between at their own late times.
 */

#include <errno.h>
#include <stdlib.h>

#include "sim/chip/chip.h"
#include "sim/nic/nic.h"

#define TURN_NSEC   400u  /* through an adapter and back */
#define HOP_NSEC    6500u /* EFAv3, one packet */
#define FAR_NSEC    2000u /* more, through the switches between servers */
#define SPREAD_NSEC 1500u /* by how much the paths between two adapters differ */

/* What all paths from one adapter to another have in common. */
typedef struct Between {
        uint32_t ends;
        uint64_t least_nsec;
} Between;

static Between between(const Chip *from, const Chip *to) {
        return (Between) { chip_index(from) << 16 | chip_index(to) << 8, HOP_NSEC + (from->server == to->server ? 0 : FAR_NSEC) };
}

static uint64_t path_latency(const Between *ends, unsigned path) {
        return ends->least_nsec + payload_hash(ends->ends | path) % SPREAD_NSEC;
}

unsigned run_path(const Run *run, uint32_t sequence) {
        return run->path < NIC_PATHS ? run->path : (unsigned) ((payload_hash(run->seed ^ run->flow) + sequence) % NIC_PATHS);
}

int run_note(Run *run, uint32_t sequence, Oddity what) {
        if (!run->odd)
                run->odd = calloc(run->packets, 1);
        if (!run->odd)
                return -ENOMEM;
        if (run->odd[sequence] != ODD_NONE)
                return 0; /* one mishap per packet */

        run->odd[sequence] = (uint8_t) what;
        run->n_odd[what]++;
        return 1;
}

static uint64_t sent_nsec(const Run *run, uint32_t sequence) {
        return run->start_nsec + (sequence + UINT64_C(1)) * run->gap_nsec;
}

static void add_lane(Run *run, unsigned first, unsigned path, uint64_t latency_nsec) {
        uint64_t period = run->n_lanes * run->gap_nsec, offset = (first + UINT64_C(1)) * run->gap_nsec + latency_nsec;
        RunLane lane = {
                .path = (uint16_t) path, .first = (uint16_t) first, .lag = (uint32_t) (offset / period),
                .phase = offset % period, .latency_nsec = latency_nsec,
        };
        unsigned at = first;

        for (; at > 0 && run->lanes[at - 1].phase > lane.phase; at--)
                run->lanes[at] = run->lanes[at - 1];
        run->lanes[at] = lane;
        if (first == 0 || lane.lag < run->round)
                run->round = lane.lag;
}

static int compare_late(const void *a, const void *b) {
        const Late *x = a, *y = b;

        if (x->nsec != y->nsec)
                return x->nsec < y->nsec ? -1 : 1;
        return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

void run_schedule(Run *run, const Chip *to, const uint64_t extra_nsec[static NIC_PATHS]) {
        bool sprayed = run->path >= NIC_PATHS && to != run->from;
        Between ends = between(run->from, to);
        unsigned path = run_path(run, 0);

        run->n_lanes = sprayed && run->packets >= NIC_PATHS ? NIC_PATHS : sprayed ? run->packets : 1;
        for (unsigned i = 0; i < run->n_lanes; i++, path = (path + 1) % NIC_PATHS)
                add_lane(run, i, path, to == run->from ? TURN_NSEC : path_latency(&ends, path) + extra_nsec[path]);
        if (to == run->from)
                run->lanes[0].path = 0;
        for (size_t i = 0; i < run->n_late; i++) {
                Late *late = &run->late[i];

                late->nsec = sent_nsec(run, late->sequence) + (uint64_t) late->tries * NIC_RESEND_NSEC +
                             path_latency(&ends, late->path) + extra_nsec[late->path];
        }
        if (run->n_late > 0)
                qsort(run->late, run->n_late, sizeof(*run->late), compare_late);
}

static bool is_there(const Run *run, uint32_t sequence) {
        Oddity what = run->odd ? (Oddity) run->odd[sequence] : ODD_NONE;

        return what == ODD_NONE || what == ODD_CORRUPT || what == ODD_TWICE;
}

static void step_on(Run *run) {
        if (++run->lane < run->n_lanes)
                return;
        run->lane = 0;
        run->round++;
}

/* Moves the cursor to the next packet that comes on its first way; call only with such a one left. */
static const RunLane *find_regular(Run *run, uint32_t *ret_sequence) {
        for (;;) {
                const RunLane *lane = &run->lanes[run->lane];
                uint64_t sequence = run->round >= lane->lag ?
                                (uint64_t) (run->round - lane->lag) * run->n_lanes + lane->first : UINT64_MAX;

                if (sequence < run->packets && is_there(run, (uint32_t) sequence)) {
                        *ret_sequence = (uint32_t) sequence;
                        return lane;
                }
                step_on(run);
        }
}

static Arrived take_late(Run *run) {
        const Late *late = &run->late[run->next_late++];

        run->left--;
        return (Arrived) {
                .sequence = late->sequence, .path = late->path, .sent_nsec = sent_nsec(run, late->sequence),
                .arrived_nsec = late->nsec,
        };
}

Arrived run_next(Run *run) {
        bool some_late = run->next_late < run->n_late;
        const RunLane *lane;
        Arrived arrived;
        uint32_t sequence;

        if (run->left <= run->n_late - run->next_late)
                return take_late(run);
        lane = find_regular(run, &sequence);
        arrived = (Arrived) {
                .sequence = sequence, .path = lane->path, .what = run->odd ? (Oddity) run->odd[sequence] : ODD_NONE,
                .sent_nsec = sent_nsec(run, sequence), .arrived_nsec = sent_nsec(run, sequence) + lane->latency_nsec,
        };
        if (some_late && run->late[run->next_late].nsec < arrived.arrived_nsec)
                return take_late(run);

        run->again = arrived.what == ODD_TWICE && !run->again;
        if (!run->again)
                step_on(run);
        run->left--;
        return arrived;
}

Run *run_free(Run *run) {
        if (run) {
                free(run->odd);
                free(run->late);
        }
        free(run);
        return NULL;
}
