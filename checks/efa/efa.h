/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of the check: efa.c drives the adapters, findings.c says what is wrong with them. */

#include <stdint.h>

#include "checks/efa/blame.h"
#include "checks/step.h"

typedef struct EfaParameters {
        uint64_t packets; /* of one byte, per flow */
        uint64_t large;   /* of each other size, per flow */
} EfaParameters;

typedef enum NicCounter {
        COUNTER_TX_PKTS,
        COUNTER_TX_BYTES,
        COUNTER_RX_PKTS,
        COUNTER_RX_BYTES,
        _NIC_COUNTER_MAX,
} NicCounter;

typedef struct Counters {
        uint64_t values[_NIC_COUNTER_MAX];
        uint16_t missing; /* bit per counter: not there, or no number */
} Counters;

typedef struct Round {
        Step *step;
        const EfaParameters *parameters;
        Device *device;
        const char *server;
        uint16_t asked;   /* chips in the scan */
        uint16_t silent;  /* of them: the chip does not answer */
        uint16_t mute;    /* its adapter takes no command: to blame without further ado */
        uint16_t garbled; /* its adapter says what none may say */
        uint16_t strange; /* packets of nobody arrived there, or without end */
        Verdict verdicts[CHIPS];
        Counters before[CHIPS], after[CHIPS];
        uint64_t n_sent[CHIPS], n_sent_bytes[CHIPS], n_received[CHIPS], n_received_bytes[CHIPS];
        uint32_t reorder;
        uint64_t n_sampled;
        Ledger ledger;
        Flow corrupt[CHIPS]; /* by sender: the first flow with a corrupt packet */
        Flow denied[CHIPS];  /* by sender: a flow that arrived although the sender says it did not; else no packets */
} Round;

extern const char *const efa_counter_paths[_NIC_COUNTER_MAX];

uint16_t round_answering(const Round *round);

/* Adapters that answer nothing or nonsense, and arrivals that nobody sent. */
int round_find_plain(Round *round);
/* Everything the ledger says, at those it is to be blamed on. */
int round_find_wrong(Round *round);
int round_judge_counters(Round *round, unsigned chip);
