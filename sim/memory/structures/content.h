/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryContent
 *
 * What a stack without faults would hold, said in few words: write layers in the order of time, each a slice and the
 * pattern that a march left there; a layer that covers earlier ones replaces them. Below all lies what the cells
 * hold at power-up: a hash. Explicit data (copied in) is kept by access, see MemorySpot.
 *
 * A write that an address bit has led astray leaves the pattern of the address, not of the place: that is shifted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"
#include "sim/memory/structures/slice.h"

typedef struct MemoryBits { /* one access: bit b is bit b % 64 of w[b / 64] */
        uint64_t w[MEMORY_ACCESS_BYTES / 8];
} MemoryBits;

#define MEMORY_PATTERN_POWER_UP ((uint8_t) _MEMORY_BACKGROUND_MAX) /* as MEMORY_BACKGROUND_ADDRESS, never written */

typedef struct MemoryPattern {
        uint8_t background; /* MemoryBackground, or MEMORY_PATTERN_POWER_UP */
        uint8_t parameter;
        uint8_t data; /* 1: inverted */
        uint8_t odd;  /* 1: meant for a row of the other parity … */
        uint32_t shift; /* … and for the access that is so many on */
        uint64_t seed;
} MemoryPattern;

/* Differs from access to access; all others only between even and odd rows. */
static inline bool memory_pattern_is_hash(const MemoryPattern *pattern) {
        return pattern->background >= MEMORY_BACKGROUND_ADDRESS;
}

MemoryBits memory_pattern_bits(const MemoryPattern *pattern, uint32_t linear, unsigned row);

static inline uint64_t memory_splitmix64(uint64_t x) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

typedef struct MemoryLayer {
        MemorySlice slice;
        MemoryPattern pattern;
} MemoryLayer;

#define MEMORY_LAYERS_MAX    4096u
#define MEMORY_FRAGMENTS_MAX 65536u

typedef struct MemoryContent {
        MemoryLayer *layers; /* oldest first; layers[0] covers all */
        size_t n_layers, allocated;
        MemoryLayer *fragments; /* see below; reused */
        size_t n_fragments, fragments_allocated;
        MemoryLayer *rest, *next; /* what memory_content_cut() has still to cut */
        size_t n_rest, rest_allocated, n_next, next_allocated;
} MemoryContent;

int memory_content_init(MemoryContent *content, const MemoryShape *shape, uint64_t power_up_seed);
void memory_content_done(MemoryContent *content);

/* Makes sure that the next N writes cannot fail. -ENOMEM; -ENOSPC: more layers than there may be. */
int memory_content_reserve(MemoryContent *content, size_t n);
void memory_content_write(MemoryContent *content, const MemorySlice *slice, const MemoryPattern *pattern);

const MemoryPattern *memory_content_find(const MemoryContent *content, const uint16_t at[static _MEMORY_AXIS_MAX]);

/* Cuts SLICE into disjoint slices of one layer each: content->fragments. -ENOMEM; -ENOSPC: too many. */
int memory_content_cut(MemoryContent *content, const MemorySlice *slice);
