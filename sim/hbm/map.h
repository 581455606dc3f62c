/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmMap
 *
 * Where a device physical address lies in a stack, see wire.h. What a stack is built for is in hbm_map_init(); a fault
 * (map-wrong) makes it reach elsewhere.
 */

#include "sim/memory/structures/shape.h"

#define HBM_MAP_BITS_MAX 8u /* of an axis that is hashed */
#define HBM_MAP_TEXT_MAX 96u

typedef struct HbmMapAxis {
        unsigned n_bits; /* 0: not hashed */
        uint16_t masks[HBM_MAP_BITS_MAX]; /* of the row */
} HbmMapAxis;

typedef struct HbmMap {
        HbmMapAxis channel, group;
} HbmMap;

/* As many masks as SHAPE has bits of channels and bank groups. */
void hbm_map_init(HbmMap *map, const MemoryShape *shape);
/* The text of assay/hbm/map. */
char *hbm_map_format(const HbmMap *map, char text[static HBM_MAP_TEXT_MAX]);

/* The address of the first byte of an access. */
uint64_t hbm_map_address(const HbmMap *map, const MemoryShape *shape, unsigned stack,
                         const uint16_t at[static _MEMORY_AXIS_MAX]);
/* The access that ADDRESS lies in. -ERANGE: not in this stack. */
int hbm_map_locate(const HbmMap *map, const MemoryShape *shape, unsigned stack, uint64_t address,
                   uint16_t ret[static _MEMORY_AXIS_MAX]);
