/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchTrial
 *
 * Plants stand where memory is read before it is written. For the reads after a write an element is run once more over a
 * few accesses, with all of its writes inverted and its reads as they are: every such read must be reported, with what was
 * written. The trial ends by writing what the element has left there.
 */

#include "checks/memory/march/march.h"

typedef struct MarchTrial {
        WireMarch march;              /* no box yet */
        bool restores;                /* by its last operation; else by a command of its own */
        unsigned left;                /* data */
        uint32_t expected;            /* operations that must report */
        uint8_t held[MARCH_OPS_MAX];  /* data there is when an operation comes */
        WireBox boxes[MARCH_PARTS_MAX];
        int numbers[MARCH_PARTS_MAX]; /* in the batch */
} MarchTrial;

/* LIKE: the element as it is run. Without reads after writes nothing is expected and the rest does nothing. */
void march_trial_init(MarchTrial *trial, const WireMarch *like);
/* Adds it to the batch, after the element itself. */
int march_trial_add(MarchTrial *trial, const MarchPass *pass, MemoryBatch *batch, unsigned element);
/* What one part answered. */
int march_trial_judge(const MarchTrial *trial, MarchPass *pass, MemoryBatch *batch, unsigned part, unsigned element);
