/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/overlay.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/cleanup.h"

static int grow(void **array, size_t *allocated, size_t wanted, size_t element_bytes) {
        size_t n = *allocated > 0 ? *allocated : 16;
        void *grown;

        if (wanted <= *allocated)
                return 0;

        while (n < wanted)
                n *= 2;
        grown = reallocarray(*array, n, element_bytes);
        if (!grown)
                return -ENOMEM;

        *array = grown;
        *allocated = n;
        return 0;
}

#define GROW(overlay, what, wanted)                                                                          \
        grow((void **) &(overlay)->what, &(overlay)->what##_allocated, wanted, sizeof((overlay)->what[0]))

void memory_overlay_done(MemoryOverlay *overlay) {
        free(overlay->cells);
        free(overlay->spots);
        free(overlay->lines);
        free(overlay->units);
        free(overlay->sorted);
        *overlay = (MemoryOverlay) {};
}

int memory_overlay_add_cell(MemoryOverlay *overlay, const MemoryCell *cell) {
        int r;

        for (size_t i = 0; i < overlay->n_cells; i++)
                if (overlay->cells[i].linear == cell->linear && overlay->cells[i].bit == cell->bit)
                        return -EEXIST;

        r = GROW(overlay, cells, overlay->n_cells + 1);
        if (r < 0)
                return r;

        overlay->cells[overlay->n_cells++] = *cell;
        overlay->dirty = true;
        return 0;
}

int memory_overlay_add_line(MemoryOverlay *overlay, const MemoryLine *line) {
        int r;

        for (size_t i = 0; i < overlay->n_lines; i++) {
                const MemoryLine *other = &overlay->lines[i];

                if (memcmp(&other->box, &line->box, sizeof(line->box)) != 0)
                        continue;
                if ((other->effects.array && line->effects.array) ||
                    (other->effects.lanes & line->effects.lanes))
                        return -EEXIST;
        }

        r = GROW(overlay, lines, overlay->n_lines + 1);
        if (r < 0)
                return r;

        overlay->lines[overlay->n_lines++] = *line;
        overlay->dirty = true;
        return 0;
}

static int compare_cells(const void *a, const void *b) {
        const MemoryCell *x = a, *y = b;

        if (x->linear != y->linear)
                return x->linear < y->linear ? -1 : 1;
        return (int) x->bit - (int) y->bit;
}

/* Around before within: units nest, and the larger of two that start at one access holds the other. */
static int compare_lines(const void *a, const void *b) {
        const MemoryLine *x = a, *y = b;
        uint64_t x_volume, y_volume;

        if (x->linear != y->linear)
                return x->linear < y->linear ? -1 : 1;
        x_volume = memory_box_volume(&x->box);
        y_volume = memory_box_volume(&y->box);
        return (x_volume < y_volume) - (x_volume > y_volume);
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
static int link_cells(MemoryOverlay *overlay, const MemoryShape *shape) {
        size_t n_before = overlay->n_spots, cell = 0;
        int r;

        if (overlay->n_cells > 0)
                qsort(overlay->cells, overlay->n_cells, sizeof(MemoryCell), compare_cells);

        r = GROW(overlay, spots, overlay->n_spots + overlay->n_cells);
        if (r < 0)
                return r;

        for (size_t i = 0; i < overlay->n_cells; i++) {
                MemorySpot *spot = &overlay->spots[overlay->n_spots];
                MemorySpot key = { .linear = overlay->cells[i].linear };

                if (i > 0 && overlay->cells[i - 1].linear == key.linear)
                        continue;
                if (n_before > 0 && bsearch(&key, overlay->spots, n_before, sizeof(MemorySpot), compare_spots))
                        continue;
                *spot = (MemorySpot) { .linear = key.linear };
                linear_to_at(shape, key.linear, spot->at);
                overlay->n_spots++;
        }

        if (overlay->n_spots > n_before)
                qsort(overlay->spots, overlay->n_spots, sizeof(MemorySpot), compare_spots);

        for (size_t i = 0; i < overlay->n_spots; i++) {
                MemorySpot *spot = &overlay->spots[i];

                spot->first_cell = (uint32_t) cell;
                while (cell < overlay->n_cells && overlay->cells[cell].linear == spot->linear)
                        cell++;
                spot->n_cells = (uint16_t) (cell - spot->first_cell);
        }

        assert(cell == overlay->n_cells);
        return 0;
}

static int link_lines(MemoryOverlay *overlay) {
        int r;

        r = GROW(overlay, units, overlay->n_lines);
        if (r < 0)
                return r;
        if (overlay->n_lines > 0)
                qsort(overlay->lines, overlay->n_lines, sizeof(MemoryLine), compare_lines);

        overlay->n_units = 0;
        for (size_t i = 0; i < overlay->n_lines; i++) {
                const MemoryLine *line = &overlay->lines[i];
                MemoryUnit *unit = &overlay->units[overlay->n_units];
                int32_t parent = (int32_t) overlay->n_units - 1;

                if (parent >= 0 && memcmp(&unit[-1].box, &line->box, sizeof(line->box)) == 0) {
                        unit[-1].n_lines++;
                        continue;
                }
                while (parent >= 0 && !memory_box_contains(&overlay->units[parent].box, &line->box))
                        parent = overlay->units[parent].parent;

                *unit = (MemoryUnit) {
                        .box        = line->box,
                        .linear     = line->linear,
                        .parent     = parent,
                        .first_line = (uint32_t) i,
                        .n_lines    = 1,
                };
                overlay->n_units++;
        }

        return 0;
}

static void add_effects(MemoryEffects *effects, const MemoryEffects *outer) {
        static const MemoryArray inverted[_MEMORY_ARRAY_MAX] = {
                [MEMORY_ARRAY_GOOD]     = MEMORY_ARRAY_INVERTED,
                [MEMORY_ARRAY_ZEROS]    = MEMORY_ARRAY_ONES,
                [MEMORY_ARRAY_ONES]     = MEMORY_ARRAY_ZEROS,
                [MEMORY_ARRAY_INVERTED] = MEMORY_ARRAY_GOOD,
        };

        if (outer->array == MEMORY_ARRAY_INVERTED)
                effects->array = inverted[effects->array];
        else if (outer->array != MEMORY_ARRAY_GOOD)
                effects->array = outer->array;

        effects->values = (effects->values & ~outer->lanes) | (outer->values & outer->lanes);
        effects->lanes |= outer->lanes;
}

static void ask_units(MemoryOverlay *overlay, const Execution *execution) {
        for (size_t i = 0; i < overlay->n_units; i++) {
                MemoryUnit *unit = &overlay->units[i];

                unit->effects = (MemoryEffects) {};
                for (size_t k = unit->first_line; execution && k < unit->first_line + unit->n_lines; k++)
                        if (fault_is_active(overlay->lines[k].fault, execution))
                                add_effects(&unit->effects, &overlay->lines[k].effects);
                if (unit->parent >= 0)
                        add_effects(&unit->effects, &overlay->units[unit->parent].effects);
        }
}

int memory_overlay_prepare(MemoryOverlay *overlay, const MemoryShape *shape, const Execution *execution) {
        int r;

        if (overlay->dirty) {
                overlay->sorted_valid = false;
                r = link_cells(overlay, shape);
                if (r < 0)
                        return r;
                r = link_lines(overlay);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < overlay->n_spots; i++)
                        overlay->spots[i].unit = memory_overlay_unit_at(overlay, overlay->spots[i].linear,
                                                                     overlay->spots[i].at);
                overlay->dirty = false;
                memory_overlay_sweep(overlay);
        }

        ask_units(overlay, execution);
        return 0;
}

int32_t memory_overlay_unit_at(const MemoryOverlay *overlay, uint32_t linear,
                            const uint16_t at[static _MEMORY_AXIS_MAX]) {
        size_t low = 0, high = overlay->n_units;
        int32_t unit;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (overlay->units[middle].linear <= linear)
                        low = middle + 1;
                else
                        high = middle;
        }

        /* Each is one run of linear indices: what starts last before this access is inside all that hold it. */
        for (unit = (int32_t) low - 1; unit >= 0; unit = overlay->units[unit].parent)
                if (memory_box_has(&overlay->units[unit].box, at))
                        break;
        return unit;
}

