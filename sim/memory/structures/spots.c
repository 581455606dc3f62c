/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/spots.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/structures/grow.h"

void memory_spots_done(MemorySpots *spots) {
        free(spots->cells);
        free(spots->spots);
        free(spots->triggers);
        free(spots->fired);
        free(spots->states);
        free(spots->opens);
        for (unsigned order = 0; order < _MEMORY_ORDER_MAX; order++)
                free(spots->sorted[order]);
        *spots = (MemorySpots) {};
}

size_t memory_spots_from(const MemorySpots *spots, uint32_t linear) {
        size_t low = 0, high = spots->n_spots;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (spots->spots[middle].linear < linear)
                        low = middle + 1;
                else
                        high = middle;
        }

        return low;
}

MemorySpot *memory_spots_find(const MemorySpots *spots, uint32_t linear) {
        size_t i = memory_spots_from(spots, linear);

        return i < spots->n_spots && spots->spots[i].linear == linear ? &spots->spots[i] : NULL;
}

MemoryBits memory_spots_content(const MemorySpot *spot, const MemoryContent *content) {
        if (spot->held)
                return spot->data;
        return memory_pattern_bits(memory_content_find(content, spot->at), spot->linear, spot->at[HBM_ROW]);
}

uint32_t memory_spots_line(const MemoryShape *shape, uint32_t linear) {
        uint32_t columns = shape->size[HBM_COLUMN], bank = shape->size[HBM_ROW] * columns;

        return linear / bank * columns + linear % columns;
}

size_t memory_spots_opens_of(const MemorySpots *spots, uint32_t line, size_t *ret_first) {
        size_t low = 0, high = spots->n_opens, n = 0;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (spots->opens[middle].line < line)
                        low = middle + 1;
                else
                        high = middle;
        }
        while (low + n < spots->n_opens && spots->opens[low + n].line == line)
                n++;

        *ret_first = low;
        return n;
}

static void forget_orders(MemorySpots *spots) {
        memset(spots->sorted_valid, 0, sizeof(spots->sorted_valid));
}

int memory_spots_add(MemorySpots *spots, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX], int32_t unit,
                     MemorySpot **ret) {
        size_t i = memory_spots_from(spots, linear);
        MemorySpot *spot;
        int r;

        if (spots->n_spots >= MEMORY_SPOTS_MAX)
                return -ENOSPC;
        r = MEMORY_GROW(spots, spots, spots->n_spots + 1);
        if (r < 0)
                return r;

        spot = &spots->spots[i];
        memmove(spot + 1, spot, (spots->n_spots - i) * sizeof(MemorySpot));
        spots->n_spots++;
        forget_orders(spots);

        *spot = (MemorySpot) { .linear = linear, .unit = unit, .decoder = -1, .quiet = true };
        memcpy(spot->at, at, sizeof(spot->at));
        *ret = spot;
        return 0;
}

void memory_spots_sweep(MemorySpots *spots) {
        size_t n = 0;

        for (size_t i = 0; i < spots->n_spots; i++)
                if (spots->spots[i].held || spots->spots[i].behind || spots->spots[i].n_cells > 0) {
                        if (n < i)
                                spots->spots[n] = spots->spots[i];
                        n++;
                }

        if (n < spots->n_spots)
                forget_orders(spots);
        spots->n_spots = n;
}

typedef struct Keyed {
        uint32_t key, index;
} Keyed;

static int compare_keyed(const void *a, const void *b) {
        const Keyed *x = a, *y = b;

        return (x->key > y->key) - (x->key < y->key);
}

static int sort_spots(MemorySpots *spots, const MemoryShape *shape, MemoryOrder order) {
        _cleanup_free_ Keyed *keyed = NULL;
        uint32_t *sorted;

        if (order == MEMORY_ORDER_COLUMN_FAST || spots->sorted_valid[order] || spots->n_spots == 0)
                return 0;

        keyed = reallocarray(NULL, spots->n_spots, sizeof(Keyed));
        sorted = reallocarray(spots->sorted[order], spots->n_spots, sizeof(uint32_t));
        if (sorted)
                spots->sorted[order] = sorted;
        if (!keyed || !sorted)
                return -ENOMEM;

        for (size_t i = 0; i < spots->n_spots; i++)
                keyed[i] = (Keyed) { memory_shape_key(shape, order, spots->spots[i].at), (uint32_t) i };
        qsort(keyed, spots->n_spots, sizeof(Keyed), compare_keyed);
        for (size_t i = 0; i < spots->n_spots; i++)
                sorted[i] = keyed[i].index;
        spots->sorted_valid[order] = true;
        return 0;
}

MemorySpot *memory_spots_nth(const MemorySpots *spots, MemoryOrder order, size_t index) {
        return &spots->spots[order == MEMORY_ORDER_COLUMN_FAST ? index : spots->sorted[order][index]];
}

/* Index of the first spot whose key is KEY or more. */
static size_t find_key(const MemorySpots *spots, const MemoryShape *shape, MemoryOrder order, uint64_t key) {
        size_t low = 0, high = spots->n_spots;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (memory_shape_key(shape, order, memory_spots_nth(spots, order, middle)->at) < key)
                        low = middle + 1;
                else
                        high = middle;
        }

        return low;
}

int memory_spots_range(MemorySpots *spots, const MemoryShape *shape, MemoryOrder order, const WireBox *box,
                      size_t *ret_first, size_t *ret_end) {
        int r;

        r = sort_spots(spots, shape, order);
        if (r < 0)
                return r;

        *ret_first = find_key(spots, shape, order, memory_shape_key(shape, order, box->first));
        *ret_end = find_key(spots, shape, order, (uint64_t) memory_shape_key(shape, order, box->last) + 1);
        return 0;
}
