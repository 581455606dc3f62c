/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/place.h"

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"

#define DIE_CHANNELS      4u
#define SUB_WORDLINE_BITS 16u

static int box_of_die(const MemoryShape *shape, unsigned die, WireBox *ret, uint16_t tile[static _MEMORY_AXIS_MAX]) {
        unsigned sid = die / DIE_CHANNELS, first = die % DIE_CHANNELS * DIE_CHANNELS, last = first + DIE_CHANNELS - 1;

        if (sid >= shape->size[HBM_SID] || first >= shape->size[HBM_CHANNEL])
                return -EINVAL;
        if (last >= shape->size[HBM_CHANNEL])
                last = shape->size[HBM_CHANNEL] - 1u;

        ret->first[HBM_SID] = ret->last[HBM_SID] = (uint16_t) sid;
        ret->first[HBM_CHANNEL] = (uint16_t) first;
        ret->last[HBM_CHANNEL] = (uint16_t) last;
        tile[HBM_SID] = 1;
        if (tile[HBM_CHANNEL] > DIE_CHANNELS)
                tile[HBM_CHANNEL] = DIE_CHANNELS;
        return 0;
}

static int box_of_subarray(const MemoryShape *shape, unsigned subarray, WireBox *ret, uint16_t tile[static _MEMORY_AXIS_MAX]) {
        unsigned first = subarray * shape->subarray_rows, last = first + shape->subarray_rows - 1;

        if (first >= shape->size[HBM_ROW])
                return -EINVAL;
        ret->first[HBM_ROW] = (uint16_t) first;
        ret->last[HBM_ROW] = (uint16_t) (last < shape->size[HBM_ROW] ? last : shape->size[HBM_ROW] - 1u);
        tile[HBM_ROW] = shape->subarray_rows;
        return 0;
}

int hbm_place_box(const MemoryShape *shape, const Location *at, WireBox *ret, uint16_t tile[static _MEMORY_AXIS_MAX]) {
        static const MemoryPlaceAxis axes[] = {
                { LOCATION_CHANNEL,        HBM_CHANNEL        },
                { LOCATION_PSEUDO_CHANNEL, HBM_PSEUDO_CHANNEL },
                { LOCATION_SID,            HBM_SID            },
                { LOCATION_BANK_GROUP,     HBM_BANK_GROUP     },
                { LOCATION_BANK,           HBM_BANK           },
                { LOCATION_ROW,            HBM_ROW            },
                { LOCATION_COLUMN,         HBM_COLUMN         },
        };
        int die = location_index(at, LOCATION_DIE), subarray = location_index(at, LOCATION_SUBARRAY), r;

        r = memory_box_named(shape, at, axes, ELEMENTS(axes), ret, tile);
        if (r < 0)
                return r;

        if (die >= 0)
                return box_of_die(shape, (unsigned) die, ret, tile);
        return subarray >= 0 ? box_of_subarray(shape, (unsigned) subarray, ret, tile) : 0;
}

int hbm_box_of(const MemoryShape *shape, const Location *at, WireBox *ret) {
        uint16_t tile[_MEMORY_AXIS_MAX];

        return hbm_place_box(shape, at, ret, tile);
}

MemoryBits hbm_place_bits(const Location *at) {
        int bit = location_index(at, LOCATION_BIT), symbol = location_index(at, LOCATION_SUB_WORDLINE);
        MemoryBits bits = {};

        if (bit >= 0)
                bits.w[bit / 64] = UINT64_C(1) << (bit % 64);
        else if (symbol >= 0)
                bits.w[symbol * SUB_WORDLINE_BITS / 64] = UINT64_C(0xffff) << (symbol * SUB_WORDLINE_BITS % 64);
        else
                memset(&bits, 0xff, sizeof(bits));
        return bits;
}