/* Index of the first spot at LINEAR or behind. */
static size_t lower_bound(const MemoryOverlay *overlay, uint32_t linear) {
        size_t low = 0, high = overlay->n_spots;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (overlay->spots[middle].linear < linear)
                        low = middle + 1;
                else
                        high = middle;
        }

        return low;
}

MemorySpot *memory_overlay_find(MemoryOverlay *overlay, uint32_t linear) {
        size_t i = lower_bound(overlay, linear);

        return i < overlay->n_spots && overlay->spots[i].linear == linear ? &overlay->spots[i] : NULL;
}

int memory_overlay_spot(MemoryOverlay *overlay, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX],
                     MemorySpot **ret) {
        size_t i = lower_bound(overlay, linear);
        MemorySpot *spot;
        int r;

        if (i == overlay->n_spots || overlay->spots[i].linear != linear) {
                if (overlay->n_spots >= MEMORY_SPOTS_MAX)
                        return -ENOSPC;
                r = GROW(overlay, spots, overlay->n_spots + 1);
                if (r < 0)
                        return r;

                spot = &overlay->spots[i];
                memmove(spot + 1, spot, (overlay->n_spots - i) * sizeof(MemorySpot));
                overlay->n_spots++;
                overlay->sorted_valid = false;

                *spot = (MemorySpot) { .linear = linear, .unit = memory_overlay_unit_at(overlay, linear, at) };
                memcpy(spot->at, at, sizeof(spot->at));
        }

        *ret = &overlay->spots[i];
        return 0;
}

