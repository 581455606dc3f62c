/* SPDX-License-Identifier: Apache-2.0 */

/* Who sends what to whom. */

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "checks/efa/efa.h"

#define SECOND_PEER   5u /* in the ring of those that take part */
#define DRAIN_MAX     4096u /* times: two million packets, more than a flood leaves behind that the last run has seen */
#define DRAIN_ARRIVALS 512u
#define PARTS         4u
#define LOOPED        8u
#define LOOPED_BYTES  256u
#define LONGEST       NIC_PAYLOAD_MAX
#define ORDER_PACKETS 32u /* two for each path: a flow of fewer may come in order */

/*
 * On both sides of what changes with the length of a message: work requests carry up to 32 bytes inline, a PCIe transaction 256, a page
 * has 4096, and 8192 is the longest there is. One byte, the shortest, goes to everyone in numbers, in several flows: what comes and goes
 * does so with the flows. The two partners of an adapter share the others, long ones for both; each is sent and received by every adapter.
 */
static const uint16_t boundaries[] = { 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, LONGEST - 1 };

/* ---- running one ---- */

/*
 * Packets that are no whole turn apart take different paths, unless one was sent again, and that comes late; and many of them do not come
 * in order, where they are short: long ones of a slow adapter are further apart than paths differ.
 */
static bool is_on_one_path(const Flow *flow) {
        if (flow->bytes == 1 && flow->n_here >= ORDER_PACKETS && flow->n_reordered == 0)
                return true;
        return __builtin_popcount(flow->paths) == 1 && flow->turn == TURN_NONE;
}

static void take_flow(Round *round, const Flow *flow) {
        double gbps = flow_gbps(flow);

        round_note_error(round, flow->from, flow->error);
        if (flow->error < 0)
                return;
        round_count_flow(round, flow);
        if (flow_is_denied(flow))
                round->denied[flow->from] = *flow;
        if (flow->n_corrupt > 0 && round->corrupt[flow->from].n_corrupt == 0)
                round->corrupt[flow->from] = *flow;
        if (flow->path == NIC_PATH_SPRAYED && flow->from != flow->to && is_on_one_path(flow))
                round->single |= UINT64_C(1) << flow->from;

        for (unsigned way = 0; way < 2; way++) {
                Sum *sum = &round->sums[way == 0 ? flow->from : flow->to];

                sum->n_timed += flow->n_here + flow->n_astray;
                sum->worst_nsec = MAX(sum->worst_nsec, flow->worst_nsec);
                sum->n_paced += gbps > 0;
                if (gbps > 0 && (sum->gbps == 0 || gbps < sum->gbps))
                        sum->gbps = gbps;
        }
}

/* Foreign packets are their sender's affair, unless one receiver alone has them of several. */
static void take_strangers(Round *round, const Traffic *traffic, unsigned adapter) {
        AdapterSet strangers = traffic->tallies[adapter].strangers;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                unsigned n_receivers = 0;

                if (!(strangers >> a & 1))
                        continue;
                for (unsigned b = 0; b < ADAPTERS_MAX; b++)
                        n_receivers += traffic->tallies[b].strangers >> a & 1;
                if ((unsigned) __builtin_popcountll(strangers) > n_receivers)
                        round->strange |= UINT64_C(1) << adapter;
                else {
                        round->flooding |= UINT64_C(1) << a;
                        round->sufferers[a] |= UINT64_C(1) << adapter;
                }
        }
}

static void take_tally(Round *round, const Traffic *traffic, unsigned adapter) {
        const Tally *tally = &traffic->tallies[adapter];
        Sum *sum = &round->sums[adapter];

        round_note_error(round, adapter, tally->error);
        take_strangers(round, traffic, adapter);
        if (tally->flooded && tally->strangers)
                round->flooded |= UINT64_C(1) << adapter;
        else if (tally->n_strange > 0 || tally->flooded)
                round->strange |= UINT64_C(1) << adapter;
        sum->n_sent += tally->n_sent;
        sum->n_sent_bytes += tally->n_sent_bytes;
        sum->n_received += tally->n_received;
        sum->n_received_bytes += tally->n_received_bytes;
        sum->n_foreign += tally->n_foreign;
        for (unsigned p = 0; p < NIC_PATHS; p++)
                sum->arrivals[p] += tally->arrivals[p];
}

