/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * March
 *
 * Drives one march test over a box of several memories of a chip, side by side: one batch per element. The parts of a pass
 * have one geometry. The device compares; so that this can be believed, known mismatches are planted before elements that begin with a read, must come back exactly,
 * and samples are copied out and compared here.
 *
 *  - A plant is one bit of one access, copied in. Every element that begins with a read has some, in channels of every
 *    part that take turns (plants.h).
 *  - Reads after a write find what was written; a trial runs the element again over a few accesses, with its writes inverted
 *    (trials.h). So every operation that compares has reported something before its silence is believed.
 *  - What did not come back is tried again at the end: if memory gives it back and the comparator does not report it, the
 *    comparator is blind; if memory does not, it is a mismatch like others (doubts.h).
 *  - Samples are copied out after every element, one of them at the same place throughout, and compared here.
 *  - What a device answers must be possible: places in the box, in order, reads that differ, counts that agree. All
 *    else is a lie, told apart from mismatches.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/memory/march/field.h"
#include "checks/memory/march/notation.h"
#include "checks/port/device-memory.h"

#define MARCH_PARTS_MAX   8u
#define MARCH_SAMPLES_MAX 8u /* per element and part */
#define MARCH_WIDTH_MAX   4u /* channels that plants and trials stand in, next to each other: the next ones at the next element */
#define MARCH_DOUBTS_MAX  256u
#define MARCH_LIE_MAX     192u

/* A place that did not hold what it should. */
typedef struct MarchMismatch {
        unsigned part; /* of the pass */
        uint16_t at[_MEMORY_AXIS_MAX];
        unsigned element; /* of the march */
        unsigned op;      /* of the element; MARCH_OPS_MAX: read beside it, in a trial or copied out after its end */
        MemoryData expected, actual;
} MarchMismatch;

typedef struct MarchOutcome { /* what came of one part */
        uint64_t mismatches; /* in all, without plants */
        uint64_t accesses;   /* covered by every element */
        bool truncated;      /* some mismatches were counted, not told */
        unsigned n_blind;    /* plants that memory holds and the comparator does not see */
        uint16_t blind_at[_MEMORY_AXIS_MAX]; /* the first of them */
        unsigned n_stale; /* accesses that gave back what was there before, see freshness.h */
        uint16_t stale_at[_MEMORY_AXIS_MAX]; /* the first of them */
        unsigned n_lies;
        char lie[MARCH_LIE_MAX];          /* the first of them */
} MarchOutcome;

typedef struct MarchTotals {
        unsigned planted, returned; /* plants and trials, and those that came back */
        unsigned compared, wrong;   /* samples */
} MarchTotals;

typedef struct MarchDoubt {
        unsigned part;
        uint16_t at[_MEMORY_AXIS_MAX];
        unsigned element, op; /* the first read that did not report it */
        unsigned data; /* what was read there */
        bool trial;    /* of a trial, not copied in */
        bool told;     /* the list was not cut short before it */
        bool heard;    /* that read reported other data than was planted */
        MemoryData planted, actual; /* ACTUAL: what was heard */
} MarchDoubt;

typedef struct MarchPass MarchPass;

struct MarchPass {
        /* asked for */
        const MemoryPart *parts; /* at most MARCH_PARTS_MAX */
        unsigned n_parts;
        const March *march;
        MemoryField field;
        MemoryGeometry geometry;
        WireBox box;
        MemoryOrder order;
        bool ecc;                /* through the memories' correction, else raw */
        uint64_t seed;           /* of plants and samples */
        uint32_t mismatches_max; /* per element and part */
        unsigned n_samples;      /* per element and part */
        unsigned width_max;      /* channels that plants and trials stand in; 0: MARCH_WIDTH_MAX */
        uint64_t pause_nsec;
        int (*delay)(const MarchPass *pass, MemoryBatch *batch); /* what a Del does instead of a pause, or NULL */
        int (*found)(const MarchMismatch *mismatch, void *userdata);
        bool (*is_over)(const MarchPass *pass); /* asked after each element: whether no more may be written; NULL: never */
        void *userdata;

        /* came of it */
        MarchOutcome outcomes[MARCH_PARTS_MAX]; /* what was there before is added to, but for accesses */
        MarchTotals totals;

        /* between the two */
        unsigned width; /* channels that the window has room for */
        unsigned n_doubts;
        MarchDoubt doubts[MARCH_DOUBTS_MAX];
};

/* Runs the pass. 0, or negative: could not judge (device errors, -ENOMEM, -EOPNOTSUPP: a Del where parts cannot pause, what
 * found() returned). */
int march_pass_run(MarchPass *pass, MemoryBatch *batch);
/* Runs passes of one march, of memories of different geometry, side by side: one batch per element for all of them. */
#define MARCH_PASSES_MAX 2u
int march_passes_run(MarchPass *const passes[], unsigned n, MemoryBatch *batch);

/* The command of an element over the whole box. */
WireMarch march_pass_command(const MarchPass *pass, unsigned element);

/* Where MISMATCH stands in the order of the visit, for comparing two of one element. */
uint32_t march_visit_key(const MemoryGeometry *geometry, MemoryOrder order, bool descending,
                         const uint16_t at[static _MEMORY_AXIS_MAX]);
