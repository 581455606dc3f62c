/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/efa/blame.h"

#include <string.h>

/* Packets that the sender knows to be gone, as the receiver had no buffer, are no loss that nobody speaks of. */
static void add_missing(Pair *pair, const Flow *flow) {
        uint64_t refused = flow->completion.status == EFA_NOT_READY ? flow->packets - flow->completion.delivered : 0;
        uint32_t lost = flow_lost(flow);

        if (refused > lost)
                refused = lost;
        pair->n_wrong[WRONG_NOT_READY] += (uint32_t) refused;
        pair->n_wrong[WRONG_LOSS] += lost - (uint32_t) refused;
}

void ledger_add(Ledger *ledger, const Flow *flow, double slow_gbps) {
        Pair *pair = &ledger->pairs[flow->from][flow->to], before = *pair;
        double gbps = flow_gbps(flow);

        if (flow->error < 0)
                return;

        pair->n_packets += flow->packets;
        if (flow->completion.status != EFA_OK && flow->completion.status != EFA_NOT_READY)
                pair->n_wrong[WRONG_SILENCE] += flow->packets;
        else {
                add_missing(pair, flow);
                pair->n_wrong[WRONG_CORRUPTION] += flow->n_corrupt;
                pair->n_wrong[WRONG_DELIVERY] += flow->n_astray + flow->n_again;
                pair->n_wrong[WRONG_LATE] += flow->n_late;
                pair->n_wrong[WRONG_SLOW] += gbps > 0 && gbps < slow_gbps ? flow->packets : 0;
                pair->n_wrong[WRONG_CLOCK] += flow_mistimed(flow);
        }
        for (unsigned w = 0; w < _WRONG_MAX; w++)
                ledger->n_wrong[w] += pair->n_wrong[w] - before.n_wrong[w];
}

Pair ledger_sum(const Ledger *ledger, unsigned adapter) {
        Pair sum = {};

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                for (unsigned way = 0; way < (a == adapter ? 1u : 2u); way++) {
                        const Pair *pair = way == 0 ? &ledger->pairs[adapter][a] : &ledger->pairs[a][adapter];

                        sum.n_packets += pair->n_packets;
                        for (unsigned w = 0; w < _WRONG_MAX; w++)
                                sum.n_wrong[w] += pair->n_wrong[w];
                }

        return sum;
}

typedef struct Wrongs {
        AdapterSet to[ADAPTERS_MAX]; /* receivers of each sender */
} Wrongs;

static void explain(Wrongs *wrongs, unsigned adapter) {
        wrongs->to[adapter] = 0;
        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                wrongs->to[a] &= ~(UINT64_C(1) << adapter);
}

static unsigned n_wrongs(const Wrongs *wrongs, unsigned adapter) {
        unsigned n = (unsigned) __builtin_popcountll(wrongs->to[adapter]);

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                n += a != adapter && wrongs->to[a] >> adapter & 1;

        return n;
}

/* One that has as many wrong flows as ADAPTER and shares one with it: either could be the one. -1 without. */
static int rival_of(const Wrongs *wrongs, unsigned adapter) {
        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (a != adapter && ((wrongs->to[adapter] >> a | wrongs->to[a] >> adapter) & 1) &&
                    n_wrongs(wrongs, a) == n_wrongs(wrongs, adapter))
                        return (int) a;

        return -1;
}

static unsigned worst_of(const Wrongs *wrongs) {
        unsigned worst = 0, most = 0;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                unsigned n = n_wrongs(wrongs, a);

                if (n > most) {
                        most = n;
                        worst = a;
                }
        }

        return worst;
}

AdapterSet ledger_blame(const Ledger *ledger, Wrong wrong, AdapterSet known, AdapterSet *ret_suspects) {
        AdapterSet blamed = 0, suspects = 0;
        Wrongs wrongs = {};

        *ret_suspects = 0;
        if (ledger->n_wrong[wrong] == 0)
                return 0;
        for (unsigned from = 0; from < ADAPTERS_MAX; from++)
                for (unsigned to = 0; to < ADAPTERS_MAX; to++)
                        if (ledger->pairs[from][to].n_wrong[wrong] > 0)
                                wrongs.to[from] |= UINT64_C(1) << to;
        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (known >> a & 1)
                        explain(&wrongs, a);

        for (;;) {
                unsigned worst = worst_of(&wrongs);
                int rival;

                if (n_wrongs(&wrongs, worst) == 0)
                        break;

                rival = rival_of(&wrongs, worst);
                blamed |= UINT64_C(1) << worst;
                if (rival >= 0) {
                        suspects |= UINT64_C(1) << worst | UINT64_C(1) << rival;
                        explain(&wrongs, (unsigned) rival);
                }
                explain(&wrongs, worst);
        }

        *ret_suspects = suspects;
        return blamed | suspects;
}
