/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sram
 *
 * The SBUF and the PSUM of one core: two memories (sim/memory/), what guards them (sram-ecc), and their kinds of fault
 * (sram-faults).
 */

#include "sim/sram/ecc.h"
#include "sim/tensor/psum.h"

#define SRAM_SBUF_SHAPE_TEXT "128 1 1 1 1 7168 1" /* 28 MiB */
#define SRAM_PSUM_SHAPE_TEXT "128 1 1 1 8 64 1"   /* 2 MiB */
/* A kernel of the Vector engine reads or writes 128 lanes of FP32 at 0.96 GHz; DMA would be slower. */
#define SRAM_BYTES_PER_NSEC  491u

typedef struct Sram {
        Memory arrays[_ARRAY_MAX];
        Psum *psum;           /* what matmuls of the core left in the PSUM: see psum.h */
        MemoryEccTally tally; /* of the matmul at work */
} Sram;

/* The kinds of fault (sim/sram/faults.c). */
extern const FaultKind sram_fault_kinds[];
int sram_box_of(const MemoryShape *shape, const Location *at, WireBox *ret); /* see MemoryRules */
int sram_inject(void *state, const Fault *fault);
void sram_heal(void *state, const Fault *fault);

/* An array becomes one of another geometry and code, powered up anew. For tests; -EBUSY while it has faults. */
int sram_reshape(Sram *sram, WireArray array, const char *geometry, SramEcc ecc);

extern const Model model_sram;
