/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemorySlice
 *
 * Those accesses of a box whose coordinates have certain bits: at[axis] & mask[axis] == value[axis]. An address bit that is stuck
 * parts a memory so. Boxes are slices without masks. First and last of a slice are accesses of it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory/structures/shape.h"

typedef struct MemorySlice {
        WireBox box;
        uint16_t mask[_MEMORY_AXIS_MAX], value[_MEMORY_AXIS_MAX];
        bool masked; /* some mask is not zero */
} MemorySlice;

static inline MemorySlice memory_slice_of(const WireBox *box) {
        return (MemorySlice) { .box = *box };
}

/* What of SLICE has BIT of the coordinate on AXIS as VALUE. False where nothing has. */
bool memory_slice_half(const MemorySlice *slice, MemoryAxis axis, unsigned bit, bool value, MemorySlice *ret);
/* The same accesses with that bit, which the slice has settled, the other way. */
void memory_slice_flip(MemorySlice *slice, MemoryAxis axis, unsigned bit);

bool memory_slice_has(const MemorySlice *slice, const uint16_t at[static _MEMORY_AXIS_MAX]);
uint64_t memory_slice_volume(const MemorySlice *slice);
/* Accesses in even and in odd rows. */
void memory_slice_split(const MemorySlice *slice, uint64_t ret[static 2]);
/* True only if OUTER has all of INNER; of two with different masks it may be false all the same. */
bool memory_slice_contains(const MemorySlice *outer, const MemorySlice *inner);
/* False where they have nothing in common. */
bool memory_slice_intersect(const MemorySlice *a, const MemorySlice *b, MemorySlice *ret);
/* What of A is not in B, as disjoint slices: their number. B must lie within A. */
#define MEMORY_SLICE_PIECES_MAX (2 * _MEMORY_AXIS_MAX + 16 * _MEMORY_AXIS_MAX)
unsigned memory_slice_subtract(const MemorySlice *a, const MemorySlice *b, MemorySlice ret[static MEMORY_SLICE_PIECES_MAX]);
/* Makes *A the union, where masks are equal and that is a slice too. */
bool memory_slice_join(MemorySlice *a, const MemorySlice *b);

/* As memory_walk_next(). */
bool memory_slice_next(const MemorySlice *slice, MemoryOrder order, bool descending, uint16_t at[static _MEMORY_AXIS_MAX]);
