/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collective: the CC-cores of a chip and what they do in a collective. collective.c takes commands and faults, run.c
 * runs the ranks of one group against each other, sound.c does so where nothing is wrong, blocks.c says
 * which bytes a step moves and adds them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"
#include "sim/chip/model.h"

/* What is wrong with a chip in this very collective: faults that act when it is posted; NULL, or not. */
typedef struct CollectiveAilments {
        const Fault *adder, *corrupt, *stall, *lost, *slow;
        const Fault *queues[PORTS];
} CollectiveAilments;

typedef struct Segment {
        unsigned vector;
        uint32_t first, n; /* elements */
} Segment;

typedef struct Collective {
        /* What every step needs, side by side. */
        WireCollectivePost post;
        const Segment (*parts)[COLLECTIVE_RANKS_MAX]; /* by ring and shard; of the group, while it runs */
        uint8_t *vectors; /* n_vectors of them: what is held now */
        CollectiveAilments ailments;
        WireCollectiveRing rings[COLLECTIVE_RINGS_MAX];

        Chip *chip;
        const Fault **faults;
        size_t n_faults;
        bool posted, ran;
        unsigned seat;   /* among the members of the group that runs */
        uint64_t number; /* of the command that posted it: for draws */
        uint64_t posted_nsec;
        double pace;     /* times as long as a chip by the book it takes for a step of its own; 1 without noise */
        WireCollectiveStatus status;
} Collective;

typedef struct StuckParameters {
        uint64_t bit, value;
} StuckParameters;

typedef struct CorruptParameters {
        double rate;
} CorruptParameters;

typedef struct StepParameters {
        uint64_t step;
} StepParameters;

typedef struct SlowParameters {
        double factor;
} SlowParameters;

typedef struct QueueParameters {
        uint64_t bytes;
} QueueParameters;

extern const Model model_collective;

/* One ring of one rank. */
typedef struct Way {
        Collective *owner;
        WireCollectiveProgress progress;
        unsigned ring;
        uint32_t next, previous; /* indices of ways, or NOWHERE */
        double nsec_per_byte;    /* of what comes in */
        uint64_t stall_bytes;    /* where that stops */
        uint64_t element_bytes;  /* on the wire */
        Segment taken;           /* what came in last, if it is one segment */
        unsigned n_sent;         /* segments of the block sent last, */
        Segment sent;            /* the first of them, */
        uint64_t bytes;          /* of all, and */
        uint64_t flip;           /* what is wrong with it: see collective_take() */
        uint64_t began_nsec, ready_nsec;
        uint64_t free_nsec;      /* when what comes in no longer waits for what came before */
        bool counts_wrong;       /* an increment of its semaphore has been lost */
        bool late;               /* nobody waits for the end of its step */
} Way;

#define NOWHERE UINT32_MAX

/* ---- run.c ---- */

/* Runs all that is posted under the number of OWN. Returns 0 or -ENOMEM. */
int collective_run(Collective *own, const Execution *execution);
/* The time of a step of WAY, in which a block of so many bytes comes in that PREVIOUS began to send. */
void way_spend(Way *way, const Way *previous, uint64_t bytes);
/* Of a step, without waiting for others. */
uint64_t way_step_nsec(const Way *way, uint64_t bytes);

/* ---- sound.c ---- */

/* Runs N ways from FIRST on, if they are one ring, nothing is wrong with it and LIMIT is enough; else leaves them as they are: false. */
bool collective_run_sound(Way *ways, uint32_t first, unsigned n, uint64_t limit_nsec);

/* ---- blocks.c ---- */

unsigned element_bytes(unsigned format);
unsigned collective_steps(const Collective *collective);
/* What RING sends in STEP, or, not SENDING, takes in. Returns how many segments, at most COLLECTIVE_RANKS_MAX. */
unsigned collective_block(const Collective *collective, unsigned ring, unsigned step, bool sending, Segment *ret);
/* Which elements of each shard go over each ring. */
void collective_cut(const WireCollectivePost *post, Segment (*ret)[COLLECTIVE_RANKS_MAX]);
/* Takes SENT of FROM in as TAKEN of TO in STEP; FLIP: 0, or 1 + a bit of it that arrives wrong. */
void collective_take(const Collective *from, const Segment *sent, Collective *to, const Segment *taken, unsigned step, uint64_t flip);
/* N elements come in at OWN of TO, and are added or replace it. */
void collective_merge(const Collective *to, bool adds, uint8_t *own, const uint8_t *in, size_t n);
/* Bytes of the input that a post needs, and of its output. */
uint32_t collective_input_bytes(const WireCollectivePost *post);
uint32_t collective_output_bytes(const WireCollectivePost *post);
/* Makes room, and takes the input. -ENOMEM. */
int collective_load(Collective *collective, const uint8_t *in);
void collective_store(const Collective *collective, uint8_t *out);