static void take(Round *round, const Traffic *traffic) {
        for (size_t f = 0; f < traffic->n_flows; f++)
                take_flow(round, &traffic->flows[f]);
        for (unsigned a = 0; a < round->hosts.n * CHIPS; a++)
                take_tally(round, traffic, a);
        for (unsigned i = 0; i < REORDER_BUCKETS; i++)
                round->reorder[i] += traffic->reorder[i];
        for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
                round->latency[i] += traffic->latency[i];
        round->reorder_max = MAX(round->reorder_max, traffic->reorder_max);
        round->n_sampled += traffic->n_sampled;
}

Traffic *round_traffic(const Round *round, unsigned number) {
        Traffic *traffic = malloc(sizeof(*traffic));

        /* Flow numbers of this scan, apart from those of the last one. */
        if (traffic) {
                traffic_init(traffic, &round->hosts, step_seed(round->step) + number,
                             (uint32_t) (step_seed(round->step) * UINT64_C(0x9e3779b97f4a7c15) >> 32) + number * FLOWS_MAX,
                             (uint64_t) (round->parameters->latency * 1000));
                traffic->payload_min = boundaries[step_seed(round->step) % ELEMENTS(boundaries)];
        }
        return traffic;
}

/* Those at which something may have been left that was sent in another round, or that cannot be told from it: nothing there is judged. */
static AdapterSet unjudged_receivers(const Round *round) {
        return round->mute | round->garbled | round->flooded;
}

int round_run(Round *round, Traffic *traffic) {
        AdapterSet unjudged;
        int r;

        assert(round->n_bases < ROUNDS_MAX);
        traffic->earlier = round->bases;
        traffic->n_earlier = round->n_bases;
        r = traffic_run(traffic, round_answering(round) & ~unjudged_receivers(round));
        round->bases[round->n_bases++] = traffic->base;
        if (r < 0)
                return r;

        take(round, traffic);
        unjudged = unjudged_receivers(round);
        for (size_t f = 0; f < traffic->n_flows; f++) {
                const Flow *flow = &traffic->flows[f];

                if (!(unjudged >> flow->to & 1) && flow->path == NIC_PATH_SPRAYED)
                        ledger_add(&round->ledger, flow, round->parameters->bandwidth);
        }

        return round_suspects_paths(round) ? round_add_paths(round, traffic, unjudged) : 0;
}

/* ---- drain ---- */

typedef struct Drain {
        Round *round;
        size_t host;
        size_t n;
        uint8_t chips[CHIPS]; /* that have something left */
} Drain;

static void drain_box(void *userdata, unsigned chip, const NicBox *box) {
        Drain *drain = userdata;

        round_note_error(drain->round, (unsigned) drain->host * CHIPS + chip, box->error);
        if (box->error >= 0 && box->n > 0 && box->left > 0)
                drain->chips[drain->n++] = (uint8_t) chip;
}

static int find_waiting(Drain *drain) {
        Round *round = drain->round;
        uint64_t waiting[CHIPS];
        uint8_t chips[CHIPS];
        int errors[CHIPS], r;
        size_t n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                if (round_answering(round) >> (drain->host * CHIPS + c) & 1)
                        chips[n++] = (uint8_t) c;
        if (n == 0)
                return 0;

        r = device_nic_waiting(round->hosts.hosts[drain->host].device, chips, n, waiting, errors);
        for (size_t i = 0; i < n && r >= 0; i++) {
                round_note_error(round, (unsigned) drain->host * CHIPS + chips[i], errors[i]);
                if (errors[i] >= 0 && waiting[i] > 0)
                        drain->chips[drain->n++] = chips[i];
        }

        return r;
}

int round_drain(Round *round) {
        static const NicRoom room = { .arrivals_max = DRAIN_ARRIVALS };
        int r = 0;

        for (size_t h = 0; h < round->hosts.n && r >= 0; h++) {
                Drain drain = { .round = round, .host = h };

                r = find_waiting(&drain);
                for (unsigned k = 0; drain.n > 0 && k < DRAIN_MAX && r >= 0; k++) {
                        uint8_t chips[CHIPS];
                        size_t n = drain.n;

                        memcpy(chips, drain.chips, n);
                        drain.n = 0;
                        r = device_nic_receive(round->hosts.hosts[h].device, chips, n, &room, drain_box, &drain);
                }
                for (size_t i = 0; i < drain.n && r >= 0; i++)
                        round->flooded |= UINT64_C(1) << (h * CHIPS + drain.chips[i]);
        }

        return r;
}

/* ---- everyone's flows ---- */

