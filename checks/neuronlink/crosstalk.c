/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whose errors come from a neighbour. A lane that makes errors is listened to with all others of its port quiet: where it makes none, one
 * of them may be the aggressor, and halving what is quiet leads to one. That one is then quiet alone and loud alone, in pairs of runs whose
 * order is drawn. Errors while it is quiet are not its own, or not its alone. It is named after PROOFS pairs with errors while it was loud and
 * none while it was quiet: errors that come and go by themselves fall on one of two runs with equal chance, so that a sound lane is named
 * beside them less often than ((1 - p) / (2 - p))^PROOFS, p being how often they are there: below 1 in 1000 for any p, and as rare ones run
 * out of pairs, below 1 in 10,000. All ports at a time, their bad lanes one after another.
 *
 * A run takes bits for TRACES errors, and where one candidate is left for half as many; where the plan has no time for so many, the lane is
 * left as one that makes errors.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/neuronlink/fabric.h"

#define VICTIMS_MAX   4u  /* of a port: more are no matter of neighbours */
#define HALVINGS      5u  /* of 31 */
#define PROOFS        CROSSTALK_PROOFS
#define PAIRS_MAX     (2 * PROOFS) /* what comes and goes is not always there while the aggressor is loud */
#define ROUNDS        (1 + HALVINGS + 2 * PAIRS_MAX)
#define WHOLE_RUNS    (1 + HALVINGS + PROOFS) /* what a hunt for an aggressor that is always there takes: two runs of a pair are one */
#define TRACES        7.0 /* none of so many: 1 in 1000; and of half as many 1 in 33, which costs a pair of runs */
#define SHARE         (2 / 3.0) /* of the time that is left; the rest is for where it fails */

typedef struct Hunt {
        PortId id;
        unsigned victim;
        uint32_t others, candidates, quiet;
        unsigned n_turns;  /* runs with one candidate */
        unsigned n_proofs; /* of these, with errors and the candidate alone loud */
        uint64_t bits;
        uint64_t order; /* of pair i: bit i, set: quiet first */
        bool over;
} Hunt;

/* Lanes of a port whose errors want an explanation; 0 where they are too many. */
static uint32_t victims_of(const Port *port, unsigned n_lanes) {
        uint32_t victims = 0;

        for (unsigned l = 0; l < n_lanes; l++) {
                const Lane *lane = &port->lanes[l];

                if (lane->outcome == BER_FAILS && lane->offset == 0 && lane_is_sound(lane) && !ber_is_bursty(lane->bits, lane->errors, lane->blocks))
                        victims |= UINT32_C(1) << l;
        }

        return (unsigned) __builtin_popcount(victims) <= VICTIMS_MAX ? victims : 0;
}

/* Takes one victim of each port. What takes more than MOST bits is left out. */
static size_t begin(Fabric *fabric, uint32_t *victims, unsigned number, double most, Hunt *hunts) {
        size_t n_hunts = 0;

        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                PortId id = port_id_at(i);
                unsigned l, n_lanes = link_port_width(id.port);
                const Lane *lane;
                double bits;

                if (victims[i] == 0)
                        continue;
                l = (unsigned) __builtin_ctz(victims[i]);
                victims[i] &= victims[i] - 1;
                lane = &fabric_port(fabric, id)->lanes[l];
                bits = fmax(1e6, TRACES * (double) lane->bits / (double) lane->errors);
                if (bits > most)
                        continue;
                hunts[n_hunts] = (Hunt) { .id = id, .victim = l, .bits = (uint64_t) bits };
                hunts[n_hunts].others = (uint32_t) ((UINT64_C(1) << n_lanes) - 1) & ~(UINT32_C(1) << l);
                hunts[n_hunts].candidates = hunts[n_hunts].others;
                hunts[n_hunts].order = fabric_hash(fabric->seed, RUN_CROSSTALK + number, i);
                n_hunts++;
        }

        return n_hunts;
}

static uint32_t lower_half(uint32_t mask) {
        unsigned n = (unsigned) __builtin_popcount(mask) / 2;
        uint32_t half = 0;

        for (; n > 0; n--) {
                half |= mask & -mask;
                mask &= mask - 1;
        }

        return half;
}

