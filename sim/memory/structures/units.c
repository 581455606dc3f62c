/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/units.h"

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/structures/grow.h"

void memory_units_done(MemoryUnits *units) {
        free(units->lines);
        free(units->units);
        free(units->tilings);
        free(units->above);
        free(units->parts);
        free(units->touched);
        *units = (MemoryUnits) {};
}

/* ---- effects ---- */

MemoryEffects memory_effects_array(MemoryArray array, const MemoryBits *mask) {
        MemoryEffects effects = {};

        if (array == MEMORY_ARRAY_ZEROS || array == MEMORY_ARRAY_ONES)
                effects.drop = *mask;
        if (array == MEMORY_ARRAY_ONES || array == MEMORY_ARRAY_INVERTED)
                effects.flip = *mask;
        return effects;
}

static bool effects_meet(const MemoryEffects *a, const MemoryEffects *b) {
        uint64_t common = (a->lanes & b->lanes) | (a->silent && b->silent) | (a->bypass && b->bypass) | (a->spent && b->spent);

        for (unsigned word = 0; word < ELEMENTS(a->drop.w); word++)
                common |= (a->drop.w[word] | a->flip.w[word]) & (b->drop.w[word] | b->flip.w[word]);
        return common != 0;
}

static void add_effects(MemoryEffects *effects, const MemoryEffects *next) {
        for (unsigned word = 0; word < ELEMENTS(effects->drop.w); word++) {
                effects->flip.w[word] = (effects->flip.w[word] & ~next->drop.w[word]) ^ next->flip.w[word];
                effects->drop.w[word] |= next->drop.w[word];
        }
        effects->values = (effects->values & ~next->lanes) | (next->values & next->lanes);
        effects->lanes |= next->lanes;
        effects->silent |= next->silent;
        effects->bypass |= next->bypass;
        effects->stale |= next->stale;
        effects->spent |= next->spent;
}

int memory_units_add_line(MemoryUnits *units, const MemoryLine *line) {
        int r;

        for (size_t i = 0; i < units->n_lines; i++)
                if (memcmp(&units->lines[i].box, &line->box, sizeof(line->box)) == 0 &&
                    effects_meet(&units->lines[i].effects, &line->effects))
                        return -EEXIST;

        r = MEMORY_GROW(units, lines, units->n_lines + 1);
        if (r < 0)
                return r;

        units->lines[units->n_lines++] = *line;
        units->dirty = true;
        return 0;
}

/* ---- finding ---- */

/* Index of the tiling's first unit that starts at LINEAR or behind; where none does, that behind its last. */
static uint32_t lower_bound(const MemoryUnits *units, const MemoryTiling *tiling, uint64_t linear) {
        uint32_t low = tiling->first_unit, high = low + tiling->n_units;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (units->units[middle].linear < linear)
                        low = middle + 1;
                else
                        high = middle;
        }

        return low;
}

static uint32_t tile_linear(const MemoryShape *shape, const MemoryTiling *tiling, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint16_t first[_MEMORY_AXIS_MAX];

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                first[axis] = (uint16_t) (at[axis] / tiling->tile[axis] * tiling->tile[axis]);
        return memory_shape_linear(shape, first);
}

int32_t memory_units_tile_at(const MemoryUnits *units, const MemoryShape *shape, const MemoryTiling *tiling,
                             const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint32_t linear = tile_linear(shape, tiling, at), i = lower_bound(units, tiling, linear);

        return i < tiling->first_unit + tiling->n_units && units->units[i].linear == linear ? (int32_t) i : -1;
}

int32_t memory_units_at(const MemoryUnits *units, const MemoryShape *shape, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        int32_t unit = -1;

        for (size_t i = 0; i < units->n_tilings && unit < 0; i++)
                unit = memory_units_tile_at(units, shape, &units->tilings[i], at);
        return unit;
}

void memory_units_touch(MemoryUnits *units, const MemoryShape *shape, const WireBox *box) {
        uint32_t last = memory_shape_linear(shape, box->last);

        units->n_touched = 0;
        for (size_t k = 0; k < units->n_tilings; k++) {
                const MemoryTiling *tiling = &units->tilings[k];

                for (uint32_t i = lower_bound(units, tiling, tile_linear(shape, tiling, box->first));
                     i < tiling->first_unit + tiling->n_units && units->units[i].linear <= last; i++) {
                        WireBox common;

                        if (memory_box_intersect(&units->units[i].box, box, &common))
                                units->touched[units->n_touched++] = i;
                }
        }
}

/* ---- what acts ---- */

void memory_units_ask(MemoryUnits *units, const Execution *execution) {
        bool same = units->settled;

        for (size_t i = 0; i < units->n_lines; i++) {
                MemoryLine *line = &units->lines[i];
                bool active = execution && (!line->fault || fault_is_active(line->fault, execution));

                same &= active == line->active;
                line->active = active;
        }

        for (size_t i = 0; i < units->n_units && !same; i++) {
                MemoryUnit *unit = &units->units[i];

                unit->effects = (MemoryEffects) {};
                for (uint32_t k = unit->first_part; k < unit->first_part + unit->n_parts; k++)
                        if (units->lines[units->parts[k]].active)
                                add_effects(&unit->effects, &units->lines[units->parts[k]].effects);
        }
        units->settled = true;
}
