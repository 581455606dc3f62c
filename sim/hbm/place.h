/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Places of a stack: the accesses, and the bits of each, that a location names.
 */

#include "checks/vocabulary/location.h"
#include "sim/memory/structures/content.h"

/* The box that AT names, whole along every axis it does not, and its tile (see MemoryUnits). -EINVAL: not in this geometry. */
int hbm_place_box(const MemoryShape *shape, const Location *at, WireBox *ret, uint16_t ret_tile[static _MEMORY_AXIS_MAX]);

/* The same without the tile. */
int hbm_box_of(const MemoryShape *shape, const Location *at, WireBox *ret);

/* The bits of every access of its box that AT names. */
MemoryBits hbm_place_bits(const Location *at);
