/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What goes wrong on one path only is the path's: of one adapter, or, where too many adapters have it on the same path to be all broken,
 * of the fabric. Blame is laid for each path by its own ledger. On a path of the fabric that loses packets of all an adapter is to blame for
 * what it has in excess of the others.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/param.h>

#include "checks/efa/efa.h"

#define SOUND_RESENT   1e-6     /* of packets: a sound fabric loses and sends again. At a bit error ratio of 1e-12 it would be one in 15 million */
#define FLEET          400000.0 /* adapters */
#define FLEET_ALARMS   0.01     /* in a sweep of them */
#define PATHS_FEW      3u       /* with more bad paths it is the adapter */
#define PATH_COUNT_MIN 4u       /* wrong packets on a path: by chance alone all of four are on one path once in 4096 times */
#define PLANE_SHARE    4u       /* a path with more than one in so many adapters to blame is the fabric's */
#define PLANE_MIN      3u

static const char *const path_words[_WRONG_PACKET_MAX] = {
        [WRONG_LOSS]       = "never arrived",
        [WRONG_CORRUPTION] = "arrived changed",
        [WRONG_DELIVERY]   = "arrived at the wrong adapter, or twice",
        [WRONG_LATE]       = "arrived too late",
};

/* P(X >= k) for a Poisson variable of this mean; 1 for a k that is not above it, where nothing is asked. */
static double tail(double mean, uint64_t k) {
        double term, sum = 0;

        if ((double) k <= mean)
                return 1;
        term = mean > 0 ? exp((double) k * log(mean) - mean - lgamma((double) k + 1)) : 0;
        for (uint64_t i = k; term > sum * 1e-12; term *= mean / (double) ++i)
                sum += term;
        return sum;
}

/* More wrong packets than this mean explains: of all adapters of a fleet one is called so in a hundred sweeps. */
static bool is_beyond(double mean, uint64_t k) {
        return FLEET * tail(mean, k) <= FLEET_ALARMS;
}

uint64_t late_limit(uint64_t n) {
        uint64_t k = 1;

        while (!is_beyond((double) n * SOUND_RESENT, k))
                k++;
        return k;
}

Decided round_late_decided(const Round *round, unsigned chip) {
        Pair sum = ledger_sum(&round->ledger, chip);

        return (Decided) { "efa_packets_resent", sum.n_wrong[WRONG_LATE], (double) late_limit(sum.n_packets) - 1 };
}

double late_false_alarms(const Round *round) {
        double sum = 0;

        for (unsigned c = 0; c < CHIPS; c++) {
                uint64_t n = round->sums[c].n_sent + round->sums[c].n_received;

                if (n > 0)
                        sum += tail((double) n * SOUND_RESENT, late_limit(n));
        }

        return sum;
}

bool round_suspects_paths(const Round *round) {
        uint64_t n_packets = 0;

        if (round->ledger.n_wrong[WRONG_LOSS] + round->ledger.n_wrong[WRONG_CORRUPTION] + round->ledger.n_wrong[WRONG_DELIVERY] > 0)
                return true;
        for (unsigned c = 0; c < CHIPS && round->ledger.n_wrong[WRONG_LATE] > 0; c++) {
                Pair sum = ledger_sum(&round->ledger, c);

                n_packets += sum.n_packets; /* most of them twice, which makes it no easier to be suspect */
                if (sum.n_wrong[WRONG_LATE] >= late_limit(sum.n_packets))
                        return true;
        }
        /* A path of the fabric shows in the sum of all before it does in any adapter. */
        if (round->ledger.n_wrong[WRONG_LATE] >= late_limit(n_packets))
                return true;

        return round->paths;
}

/* ---- what each path saw ---- */

static void add_packet(Round *round, const Flow *flow, Wrong what, uint32_t sequence) {
        Ledger *ledger = &round->paths->ledgers[((uint32_t) flow->turn + sequence) % NIC_PATHS];

        ledger->pairs[flow->from][flow->to].n_wrong[what]++;
        ledger->n_wrong[what]++;
}

/* The packets of a sprayed flow took the paths in turn, which those that arrived show. */
static void add_sprayed(Round *round, const Traffic *traffic, const Flow *flow) {
        for (uint32_t s = 0; s < MIN(flow->packets, NIC_PATHS); s++)
                round->paths->ledgers[((uint32_t) flow->turn + s) % NIC_PATHS].pairs[flow->from][flow->to].n_packets +=
                                (flow->packets - s + NIC_PATHS - 1) / NIC_PATHS;
        for (uint32_t s = 0; s < flow->packets && flow_lost(flow) > 0; s++)
                if (!traffic_has_seen(traffic, flow, s))
                        add_packet(round, flow, WRONG_LOSS, s);
}

