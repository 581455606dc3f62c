/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nic
 *
 * The EFA adapter beside each chip: 200 Gb/s, scalable reliable datagrams. What is on its way is kept as runs (who, which flow, how
 * many), with a note of the odd packets; packets exist only when they are received.
 *
 *     nic.c            the commands, and what passes between two adapters
 *     run.c        the order and the times in which the packets of a run arrive
 *     faults.c     what faults do to the packets of a run
 *     kinds.c      the kinds of fault
 *     counters.c   hw_counters
 */

#include "checks/text/cleanup.h"
#include "sim/chip/model.h"
#include "sim/nic/payload.h"

#define NIC_PACKETS_MAX  65536u
#define NIC_PACKET_NSEC  20u     /* of the adapter itself */
#define NIC_TIMEOUT_NSEC 1000000u
#define NIC_RESEND_NSEC  100000u /* after which what was not acknowledged is sent again */
#define NIC_DELAY_MAX    10000000u

#define EFA_OK           0u
#define EFA_NOT_READY    10u
#define EFA_UNRESPONSIVE 13u
#define EFA_UNREACHABLE  15u

/* What becomes of a packet that does not simply arrive. */
typedef enum Oddity {
        ODD_NONE,
        ODD_LOST,
        ODD_CORRUPT,
        ODD_TWICE,
        ODD_ASTRAY,
        ODD_DROPPED, /* on its way, and sent again until it arrived */
        ODD_REFUSED, /* by a receiver without a buffer */
        _ODD_MAX,
} Oddity;

typedef struct Late { /* a packet that was dropped */
        uint32_t sequence;
        uint16_t tries;
        uint16_t path;
        uint64_t nsec; /* when it arrives after all */
} Late;

/* Packets i, i + n_lanes, i + 2 × n_lanes … of a run: they take one path and stay in order on it. */
typedef struct RunLane {
        uint16_t path;
        uint16_t first; /* i */
        uint32_t lag;   /* in whole periods, of n_lanes packets, behind the start of the run */
        uint64_t phase; /* and the rest */
        uint64_t latency_nsec;
} RunLane;

typedef struct Run Run;

struct Run {
        Run *next;
        Chip *from;
        uint32_t flow, first, packets, bytes, path;
        uint64_t seed;
        uint64_t start_nsec, gap_nsec; /* between two packets */
        bool looped;    /* back to its sender: turned round in the adapter, on no path */
        uint32_t left;  /* arrivals still to come */
        uint8_t *odd;   /* Oddity of each packet; NULL: all as they should be */
        uint32_t n_odd[_ODD_MAX];
        size_t n_late, next_late;
        Late *late;     /* in the order of arrival */
        unsigned n_lanes;
        RunLane lanes[NIC_PATHS]; /* by phase */
        uint32_t round; /* the cursor: which period, which of the lanes */
        unsigned lane;
        bool again;     /* the packet at the cursor has been taken once */
};

/* What an adapter's clock shows is when a flow began, so much ahead, and what has passed since then at its pace. */
typedef struct NicClock {
        int64_t ahead_nsec;
        double pace;
} NicClock;

/* One arrival, without its content. */
typedef struct Arrived {
        uint32_t sequence;
        uint16_t path;
        Oddity what;
        uint64_t sent_nsec, arrived_nsec;
} Arrived;

typedef enum NicCounter {
        NIC_TX_BYTES,
        NIC_TX_PKTS,
        NIC_RX_BYTES,
        NIC_RX_PKTS,
        NIC_RX_DROPS,
        NIC_SEND_BYTES,
        NIC_SEND_WRS,
        NIC_RECV_BYTES,
        NIC_RECV_WRS,
        NIC_RDMA_READ_WRS,
        NIC_RDMA_READ_BYTES,
        NIC_RDMA_READ_WR_ERR,
        NIC_RDMA_READ_RESP_BYTES,
        NIC_RDMA_WRITE_WRS,
        NIC_RDMA_WRITE_BYTES,
        NIC_RDMA_WRITE_WR_ERR,
        NIC_RDMA_WRITE_RECV_BYTES,
        NIC_RETRANS_BYTES,
        NIC_RETRANS_PKTS,
        NIC_RETRANS_TIMEOUT_EVENTS,
        NIC_UNRESPONSIVE_REMOTE_EVENTS,
        NIC_IMPAIRED_REMOTE_CONN_EVENTS,
        _NIC_COUNTER_MAX,
} NicCounter;

typedef struct Nic {
        Chip *chip;
        Run *runs, **last;
        unsigned n_runs;
        uint64_t waiting; /* arrivals */
        const Fault **faults;
        size_t n_faults;
        uint64_t counters[_NIC_COUNTER_MAX];
} Nic;

typedef enum NicDirection {
        NIC_BOTH,
        NIC_SEND,
        NIC_RECEIVE,
} NicDirection;

extern const Model model_nic;

/* ---- run.c ---- */

/* Lays out when the packets of RUN arrive, from its fields up to gap_nsec, the odd ones, and the extra time of each path. TO: the
 * receiver; its sender itself: packets are turned round in the adapter. */
void run_schedule(Run *run, const Chip *to, const uint64_t extra_nsec[static NIC_PATHS]);
/* Which path packet SEQUENCE takes first. */
unsigned run_path(const Run *run, uint32_t sequence);
/* Notes what becomes of a packet, the first mishap only. -ENOMEM. */
int run_note(Run *run, uint32_t sequence, Oddity what);
/* The next arrival. Call only with arrivals left. */
Arrived run_next(Run *run);
Run *run_free(Run *run);
DEFINE_CLEANUP(Run *, run_free);

/* ---- faults.c ---- */

/* Whether the adapter answers nothing. */
bool nic_is_mute(const Nic *nic, const Execution *execution);
/* Whether its counters stand still, and whether they run backwards. */
bool nic_counters_stuck(const Nic *nic, const Execution *execution);
bool nic_counters_run_back(const Nic *nic, const Execution *execution);
/* As on adapters whose counters have 32 bits. */
bool nic_counters_wrap(const Nic *nic);
/* Sprays over one path, which *ret is. */
bool nic_has_single_path(const Nic *nic, const Execution *execution, uint32_t *ret);
/* The share of its bandwidth that it reaches. */
double nic_share(const Nic *nic, const Execution *execution);
NicClock nic_clock(const Nic *nic, const Execution *execution);
/* Packets that it sends beside those of a flow, to whom it sends that. */
uint32_t nic_flood(const Nic *nic, const Execution *execution);
/* Lets the faults of NIC, as one end of the flow, choose their packets, and adds to what paths take longer. */
int nic_suffer(const Nic *nic, NicDirection direction, const Execution *execution, Run *run, uint64_t extra_nsec[static NIC_PATHS]);
/* The same of what is wrong with the cable of NIC alone. */
int cable_suffer(const Nic *nic, NicDirection direction, const Execution *execution, Run *run);
/* The same of the fabric between them, and of chance where sound parts have noise. */
int fabric_suffer(const Nic *from, const Execution *execution, Run *run);

/* ---- kinds.c ---- */

int nic_inject(void *state, const Fault *fault);
void nic_heal(void *state, const Fault *fault);

/* ---- counters.c ---- */

extern const Attribute nic_attributes[];

void nic_count(Nic *nic, const Execution *execution, NicCounter counter, uint64_t n);
/* As after long service, or 32 bits wide and about to wrap: see the kinds of that name. */
void nic_counters_age(Nic *nic, bool wrap);
