/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "checks/memory/march/backgrounds.h"
#include "checks/memory/march/notation.h"
#include "checks/wire/wire.h"

#define HBM_PAUSES_MAX 8u
#define HBM_GUARANTEE_MSEC 512.0 /* what cells must hold at 45 °C: 32 ms at 85 °C, twice as long with every 10 °C less */

#define HBM_GUARANTEE_OPENINGS 15000u /* of adjacent rows, that every sound row bears */

/* What a step does, in this order. */
typedef enum HbmPhaseWord {
        HBM_DO_MARCH,     /* march and others on the backgrounds */
        HBM_DO_ADDRESS,   /* own address, both polarities, up and down */
        HBM_DO_WALKING,   /* one bit in 256, and the others, through every data lane */
        HBM_DO_RANDOM,    /* March C- on random data, again and again: what patterns of neighbours do */
        HBM_DO_HAMMER,
        HBM_DO_RETENTION,
        HBM_DO_ECC,       /* correction and its counters */
        _HBM_DO_MAX,
} HbmPhaseWord;

typedef struct HbmOrders {
        unsigned n;
        MemoryOrder orders[_MEMORY_ORDER_MAX];
} HbmOrders;

typedef struct HbmHammerParameters {
        uint64_t activations; /* beside a victim, on both sides together, as if each lasted no longer than tRAS */
        uint64_t open_nsec;   /* that rows stay open beyond it: then fewer do the same */
        uint64_t rows;        /* victims in every bank, next to each other; 0: all */
} HbmHammerParameters;

typedef struct HbmPauses {
        unsigned n;
        double msec[HBM_PAUSES_MAX]; /* as if at 45 °C, ascending */
} HbmPauses;

/* What is done about rows that a spare row would mend. */
typedef enum HbmRepairMode {
        HBM_REPAIR_NONE,
        HBM_REPAIR_VERIFY,  /* rows that were repaired are proven */
        HBM_REPAIR_REQUEST, /* that, and repairs are asked for, for the next reset */
        _HBM_REPAIR_MAX,
} HbmRepairMode;

typedef struct HbmParameters {
        uint32_t phases; /* bit per HbmPhaseWord */
        March march;     /* on the first background */
        March others;    /* on each further one */
        MarchBackgrounds backgrounds;
        HbmOrders orders;
        bool ecc;            /* march through correction, else raw */
        HbmHammerParameters hammer;
        HbmPauses retention;
        uint64_t repeats;    /* of every pass of hammer, retention and ecc */
        uint64_t random;     /* passes of the phase of that name */
        uint64_t bytes;      /* of the chip to test, from row 0 of every bank; 0: all */
        uint64_t findings;   /* the most that are told one by one */
        uint64_t mismatches; /* the most asked back per element and stack */
        double pause_sec;    /* of each Del, as if at 45 °C */
        int repair;          /* HbmRepairMode */
        uint64_t slices;     /* into which the rows of each SID are cut, see slices.h; 0: the whole chip is tested */
        double seconds;      /* device time for slices of one scan, at least one slice */
} HbmParameters;

/* Whether PHASE begins with a march and nothing that could be done again has left what that finds: then data are written first. */
bool hbm_parameters_fill(const HbmParameters *parameters, HbmPhaseWord phase);
unsigned hbm_parameters_passes(const HbmParameters *parameters); /* as many as schedule.c makes of them */