/* Whether the order of its packets says which path each took: its sender sprays, and so do not all. */
static bool takes_turns(const Round *round, const Flow *flow) {
        return flow->path == NIC_PATH_SPRAYED && flow->turn >= 0 && flow->from != flow->to && !(round->single >> flow->from & 1);
}

/* A flow that ended otherwise has packets that were never sent, so its packets are no share of a path's. */
static bool is_of_paths(const Flow *flow, AdapterSet unjudged) {
        return flow->error >= 0 && !(unjudged >> flow->to & 1) && flow->completion.status == EFA_OK;
}

int round_add_paths(Round *round, const Traffic *traffic, AdapterSet unjudged) {
        if (!round->paths)
                round->paths = calloc(1, sizeof(*round->paths));
        if (!round->paths)
                return -ENOMEM;

        for (size_t f = 0; f < traffic->n_flows; f++) {
                const Flow *flow = &traffic->flows[f];

                if (!is_of_paths(flow, unjudged))
                        continue;
                if (flow->path != NIC_PATH_SPRAYED) {
                        ledger_add(&round->paths->ledgers[flow->path], flow, 0);
                        ledger_add(&round->ledger, flow, round->parameters->bandwidth);
                } else if (takes_turns(round, flow))
                        add_sprayed(round, traffic, flow);
        }
        for (size_t i = 0; i < traffic->n_incidents; i++) {
                const Flow *flow = &traffic->flows[traffic->incidents[i].flow];

                if (is_of_paths(flow, unjudged) && takes_turns(round, flow))
                        add_packet(round, flow, (Wrong) traffic->incidents[i].what, traffic->incidents[i].sequence);
        }

        return 0;
}

/* ---- whose paths ---- */

typedef struct PathBlame {
        AdapterSet blamed[NIC_PATHS];
        AdapterSet excess[NIC_PATHS];  /* those with more than the others of the path have */
        double shared[NIC_PATHS];      /* the share of wrong packets that these others have */
        uint16_t planes; /* bit per path of the fabric */
} PathBlame;

/* Of all pairs of LEDGER with no end in WITHOUT, the share of packets that are wrong, and no less than of a sound fabric; *ret_sum are these. */
static double share_of(const Ledger *ledger, Wrong wrong, AdapterSet without, Pair *ret_sum) {
        *ret_sum = (Pair) {};
        for (unsigned from = 0; from < ADAPTERS_MAX; from++)
                for (unsigned to = 0; to < ADAPTERS_MAX && !(without >> from & 1); to++) {
                        if (without >> to & 1)
                                continue;
                        ret_sum->n_packets += ledger->pairs[from][to].n_packets;
                        ret_sum->n_wrong[wrong] += ledger->pairs[from][to].n_wrong[wrong];
                }
        return MAX(ret_sum->n_wrong[wrong] / (double) MAX(ret_sum->n_packets, 1u), wrong == WRONG_LATE ? SOUND_RESENT : 0);
}

/* The sum of the flows between ADAPTER and those not in WITHOUT; *ret_worst is the pair of them with the most wrong packets. */
static Pair sum_without(const Ledger *ledger, Wrong wrong, unsigned adapter, AdapterSet without, Pair *ret_worst) {
        Pair sum = {}, worst = {};

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                for (unsigned way = 0; way < 2 && a != adapter && !(without >> a & 1); way++) {
                        const Pair *pair = way == 0 ? &ledger->pairs[adapter][a] : &ledger->pairs[a][adapter];

                        sum.n_packets += pair->n_packets;
                        sum.n_wrong[wrong] += pair->n_wrong[wrong];
                        if (pair->n_wrong[wrong] >= worst.n_wrong[wrong])
                                worst = *pair;
                }

        *ret_worst = worst;
        return sum;
}

/* Finds adapters with more wrong packets on a path than the others have between themselves: the one with the largest excess first,
 * whose flows are then left out, so that its partners are not taken for it. */
static AdapterSet find_excess(const Ledger *ledger, Wrong wrong, AdapterSet without) {
        AdapterSet excess = 0;

        for (;;) {
                double most = 0;
                int worst = -1;

                for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                        Pair rest, one, sum = sum_without(ledger, wrong, a, without, &one);
                        /* Without the worst of its flows, which may be its partner's affair. */
                        double n = (double) (sum.n_packets - one.n_packets), n_wrong = sum.n_wrong[wrong] - one.n_wrong[wrong];
                        double mean = n * share_of(ledger, wrong, without | UINT64_C(1) << a, &rest);

                        if (without >> a & 1 || n_wrong - mean <= most || !is_beyond(mean, (uint64_t) n_wrong))
                                continue;
                        most = n_wrong - mean;
                        worst = (int) a;
                }
                if (worst < 0)
                        return excess;
                excess |= UINT64_C(1) << worst;
                without |= UINT64_C(1) << worst;
        }
}