/* HALF: of the sizes between; -1: all of them. */
static int add_flows(const Round *round, Traffic *traffic, unsigned from, unsigned to, int half) {
        uint32_t large = (uint32_t) round->parameters->large;
        int r = 0;

        for (unsigned part = 0; part < PARTS && r >= 0; part++)
                r = traffic_add(traffic, from, to, NIC_PATH_SPRAYED, (uint32_t) (round->parameters->packets + part) / PARTS, 1);
        for (size_t s = 0; s < ELEMENTS(boundaries) && r >= 0; s++)
                if (half < 0 || (int) (s % 2) == half)
                        r = traffic_add(traffic, from, to, NIC_PATH_SPRAYED, large, boundaries[s]);
        return r < 0 || half > 0 ? r : traffic_add(traffic, from, to, NIC_PATH_SPRAYED, large, LONGEST);
}

static unsigned list_chips(AdapterSet adapters, unsigned *chips) {
        unsigned n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                if (adapters >> c & 1)
                        chips[n++] = c;
        return n;
}

/* The partners of member I of a ring of N: the next, and one further on. */
static unsigned second_of(unsigned i, unsigned n) {
        return (i + (n > SECOND_PEER + 1 ? SECOND_PEER : 2)) % n;
}

static int plan_ring(const Round *round, AdapterSet members, Traffic *traffic) {
        unsigned chips[CHIPS], n = list_chips(members, chips);
        int r = 0;

        for (unsigned i = 0; i < n && r >= 0; i++) {
                r = add_flows(round, traffic, chips[i], chips[(i + 1) % n], n > 2 ? 0 : -1);
                if (r >= 0 && n > 2)
                        r = add_flows(round, traffic, chips[i], chips[second_of(i, n)], 1);
                if (r >= 0)
                        r = traffic_add(traffic, chips[i], chips[i], NIC_PATH_SPRAYED, LOOPED, LOOPED_BYTES);
        }

        return r;
}

static int add_peers(const Round *round, Traffic *traffic, unsigned from, unsigned to) {
        uint32_t large = (uint32_t) round->parameters->peers_large;
        int r;

        r = traffic_add(traffic, from, to, NIC_PATH_SPRAYED, (uint32_t) round->parameters->peers, 1);
        return r < 0 || large == 0 ? r : traffic_add(traffic, from, to, NIC_PATH_SPRAYED, large, LONGEST);
}

/* With each other server each adapter has one partner, both ways: with the next server the adapter of its own number, and with the one
 * before another, so that the steps of two servers drive different pairs of their adapters. */
static int plan_peers(const Round *round, Traffic *traffic) {
        AdapterSet answering = round_answering(round);
        int r = 0;

        for (unsigned h = 1; h < round->hosts.n; h++)
                for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                        unsigned far = h * CHIPS + (c + (h - 1) * SECOND_PEER) % CHIPS;

                        if (!(answering >> c & answering >> far & 1))
                                continue;
                        r = add_peers(round, traffic, c, far);
                        if (r >= 0)
                                r = add_peers(round, traffic, far, c);
                }

        return r;
}

int round_send_ring(Round *round) {
        _cleanup_traffic_ Traffic *traffic = round_traffic(round, 0);
        int r;

        if (!traffic)
                return -ENOMEM;
        r = plan_ring(round, round_own(round), traffic);
        if (r >= 0)
                r = plan_peers(round, traffic);
        return r < 0 ? r : round_run(round, traffic);
}

int round_send_rest(Round *round) {
        AdapterSet unjudged = unjudged_receivers(round), own = round_own(round);
        AdapterSet rest = own & ~(unjudged | round->flooding); /* or it would flood two more */
        _cleanup_traffic_ Traffic *traffic = NULL;
        int r;

        if (!(own & unjudged) || __builtin_popcountll(rest) < 2)
                return 0;
        traffic = round_traffic(round, 3);
        if (!traffic)
                return -ENOMEM;
        r = plan_ring(round, rest, traffic);
        return r < 0 ? r : round_run(round, traffic);
}

/* ---- when something is wrong ---- */

int round_send_paths(Round *round) {
        unsigned chips[CHIPS], n = list_chips(round_own(round), chips);
        _cleanup_traffic_ Traffic *traffic = round_traffic(round, 2);
        int r = 0;

        if (!traffic)
                return -ENOMEM;
        for (unsigned p = 0; p < NIC_PATHS; p++)
                for (unsigned i = 0; i < n && r >= 0; i++) {
                        r = traffic_add(traffic, chips[i], chips[(i + 1) % n], p, PINNED, 1);
                        if (r >= 0 && n > 2)
                                r = traffic_add(traffic, chips[i], chips[second_of(i, n)], p, PINNED, 1);
                }
        return r < 0 ? r : round_run(round, traffic);
}
