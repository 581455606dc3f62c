/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Blame
 *
 * Which adapters explain what went wrong. Every adapter talks to at least two others, both ways, and to itself, so the one that is
 * broken has more wrong flows than any adapter it talked to. Where that leaves two ends equal, both are suspects: more traffic to
 * others tells them apart. Two that had something wrong with each other alone, however much more was asked, are tied: one of them is
 * sound, so neither is to be called broken. Nor is one that had it with two others and with none besides: these may come and go and have it
 * in common. An adapter of another server talks to a single one of the own until it is suspect,
 * so wrong flows between the two count for neither; where more traffic does not tell it, which it is stays open.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/efa/traffic.h"

typedef struct Pair {
        uint64_t n_packets;
        uint32_t n_wrong[_WRONG_MAX];
} Pair;

typedef struct Ledger {
        Pair pairs[ADAPTERS_MAX][ADAPTERS_MAX]; /* [from][to] */
        uint64_t n_wrong[_WRONG_MAX];           /* of all pairs */
} Ledger;

/* Adds one flow; slow_gbps: below what it is slow. Flows that the sender's adapter would not take say nothing. */
void ledger_add(Ledger *ledger, const Flow *flow, double slow_gbps);

/* What the flows of ADAPTER, both ways, add up to. */
Pair ledger_sum(const Ledger *ledger, unsigned adapter);

#define SURE_PARTNERS 3u /* of one that is to blame. Fewer may be two adapters that come and go */
#define OWN_ADAPTERS UINT64_C(0xffff) /* of the server whose step it is */

typedef struct Blame {
        AdapterSet blamed;
        AdapterSet suspects; /* of them those that could as well be innocent, as could the other end of their wrong flows */
        AdapterSet tied;     /* of these those that had wrong flows with a single other one, which had them with nobody else */
        AdapterSet shared;   /* of those blamed, but not tied, those that had wrong flows with fewer than SURE_PARTNERS others, although they talked to
                              * more, and not with themselves: as well these others may be broken and have one partner in common */
        AdapterSet ends[ADAPTERS_MAX]; /* of those that are tied or shared: whom they had wrong flows with */
        AdapterSet open;     /* of the suspects those of the own server whose other end is another server's: nothing is to be said of them here */
        AdapterSet unsure;   /* suspects, those that are shared and whom they had it with, both ends of flows between servers that nothing else explains, and of reports that few agree with: more
                              * is to be asked of them */
        AdapterSet senders;  /* of those blamed for WRONG_NOT_READY those that said so of receivers which were ready; the others were not ready */
} Blame;

/* Who had something wrong with whom: receivers of each sender. */
typedef struct Wrongs {
        AdapterSet to[ADAPTERS_MAX];
} Wrongs;

/* The adapters to blame for WRONG. Pairs with an adapter in KNOWN are explained by it. */
Blame ledger_blame(const Ledger *ledger, Wrong wrong, AdapterSet known);

/* Those with which ADAPTER is tied or shares what went wrong, so that neither end is to be called broken for it. */
AdapterSet blame_ends(const Blame *blame, unsigned adapter);

/* ---- not-ready.c ---- */

/*
 * The same of WRONG_NOT_READY. A receiver says itself that it was not ready (EFA status 10, the negative acknowledgement of InfiniBand's
 * reliable transport), but what is known of it is the sender's completion. So it is the receiver's where several senders, itself among them,
 * say it; a sender that says it of several receivers, each of which is ready for all others, is to blame itself; and a single pair is tied.
 */
Blame blame_not_ready(Wrongs reports);
