/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whose errors come from a neighbour. A lane that makes errors is listened to with all others of its port quiet: where it makes none, one
 * of them is the aggressor, and halving what is quiet finds it. All ports at a time, their bad lanes one after another.
 *
 * Each run takes bits for TRACES errors; where the plan has no time for so many, the lane is left as one that makes errors.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "checks/neuronlink/fabric.h"

#define VICTIMS_MAX   4u  /* of a port: more are no matter of neighbours */
#define ROUNDS        7u  /* all quiet, five halvings of 32, the one that is left */
#define TRACES        10.0

typedef struct Hunt {
        PortId id;
        unsigned victim;
        uint32_t candidates, quiet;
        uint64_t bits;
        bool over;
} Hunt;

static bool is_victim(const Lane *lane) {
        return lane_is_sound(lane) && lane->outcome == BER_FAILS && !ber_is_bursty(lane->bits, lane->errors, lane->blocks);
}

/* The N-th lane of a port whose errors want an explanation; false where there is none, or too many. */
static bool nth_victim(const Port *port, unsigned n_lanes, unsigned n, unsigned *ret) {
        unsigned n_victims = 0;

        for (unsigned l = 0; l < n_lanes; l++)
                if (is_victim(&port->lanes[l]) && n_victims++ == n)
                        *ret = l;

        return n_victims > n && n_victims <= VICTIMS_MAX;
}

static size_t begin(Fabric *fabric, unsigned n, Hunt *hunts) {
        double most = fabric_budget_sec(fabric) / 2 / ROUNDS / (VICTIMS_MAX - n) * LINK_LANE_GBPS * 1e9;
        size_t n_hunts = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++) {
                        PortId id = { 0, (uint8_t) c, (uint8_t) p };
                        const Port *port = fabric_port(fabric, id);
                        double bits;
                        unsigned l = 0;

                        if (!fabric_may_drive(fabric, id) || !nth_victim(port, link_port_width(p), n, &l))
                                continue;
                        bits = fmax(1e6, TRACES * (double) port->lanes[l].bits / (double) port->lanes[l].errors);
                        if (bits > most)
                                continue;
                        hunts[n_hunts] = (Hunt) { .id = id, .victim = l, .bits = (uint64_t) bits };
                        hunts[n_hunts].candidates = (uint32_t) ((UINT64_C(1) << link_port_width(p)) - 1) & ~(UINT32_C(1) << l);
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

/* One run for all; the first is with all candidates quiet, the last with the one that is left. */
static int run_round(Fabric *fabric, Run *run, Hunt *hunts, size_t n_hunts, unsigned round, unsigned number) {
        Hunt *running[RUN_MAX];
        int r;

        run->n = 0;
        for (size_t i = 0; i < n_hunts; i++) {
                bool single = __builtin_popcount(hunts[i].candidates) == 1;

                if (hunts[i].over)
                        continue;
                hunts[i].quiet = round == 0 || single ? hunts[i].candidates : lower_half(hunts[i].candidates);
                running[run->n] = &hunts[i];
                run_add(fabric, run, hunts[i].id, number, hunts[i].bits);
                run->prbs[run->n - 1].quiet = hunts[i].quiet;
        }

        r = run_all(fabric, run, RUN_PRBS);
        for (size_t i = 0; i < run->n && r >= 0; i++) {
                Hunt *hunt = running[i];
                const WireLane *lane = &run->lanes[i].lanes[hunt->victim];
                bool wrong = run->errors[i] < 0 || !lane->locked || lane->errors > 0;

                if (run->errors[i] < 0 || (wrong && hunt->quiet == hunt->candidates)) {
                        hunt->over = true; /* not of a neighbour, or not of one alone */
                } else if (hunt->quiet != hunt->candidates)
                        hunt->candidates = wrong ? hunt->candidates & ~hunt->quiet : hunt->quiet;
                else if (__builtin_popcount(hunt->candidates) == 1) {
                        Lane *victim = &fabric_port(fabric, hunt->id)->lanes[hunt->victim];

                        victim->crosstalk = hunt->over = true;
                        victim->aggressor = (uint8_t) __builtin_ctz(hunt->candidates);
                }
        }

        return r;
}

int fabric_find_crosstalk(Fabric *fabric) {
        _cleanup_free_ Run *run = NULL;

        for (unsigned n = 0; n < VICTIMS_MAX; n++) {
                Hunt found[CHIPS * PORTS];
                size_t n_hunts = begin(fabric, n, found);

                if (n_hunts == 0)
                        continue;
                if (!run)
                        run = malloc(sizeof(*run));
                if (!run)
                        return -ENOMEM;
                for (unsigned round = 0; round < ROUNDS; round++) {
                        int r;

                        r = run_round(fabric, run, found, n_hunts, round, RUN_CROSSTALK + n * ROUNDS + round);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}
