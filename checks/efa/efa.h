/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One run of the check: efa.c drives the adapters, rounds.c says who sends what to whom, paths.c looks for what is wrong on one path only,
 * ties.c asks those more that are equally suspect, loops.c tells an adapter from its cable, counters.c reads and judges what adapters
 * count, findings.c says what is wrong with them, untested.c who was left out.
 *
 * A step judges the adapters of its own server. Those of other servers of the scan take part as partners; what is wrong with them
 * their own server's step says, which drives the same pairs.
 */

#include <stdint.h>

#include "checks/efa/blame.h"
#include "checks/step/step.h"

typedef struct EfaParameters {
        uint64_t packets; /* of one byte, to each partner in the server */
        uint64_t large;   /* of each other size, per flow */
        uint64_t peers;   /* of one byte, per flow between servers; 0: none */
        uint64_t peers_large; /* of the longest message, the same way; 0: none */
        double latency;   /* microseconds, one way: what a sound fabric stays below */
        double bandwidth; /* Gb/s of long messages that a sound adapter reaches */
} EfaParameters;

typedef enum NicCounter {
        COUNTER_TX_PKTS,
        COUNTER_TX_BYTES,
        COUNTER_RX_PKTS,
        COUNTER_RX_BYTES,
        COUNTER_RETRANS_PKTS,
        COUNTER_RX_DROPS, /* packets that met no buffer here */
        _NIC_COUNTER_MAX,
} NicCounter;

typedef struct Counters {
        uint64_t values[_NIC_COUNTER_MAX];
        uint16_t missing; /* bit per counter: not there, or no number */
} Counters;

/* Of each path a ledger of its own: what pinned flows said, and of sprayed ones what their order says of the path of a packet. */
typedef struct PathLedgers {
        Ledger ledgers[NIC_PATHS];
} PathLedgers;

/* Of one adapter, all rounds added up. */
typedef struct Sum {
        uint64_t n_sent, n_sent_bytes, n_received, n_received_bytes, n_foreign;
        uint32_t arrivals[NIC_PATHS]; /* of sprayed flows */
        uint64_t worst_nsec;
        uint64_t n_timed, n_paced;    /* packets, and flows of long messages, whose times were measured */
        double gbps;                  /* of the slowest of these flows; 0: none was measured */
} Sum;

#define ROUNDS_MAX    128u /* of one run, more than there are */
#define LOOPS_BATCH   32u  /* flows of an adapter to itself, of LOOP_PACKETS, that are sent at once */
#define LOOPS_MAX     512u
#define PINNED        256u /* packets of each flow on one path: 1024 touch each path of an adapter, what loses 1 % of them is missed once in 30,000 */
#define LOOP_PACKETS  PINNED /* as many as those that they are compared with have */

/* Of one adapter: of flows of the same size between it and others of its server, and of those to itself, how many there were. */
typedef struct LoopCount {
        unsigned n_others, n_others_wrong; /* wrong: at least a packet never arrived */
        unsigned n_loops;
} LoopCount;

typedef struct Round {
        Step *step;
        const EfaParameters *parameters;
        Hosts hosts;
        AdapterSet asked;    /* in the scan */
        AdapterSet silent;   /* of them: the chip does not answer */
        AdapterSet mute;     /* the adapter takes no command: to blame without further ado */
        AdapterSet garbled;  /* it says what none may say */
        AdapterSet strange;  /* packets of nobody arrived there, or without end */
        AdapterSet flooding; /* it sends what nobody asked for, as receivers say */
        AdapterSet sufferers[ADAPTERS_MAX]; /* by sender: these receivers */
        AdapterSet flooded;  /* it gets so much of that that its own flows cannot be judged */
        AdapterSet single;   /* it sprays over one path only */
        AdapterSet blamed[_WRONG_MAX];    /* of all servers, by the ledger */
        AdapterSet explained[_WRONG_MAX]; /* by single paths of the adapter */
        AdapterSet with_servers; /* own ones: something was found of them that flows within the server do not show */
        AdapterSet open;     /* own ones: what was wrong between it and a single other one may be of either end */
        Verdict verdicts[CHIPS];
        Verdict fabric; /* what is nobody's adapter */
        Counters before[CHIPS], after[CHIPS];
        uint32_t bases[ROUNDS_MAX]; /* numbers of the first flows of the rounds that were run */
        size_t n_bases;
        Sum sums[ADAPTERS_MAX];
        uint64_t reorder[REORDER_BUCKETS], latency[LATENCY_BUCKETS], n_sampled;
        uint32_t reorder_max;
        Ledger ledger;
        LoopCount loops[CHIPS]; /* of the own server */
        PathLedgers *paths;  /* NULL: there was no need to look */
        Flow corrupt[ADAPTERS_MAX]; /* by sender: the first flow with a corrupt packet */
        Flow denied[ADAPTERS_MAX];  /* by sender: a flow that arrived although the sender says it did not; else no packets */
} Round;

