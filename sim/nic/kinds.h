/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kinds of fault of an adapter, and their parameters. */

#include "sim/nic/nic.h"

typedef struct PacketParameters {
        double rate;
        int direction;
} PacketParameters;

typedef struct DelayParameters {
        uint64_t nsec;
        int direction;
} DelayParameters;

typedef struct ShareParameters {
        double share;
} ShareParameters;

typedef struct FloodParameters {
        uint64_t packets;
} FloodParameters;

typedef struct PathParameters {
        uint64_t path;
} PathParameters;

typedef struct ClockParameters {
        uint64_t nsec;
        int way;
} ClockParameters;

typedef struct PaceParameters {
        double pace;
} PaceParameters;

typedef enum ClockWay {
        CLOCK_AHEAD,
        CLOCK_BEHIND,
} ClockWay;

enum { /* indices into nic_kinds[]; the first of them do to packets what their Oddity says */
        KIND_DELAY = _ODD_MAX - 1,
        KIND_SLOW,
        KIND_UNRESPONSIVE,
        KIND_SINGLE_PATH,
        KIND_FLOOD,
        KIND_COUNTER_STUCK,
        KIND_COUNTER_RUNS_BACK,
        KIND_COUNTER_WRAPS,
        KIND_PLANE,
        KIND_CLOCK_OFF,
        KIND_CLOCK_PACE,
        KIND_CABLE_LOSS,
        _KIND_MAX,
};

extern const FaultKind nic_kinds[];
