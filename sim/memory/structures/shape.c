/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/shape.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Slowest to fastest. */
static const uint8_t axes[_MEMORY_ORDER_MAX][_MEMORY_AXIS_MAX] = {
        [MEMORY_ORDER_COLUMN_FAST] = {HBM_CHANNEL,  HBM_PSEUDO_CHANNEL, HBM_SID, HBM_BANK_GROUP, HBM_BANK,
                                   HBM_ROW,        HBM_COLUMN},
        [MEMORY_ORDER_ROW_FAST] = { HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_SID, HBM_BANK_GROUP, HBM_BANK,
                                   HBM_COLUMN,     HBM_ROW   },
        [MEMORY_ORDER_BANK_FAST] = { HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_SID, HBM_ROW,        HBM_COLUMN,
                                   HBM_BANK_GROUP, HBM_BANK  },
};

int memory_shape_parse(const char *text, MemoryShape *ret) {
        MemoryShape shape = { .accesses = 1 };
        const char *p = text;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                uint32_t value = 0;

                if (axis > 0 && *p++ != ' ')
                        return -EINVAL;
                if (*p < '1' || *p > '9')
                        return -EINVAL;
                for (; *p >= '0' && *p <= '9'; p++) {
                        value = value * 10 + (uint32_t) (*p - '0');
                        if (value > UINT16_MAX)
                                return -EINVAL;
                }

                shape.size[axis] = (uint16_t) value;
                if (__builtin_mul_overflow(shape.accesses, value, &shape.accesses))
                        return -EINVAL;
        }

        if (*p)
                return -EINVAL;

        shape.subarray_rows = shape.size[HBM_ROW];
        *ret = shape;
        return 0;
}

char *memory_shape_format(const MemoryShape *shape, char text[static MEMORY_SHAPE_TEXT_MAX]) {
        const uint16_t *s = shape->size;

        (void) snprintf(text, MEMORY_SHAPE_TEXT_MAX, "%u %u %u %u %u %u %u", s[0], s[1], s[2], s[3], s[4], s[5], s[6]);
        return text;
}

uint32_t memory_shape_key(const MemoryShape *shape, MemoryOrder order, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint32_t key = 0;

        assert(order < _MEMORY_ORDER_MAX);

        for (unsigned i = 0; i < _MEMORY_AXIS_MAX; i++)
                key = key * shape->size[axes[order][i]] + at[axes[order][i]];
        return key;
}

uint32_t memory_shape_linear(const MemoryShape *shape, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        return memory_shape_key(shape, MEMORY_ORDER_COLUMN_FAST, at);
}

void memory_shape_at(const MemoryShape *shape, uint32_t linear, uint16_t ret[static _MEMORY_AXIS_MAX]) {
        for (int axis = _MEMORY_AXIS_MAX - 1; axis >= 0; axis--) {
                ret[axis] = (uint16_t) (linear % shape->size[axis]);
                linear /= shape->size[axis];
        }
}

WireBox memory_box_whole(const MemoryShape *shape) {
        WireBox box = {};

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                box.last[axis] = (uint16_t) (shape->size[axis] - 1);
        return box;
}

int memory_box_named(const MemoryShape *shape, const Location *at, const MemoryPlaceAxis *named, size_t n, WireBox *ret,
                     uint16_t tile[static _MEMORY_AXIS_MAX]) {
        *ret = memory_box_whole(shape);
        memcpy(tile, shape->size, sizeof(shape->size));
        for (size_t i = 0; i < n; i++) {
                int index = location_index(at, named[i].kind);
                MemoryAxis axis = named[i].axis;

                if (index < 0)
                        continue;
                if (index >= shape->size[axis])
                        return -EINVAL;
                ret->first[axis] = ret->last[axis] = (uint16_t) index;
                tile[axis] = 1;
        }

        return 0;
}

bool memory_box_is_valid(const MemoryShape *shape, const WireBox *box) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (box->first[axis] > box->last[axis] || box->last[axis] >= shape->size[axis])
                        return false;
        return true;
}

