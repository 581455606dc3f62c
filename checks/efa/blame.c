/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/efa/blame.h"

#include <string.h>
#include <sys/param.h>

/* Packets that the sender says met no buffer of the receiver, be it so or not; a flow that ended so has one at least. */
static uint32_t flow_refused(const Flow *flow) {
        if (flow->completion.status != EFA_NOT_READY)
                return 0;
        return flow->packets - (uint32_t) MIN(flow->completion.delivered, flow->packets - 1);
}

/* What it says of is no loss that nobody speaks of. */
static void add_missing(Pair *pair, const Flow *flow) {
        uint32_t refused = flow_refused(flow), lost = flow_lost(flow);

        pair->n_wrong[WRONG_NOT_READY] += refused;
        pair->n_wrong[WRONG_LOSS] += lost - MIN(lost, refused);
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

/* Other ends of ADAPTER's wrong flows, itself where it is one. */
static AdapterSet partners_of(const Wrongs *wrongs, unsigned adapter) {
        AdapterSet partners = wrongs->to[adapter];

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (wrongs->to[a] >> adapter & 1)
                        partners |= UINT64_C(1) << a;

        return partners;
}

/* Those with wrong flows. */
static AdapterSet adapters_of(const Wrongs *wrongs) {
        AdapterSet adapters = 0;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (n_wrongs(wrongs, a) > 0)
                        adapters |= UINT64_C(1) << a;

        return adapters;
}

/* Whether the number of its wrong flows says something: one of another server, until more is asked, talks to a single one of the own. */
static bool is_weighed(const Wrongs *wrongs, unsigned adapter) {
        AdapterSet own = partners_of(wrongs, adapter) & OWN_ADAPTERS;

        return __builtin_popcountll(own) >= (adapter < CHIPS ? 1 : 2);
}

/* One that has as many wrong flows as ADAPTER and shares one with it: either could be the one. -1 without. */
static int rival_of(const Wrongs *wrongs, unsigned adapter) {
        AdapterSet partners = partners_of(wrongs, adapter);

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (a != adapter && partners >> a & 1 && is_weighed(wrongs, a) && n_wrongs(wrongs, a) == n_wrongs(wrongs, adapter))
                        return (int) a;

        return -1;
}

/* Whether adapters of other servers have it in common: one broken one is likelier than two. */
static bool is_shared(const Wrongs *wrongs, unsigned adapter) {
        return adapter < CHIPS && __builtin_popcountll(partners_of(wrongs, adapter)) >= 2;
}

/* The one with the most wrong flows of those that COUNTS; -1: there is none. */
static int worst_of(const Wrongs *wrongs, bool (*counts)(const Wrongs *wrongs, unsigned adapter)) {
        unsigned most = 0;
        int worst = -1;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                unsigned n = n_wrongs(wrongs, a);

                if (n > most && counts(wrongs, a)) {
                        most = n;
                        worst = (int) a;
                }
        }

        return worst;
}

static bool is_tie(const Wrongs *wrongs, unsigned a, unsigned b) {
        return partners_of(wrongs, a) == UINT64_C(1) << b && partners_of(wrongs, b) == UINT64_C(1) << a;
}

static void note_tie(unsigned a, unsigned b, Blame *blame) {
        blame->tied |= UINT64_C(1) << a | UINT64_C(1) << b;
        blame->ends[a] = UINT64_C(1) << b;
        blame->ends[b] = UINT64_C(1) << a;
}

/* Whom ADAPTER talked to, itself left out. */
static AdapterSet heard_of(const Ledger *ledger, unsigned adapter) {
        AdapterSet heard = 0;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (a != adapter && ledger->pairs[adapter][a].n_packets + ledger->pairs[a][adapter].n_packets > 0)
                        heard |= UINT64_C(1) << a;
        return heard;
}

/* With whom it had it, where that is too few others to say which end it is, and there were more. */
static void note_shared(const Ledger *ledger, const Wrongs *wrongs, unsigned adapter, Blame *blame) {
        AdapterSet partners = partners_of(wrongs, adapter), one = UINT64_C(1) << adapter;

        if (__builtin_popcountll(partners) >= (int) SURE_PARTNERS || partners & one || !(heard_of(ledger, adapter) & ~partners))
                return;
        blame->shared |= one;
        blame->ends[adapter] = partners;
        blame->unsure |= one | partners;
}

static void blame_worst(Wrongs *wrongs, unsigned worst, Blame *blame) {
        int rival = rival_of(wrongs, worst);
        AdapterSet both = UINT64_C(1) << worst;

        if (rival >= 0) {
                both |= UINT64_C(1) << rival;
                blame->suspects |= both;
                if (is_tie(wrongs, worst, (unsigned) rival))
                        note_tie(worst, (unsigned) rival, blame);
                explain(wrongs, (unsigned) rival);
        }
        if (both & ~OWN_ADAPTERS)
                blame->open |= both & OWN_ADAPTERS;
        blame->blamed |= both;
        explain(wrongs, worst);
}

/* Of all pairs with no end in KNOWN. */
static Wrongs list_wrongs(const Ledger *ledger, Wrong wrong, AdapterSet known) {
        Wrongs wrongs = {};

        for (unsigned from = 0; from < ADAPTERS_MAX; from++)
                for (unsigned to = 0; to < ADAPTERS_MAX; to++)
                        if (ledger->pairs[from][to].n_wrong[wrong] > 0)
                                wrongs.to[from] |= UINT64_C(1) << to;
        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (known >> a & 1)
                        explain(&wrongs, a);

        return wrongs;
}

Blame ledger_blame(const Ledger *ledger, Wrong wrong, AdapterSet known) {
        Blame blame = {};
        AdapterSet left;
        Wrongs wrongs;
        int worst;

        if (ledger->n_wrong[wrong] == 0)
                return blame;
        wrongs = list_wrongs(ledger, wrong, known);
        if (wrong == WRONG_NOT_READY)
                return blame_not_ready(wrongs);

        while ((worst = worst_of(&wrongs, is_weighed)) >= 0) {
                Wrongs before = wrongs;
                AdapterSet blamed = blame.blamed;

                blame_worst(&wrongs, (unsigned) worst, &blame);
                for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                        if ((blame.blamed & ~(blamed | blame.tied)) >> a & 1)
                                note_shared(ledger, &before, a, &blame);
        }
        /* Left are flows between the own server and others: one alone does not say which end it is. */
        left = adapters_of(&wrongs);
        while ((worst = worst_of(&wrongs, is_shared)) >= 0)
                blame_worst(&wrongs, (unsigned) worst, &blame);
        blame.unsure |= blame.suspects | left;
        left = adapters_of(&wrongs);
        blame.blamed |= left;
        blame.suspects |= left;
        blame.open |= left & OWN_ADAPTERS;
        return blame;
}

AdapterSet blame_ends(const Blame *blame, unsigned adapter) {
        AdapterSet one = UINT64_C(1) << adapter, ends = (blame->tied | blame->shared) & one ? blame->ends[adapter] : 0;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                if (blame->shared >> a & 1 && blame->ends[a] & one)
                        ends |= UINT64_C(1) << a;
        return ends;
}
