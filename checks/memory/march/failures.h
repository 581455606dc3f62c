/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchFailures
 *
 * The failing accesses of a chip, each once: which bits, how often, in which passes, and the first difference as evidence.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/memory/march/field.h"
#include "checks/memory/march/notation.h"
#include "checks/port/device-memory.h"

#define MARCH_FAILURES_MAX    (128u << 10)
#define MARCH_STEP_PASSES_MAX 64u

typedef enum MarchPhase {
        MARCH_PHASE_MARCH,
        MARCH_PHASE_ADDRESS,   /* a march on data that tells addresses apart */
        MARCH_PHASE_WALKING,
        MARCH_PHASE_HAMMER,
        MARCH_PHASE_RETENTION,
        MARCH_PHASE_ECC,       /* through correction */
        MARCH_PHASE_PROBE,     /* follow-up reads of the diagnosis */
        _MARCH_PHASE_MAX,
} MarchPhase;

/* As messages call it. */
const char *march_phase_word(MarchPhase phase);

/* Which read it was. */
typedef struct MarchSighting {
        uint8_t phase;   /* MarchPhase */
        uint8_t pass;    /* number of the pass in the step; MARCH_STEP_PASSES_MAX: none */
        uint8_t element; /* of its march */
        uint8_t op;      /* of the element; MARCH_OPS_MAX: copied out after its end */
} MarchSighting;

typedef struct MarchFailure {
        unsigned part; /* number of the stack or array */
        uint32_t linear;
        uint64_t count;      /* reads that differed */
        uint32_t phases;     /* bit per MarchPhase in which any of them was */
        uint64_t passes;     /* bit per pass of the step */
        uint32_t elements;   /* bit per element of these passes */
        MarchSighting first; /* which read expected and actual are of */
        MemoryData bits;     /* that differed in any of them */
        MemoryData ones;     /* that were 1 and should not be, in any of them */
        MemoryData expected, actual; /* of the first */
} MarchFailure;

typedef struct MarchFailures {
        MarchFailure *failures;
        size_t n, allocated;
        bool full; /* some were dropped */
} MarchFailures;

void march_failures_done(MarchFailures *failures);
int march_failures_add(MarchFailures *failures, unsigned part, uint32_t linear, const MarchSighting *sighting,
                       const MemoryData *expected, const MemoryData *actual);
/* Sorts by part and place and makes those of one access one. */
void march_failures_merge(MarchFailures *failures);
/* After a merge: those of PART. */
MarchFailure *march_failures_of(const MarchFailures *failures, unsigned part, size_t *ret_n);
