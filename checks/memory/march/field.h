/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What memory should hold: the backgrounds of wire.h, computed here from their formulas for the host's comparisons.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/port/device-memory.h"

typedef struct MemoryField {
        MemoryBackground background;
        uint8_t parameter; /* MEMORY_BACKGROUND_BIT_STRIPE */
        uint64_t seed;     /* MEMORY_BACKGROUND_ADDRESS */
} MemoryField;

typedef struct MemoryData { /* one access */
        uint8_t bytes[MEMORY_ACCESS_BYTES];
} MemoryData;

/* FIELD XOR DATA (0 or 1) at one access. */
MemoryData memory_field_data(const MemoryField *field, const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX],
                       unsigned data);

uint64_t memory_mix(uint64_t x); /* a 64-bit hash for choices that depend on a seed */
uint64_t memory_unmix(uint64_t x); /* its inverse */

/*
 * Own-address data of a seed whose lower half is zero are tags: what an access gives back tells whose data it is, whatever the
 * seed. An address line that is stuck only changes the place that is told; with any other seed it would change the seed.
 */
static inline uint64_t memory_tag_seed(uint64_t x) {
        return x & ~(uint64_t) UINT32_MAX;
}

typedef struct MemoryTag {
        uint64_t seed;
        uint32_t place; /* of the access it was made for, as memory_geometry_place() counts */
        unsigned data;  /* 1: inverted */
} MemoryTag;

bool memory_tag_read(const MemoryData *data, MemoryTag *ret); /* false: it is none */

unsigned memory_data_count(const MemoryData *bits);              /* bits that are set */
int memory_data_first(const MemoryData *bits);                   /* the lowest, -1 without */
#define MEMORY_DATA_TEXT_MAX (2u * MEMORY_ACCESS_BYTES + 1)
char *memory_data_hex(const MemoryData *data, char text[static MEMORY_DATA_TEXT_MAX]); /* byte 0 first */
uint32_t memory_data_lanes(const MemoryData *bits);              /* data lanes that have all 8 beats set */
MemoryData memory_data_without(MemoryData bits, uint32_t lanes); /* with these lanes cleared */
