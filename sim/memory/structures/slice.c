/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/slice.h"

#include <string.h>

static unsigned top_bit(unsigned x) {
        return 31u - (unsigned) __builtin_clz(x);
}

/* The least number from X on that has VALUE under MASK; beyond UINT16_MAX where there is none. */
static uint32_t at_least(uint32_t x, unsigned mask, unsigned value) {
        unsigned wrong;

        while (x <= UINT16_MAX && (wrong = (x & mask) ^ value) != 0) {
                unsigned bit = top_bit(wrong);

                /* A one for the zero there, or on to the next number that has a zero there; what is below starts again. */
                x = ((x >> bit) + 1) << bit;
        }
        return x;
}

/* The greatest number up to X that has VALUE under MASK; negative where there is none. */
static int32_t at_most(int32_t x, unsigned mask, unsigned value) {
        unsigned wrong;

        while (x >= 0 && (wrong = ((unsigned) x & mask) ^ value) != 0) {
                unsigned bit = top_bit(wrong);

                x = ((x >> bit) << bit) - 1;
        }
        return x;
}

/* How many numbers below N have VALUE under MASK. */
static uint64_t count_below(uint32_t n, unsigned mask, unsigned value) {
        uint64_t count = 0;

        for (unsigned bit = 17; bit-- > 0;) {
                unsigned here = 1u << bit, below = here - 1;

                if (n & here) {
                        if (!(value & here))
                                count += UINT64_C(1) << (bit - (unsigned) __builtin_popcount(mask & below));
                        if ((mask & here) && !(value & here))
                                return count;
                } else if (value & here)
                        return count;
        }

        return count;
}

static uint64_t count_axis(const MemorySlice *slice, unsigned axis, unsigned mask, unsigned value) {
        if (mask == 0)
                return (uint64_t) (slice->box.last[axis] - slice->box.first[axis] + 1);
        return count_below(slice->box.last[axis] + 1u, mask, value) - count_below(slice->box.first[axis], mask, value);
}

/* Draws first and last in to accesses of the slice. False where there are none. */
static bool tighten(MemorySlice *slice, unsigned axis) {
        uint32_t first = at_least(slice->box.first[axis], slice->mask[axis], slice->value[axis]);
        int32_t last = at_most(slice->box.last[axis], slice->mask[axis], slice->value[axis]);

        if ((int64_t) first > last)
                return false;
        slice->box.first[axis] = (uint16_t) first;
        slice->box.last[axis] = (uint16_t) last;
        return true;
}

bool memory_slice_half(const MemorySlice *slice, MemoryAxis axis, unsigned bit, bool value, MemorySlice *ret) {
        uint16_t here = (uint16_t) (1u << bit);
        MemorySlice half = *slice;

        if (half.mask[axis] & here) {
                if (((half.value[axis] & here) != 0) != value)
                        return false;
                *ret = half;
                return true;
        }

        half.mask[axis] |= here;
        half.value[axis] |= value ? here : 0;
        half.masked = true;
        if (!tighten(&half, axis))
                return false;
        *ret = half;
        return true;
}

void memory_slice_flip(MemorySlice *slice, MemoryAxis axis, unsigned bit) {
        uint16_t here = (uint16_t) (1u << bit);

        slice->value[axis] ^= here;
        slice->box.first[axis] ^= here;
        slice->box.last[axis] ^= here;
}

bool memory_slice_has(const MemorySlice *slice, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        if (!memory_box_has(&slice->box, at))
                return false;
        for (unsigned axis = 0; slice->masked && axis < _MEMORY_AXIS_MAX; axis++)
                if ((at[axis] & slice->mask[axis]) != slice->value[axis])
                        return false;
        return true;
}

uint64_t memory_slice_volume(const MemorySlice *slice) {
        uint64_t volume = 1;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                volume *= count_axis(slice, axis, slice->mask[axis], slice->value[axis]);
        return volume;
}

void memory_slice_split(const MemorySlice *slice, uint64_t ret[static 2]) {
        unsigned mask = slice->mask[HBM_ROW], value = slice->value[HBM_ROW];
        uint64_t of_row = 1;

        if (!slice->masked) {
                memory_box_split(&slice->box, ret);
                return;
        }

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (axis != HBM_ROW)
                        of_row *= count_axis(slice, axis, slice->mask[axis], slice->value[axis]);
        for (unsigned parity = 0; parity < 2; parity++)
                ret[parity] = (mask & 1) && (value & 1) != parity ? 0 :
                                of_row * count_axis(slice, HBM_ROW, mask | 1, (value & ~1u) | parity);
}