uint64_t memory_box_volume(const WireBox *box) {
        uint64_t volume = 1;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                volume *= (uint64_t) (box->last[axis] - box->first[axis] + 1);
        return volume;
}

bool memory_box_has(const WireBox *box, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (at[axis] < box->first[axis] || at[axis] > box->last[axis])
                        return false;
        return true;
}

bool memory_box_contains(const WireBox *outer, const WireBox *inner) {
        return memory_box_has(outer, inner->first) && memory_box_has(outer, inner->last);
}

bool memory_box_intersect(const WireBox *a, const WireBox *b, WireBox *ret) {
        WireBox box;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                box.first[axis] = a->first[axis] > b->first[axis] ? a->first[axis] : b->first[axis];
                box.last[axis] = a->last[axis] < b->last[axis] ? a->last[axis] : b->last[axis];
                if (box.first[axis] > box.last[axis])
                        return false;
        }

        *ret = box;
        return true;
}

unsigned memory_box_subtract(const WireBox *a, const WireBox *b, WireBox ret[static MEMORY_BOX_PIECES_MAX]) {
        WireBox rest = *a;
        unsigned n = 0;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                if (rest.first[axis] < b->first[axis]) {
                        ret[n] = rest;
                        ret[n++].last[axis] = (uint16_t) (b->first[axis] - 1);
                        rest.first[axis] = b->first[axis];
                }
                if (rest.last[axis] > b->last[axis]) {
                        ret[n] = rest;
                        ret[n++].first[axis] = (uint16_t) (b->last[axis] + 1);
                        rest.last[axis] = b->last[axis];
                }
        }

        return n;
}

bool memory_box_join(WireBox *a, const WireBox *b) {
        int differs = -1;

        for (int axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                if (a->first[axis] == b->first[axis] && a->last[axis] == b->last[axis])
                        continue;
                if (differs >= 0)
                        return memory_box_contains(a, b);
                differs = axis;
        }

        if (differs < 0)
                return true;
        /* Overlapping or side by side along the one axis in which they differ. */
        if (b->first[differs] > (uint32_t) a->last[differs] + 1 ||
            a->first[differs] > (uint32_t) b->last[differs] + 1)
                return false;
        if (b->first[differs] < a->first[differs])
                a->first[differs] = b->first[differs];
        if (b->last[differs] > a->last[differs])
                a->last[differs] = b->last[differs];
        return true;
}

void memory_box_split(const WireBox *box, uint64_t ret[static 2]) {
        uint64_t rows = (uint64_t) (box->last[HBM_ROW] - box->first[HBM_ROW] + 1);
        uint64_t odd = (uint64_t) ((box->last[HBM_ROW] + 1) / 2 - box->first[HBM_ROW] / 2);
        uint64_t a_row = memory_box_volume(box) / rows;

        ret[0] = (rows - odd) * a_row;
        ret[1] = odd * a_row;
}

uint64_t memory_box_position(const WireBox *box, MemoryOrder order, bool descending,
                             const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint64_t position = 0;

        for (unsigned i = 0; i < _MEMORY_AXIS_MAX; i++) {
                unsigned axis = axes[order][i];
                unsigned step = descending ? box->last[axis] - at[axis] : at[axis] - box->first[axis];

                position = position * (box->last[axis] - box->first[axis] + 1u) + step;
        }
        return position;
}

MemoryAxis memory_order_axis(MemoryOrder order, unsigned i) {
        return (MemoryAxis) axes[order][_MEMORY_AXIS_MAX - 1 - i];
}

void memory_walk_first(const WireBox *box, bool descending, uint16_t at[static _MEMORY_AXIS_MAX]) {
        memcpy(at, descending ? box->last : box->first, sizeof(box->first));
}

bool memory_walk_next(const WireBox *box, MemoryOrder order, bool descending, uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (int i = _MEMORY_AXIS_MAX - 1; i >= 0; i--) {
                unsigned axis = axes[order][i];

                if (descending) {
                        if (at[axis]-- > box->first[axis])
                                return true;
                        at[axis] = box->last[axis];
                } else {
                        if (at[axis]++ < box->last[axis])
                                return true;
                        at[axis] = box->first[axis];
                }
        }

        return false;
}
