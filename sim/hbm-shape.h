/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmShape
 *
 * The geometry of one stack as data, boxes of its accesses, and the orders in which they are visited. The linear index
 * of an access counts in the order of HbmAxis, column fastest; its key in another HbmOrder counts in that order.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/wire.h"

typedef struct HbmShape {
        uint16_t size[_HBM_AXIS_MAX];
        uint32_t accesses; /* of the stack */
} HbmShape;

#define HBM_SHAPE_TEXT     "16 2 3 4 4 16384 32"
#define HBM_SHAPE_TEXT_MAX 64u

/* Reads the text of assay/hbm/geometry. -EINVAL: not seven numbers from 1, or more than 2^32 - 1 accesses. */
int hbm_shape_parse(const char *text, HbmShape *ret);
char *hbm_shape_format(const HbmShape *shape, char text[static HBM_SHAPE_TEXT_MAX]);

uint32_t hbm_shape_linear(const HbmShape *shape, const uint16_t at[static _HBM_AXIS_MAX]);
uint32_t hbm_shape_key(const HbmShape *shape, HbmOrder order, const uint16_t at[static _HBM_AXIS_MAX]);

WireBox hbm_box_whole(const HbmShape *shape);
bool hbm_box_is_valid(const HbmShape *shape, const WireBox *box);
uint64_t hbm_box_volume(const WireBox *box);
bool hbm_box_has(const WireBox *box, const uint16_t at[static _HBM_AXIS_MAX]);
bool hbm_box_contains(const WireBox *outer, const WireBox *inner);
/* False where they have nothing in common. */
bool hbm_box_intersect(const WireBox *a, const WireBox *b, WireBox *ret);
/* What of A is not in B, as disjoint boxes: their number, 0 … 2 × _HBM_AXIS_MAX. B must lie within A. */
#define HBM_BOX_PIECES_MAX (2 * _HBM_AXIS_MAX)
unsigned hbm_box_subtract(const WireBox *a, const WireBox *b, WireBox ret[static HBM_BOX_PIECES_MAX]);
/* Makes *A the union, where that is a box too. */
bool hbm_box_join(WireBox *a, const WireBox *b);
/* Accesses in even and in odd rows: backgrounds tell rows apart by nothing else. */
void hbm_box_split(const WireBox *box, uint64_t ret[static 2]);

/* Walks a box: for (hbm_walk_first(...); ...; if (!hbm_walk_next(...)) break). */
void hbm_walk_first(const WireBox *box, bool descending, uint16_t at[static _HBM_AXIS_MAX]);
bool hbm_walk_next(const WireBox *box, HbmOrder order, bool descending, uint16_t at[static _HBM_AXIS_MAX]);
