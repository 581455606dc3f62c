/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Blame
 *
 * Which adapters explain what went wrong. Every adapter talks to at least two others, both ways, and to itself, so the one that is
 * broken has more wrong flows than any adapter it talked to. Where that leaves two ends equal, both are suspects: more
 * traffic to others tells them apart, or both are blamed.
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

/*
 * The adapters to blame for WRONG. *ret_suspects are those among them that could as well be innocent, each with the
 * other end of its wrong flow. Pairs with an adapter in KNOWN are explained by it.
 */
AdapterSet ledger_blame(const Ledger *ledger, Wrong wrong, AdapterSet known, AdapterSet *ret_suspects);
