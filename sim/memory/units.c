/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/units.h"

#include <errno.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/memory/grow.h"

void memory_units_done(MemoryUnits *units) {
        free(units->lines);
        free(units->units);
        *units = (MemoryUnits) {};
}

int memory_units_add_line(MemoryUnits *units, const MemoryLine *line) {
        int r;

        for (size_t i = 0; i < units->n_lines; i++) {
                const MemoryLine *other = &units->lines[i];

                if (memcmp(&other->box, &line->box, sizeof(line->box)) != 0)
                        continue;
                if ((other->effects.array && line->effects.array) ||
                    (other->effects.lanes & line->effects.lanes))
                        return -EEXIST;
        }

        r = MEMORY_GROW(units, lines, units->n_lines + 1);
        if (r < 0)
                return r;

        units->lines[units->n_lines++] = *line;
        units->dirty = true;
        return 0;
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

int memory_units_link(MemoryUnits *units) {
        int r;

        r = MEMORY_GROW(units, units, units->n_lines);
        if (r < 0)
                return r;
        if (units->n_lines > 0)
                qsort(units->lines, units->n_lines, sizeof(MemoryLine), compare_lines);

        units->n_units = 0;
        for (size_t i = 0; i < units->n_lines; i++) {
                const MemoryLine *line = &units->lines[i];
                MemoryUnit *unit = &units->units[units->n_units];
                int32_t parent = (int32_t) units->n_units - 1;

                if (parent >= 0 && memcmp(&unit[-1].box, &line->box, sizeof(line->box)) == 0) {
                        unit[-1].n_lines++;
                        continue;
                }
                while (parent >= 0 && !memory_box_contains(&units->units[parent].box, &line->box))
                        parent = units->units[parent].parent;

                *unit = (MemoryUnit) {
                        .box        = line->box,
                        .linear     = line->linear,
                        .parent     = parent,
                        .first_line = (uint32_t) i,
                        .n_lines    = 1,
                };
                units->n_units++;
        }

        units->dirty = false;
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

void memory_units_ask(MemoryUnits *units, const Execution *execution) {
        for (size_t i = 0; i < units->n_units; i++) {
                MemoryUnit *unit = &units->units[i];

                unit->effects = (MemoryEffects) {};
                for (size_t k = unit->first_line; execution && k < unit->first_line + unit->n_lines; k++)
                        if (fault_is_active(units->lines[k].fault, execution))
                                add_effects(&unit->effects, &units->lines[k].effects);
                if (unit->parent >= 0)
                        add_effects(&unit->effects, &units->units[unit->parent].effects);
        }
}

int32_t memory_units_at(const MemoryUnits *units, uint32_t linear,
                            const uint16_t at[static _MEMORY_AXIS_MAX]) {
        size_t low = 0, high = units->n_units;
        int32_t unit;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (units->units[middle].linear <= linear)
                        low = middle + 1;
                else
                        high = middle;
        }

        /* Each is one run of linear indices: what starts last before this access is inside all that hold it. */
        for (unit = (int32_t) low - 1; unit >= 0; unit = units->units[unit].parent)
                if (memory_box_has(&units->units[unit].box, at))
                        break;
        return unit;
}
