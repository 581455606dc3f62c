/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cells
 *
 * Operations on spots. Below, the event machine of the faults that sit in cells (sim/memory/cells/cells.c). An operation is a write or a read of one access,
 * or of the two that a wrong decoder opens at once; callers bring them in the exact order of the visit.
 */

#include "sim/memory/cells/memory.h"

#define MEMORY_CELLS_MAX (8u * MEMORY_ACCESS_BYTES) /* of one access */

typedef struct MemoryStroke { /* what an operation does in one access */
        MemorySpot *spot;
        uint8_t bits[MEMORY_CELLS_MAX]; /* by cell of the spot: what is written, or what was read */
} MemoryStroke;

/* SERIAL: of the operation; consecutive ones of the whole memory differ by 1. 0 where nobody asks for it. */
void memory_cells_operate(Memory *memory, MemoryStroke strokes[], unsigned n, bool write, uint64_t serial);

/* Before a command: asks what is not permanent whether it acts; where that changed, or faults came or went, conditions act. */
void memory_cells_wake(Memory *memory, const Execution *execution);

/* ---- whole accesses (sim/memory/cells/access.c) ---- */

typedef struct MemoryVisit { /* of one command to a box: the same operations on each access */
        const WireBox *box;
        MemoryOrder order;
        bool descending;
        const uint8_t *ops; /* as WireMarch has them */
        unsigned n_ops;
        const MemoryPattern *pattern; /* of data 0, for writes; may be NULL without */
} MemoryVisit;

/* Before the operations of a visit on a spot, and when all spots of the box were visited (content is still as before). */
void memory_access_begin(Memory *memory, const MemoryVisit *visit, MemorySpot *spot);
void memory_access_end(Memory *memory, const MemoryVisit *visit);

void memory_access_write(Memory *memory, MemorySpot *spot, const MemoryBits *bits, uint64_t serial);
/* The same, but the check bits stay what they were. */
void memory_access_plant(Memory *memory, MemorySpot *spot, const MemoryBits *bits, uint64_t serial);
/* Reads the access and writes it with other bits where PART has ones; check bits of the rest stay. Two operations. */
void memory_access_write_part(Memory *memory, MemorySpot *spot, const MemoryBits *bits, const MemoryBits *part, uint64_t serial);
/* INTENDED: what the access should hold, as far as ECC can know. */
MemoryBits memory_access_read(Memory *memory, MemorySpot *spot, uint64_t serial, MemoryBits *ret_intended);
