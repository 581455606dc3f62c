/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From lines to units: their boxes, what these have in common, and for each the units that hold it and the lines that act on it.
 */

#include "sim/memory/structures/units.h"

#include <errno.h>
#include <string.h>

#include "sim/memory/structures/grow.h"

/* ---- in the order of units: small tiles first ---- */

static uint64_t tile_volume(const uint16_t tile[static _MEMORY_AXIS_MAX]) {
        uint64_t volume = 1;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                volume *= tile[axis];
        return volume;
}

static int compare_tiles(const uint16_t a[static _MEMORY_AXIS_MAX], const uint16_t b[static _MEMORY_AXIS_MAX]) {
        uint64_t x = tile_volume(a), y = tile_volume(b);

        if (x != y)
                return x < y ? -1 : 1;
        return memcmp(a, b, _MEMORY_AXIS_MAX * sizeof(a[0]));
}

static int compare_units(const void *a, const void *b) {
        const MemoryUnit *x = a, *y = b;
        int r = compare_tiles(x->tile, y->tile);

        return r != 0 ? r : (x->linear > y->linear) - (x->linear < y->linear);
}

/* Sorted, each once. Returns whether there are more than before. */
static bool sort_units(MemoryUnits *units, size_t n_before) {
        size_t n = 0;

        if (units->n_units > 0)
                qsort(units->units, units->n_units, sizeof(MemoryUnit), compare_units);
        for (size_t i = 0; i < units->n_units; i++)
                if (n == 0 || compare_units(&units->units[n - 1], &units->units[i]) != 0)
                        units->units[n++] = units->units[i];
        units->n_units = n;
        return n > n_before;
}

static int list_tilings(MemoryUnits *units) {
        int r;

        units->n_tilings = 0;
        for (size_t i = 0; i < units->n_units; i++) {
                const MemoryUnit *unit = &units->units[i];

                if (i == 0 || compare_tiles(unit->tile, unit[-1].tile) != 0) {
                        MemoryTiling tiling = { .first_unit = (uint32_t) i };

                        r = MEMORY_GROW(units, tilings, units->n_tilings + 1);
                        if (r < 0)
                                return r;
                        memcpy(tiling.tile, unit->tile, sizeof(tiling.tile));
                        units->tilings[units->n_tilings++] = tiling;
                }
                units->tilings[units->n_tilings - 1].n_units++;
        }

        return 0;
}

static int add_unit(MemoryUnits *units, const MemoryShape *shape, const WireBox *box, const uint16_t tile[static _MEMORY_AXIS_MAX]) {
        MemoryUnit *unit;
        int r;

        if (units->n_units >= 2 * (size_t) MEMORY_UNITS_MAX)
                return -ENOSPC;
        r = MEMORY_GROW(units, units, units->n_units + 1);
        if (r < 0)
                return r;

        unit = &units->units[units->n_units++];
        *unit = (MemoryUnit) { .box = *box, .linear = memory_shape_linear(shape, box->first) };
        memcpy(unit->tile, tile, sizeof(unit->tile));
        return 0;
}

static bool tile_within(const uint16_t inner[static _MEMORY_AXIS_MAX], const uint16_t outer[static _MEMORY_AXIS_MAX]) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (inner[axis] > outer[axis])
                        return false;
        return true;
}

/* What each of A has in common with each of B. */
static int cross_tilings(MemoryUnits *units, const MemoryShape *shape, const MemoryTiling *a, const MemoryTiling *b) {
        uint16_t tile[_MEMORY_AXIS_MAX];
        WireBox common;
        int r;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                tile[axis] = a->tile[axis] < b->tile[axis] ? a->tile[axis] : b->tile[axis];

        for (uint32_t i = a->first_unit; i < a->first_unit + a->n_units; i++)
                for (uint32_t k = b->first_unit; k < b->first_unit + b->n_units; k++) {
                        if (!memory_box_intersect(&units->units[i].box, &units->units[k].box, &common))
                                continue;
                        r = add_unit(units, shape, &common, tile);
                        if (r < 0)
                                return r;
                }

        return 0;
}

/* One round of crossings. Returns whether there were any that are new. */
static int cross_units(MemoryUnits *units, const MemoryShape *shape) {
        size_t n_before = units->n_units;
        int r;

        for (size_t a = 0; a < units->n_tilings; a++)
                for (size_t b = a + 1; b < units->n_tilings; b++) {
                        if (tile_within(units->tilings[a].tile, units->tilings[b].tile))
                                continue;
                        r = cross_tilings(units, shape, &units->tilings[a], &units->tilings[b]);
                        if (r < 0)
                                return r;
                }

        r = sort_units(units, n_before);
        return units->n_units > MEMORY_UNITS_MAX ? -ENOSPC : r;
}

