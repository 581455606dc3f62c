/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Blame
 *
 * Which adapters explain what went wrong. Every adapter talks to at least two others, both ways, so the one that is
 * broken has more wrong flows than any adapter it talked to. Where that leaves two ends equal, both are suspects: more
 * traffic to others tells them apart, or both are blamed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/efa/traffic.h"

typedef enum Wrong {
        WRONG_LOSS,
        WRONG_CORRUPTION,
        WRONG_DELIVERY, /* at another adapter, or twice */
        WRONG_SILENCE,  /* the sender's adapter says that the remote does not respond */
        _WRONG_MAX,
} Wrong;

typedef struct Pair {
        uint64_t n_packets, n_wrong[_WRONG_MAX];
} Pair;

typedef struct Ledger {
        Pair pairs[CHIPS][CHIPS]; /* [from][to] */
} Ledger;

/* Adds a round. Flows that the sender's adapter would not take, and those to adapters of the mask DEAF, say nothing. */
void ledger_add(Ledger *ledger, const Traffic *traffic, uint16_t deaf);

/* What the flows of CHIP, both ways, add up to. */
Pair ledger_sum(const Ledger *ledger, unsigned chip);

/*
 * The adapters to blame for WRONG. *ret_suspects are those among them that could as well be innocent, each with the
 * other end of its wrong flow. Pairs with an adapter in KNOWN are explained by it.
 */
uint16_t ledger_blame(const Ledger *ledger, Wrong wrong, uint16_t known, uint16_t *ret_suspects);
