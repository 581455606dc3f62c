/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryPast
 *
 * What lay in a part of a memory before the last write, where reads are stale: there a write stays in a buffer until the
 * next to the same access drives it out, and reads are answered from what has been driven out, with its check bits. Kept as
 * the content is, in layers, and for single accesses (spots that say so) in a table.
 */

#include "sim/chip/model.h"
#include "sim/memory/structures/content.h"
#include "sim/memory/structures/spots.h"

typedef struct Memory Memory;

typedef struct MemoryPastBox { /* a part of the memory where reads are stale */
        const Fault *fault;
        WireBox box;
} MemoryPastBox;

typedef struct MemoryPastAccess {
        MemoryBits bits;
        uint32_t linear;
        bool used;
} MemoryPastAccess;

typedef struct MemoryPast {
        MemoryPastBox *boxes;
        size_t n_boxes, boxes_allocated;
        MemoryContent layers;
        MemoryPastAccess *table; /* open addressing; a power of two */
        size_t n_table, table_size;
} MemoryPast;

void memory_past_done(MemoryPast *past);

/* From now on in BOX; what it holds now is what it held before. -EEXIST: some of it is so already; -ENOMEM, -ENOSPC. */
int memory_past_begin(Memory *memory, const Fault *fault, const WireBox *box);
void memory_past_end(Memory *memory, const Fault *fault);

/* Makes sure that every spot there is, and one more, can be pushed. -ENOMEM. */
int memory_past_reserve(Memory *memory);
/* Before a write to a spot whose reads are stale. */
void memory_past_push(Memory *memory, MemorySpot *spot);
MemoryBits memory_past_find(const Memory *memory, const MemorySpot *spot);

/* Before a march element leaves a layer in PLACES: BEFORE is what its last write but one left, or NULL. -ENOMEM, -ENOSPC. */
int memory_past_write(Memory *memory, const MemorySlice *places, const MemoryPattern *before);
