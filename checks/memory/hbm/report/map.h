/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryMap
 *
 * The address map of a stack as the chip tells it, see wire.h: from coordinates to the device physical address that a
 * driver or a crash dump names, and back.
 */

#include "checks/port/device-memory.h"

#define MEMORY_MAP_MASKS_MAX 8u

typedef struct MemoryMap {
        MemoryGeometry geometry;
        uint16_t origin[_MEMORY_AXIS_MAX]; /* of the narrow geometry that memory_map_format() is given coordinates of */
        uint8_t n_masks[_MEMORY_AXIS_MAX];                       /* 0: the axis is not hashed */
        uint16_t masks[_MEMORY_AXIS_MAX][MEMORY_MAP_MASKS_MAX];  /* of the row, for bits 0 … of the axis */
} MemoryMap;

/* -EINVAL: TEXT is no map of that geometry. */
int memory_map_parse(const char *text, const MemoryGeometry *geometry, MemoryMap *ret);
/* What the chip says; -EPROTO where that is no map, -ENOENT where it says nothing. */
int device_hbm_map(Device *device, unsigned chip, const MemoryGeometry *geometry, MemoryMap *ret);

/* Of the first byte of an access. */
uint64_t memory_map_address(const MemoryMap *map, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]);
/* The same as findings have it: "0x40933b1220". Returns TEXT. */
#define MEMORY_ADDRESS_TEXT_MAX 24u
char *memory_map_format(const MemoryMap *map, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX],
                        char text[static MEMORY_ADDRESS_TEXT_MAX]);
/* The access that ADDRESS lies in. -ERANGE: not in that stack. */
int memory_map_at(const MemoryMap *map, unsigned stack, uint64_t address, uint16_t ret[static _MEMORY_AXIS_MAX]);