bool memory_slice_contains(const MemorySlice *outer, const MemorySlice *inner) {
        if (!memory_box_contains(&outer->box, &inner->box))
                return false;
        for (unsigned axis = 0; outer->masked && axis < _MEMORY_AXIS_MAX; axis++)
                if ((outer->mask[axis] & ~inner->mask[axis]) ||
                    (inner->value[axis] & outer->mask[axis]) != outer->value[axis])
                        return false;
        return true;
}

bool memory_slice_intersect(const MemorySlice *a, const MemorySlice *b, MemorySlice *ret) {
        MemorySlice common = *a;

        if (!memory_box_intersect(&a->box, &b->box, &common.box))
                return false;
        if (a->masked || b->masked) {
                common.masked = true;
                for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                        if ((a->value[axis] ^ b->value[axis]) & a->mask[axis] & b->mask[axis])
                                return false;
                        common.mask[axis] |= b->mask[axis];
                        common.value[axis] |= b->value[axis];
                        if (common.mask[axis] && !tighten(&common, axis))
                                return false;
                }
        }

        *ret = common;
        return true;
}

/* Adds what of REST lies outside of first … last on the axis, and has REST keep what lies within. */
static unsigned cut_ends(MemorySlice *rest, unsigned axis, const MemorySlice *b, MemorySlice *ret) {
        unsigned n = 0;

        if (rest->box.first[axis] < b->box.first[axis]) {
                ret[n] = *rest;
                ret[n].box.last[axis] = (uint16_t) (b->box.first[axis] - 1);
                n += tighten(&ret[n], axis);
                rest->box.first[axis] = b->box.first[axis];
        }
        if (rest->box.last[axis] > b->box.last[axis]) {
                ret[n] = *rest;
                ret[n].box.first[axis] = (uint16_t) (b->box.last[axis] + 1);
                n += tighten(&ret[n], axis);
                rest->box.last[axis] = b->box.last[axis];
        }

        return n;
}

unsigned memory_slice_subtract(const MemorySlice *a, const MemorySlice *b, MemorySlice ret[static MEMORY_SLICE_PIECES_MAX]) {
        MemorySlice rest = *a;
        unsigned n = 0;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                n += cut_ends(&rest, axis, b, ret + n);
                for (unsigned bit = 0; b->masked && bit < 16; bit++) {
                        unsigned here = 1u << bit;
                        bool value = b->value[axis] & here;

                        if (!(b->mask[axis] & here) || (rest.mask[axis] & here))
                                continue;
                        n += memory_slice_half(&rest, (MemoryAxis) axis, bit, !value, &ret[n]);
                        (void) memory_slice_half(&rest, (MemoryAxis) axis, bit, value, &rest);
                }
        }

        return n;
}

bool memory_slice_join(MemorySlice *a, const MemorySlice *b) {
        if (a->masked != b->masked ||
            (a->masked && (memcmp(a->mask, b->mask, sizeof(a->mask)) != 0 || memcmp(a->value, b->value, sizeof(a->value)) != 0)))
                return false;
        return memory_box_join(&a->box, &b->box);
}

bool memory_slice_next(const MemorySlice *slice, MemoryOrder order, bool descending, uint16_t at[static _MEMORY_AXIS_MAX]) {
        bool more;

        if (!slice->masked)
                return memory_walk_next(&slice->box, order, descending, at);

        for (unsigned i = 0; i < _MEMORY_AXIS_MAX; i++) {
                unsigned axis = memory_order_axis(order, i);

                if (descending) {
                        int32_t next = at_most((int32_t) at[axis] - 1, slice->mask[axis], slice->value[axis]);

                        more = next >= slice->box.first[axis];
                        at[axis] = more ? (uint16_t) next : slice->box.last[axis];
                } else {
                        uint32_t next = at_least(at[axis] + 1u, slice->mask[axis], slice->value[axis]);

                        more = next <= slice->box.last[axis];
                        at[axis] = more ? (uint16_t) next : slice->box.first[axis];
                }
                if (more)
                        return true;
        }

        return false;
}
