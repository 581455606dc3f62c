/* SPDX-License-Identifier: Apache-2.0 */

/* What is wrong with an adapter, with one of its paths or with a path of the fabric, at work. */

#include <errno.h>
#include <stdlib.h>

#include "sim/chip/chip.h"
#include "sim/chip/dice.h"
#include "sim/nic/kinds.h"

#define TRIES_MAX 40u

/* The command is the sender's; what is wrong with the receiver depends on how hot its own chip is, and comes and goes by itself for each
 * sender, and not with what it sends as that number of its own. */
static bool acts(const Nic *nic, const Fault *fault, const Execution *execution) {
        const Chip *sender = execution->chip;
        Execution there = *execution;

        there.chip = nic->chip;
        if (sender != nic->chip && execution->number >= fault->after_commands)
                there.number += (sender->server->index * CHIPS + chip_index(sender) + UINT64_C(1)) << 32;
        return fault_is_active(fault, &there);
}

static const Fault *nic_suffers(const Nic *nic, unsigned kind, const Execution *execution) {
        if (nic->n_faults == 0)
                return NULL;
        for (size_t i = 0; i < nic->n_faults; i++)
                if (nic->faults[i]->kind == &nic_kinds[kind] && acts(nic, nic->faults[i], execution))
                        return nic->faults[i];

        return NULL;
}

bool nic_is_mute(const Nic *nic, const Execution *execution) {
        return nic_suffers(nic, KIND_UNRESPONSIVE, execution);
}

bool nic_counters_stuck(const Nic *nic, const Execution *execution) {
        return nic_suffers(nic, KIND_COUNTER_STUCK, execution);
}

bool nic_counters_run_back(const Nic *nic, const Execution *execution) {
        return nic_suffers(nic, KIND_COUNTER_RUNS_BACK, execution);
}

bool nic_counters_wrap(const Nic *nic) {
        for (size_t i = 0; i < nic->n_faults; i++)
                if (nic->faults[i]->kind == &nic_kinds[KIND_COUNTER_WRAPS])
                        return true;

        return false;
}

bool nic_has_single_path(const Nic *nic, const Execution *execution, uint32_t *ret) {
        const Fault *fault = nic_suffers(nic, KIND_SINGLE_PATH, execution);

        if (fault)
                *ret = (uint32_t) ((const PathParameters *) fault->parameters)->path;
        return fault;
}

double nic_share(const Nic *nic, const Execution *execution) {
        const Fault *fault = nic_suffers(nic, KIND_SLOW, execution);

        return fault ? ((const ShareParameters *) fault->parameters)->share : 1;
}

uint32_t nic_flood(const Nic *nic, const Execution *execution) {
        const Fault *fault = nic_suffers(nic, KIND_FLOOD, execution);

        return fault ? (uint32_t) ((const FloodParameters *) fault->parameters)->packets : 0;
}

NicClock nic_clock(const Nic *nic, const Execution *execution) {
        const Fault *off = nic_suffers(nic, KIND_CLOCK_OFF, execution), *pace = nic_suffers(nic, KIND_CLOCK_PACE, execution);
        const ClockParameters *parameters = off ? off->parameters : NULL;
        NicClock clock = { .pace = pace ? ((const PaceParameters *) pace->parameters)->pace : 1 };

        if (parameters)
                clock.ahead_nsec = parameters->way == CLOCK_AHEAD ? (int64_t) parameters->nsec : -(int64_t) parameters->nsec;
        return clock;
}

/* ---- packets ---- */

/* The packets of a run that a fault can meet: all, or those of one path. */
typedef struct Stretch {
        uint32_t first, step, n;
} Stretch;

static Stretch stretch_of(const Run *run, int path) {
        unsigned first;

        if (path < 0)
                return (Stretch) { 0, 1, run->packets };
        if (run->looped)
                return (Stretch) {};
        if (run->path < NIC_PATHS)
                return (Stretch) { 0, 1, (unsigned) path == run->path ? run->packets : 0 };

        first = ((unsigned) path + NIC_PATHS - run_path(run, 0)) % NIC_PATHS;
        return (Stretch) { first, NIC_PATHS, run->packets > first ? (run->packets - first + NIC_PATHS - 1) / NIC_PATHS : 0 };
}

/*
 * Sent again until it comes through. A fault of one path does not meet it there a second time, unless the flow is pinned to the path;
 * one of all paths does, with the same chance each time.
 */
