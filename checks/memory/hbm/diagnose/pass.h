/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "checks/memory/march/failures.h"
#include "checks/memory/march/notation.h"

/* One pass of a step: what was done to the memory before and between its reads. */
typedef struct HbmPass {
        MarchPhase phase;
        unsigned group;  /* passes of one phase and group are repeats of each other */
        unsigned repeat; /* which of them */
        const March *march;
        MemoryField field;
        MemoryOrder order;
        bool ecc;
        double pause_sec;     /* of each Del, as if at 45 °C */
        double paused_sec;    /* what it came to at the chip's temperature */
        uint64_t activations; /* MARCH_PHASE_HAMMER: of each aggressor */
        uint32_t open_nsec;   /* MARCH_PHASE_HAMMER: longer than tRAS */
        unsigned parity;      /* MARCH_PHASE_HAMMER: of the victims' rows */
        WireBox victims;      /* MARCH_PHASE_HAMMER: every second row of these */
        WireBox turns;        /* MARCH_PHASE_HAMMER: the rows of its commands */
        double sec;           /* forecast of the device's time */
        bool more;            /* of the same: left out where lists overflow, for what fails all over hides the rest */
        bool fill;            /* it writes what the next one begins with, and reads nothing */
        bool ran;
} HbmPass;