extern const char *const efa_counter_paths[_NIC_COUNTER_MAX];

/* Those that take part and answer. */
AdapterSet round_answering(const Round *round);
/* Those of them that are the own server's. */
AdapterSet round_own(const Round *round);
/* What an adapter alone is to blame for: it answers nonsense, or takes no command. */
void round_note_error(Round *round, unsigned adapter, int error);
Location round_adapter(const Round *round, unsigned adapter);

/* ---- efa.c ---- */

/* Whether that server of the scan, by its place in it, and the own one send each other packets. */
bool round_is_partner(const Round *round, size_t server);

/* ---- untested.c ---- */

/* Adapters and servers that were left out, by name. */
int round_tell_untested(const Round *round);

/* ---- rounds.c ---- */

/* Flows of the round of this NUMBER, none yet; NULL without memory. Released with _cleanup_traffic_. */
Traffic *round_traffic(const Round *round, unsigned number);
/* Runs them, and adds what became of them to all sums. */
int round_run(Round *round, Traffic *traffic);
/* Takes away what earlier runs and scans may have left behind. An adapter at which more is left than can be taken is flooded: what is of
 * this run and what is not cannot be told there. */
int round_drain(Round *round);
/* Everyone's flows: to two others of the server, to itself, to and from other servers. */
int round_send_ring(Round *round);
/* Once more without adapters that turned out to take no part, so that what was to be exchanged with them is with others. */
int round_send_rest(Round *round);
/* Everyone's flows once more, pinned to each path. */
int round_send_paths(Round *round);

/* ---- ties.c ---- */

/* More traffic where two ends are equally suspect, until one of them has wrong flows with a third one or the traffic is used up. */
int round_tell_apart(Round *round);

/* ---- loops.c ---- */

/* Counts a flow of LOOP_PACKETS between two adapters or of one to itself. */
void round_count_flow(Round *round, const Flow *flow);
/*
 * Adapters that lose packets send to themselves, which does not touch cable, switch or fabric, until a packet is lost there too or until
 * that none was says something.
 */
int round_send_loops(Round *round);
/*
 * Whether flows of the adapter to itself, all of which arrived, would not have done so if the adapter were what loses packets: it would
 * lose them in at least as large a share of these flows as of those to others (such a flow passes it twice). Fisher's exact test, one-sided:
 * the chance that all of the wrong flows are among those to others is 0.001 or less.
 */
bool loops_are_silent(const LoopCount *count);

/* ---- paths.c ---- */

/* Whether something went wrong that a single path can do. */
bool round_suspects_paths(const Round *round);
/* How many late packets among N are more than a sound fabric makes: expected of all adapters of a fleet less than once in a hundred sweeps. */
uint64_t late_limit(uint64_t n);
/* That own adapter CHIP has more of them than that. */
Decided round_late_decided(const Round *round, unsigned chip);
/* As ledger_blame(), without those whose late packets chance explains. */
Blame round_blame(const Ledger *ledger, Wrong wrong, AdapterSet known);
/* Notes of own adapter CHIP, which LEDGER blames for WRONG, whether the flows within its server alone would. KNOWN: as of round_blame(). */
void round_note_with_servers(Round *round, const Ledger *ledger, Wrong wrong, AdapterSet known, unsigned chip);
/* How many adapters of a sound server would be called so, on average. */
double late_false_alarms(const Round *round);
/* Adds what TRAFFIC says of each path. */
int round_add_paths(Round *round, const Traffic *traffic, AdapterSet unjudged);
/* Paths of the fabric, and of single adapters. What the fabric explains is taken out of the ledger. */
int round_find_paths(Round *round);

/* ---- counters.c ---- */

/* Of all chips of the own server that answer; those that do not turn out here. */
int round_read_counters(Round *round, Counters *counters);
int round_judge_counters(Round *round, unsigned chip);
/* By how much a counter moved; -EPROTO where it ran backwards. */
int counter_moved(uint64_t before, uint64_t after, uint64_t *ret);

/* ---- findings.c ---- */

/* Adapters that answer nothing or nonsense, that send or get what nobody sent, that use one path. */
int round_find_plain(Round *round);
/* Everything the ledger says, at those it is to be blamed on. */
int round_find_wrong(Round *round);
