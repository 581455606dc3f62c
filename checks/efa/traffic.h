/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Traffic
 *
 * One round of flows between adapters: sent, received, and every packet accounted for. A packet is told by flow and sequence; the
 * flow says who sent it to whom, so one that turns up elsewhere is known for what it is. Adapters are numbered through all servers that
 * take part, sixteen for each, the own server's first.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "checks/port/device-nic.h"
#include "checks/text/cleanup.h"

#define FLOWS_MAX        640u /* of a round */
#define HOSTS_MAX        3u   /* the own server, and those before and behind it in the scan */
#define ADAPTERS_MAX     (HOSTS_MAX * CHIPS)
#define EFA_OK           0u
#define EFA_NOT_READY    10u
#define EFA_UNRESPONSIVE 13u
#define EFA_UNREACHABLE  15u
#define REORDER_BUCKETS  18u /* 0, 1, 2–3, 4–7 … packets behind the highest one */
#define LATENCY_BUCKETS  128u
#define LATENCY_BUCKET   250u /* nsec; the last one has all beyond */
#define INCIDENTS_MAX    65536u
#define LARGE_BYTES      4095u /* from here on the time on the wire is what a packet costs */

#define TURN_UNKNOWN (-1)
#define TURN_NONE    (-2)

typedef uint64_t AdapterSet; /* bit per adapter */

typedef struct Host {
        Device *device;
        char name[WIRE_SERVER_MAX];
} Host;

typedef struct Hosts {
        size_t n;
        Host hosts[HOSTS_MAX];
} Hosts;

typedef struct Flow {
        uint8_t from, to; /* adapters */
        uint32_t path;    /* NIC_PATH_SPRAYED or pinned */
        uint32_t packets, bytes;
        int error; /* of sending: see device-nic.h */
        NicCompletion completion;
        uint32_t n_here;   /* arrived where they should, each counted once */
        uint32_t n_astray; /* arrived at another adapter */
        uint32_t n_again;  /* arrived once more */
        uint32_t n_corrupt;
        uint32_t n_late;   /* beyond the limit of latency */
        uint32_t n_early;  /* before they were sent */
        uint32_t n_reordered;
        uint16_t paths;    /* bit per path that a packet came on that was not late */
        int8_t turn;       /* of a sprayed flow: packet s took path (turn + s) % NIC_PATHS; TURN_UNKNOWN, TURN_NONE: it did not */
        uint32_t seen;     /* where its bits begin in Traffic.seen */
        uint32_t low, high; /* the first and last packet sent, of those that arrived so far, and when; low above high: none did */
        uint64_t low_nsec, high_nsec;
        uint64_t worst_nsec; /* latency */
        uint32_t corrupt_sequence, corrupt_expected, corrupt_actual; /* the first */
} Flow;

typedef enum Wrong {
        WRONG_LOSS,
        WRONG_CORRUPTION,
        WRONG_DELIVERY,  /* at another adapter, or twice */
        WRONG_LATE,      /* later than a sound fabric delivers */
        _WRONG_PACKET_MAX, /* those above happen to single packets, and so may happen on one path only */
        WRONG_SILENCE = _WRONG_PACKET_MAX, /* the sender's adapter says that the remote does not respond */
        WRONG_NOT_READY, /* or that it had no buffer */
        WRONG_SLOW,      /* flows of long messages below the bandwidth of an adapter */
        WRONG_CLOCK,     /* times that cannot be */
        _WRONG_MAX,
} Wrong;

typedef struct Incident {
        uint16_t flow;
        uint16_t what; /* Wrong */
        uint32_t sequence;
} Incident;

/* Of one adapter, the flows of this round added up. */
typedef struct Tally {
        uint64_t n_expected, n_received, n_received_bytes, n_sent, n_sent_bytes;
        uint32_t n_strange;      /* arrivals of no flow of ours, from nobody that takes part */
        AdapterSet strangers;    /* who takes part and sent it what is of no flow of ours, in no round so far */
        uint64_t n_foreign;      /* packets of no flow of ours that it sent itself */
        bool flooded;            /* more arrives than all flows together can explain */
        int error;               /* of receiving */
        uint32_t arrivals[NIC_PATHS]; /* on each path, from it and to it */
} Tally;

typedef struct Traffic {
        const Hosts *hosts;
        const Host *sender;       /* of the last arrival, with the name that it gave */
        char sender_name[WIRE_SERVER_MAX];
        uint64_t seed;
        uint32_t base;            /* number of flow 0 */
        const uint32_t *earlier;  /* bases of rounds before it, borrowed: a box that was called empty too early still holds packets of these */
        size_t n_earlier;
        uint64_t latency_max_nsec;
        uint32_t payload_min;     /* bytes of the flows of which a payload is compared byte by byte */
        size_t n_flows;
        Flow flows[FLOWS_MAX];
        uint64_t *seen;           /* a bit per packet */
        Tally tallies[ADAPTERS_MAX];
        size_t n_incidents;
        Incident *incidents;      /* of packets that arrived, the first INCIDENTS_MAX */
        uint64_t n_sampled;       /* payloads compared byte by byte */
        uint64_t reorder[REORDER_BUCKETS]; /* of sprayed flows */
        uint32_t reorder_max;
        uint32_t latency[LATENCY_BUCKETS];
} Traffic;

void traffic_init(Traffic *traffic, const Hosts *hosts, uint64_t seed, uint32_t base, uint64_t latency_max_nsec);
void traffic_done(Traffic *traffic);

static inline void traffic_freep(Traffic **traffic) {
        if (*traffic)
                traffic_done(*traffic);
        free(*traffic);
}
#define _cleanup_traffic_ _cleanup_(traffic_freep)

/* -E2BIG beyond FLOWS_MAX. */
int traffic_add(Traffic *traffic, unsigned from, unsigned to, uint32_t path, uint32_t packets, uint32_t bytes);

/* Sends all flows and takes all arrivals, at the adapters of RECEIVERS. */
int traffic_run(Traffic *traffic, AdapterSet receivers);

/* Packets of FLOW that arrived nowhere. */
uint32_t flow_lost(const Flow *flow);

/* All packets of FLOW arrived, and its sender's adapter says otherwise. */
bool flow_is_denied(const Flow *flow);

/* How fast FLOW was sent, in Gb/s, by the sender's clock; 0 where that cannot be told of it, infinite where its times stand still. */
double flow_gbps(const Flow *flow);

/*
 * Packets of FLOW whose times cannot be: those that arrived before they were sent; and all of them, where the distance of its packets
 * is not the time that the sender's chip says it took to send them. A clock that lies makes no slow adapter fast.
 */
uint32_t flow_mistimed(const Flow *flow);

/* Whether packet SEQUENCE of FLOW has arrived, anywhere. */
static inline bool traffic_has_seen(const Traffic *traffic, const Flow *flow, uint32_t sequence) {
        return traffic->seen[flow->seen + sequence / 64] >> sequence % 64 & 1;
}

/* ---- arrivals.c ---- */

void traffic_account(Traffic *traffic, unsigned adapter, const WireArrival *arrival, const uint8_t *payload);
