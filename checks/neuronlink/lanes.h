/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lane: what is known of one lane at the port that receives it, from all PRBS runs so far; and runs over many ports at a time, which
 * count errors for ports' own counters as they go.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/port/device-link.h"

typedef struct Fabric Fabric;

typedef struct PortId {
        uint8_t server; /* of Fabric.servers */
        uint8_t chip;
        uint8_t port;
} PortId;

typedef enum LaneFault {
        LANE_SOUND,
        LANE_LOW,      /* idle, at either level */
        LANE_HIGH,
        LANE_UNLOCKED, /* changes, but is no pattern */
        LANE_LATE,     /* locks long after the pattern began */
        LANE_INVERTED,
        LANE_CROSSED,  /* carries the stream of another lane of this port: source */
        LANE_FOREIGN,  /* a stream that no lane sent */
        LANE_SKEWED,   /* its own stream, but further from the others than they can be brought together: skew */
        _LANE_FAULT_MAX,
} LaneFault;

#define CROSSTALK_PROOFS 10u

/* Between which stages of the loopback ladder a lane breaks, on its way from the far port to this one. */
typedef enum Segment {
        SEGMENT_UNKNOWN, /* no ladder was run, or all of it is sound */
        SEGMENT_FAR_PCS,
        SEGMENT_FAR_PMA,
        SEGMENT_LINE,    /* driver, board or cable, input of the receiver */
        SEGMENT_OWN_PMA,
        SEGMENT_OWN_PCS,
        _SEGMENT_MAX,
} Segment;

typedef struct Lane {
        uint8_t fault;   /* LaneFault */
        uint8_t outcome; /* BerOutcome: of its errors */
        uint8_t source;
        uint8_t segment;
        bool by_eye;    /* … is told by loops off the middle of the eye, see margin.c */
        uint8_t offset; /* it fails by what it does so far from the middle of its eye, and bits, errors and blocks are of there */
        bool crosstalk;  /* its errors go away while lane `aggressor` is quiet */
        uint8_t aggressor;
        uint8_t n_pairs; /* of runs that showed it: CROSSTALK_PROOFS with errors while only that one was loud, none while only that one was quiet */
        int32_t skew;    /* bits it is late */
        int64_t slipped;
        uint64_t bits, errors, blocks; /* compared, wrong, blocks with wrong ones */
        uint64_t least;                /* disturbances, see ber.h */
        uint64_t counted;              /* blocks when it passed or failed: it may be counted on, for another lane of its port */
        uint64_t limit;                /* blocks it might have had then */
        uint64_t resyncs;
        double margin;   /* ratio in the middle of the eye as its edges tell it, where that is too much; else 0 */
} Lane;

/* Neither idle nor strange, errors apart. */
static inline bool lane_is_sound(const Lane *lane) {
        return lane->fault == LANE_SOUND && lane->slipped == 0;
}

/* Whether none of N lanes carries anything; those that were not counted do. */
bool lanes_are_idle(const Lane *lanes, unsigned n);

/* What one PRBS says of N lanes; SEED and polynomial as in PRBS. Skew is told against the middle one of those that carry their own. */
void lanes_classify(const WireLane *wires, unsigned n, const WireLinkPrbs *prbs, Lane *ret);

/* One more run of the same lane: the fault that shows first stays; errors add up. */
void lane_add(Lane *sum, const Lane *lane);

/* ---- runs ---- */

#define RUN_MAX (2u * CHIPS * PORTS)

typedef struct Run {
        size_t n;
        PortId ids[RUN_MAX]; /* those of one server side by side: they go in one batch */
        WireLinkPrbs prbs[RUN_MAX];
        LinkLanes lanes[RUN_MAX];
        int errors[RUN_MAX];
} Run;

/* Adds port ID with BITS bits and a seed of its own, other than in any run of another NUMBER: looks have those below RUN_LADDER. */
#define RUN_LADDER    0x10000u
#define RUN_MARGIN    0x20000u
#define RUN_CROSSTALK 0x30000u
#define RUN_PLACES    0x40000u
void run_add(const Fabric *fabric, Run *run, PortId id, unsigned number, uint64_t bits);
/* PRBS from the far ends, or, with STAGE in range, loopback. */
#define RUN_PRBS (-1)
int run_all(Fabric *fabric, Run *run, int stage);