static int note_dropped(Run *run, uint32_t sequence, int path, double rate, Dice *dice) {
        uint16_t tries = 1, again = (uint16_t) run_path(run, sequence);
        Late *more;
        int r;

        r = run_note(run, sequence, ODD_DROPPED);
        if (r <= 0)
                return r;
        if (path < 0 || run->path < NIC_PATHS) {
                uint64_t in_vain = dice_gap(dice, 1 - rate);

                tries = (uint16_t) (1 + (in_vain < TRIES_MAX ? in_vain : TRIES_MAX));
        } else
                again = (uint16_t) ((again + 1 + dice_below(dice, NIC_PATHS - 1)) % NIC_PATHS);

        more = reallocarray(run->late, run->n_late + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        run->late = more;
        run->late[run->n_late++] = (Late) { .sequence = sequence, .tries = tries, .path = again };
        return 0;
}

/* Each packet is hit or not for itself: drawn are the gaps between those that are. */
static int choose_packets(Run *run, const Nic *nic, const Execution *execution, const Location *at, uint64_t draw, int path, double rate,
                          Oddity what) {
        Stretch stretch = stretch_of(run, path);
        Dice dice = { stretch.n > 0 ? draw_u64(nic->chip, at, execution->number, draw) : 0 };
        uint64_t gap;

        for (uint64_t left = stretch.n; (gap = dice_gap(&dice, rate)) < left; left -= gap + 1) {
                uint32_t sequence = stretch.first + stretch.step * (uint32_t) (stretch.n - left + gap);
                int r;

                r = what == ODD_DROPPED ? note_dropped(run, sequence, path, rate, &dice) : run_note(run, sequence, what);
                if (r < 0)
                        return r;
        }

        return 0;
}

static bool goes(int direction, NicDirection way) {
        return direction == NIC_BOTH || direction == (int) way;
}

/* Buffers are those of the receiver: what it sends needs none of its own. */
static bool meets(size_t kind, const PacketParameters *packet, NicDirection way) {
        return kind + 1 == ODD_REFUSED ? way == NIC_RECEIVE : goes(packet->direction, way);
}

/* The number counts the commands of the sender: who that is, and the flow, make draws of a receiver's fault differ. */
static uint64_t draw_of(const Fault *fault, NicDirection direction, const Run *run) {
        return dice_mix(dice_mix(fault->id << 2 | direction) ^ (uint64_t) run->flow << 8 ^ chip_index(run->from));
}

int nic_suffer(const Nic *nic, NicDirection direction, const Execution *execution, Run *run, uint64_t extra_nsec[static NIC_PATHS]) {
        for (size_t i = 0; i < nic->n_faults; i++) {
                const Fault *fault = nic->faults[i];
                int r = 0, path = location_index(&fault->at, LOCATION_PATH);
                size_t kind = (size_t) (fault->kind - nic_kinds);

                if (kind < KIND_DELAY) {
                        const PacketParameters *packet = fault->parameters;

                        if (meets(kind, packet, direction) && acts(nic, fault, execution))
                                r = choose_packets(run, nic, execution, &fault->at, draw_of(fault, direction, run), path, packet->rate,
                                                   (Oddity) (kind + 1));
                } else if (kind == KIND_DELAY) {
                        const DelayParameters *delay = fault->parameters;

                        for (unsigned p = 0; p < NIC_PATHS && goes(delay->direction, direction); p++)
                                if ((path < 0 || path == (int) p) && acts(nic, fault, execution))
                                        extra_nsec[p] += delay->nsec;
                }
                if (r < 0)
                        return r;
        }

        return 0;
}

int cable_suffer(const Nic *nic, NicDirection direction, const Execution *execution, Run *run) {
        const Fault *fault = nic_suffers(nic, KIND_CABLE_LOSS, execution);
        const PacketParameters *packet = fault ? fault->parameters : NULL;

        if (!packet || !goes(packet->direction, direction))
                return 0;
        return choose_packets(run, nic, execution, &fault->at, draw_of(fault, direction, run), -1, packet->rate, ODD_LOST);
}

int fabric_suffer(const Nic *from, const Execution *execution, Run *run) {
        const Hall *hall = from->chip->server->ultraserver->hall;
        double noise = hall->noise.retransmissions;
        Location at;

        for (unsigned p = 0; p < NIC_PATHS; p++) {
                const Fault *fault = hall->planes[p];
                int r = 0;

                if (fault)
                        r = choose_packets(run, from, execution, &fault->at, (uint64_t) chip_index(from->chip) << 40, (int) p,
                                           ((const PacketParameters *) fault->parameters)->rate, ODD_DROPPED);
                if (r < 0)
                        return r;
        }
        if (!(noise > 0))
                return 0;
        chip_location(from->chip, &at);
        return choose_packets(run, from, execution, &at, UINT64_C(0xfab) << 40, -1, noise, ODD_DROPPED);
}
