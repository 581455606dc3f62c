/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Traffic
 *
 * One round of flows between the adapters of a server: sent, received, and every packet accounted for. A packet is told
 * by flow and sequence; the flow says who sent it to whom, so one that turns up elsewhere is known for what it is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/device-nic.h"

#define FLOWS_MAX         256u /* of a round: one batch */
#define TRAFFIC_SIZES     5u
#define EFA_OK            0u
#define EFA_UNRESPONSIVE  13u
#define EFA_UNREACHABLE   15u

extern const uint16_t traffic_sizes[TRAFFIC_SIZES]; /* of messages, at the boundaries of pages and of the longest one */

typedef struct Flow {
        uint8_t from, to; /* chips */
        uint32_t packets, bytes;
        int error; /* of sending: see device-nic.h */
        NicCompletion completion;
        uint32_t n_here;   /* arrived where they should, each counted once */
        uint32_t n_astray; /* arrived at another adapter */
        uint32_t n_again;  /* arrived once more */
        uint32_t n_corrupt;
        uint32_t highest;  /* sequence so far, plus one */
        uint32_t reorder;  /* how far behind the highest one came */
        uint32_t seen;     /* where its bits begin in Traffic.seen */
        uint32_t corrupt_sequence, corrupt_expected, corrupt_actual; /* the first */
} Flow;

typedef struct Traffic {
        Device *device;
        const char *server;
        uint64_t seed;
        uint32_t base; /* number of flow 0 */
        size_t n_flows;
        Flow flows[FLOWS_MAX];
        uint64_t *seen; /* a bit per packet */
        uint64_t n_expected[CHIPS]; /* arrivals at each adapter */
        uint64_t n_received[CHIPS], n_received_bytes[CHIPS];
        uint64_t n_sent[CHIPS], n_sent_bytes[CHIPS];
        uint32_t n_strange[CHIPS]; /* arrivals of no flow of ours */
        bool flooded[CHIPS];       /* more arrives than all flows together can explain */
        int errors[CHIPS];         /* of receiving */
        uint64_t n_sampled;        /* payloads compared byte by byte */
} Traffic;

void traffic_init(Traffic *traffic, Device *device, const char *server, uint64_t seed, uint32_t base);
void traffic_done(Traffic *traffic);

/* -E2BIG beyond FLOWS_MAX. */
int traffic_add(Traffic *traffic, unsigned from, unsigned to, uint32_t packets, uint32_t bytes);

/* Sends all flows and takes all arrivals, at the chips of the bit mask RECEIVERS. */
int traffic_run(Traffic *traffic, uint16_t receivers);

/* Packets of FLOW that arrived nowhere. */
uint32_t flow_lost(const Flow *flow);

/* All packets of FLOW arrived, and its sender's adapter says otherwise. */
bool flow_is_denied(const Flow *flow);