/* Late packets that chance explains, or what the fabric loses of everybody's, are nobody's. */
static AdapterSet drop_chance(const Ledger *ledger, Wrong wrong, AdapterSet known, AdapterSet blamed) {
        AdapterSet excess = wrong == WRONG_LATE && blamed ? find_excess(ledger, wrong, known) : 0;

        for (unsigned a = 0; a < ADAPTERS_MAX && wrong == WRONG_LATE; a++) {
                Pair sum, rest, worst;
                double share;

                if (!(blamed >> a & 1) || excess >> a & 1)
                        continue;
                sum = sum_without(ledger, wrong, a, known | excess, &worst);
                share = share_of(ledger, wrong, known | excess | UINT64_C(1) << a, &rest);
                if (!is_beyond((double) sum.n_packets * share, sum.n_wrong[wrong]))
                        blamed &= ~(UINT64_C(1) << a);
        }

        return blamed;
}

Blame round_blame(const Ledger *ledger, Wrong wrong, AdapterSet known) {
        Blame blame = ledger_blame(ledger, wrong, known);

        blame.blamed = drop_chance(ledger, wrong, known, blame.blamed);
        blame.suspects &= blame.blamed;
        blame.tied &= blame.blamed;
        blame.shared &= blame.blamed;
        blame.open &= blame.blamed;
        /* Of what chance explains nothing more is asked. */
        if (wrong == WRONG_LATE)
                blame.unsure &= blame.blamed;
        return blame;
}

void round_note_with_servers(Round *round, const Ledger *ledger, Wrong wrong, AdapterSet known, unsigned chip) {
        Blame within = round_blame(ledger, wrong, known | ~OWN_ADAPTERS);

        if (!((within.blamed & ~(within.suspects | within.shared)) >> chip & 1))
                round->with_servers |= UINT64_C(1) << chip;
}

/* So many of those without excess have it that it is the fabric's path: of two that cannot be told apart one is to blame. */
static bool is_plane(const Round *round, const Ledger *ledger, Wrong wrong, AdapterSet known, double *ret_share) {
        unsigned n_own = (unsigned) __builtin_popcountll(round_own(round)), n;
        Blame blame = ledger_blame(ledger, wrong, known);
        Pair rest;

        *ret_share = share_of(ledger, wrong, known, &rest);
        n = (unsigned) (2 * __builtin_popcountll(blame.blamed & ~blame.suspects) + __builtin_popcountll(blame.suspects)) / 2;
        return n >= MAX(PLANE_MIN, n_own / PLANE_SHARE) && (wrong != WRONG_LATE || rest.n_wrong[wrong] >= late_limit(rest.n_packets));
}

static void blame_paths(const Round *round, Wrong wrong, AdapterSet known, PathBlame *ret) {
        *ret = (PathBlame) {};
        for (unsigned p = 0; p < NIC_PATHS; p++) {
                const Ledger *ledger = &round->paths->ledgers[p];
                Blame blame;

                if (ledger->n_wrong[wrong] == 0)
                        continue;
                blame = round_blame(ledger, wrong, known);
                ret->blamed[p] = blame.blamed & ~blame.open;
                ret->excess[p] = find_excess(ledger, wrong, known);
                if (is_plane(round, ledger, wrong, known | ret->excess[p], &ret->shared[p]))
                        ret->planes |= (uint16_t) (1u << p);
        }
        if ((unsigned) __builtin_popcount(ret->planes) > PATHS_FEW)
                ret->planes = 0; /* it is not the path that they have in common */
        for (unsigned p = 0; p < NIC_PATHS; p++)
                if (ret->planes >> p & 1)
                        ret->blamed[p] = ret->excess[p];
}

static int find_plane(Round *round, Wrong wrong, unsigned path) {
        const Ledger *ledger = &round->paths->ledgers[path];
        unsigned n_adapters = 0;
        uint64_t n_packets = 0;
        char address[16];
        double limit;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                Pair sum = ledger_sum(ledger, a);

                n_adapters += sum.n_wrong[wrong] > 0;
                n_packets += sum.n_packets;
        }
        (void) snprintf(address, sizeof(address), "path%u", path);
        limit = wrong == WRONG_LATE ? (double) late_limit(n_packets / 2) - 1 : 0;
        return step_finding(round->step, &round->fabric, "efa-fabric", NULL,
                            &(Evidence) { .address = address, .has_count = true, .count = (double) ledger->n_wrong[wrong],
                                          .decided = { "efa_plane_packets_wrong", (double) ledger->n_wrong[wrong], limit } },
                            "path %u of the fabric, not an adapter: %" PRIu64 " of %" PRIu64 " packets over it %s, and %u adapters share that",
                            path, ledger->n_wrong[wrong], n_packets / 2, path_words[wrong], n_adapters);
}

