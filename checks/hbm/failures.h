/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmFailures
 *
 * The failing accesses of a chip, each once: which bits, how often, in which passes, and the first difference as evidence.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/device-memory.h"
#include "checks/march/field.h"
#include "checks/march/notation.h"

#define HBM_FAILURES_MAX (128u << 10)
#define HBM_PASSES_MAX   64u /* of a step */

typedef enum HbmPhase {
        HBM_PHASE_MARCH,
        HBM_PHASE_ADDRESS,   /* a march on data that tells addresses apart */
        HBM_PHASE_WALKING,
        HBM_PHASE_HAMMER,
        HBM_PHASE_RETENTION,
        HBM_PHASE_ECC,       /* through correction */
        HBM_PHASE_PROBE,     /* follow-up reads of the diagnosis */
        _HBM_PHASE_MAX,
} HbmPhase;

/* As messages call it. */
const char *hbm_pass_word(HbmPhase phase);

/* One pass of a step: what was done to the memory before and between its reads. */
typedef struct HbmPass {
        HbmPhase phase;
        unsigned group;  /* passes of one phase and group are repeats of each other */
        unsigned repeat; /* which of them */
        const March *march;
        MemoryField field;
        MemoryOrder order;
        bool ecc;
        double pause_sec;     /* of each Del, as if at 45 °C */
        double paused_sec;    /* what it came to at the chip's temperature */
        uint64_t activations; /* HBM_PHASE_HAMMER: of each aggressor */
        uint32_t open_nsec;   /* HBM_PHASE_HAMMER: longer than tRAS */
        unsigned parity;      /* HBM_PHASE_HAMMER: of the victims' rows */
        WireBox victims;      /* HBM_PHASE_HAMMER: every second row of these */
        WireBox turns;        /* HBM_PHASE_HAMMER: the rows of its commands */
        double sec;           /* forecast of the device's time */
        bool more;            /* of the same: left out where lists overflow, for what fails all over hides the rest */
        bool ran;
} HbmPass;

/* Which read it was. */
typedef struct HbmSighting {
        uint8_t phase;   /* HbmPhase */
        uint8_t pass;    /* number of the pass in the step; HBM_PASSES_MAX: none */
        uint8_t element; /* of its march */
        uint8_t op;      /* of the element; MARCH_OPS_MAX: copied out after its end */
} HbmSighting;

typedef struct HbmFailure {
        unsigned stack;
        uint32_t linear;
        uint64_t count; /* reads that differed */
        uint32_t phases; /* bit per HbmPhase in which any of them was */
        uint64_t passes; /* bit per pass of the step */
        uint32_t elements; /* bit per element of these passes */
        HbmSighting first; /* which read expected and actual are of */
        MemoryData bits;   /* that differed in any of them */
        MemoryData ones;   /* that were 1 and should not be, in any of them */
        MemoryData expected, actual; /* of the first */
} HbmFailure;

typedef struct HbmFailures {
        HbmFailure *failures;
        size_t n, allocated;
        bool full; /* some were dropped */
} HbmFailures;

void hbm_failures_done(HbmFailures *failures);
int hbm_failures_add(HbmFailures *failures, unsigned stack, uint32_t linear, const HbmSighting *sighting,
                     const MemoryData *expected, const MemoryData *actual);
/* Sorts by stack and place and makes those of one access one. */
void hbm_failures_merge(HbmFailures *failures);
/* After a merge: those of STACK. */
HbmFailure *hbm_failures_of(const HbmFailures *failures, unsigned stack, size_t *ret_n);

unsigned hbm_data_count(const MemoryData *bits);          /* bits that are set */
int hbm_data_first(const MemoryData *bits);               /* the lowest, -1 without */
uint32_t hbm_data_lanes(const MemoryData *bits);          /* data lanes that have all 8 beats set */
MemoryData hbm_data_without(MemoryData bits, uint32_t lanes); /* with these lanes cleared */
