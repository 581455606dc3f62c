/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryShape
 *
 * The geometry of one stack as data, boxes of its accesses, and the orders in which they are visited. The linear index
 * of an access counts in the order of MemoryAxis, column fastest; its key in another MemoryOrder counts in that order.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/vocabulary/location.h"
#include "checks/wire/wire.h"

typedef struct MemoryShape {
        uint16_t size[_MEMORY_AXIS_MAX];
        uint32_t accesses;      /* of the stack */
        uint16_t subarray_rows; /* rows that share sense amplifiers; the last of a bank may have fewer */
} MemoryShape;

#define MEMORY_SHAPE_TEXT_MAX 64u

/* Reads the text of assay/hbm/geometry. -EINVAL: not seven numbers from 1, or more than 2^32 - 1 accesses. */
int memory_shape_parse(const char *text, MemoryShape *ret);
char *memory_shape_format(const MemoryShape *shape, char text[static MEMORY_SHAPE_TEXT_MAX]);

uint32_t memory_shape_linear(const MemoryShape *shape, const uint16_t at[static _MEMORY_AXIS_MAX]);
uint32_t memory_shape_key(const MemoryShape *shape, MemoryOrder order, const uint16_t at[static _MEMORY_AXIS_MAX]);

void memory_shape_at(const MemoryShape *shape, uint32_t linear, uint16_t ret[static _MEMORY_AXIS_MAX]);

WireBox memory_box_whole(const MemoryShape *shape);

/* Which part of a location is the coordinate on which axis. */
typedef struct MemoryPlaceAxis {
        LocationKind kind;
        MemoryAxis axis;
} MemoryPlaceAxis;

/* The box that AT names by the N axes NAMED, whole along every axis it does not, and its tile (see MemoryUnits). -EINVAL: not in SHAPE. */
int memory_box_named(const MemoryShape *shape, const Location *at, const MemoryPlaceAxis *named, size_t n, WireBox *ret,
                     uint16_t ret_tile[static _MEMORY_AXIS_MAX]);
bool memory_box_is_valid(const MemoryShape *shape, const WireBox *box);
uint64_t memory_box_volume(const WireBox *box);
bool memory_box_has(const WireBox *box, const uint16_t at[static _MEMORY_AXIS_MAX]);
bool memory_box_contains(const WireBox *outer, const WireBox *inner);
/* False where they have nothing in common. */
bool memory_box_intersect(const WireBox *a, const WireBox *b, WireBox *ret);
/* What of A is not in B, as disjoint boxes: their number, 0 … 2 × _MEMORY_AXIS_MAX. B must lie within A. */
#define MEMORY_BOX_PIECES_MAX (2 * _MEMORY_AXIS_MAX)
unsigned memory_box_subtract(const WireBox *a, const WireBox *b, WireBox ret[static MEMORY_BOX_PIECES_MAX]);
/* Makes *A the union, where that is a box too. */
bool memory_box_join(WireBox *a, const WireBox *b);
/* Accesses in even and in odd rows: backgrounds tell rows apart by nothing else. */
void memory_box_split(const WireBox *box, uint64_t ret[static 2]);

/* How many accesses of the box a visit meets before AT. */
uint64_t memory_box_position(const WireBox *box, MemoryOrder order, bool descending,
                             const uint16_t at[static _MEMORY_AXIS_MAX]);

/* Which axis moves as the I-th of an order, the fastest being 0. */
MemoryAxis memory_order_axis(MemoryOrder order, unsigned i);

/* Walks a box: for (memory_walk_first(...); ...; if (!memory_walk_next(...)) break). */
void memory_walk_first(const WireBox *box, bool descending, uint16_t at[static _MEMORY_AXIS_MAX]);
bool memory_walk_next(const WireBox *box, MemoryOrder order, bool descending, uint16_t at[static _MEMORY_AXIS_MAX]);