void memory_overlay_sweep(MemoryOverlay *overlay) {
        size_t n = 0;

        for (size_t i = 0; i < overlay->n_spots; i++)
                if (overlay->spots[i].held || overlay->spots[i].n_cells > 0) {
                        if (n < i)
                                overlay->spots[n] = overlay->spots[i];
                        n++;
                }

        if (n < overlay->n_spots)
                overlay->sorted_valid = false;
        overlay->n_spots = n;
}

typedef struct Sorting {
        const MemoryOverlay *overlay;
        const MemoryShape *shape;
        MemoryOrder order;
} Sorting;

static uint32_t key_of(const Sorting *sorting, uint32_t index) {
        return memory_shape_key(sorting->shape, sorting->order, sorting->overlay->spots[index].at);
}

static int compare_keys(const void *a, const void *b, void *userdata) {
        uint32_t x = key_of(userdata, *(const uint32_t *) a), y = key_of(userdata, *(const uint32_t *) b);

        return (x > y) - (x < y);
}

static int sort_spots(MemoryOverlay *overlay, const MemoryShape *shape, MemoryOrder order) {
        Sorting sorting = { overlay, shape, order };
        int r;

        if (order == MEMORY_ORDER_COLUMN_FAST || (overlay->sorted_valid && overlay->sorted_order == order))
                return 0;

        r = GROW(overlay, sorted, overlay->n_spots);
        if (r < 0)
                return r;

        for (size_t i = 0; i < overlay->n_spots; i++)
                overlay->sorted[i] = (uint32_t) i;
        if (overlay->n_spots > 0)
                qsort_r(overlay->sorted, overlay->n_spots, sizeof(uint32_t), compare_keys, &sorting);
        overlay->sorted_order = order;
        overlay->sorted_valid = true;
        return 0;
}

MemorySpot *memory_overlay_nth(MemoryOverlay *overlay, MemoryOrder order, size_t index) {
        return &overlay->spots[order == MEMORY_ORDER_COLUMN_FAST ? index : overlay->sorted[index]];
}

/* Index of the first spot whose key is KEY or more. */
static size_t find_key(MemoryOverlay *overlay, const MemoryShape *shape, MemoryOrder order, uint64_t key) {
        size_t low = 0, high = overlay->n_spots;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (memory_shape_key(shape, order, memory_overlay_nth(overlay, order, middle)->at) < key)
                        low = middle + 1;
                else
                        high = middle;
        }

        return low;
}

int memory_overlay_range(MemoryOverlay *overlay, const MemoryShape *shape, MemoryOrder order, const WireBox *box,
                      size_t *ret_first, size_t *ret_end) {
        int r;

        r = sort_spots(overlay, shape, order);
        if (r < 0)
                return r;

        *ret_first = find_key(overlay, shape, order, memory_shape_key(shape, order, box->first));
        *ret_end = find_key(overlay, shape, order, (uint64_t) memory_shape_key(shape, order, box->last) + 1);
        return 0;
}