static bool is_single(const Hunt *hunt) {
        return __builtin_popcount(hunt->candidates) == 1;
}

/* Whether the next turn is the one of its pair in which the one candidate is quiet. */
static bool hunt_is_quiet(const Hunt *hunt) {
        return (hunt->n_turns % 2 == 0) == (hunt->order >> hunt->n_turns / 2 & 1);
}

static uint32_t quiet_next(const Hunt *hunt, bool first) {
        if (first)
                return hunt->candidates;
        if (!is_single(hunt))
                return lower_half(hunt->candidates);

        return hunt_is_quiet(hunt) ? hunt->candidates : hunt->others & ~hunt->candidates;
}

/* What a run says: whether the victim was WRONG in it. */
static void conclude(Fabric *fabric, Hunt *hunt, bool wrong) {
        Lane *victim = &fabric_port(fabric, hunt->id)->lanes[hunt->victim];

        if (wrong && (hunt->candidates & ~hunt->quiet) == 0) {
                hunt->over = true; /* not of a neighbour, or not of one alone */
                return;
        }
        if (!is_single(hunt)) {
                if (hunt->quiet != hunt->candidates)
                        hunt->candidates = wrong ? hunt->candidates & ~hunt->quiet : hunt->quiet;
                return;
        }

        hunt->n_proofs += wrong;
        hunt->n_turns++;
        if (hunt->n_turns % 2 != 0)
                return;
        hunt->over = hunt->n_proofs == PROOFS || hunt->n_turns == 2 * PAIRS_MAX;
        if (hunt->n_proofs == PROOFS) {
                victim->crosstalk = true;
                victim->aggressor = (uint8_t) __builtin_ctz(hunt->candidates);
                victim->n_pairs = (uint8_t) (hunt->n_turns / 2);
        }
}

/* One run for all. */
static int run_round(Fabric *fabric, Run *run, Hunt *hunts, size_t n_hunts, unsigned round, unsigned number) {
        Hunt *running[CHIPS * PORTS];
        int r;

        run->n = 0;
        for (size_t i = 0; i < n_hunts; i++) {
                if (hunts[i].over)
                        continue;
                hunts[i].quiet = quiet_next(&hunts[i], round == 0);
                running[run->n] = &hunts[i];
                run_add(fabric, run, hunts[i].id, number, is_single(&hunts[i]) ? hunts[i].bits / 2 : hunts[i].bits);
                run->prbs[run->n - 1].quiet = hunts[i].quiet;
        }

        r = run_all(fabric, run, RUN_PRBS);
        for (size_t i = 0; i < run->n && r >= 0; i++) {
                const WireLane *lane = &run->lanes[i].lanes[running[i]->victim];

                if (run->errors[i] < 0)
                        running[i]->over = true;
                else
                        conclude(fabric, running[i], !lane->locked || lane->errors > 0);
        }

        return r;
}

int fabric_find_crosstalk(Fabric *fabric) {
        uint32_t victims[CHIPS * PORTS];
        _cleanup_free_ Run *run = NULL;
        unsigned n_most = 0;

        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                PortId id = port_id_at(i);

                victims[i] = fabric_may_drive(fabric, id) ? victims_of(fabric_port(fabric, id), link_port_width(id.port)) : 0;
                n_most = MAX(n_most, (unsigned) __builtin_popcount(victims[i]));
        }
        if (n_most == 0)
                return 0;

        run = malloc(sizeof(*run));
        if (!run)
                return -ENOMEM;

        for (unsigned n = 0; n < n_most; n++) {
                double sec = fabric_budget_sec(fabric) * SHARE / (n_most - n), until = fabric_budget_sec(fabric) - sec;
                Hunt hunts[CHIPS * PORTS];
                size_t n_hunts = begin(fabric, victims, n, sec / WHOLE_RUNS / link_sec(1), hunts);

                for (unsigned round = 0; round < ROUNDS && n_hunts > 0 && fabric_budget_sec(fabric) > until; round++) {
                        int r;

                        r = run_round(fabric, run, hunts, n_hunts, round, RUN_CROSSTALK + n * ROUNDS + round);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}
