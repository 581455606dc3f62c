/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/spots.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/memory/grow.h"

void memory_spots_done(MemorySpots *spots) {
        free(spots->cells);
        free(spots->spots);
        free(spots->sorted);
        *spots = (MemorySpots) {};
}

int memory_spots_add_cell(MemorySpots *spots, const MemoryCell *cell) {
        int r;

        for (size_t i = 0; i < spots->n_cells; i++)
                if (spots->cells[i].linear == cell->linear && spots->cells[i].bit == cell->bit)
                        return -EEXIST;

        r = MEMORY_GROW(spots, cells, spots->n_cells + 1);
        if (r < 0)
                return r;

        spots->cells[spots->n_cells++] = *cell;
        spots->dirty = true;
        return 0;
}

static int compare_cells(const void *a, const void *b) {
        const MemoryCell *x = a, *y = b;

        if (x->linear != y->linear)
                return x->linear < y->linear ? -1 : 1;
        return (int) x->bit - (int) y->bit;
}

static int compare_spots(const void *a, const void *b) {
        const MemorySpot *x = a, *y = b;

        return (x->linear > y->linear) - (x->linear < y->linear);
}

static void linear_to_at(const MemoryShape *shape, uint32_t linear, uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (int axis = _MEMORY_AXIS_MAX - 1; axis >= 0; axis--) {
                at[axis] = (uint16_t) (linear % shape->size[axis]);
                linear /= shape->size[axis];
        }
}

/* Every access that has cells is a spot, and knows them. */
int memory_spots_link(MemorySpots *spots, const MemoryShape *shape) {
        size_t n_before = spots->n_spots, cell = 0;
        int r;

        if (spots->n_cells > 0)
                qsort(spots->cells, spots->n_cells, sizeof(MemoryCell), compare_cells);
        spots->sorted_valid = false;

        r = MEMORY_GROW(spots, spots, spots->n_spots + spots->n_cells);
        if (r < 0)
                return r;

        for (size_t i = 0; i < spots->n_cells; i++) {
                MemorySpot *spot = &spots->spots[spots->n_spots];
                MemorySpot key = { .linear = spots->cells[i].linear };

                if (i > 0 && spots->cells[i - 1].linear == key.linear)
                        continue;
                if (n_before > 0 && bsearch(&key, spots->spots, n_before, sizeof(MemorySpot), compare_spots))
                        continue;
                *spot = (MemorySpot) { .linear = key.linear };
                linear_to_at(shape, key.linear, spot->at);
                spots->n_spots++;
        }

        if (spots->n_spots > n_before)
                qsort(spots->spots, spots->n_spots, sizeof(MemorySpot), compare_spots);

        for (size_t i = 0; i < spots->n_spots; i++) {
                MemorySpot *spot = &spots->spots[i];

                spot->first_cell = (uint32_t) cell;
                while (cell < spots->n_cells && spots->cells[cell].linear == spot->linear)
                        cell++;
                spot->n_cells = (uint16_t) (cell - spot->first_cell);
        }

        assert(cell == spots->n_cells);
        spots->dirty = false;
        return 0;
}

/* Index of the first spot at LINEAR or behind. */
static size_t lower_bound(const MemorySpots *spots, uint32_t linear) {
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
        size_t i = lower_bound(spots, linear);

        return i < spots->n_spots && spots->spots[i].linear == linear ? &spots->spots[i] : NULL;
}

int memory_spots_add(MemorySpots *spots, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX], int32_t unit,
                     MemorySpot **ret) {
        size_t i = lower_bound(spots, linear);
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
        spots->sorted_valid = false;

        *spot = (MemorySpot) { .linear = linear, .unit = unit };
        memcpy(spot->at, at, sizeof(spot->at));
        *ret = spot;
        return 0;
}

void memory_spots_sweep(MemorySpots *spots) {
        size_t n = 0;

        for (size_t i = 0; i < spots->n_spots; i++)
                if (spots->spots[i].held || spots->spots[i].n_cells > 0) {
                        if (n < i)
                                spots->spots[n] = spots->spots[i];
                        n++;
                }

        if (n < spots->n_spots)
                spots->sorted_valid = false;
        spots->n_spots = n;
}

typedef struct Sorting {
        const MemorySpots *spots;
        const MemoryShape *shape;
        MemoryOrder order;
} Sorting;

static uint32_t key_of(const Sorting *sorting, uint32_t index) {
        return memory_shape_key(sorting->shape, sorting->order, sorting->spots->spots[index].at);
}

static int compare_keys(const void *a, const void *b, void *userdata) {
        uint32_t x = key_of(userdata, *(const uint32_t *) a), y = key_of(userdata, *(const uint32_t *) b);

        return (x > y) - (x < y);
}

static int sort_spots(MemorySpots *spots, const MemoryShape *shape, MemoryOrder order) {
        Sorting sorting = { spots, shape, order };
        int r;

        if (order == MEMORY_ORDER_COLUMN_FAST || (spots->sorted_valid && spots->sorted_order == order))
                return 0;

        r = MEMORY_GROW(spots, sorted, spots->n_spots);
        if (r < 0)
                return r;

        for (size_t i = 0; i < spots->n_spots; i++)
                spots->sorted[i] = (uint32_t) i;
        if (spots->n_spots > 0)
                qsort_r(spots->sorted, spots->n_spots, sizeof(uint32_t), compare_keys, &sorting);
        spots->sorted_order = order;
        spots->sorted_valid = true;
        return 0;
}

MemorySpot *memory_spots_nth(const MemorySpots *spots, MemoryOrder order, size_t index) {
        return &spots->spots[order == MEMORY_ORDER_COLUMN_FAST ? index : spots->sorted[index]];
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