/* The few bad paths of an adapter; 0 where it is not a matter of paths. */
static uint16_t paths_of(const Round *round, const PathBlame *blame, Wrong wrong, unsigned adapter) {
        uint16_t paths = 0;

        for (unsigned p = 0; p < NIC_PATHS; p++) {
                if (!(blame->blamed[p] >> adapter & 1))
                        continue;
                if (ledger_sum(&round->paths->ledgers[p], adapter).n_wrong[wrong] < PATH_COUNT_MIN)
                        return 0;
                paths |= (uint16_t) (1u << p);
        }

        return (unsigned) __builtin_popcount(paths) <= PATHS_FEW ? paths : 0;
}

static int find_path(Round *round, Wrong wrong, const PathBlame *blame, unsigned chip, unsigned path) {
        Pair sum = ledger_sum(&round->paths->ledgers[path], chip);
        Location where = round_adapter(round, chip);
        char others[96] = "on its other paths that is not so";

        (void) location_append(&where, LOCATION_PATH, path);
        if (blame->planes >> path & 1)
                (void) snprintf(others, sizeof(others), "of other adapters, by the fabric alone, %.2g %% of those over this path",
                                100 * blame->shared[path]);
        return step_finding(round->step, &round->verdicts[chip], "efa-path", &where,
                            &(Evidence) { .replaceable = "cable", .has_count = true, .count = sum.n_wrong[wrong],
                                          .decided = { "efa_packets_wrong", sum.n_wrong[wrong], 0 } },
                            "%" PRIu32 " of %" PRIu64 " packets of this adapter over path %u %s; %s", sum.n_wrong[wrong], sum.n_packets, path,
                            path_words[wrong], others);
}

/* Leaves of what went wrong what was seen of the paths that are not the fabric's, so that all that is left is adapters. */
static void settle(Round *round, Wrong wrong, uint16_t planes) {
        Ledger *ledger = &round->ledger;

        for (unsigned from = 0; from < ADAPTERS_MAX && planes; from++)
                for (unsigned to = 0; to < ADAPTERS_MAX; to++) {
                        Pair *pair = &ledger->pairs[from][to];
                        uint32_t before = pair->n_wrong[wrong], sum = 0;

                        for (unsigned p = 0; p < NIC_PATHS; p++)
                                if (!(planes >> p & 1))
                                        sum += round->paths->ledgers[p].pairs[from][to].n_wrong[wrong];
                        pair->n_wrong[wrong] = sum;
                        ledger->n_wrong[wrong] += sum;
                        ledger->n_wrong[wrong] -= before;
                }
}

static int find_of(Round *round, Wrong wrong) {
        AdapterSet known = round->mute | round->garbled | round->silent, blamed;
        PathBlame blame;
        Blame all;
        int r = 0;

        blame_paths(round, wrong, known, &blame);
        for (unsigned p = 0; p < NIC_PATHS && r >= 0; p++)
                if (blame.planes >> p & 1)
                        r = find_plane(round, wrong, p);
        settle(round, wrong, blame.planes);
        all = round_blame(&round->ledger, wrong, known);
        blamed = all.blamed & ~(all.open | all.tied | all.shared);
        for (unsigned p = 0; p < NIC_PATHS; p++)
                blamed |= blame.planes >> p & 1 ? blame.excess[p] : 0;
        for (unsigned c = 0; c < CHIPS; c++) {
                /* Packets to itself take no path, so no path is to blame for their loss. */
                bool loses_loops = wrong == WRONG_LOSS && round->ledger.pairs[c][c].n_wrong[wrong] > 0;
                uint16_t paths = (round_own(round) & blamed) >> c & 1 && !loses_loops ? paths_of(round, &blame, wrong, c) : 0;

                if (paths)
                        round->explained[wrong] |= UINT64_C(1) << c;
                for (unsigned p = 0; p < NIC_PATHS && r >= 0; p++)
                        if (paths >> p & 1) {
                                round_note_with_servers(round, &round->paths->ledgers[p], wrong, known, c);
                                r = find_path(round, wrong, &blame, c, p);
                        }
        }

        return r;
}

int round_find_paths(Round *round) {
        int r = 0;

        for (unsigned w = 0; w < _WRONG_PACKET_MAX && r >= 0 && round->paths; w++)
                r = find_of(round, (Wrong) w);
        return r;
}