static int list_above(MemoryUnits *units, const MemoryShape *shape) {
        int r;

        units->n_above = 0;
        for (size_t k = 0; k < units->n_tilings; k++)
                for (uint32_t i = units->tilings[k].first_unit; i < units->tilings[k].first_unit + units->tilings[k].n_units; i++) {
                        MemoryUnit *unit = &units->units[i];

                        r = MEMORY_GROW(units, above, units->n_above + units->n_tilings);
                        if (r < 0)
                                return r;

                        unit->first_above = (uint32_t) units->n_above;
                        for (size_t t = k + 1; t < units->n_tilings; t++) {
                                int32_t outer = memory_units_tile_at(units, shape, &units->tilings[t], unit->box.first);

                                if (outer >= 0 && memory_box_contains(&units->units[outer].box, &unit->box))
                                        units->above[units->n_above++] = (uint32_t) outer;
                        }
                        unit->n_above = (uint32_t) units->n_above - unit->first_above;
                }

        return 0;
}

static int compare_lines(const void *a, const void *b) {
        const MemoryLine *x = a, *y = b;
        int r = compare_tiles(x->tile, y->tile);

        if (r != 0)
                return r;
        if (x->linear != y->linear)
                return x->linear < y->linear ? -1 : 1;
        return (int) x->rank - (int) y->rank;
}

/* Adds the lines that have the box of UNIT: they stand together. */
static int add_parts(MemoryUnits *units, const MemoryUnit *unit) {
        MemoryLine key = { .linear = unit->linear };
        size_t low = 0, high = units->n_lines;
        int r;

        memcpy(key.tile, unit->tile, sizeof(key.tile));
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (compare_lines(&units->lines[middle], &key) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }

        for (; low < units->n_lines && units->lines[low].linear == key.linear &&
               compare_tiles(units->lines[low].tile, key.tile) == 0; low++) {
                r = MEMORY_GROW(units, parts, units->n_parts + 1);
                if (r < 0)
                        return r;
                units->parts[units->n_parts++] = (uint32_t) low;
        }

        return 0;
}

static void sort_parts(MemoryUnits *units, const MemoryUnit *unit) {
        uint32_t *parts = units->parts + unit->first_part;

        for (uint32_t i = 1; i < unit->n_parts; i++)
                for (uint32_t k = i; k > 0 && units->lines[parts[k]].rank < units->lines[parts[k - 1]].rank; k--) {
                        uint32_t swap = parts[k];

                        parts[k] = parts[k - 1];
                        parts[k - 1] = swap;
                }
}

static int list_parts(MemoryUnits *units) {
        int r;

        units->n_parts = 0;
        for (size_t i = 0; i < units->n_units; i++) {
                MemoryUnit *unit = &units->units[i];

                unit->first_part = (uint32_t) units->n_parts;
                r = add_parts(units, unit);
                for (uint32_t k = 0; k < unit->n_above && r >= 0; k++)
                        r = add_parts(units, &units->units[units->above[unit->first_above + k]]);
                if (r < 0)
                        return r;
                unit->n_parts = (uint32_t) units->n_parts - unit->first_part;
                sort_parts(units, unit);
        }

        return 0;
}

int memory_units_link(MemoryUnits *units, const MemoryShape *shape) {
        int r;

        if (units->n_lines > 0)
                qsort(units->lines, units->n_lines, sizeof(MemoryLine), compare_lines);

        units->n_units = 0;
        for (size_t i = 0; i < units->n_lines; i++) {
                r = add_unit(units, shape, &units->lines[i].box, units->lines[i].tile);
                if (r < 0)
                        return r;
        }
        (void) sort_units(units, 0);

        do {
                r = list_tilings(units);
                if (r < 0)
                        return r;
                r = cross_units(units, shape);
                if (r < 0)
                        return r;
        } while (r > 0);

        r = MEMORY_GROW(units, touched, units->n_units);
        if (r >= 0)
                r = list_above(units, shape);
        if (r >= 0)
                r = list_parts(units);
        if (r < 0)
                return r;

        units->dirty = false;
        units->settled = false;
        return 0;
}
