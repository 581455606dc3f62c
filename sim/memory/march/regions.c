/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The regions of a box: it is cut into fragments of one write layer, each of these into what lies in no unit and what lies in
 * each unit and in none within it.
 */

#include "sim/memory/march/region.h"

#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/structures/grow.h"

/* What PLACES and BOX have in common, by row parity. */
static void split_common(const MemorySlice *places, const WireBox *box, uint64_t ret[static 2]) {
        MemorySlice common = memory_slice_of(box);

        if (!places->masked && memory_box_contains(&places->box, box))
                memory_box_split(box, ret); /* nearly always */
        else if (memory_slice_intersect(&common, places, &common))
                memory_slice_split(&common, ret);
        else
                ret[0] = ret[1] = 0;
}

/*
 * Accesses of every unit that is touched, and last of no unit, in PLACES and in no unit within. Whatever two units have in
 * common is a unit, so each access is in all that hold its innermost and in no others.
 */
static void count_own(const Memory *memory, const MemorySlice *places, uint64_t (*own)[2]) {
        const MemorySpots *spots = &memory->spots;
        const MemoryUnits *units = &memory->units;
        uint64_t *none = own[units->n_units];

        memory_slice_split(places, none);
        for (size_t i = 0; i < units->n_touched; i++)
                own[units->touched[i]][0] = own[units->touched[i]][1] = 0; /* of those within, at first */

        for (size_t i = 0; i < units->n_touched; i++) {
                const MemoryUnit *unit = &units->units[units->touched[i]];
                uint64_t *within = own[units->touched[i]], n[2];

                split_common(places, &unit->box, n);

                for (unsigned parity = 0; parity < 2; parity++) {
                        within[parity] = n[parity] - within[parity];
                        none[parity] -= within[parity];
                        for (uint32_t k = 0; k < unit->n_above; k++)
                                own[units->above[unit->first_above + k]][parity] += within[parity];
                }
        }

        for (size_t i = 0; i < spots->n_spots; i++) {
                const MemorySpot *spot = &spots->spots[i];

                if (memory_slice_has(places, spot->at))
                        own[spot->unit < 0 ? units->n_units : (size_t) spot->unit][spot->at[HBM_ROW] & 1]--;
        }
}

/* In the order of the visit, which is that of addresses. */
static uint32_t first_key(const MemoryElement *element, const MemoryRegion *region) {
        const WireMarch *march = element->march;
        uint16_t at[_MEMORY_AXIS_MAX];
        uint32_t key;

        memory_walk_first(&region->places.box, march->descending, at);
        if (region->detour)
                memory_detour_turn(region->detour, at);
        key = memory_shape_key(&element->memory->shape, (MemoryOrder) march->order, at);
        return march->descending ? ~key : key;
}

/* What PART leads to, in one layer of the content and one of the past. */
typedef struct Fragment {
        MemorySlice slice;
        MemoryPattern pattern, past;
} Fragment;

static MemoryRegion region_of(const MemoryElement *element, const MemoryReach *part, const Fragment *fragment) {
        MemoryRegion region = { .places = fragment->slice, .pattern = fragment->pattern, .past = fragment->past,
                                .detour = part->detour, .unit = -1 };

        region.shift = memory_reach_shift(&element->memory->shape, part);
        return region;
}

/* Counts what of FRAGMENT lies in UNIT (-1: in none) and in nothing within, and keeps it where it mismatches. */
static int count_unit(MemoryElement *element, const MemoryReach *part, const Fragment *fragment, int32_t unit,
                      const uint64_t own[static 2]) {
        const MemoryUnits *units = &element->memory->units;
        MemoryRegion region = region_of(element, part, fragment);
        int r;

        if (own[0] == 0 && own[1] == 0)
                return 0;
        region.own[0] = own[0];
        region.own[1] = own[1];
        region.unit = unit;
        if (unit >= 0) {
                const WireBox *box = &units->units[unit].box;

                region.effects = units->units[unit].effects;
                region.places = memory_slice_of(box);
                if (fragment->slice.masked || !memory_box_contains(&fragment->slice.box, box))
                        (void) memory_slice_intersect(&region.places, &fragment->slice, &region.places);
        }

        r = memory_region_count(element, &region);
        if (r <= 0)
                return r;

        r = MEMORY_GROW(element, regions, element->n_regions + 1);
        if (r < 0)
                return r;
        region.key = first_key(element, &region);
        element->regions[element->n_regions++] = region;
        return 0;
}

static int count_fragment(MemoryElement *element, const MemoryReach *part, const Fragment *fragment, uint64_t (*own)[2]) {
        const MemoryUnits *units = &element->memory->units;
        int r;

        count_own(element->memory, &fragment->slice, own);

        for (size_t i = 0; i < units->n_touched; i++) {
                r = count_unit(element, part, fragment, (int32_t) units->touched[i], own[units->touched[i]]);
                if (r < 0)
                        return r;
        }

        return count_unit(element, part, fragment, -1, own[units->n_units]);
}

static int count_layer(MemoryElement *element, const MemoryReach *part, const MemoryLayer *layer, uint64_t (*own)[2]) {
        MemoryContent *past = &element->memory->past.layers;
        Fragment fragment = { layer->slice, layer->pattern, {} };
        int r;

        if (element->memory->past.n_boxes == 0)
                return count_fragment(element, part, &fragment, own);

        r = memory_content_cut(past, &layer->slice);
        for (size_t i = 0; i < past->n_fragments && r >= 0; i++) {
                fragment.slice = past->fragments[i].slice;
                fragment.past = past->fragments[i].pattern;
                r = count_fragment(element, part, &fragment, own);
        }
        return r;
}

/* The usual case: one layer, no unit, and it reads as it should. Needs no memory of its own. */
static bool runs_clean(MemoryElement *element, const MemoryReach *part) {
        const MemoryContent *content = &element->memory->content;
        MemoryRegion region;

        if (content->n_fragments != 1 || element->memory->units.n_touched > 0)
                return false;

        region = region_of(element, part, &(Fragment) { content->fragments[0].slice, content->fragments[0].pattern, {} });
        return memory_region_runs_clean(element, &region);
}

static int count_part(MemoryElement *element, const MemoryReach *part) {
        MemoryContent *content = &element->memory->content;
        MemoryUnits *units = &element->memory->units;
        _cleanup_free_ uint64_t (*own)[2] = NULL;
        int r;

        r = memory_content_cut(content, &part->places);
        if (r < 0)
                return r;
        if (!memory_element_reads(element))
                return 0;
        memory_units_touch(units, &element->memory->shape, &part->places.box);
        if (runs_clean(element, part))
                return 0;

        own = calloc(units->n_units + 1, sizeof(*own));
        if (!own)
                return -ENOMEM;

        for (size_t i = 0; i < content->n_fragments; i++) {
                r = count_layer(element, part, &content->fragments[i], own);
                if (r < 0)
                        return r;
        }

        return 0;
}

int memory_regions_count(MemoryElement *element, bool second) {
        const MemoryDetours *detours = &element->memory->detours;
        int r;

        for (size_t i = 0; i < detours->n_parts; i++) {
                if (detours->parts[i].second != second)
                        continue;
                r = count_part(element, &detours->parts[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int compare_regions(const void *a, const void *b) {
        const MemoryRegion *x = a, *y = b;

        return (x->key > y->key) - (x->key < y->key);
}

/* In the order of their first accesses, until all that follow lie behind the last record that is wanted. */
int memory_regions_tell(MemoryElement *element) {
        const WireMarch *march = element->march;
        MemoryRegion *regions = element->regions;
        size_t n = element->n_regions;
        MemoryRecords *records = &element->memory->records;
        size_t enough = march->mismatches_max;
        uint32_t last = UINT32_MAX; /* no record behind it is wanted */
        int r;

        if (n > 1)
                qsort(regions, n, sizeof(MemoryRegion), compare_regions);

        for (size_t i = 0; i < n && march->mismatches_max > 0; i++) {
                if (records->n >= enough) {
                        memory_element_cut_records(element);
                        last = records->records[records->n - 1].key;
                        enough = 2 * (size_t) march->mismatches_max;
                }
                if (regions[i].key > last)
                        break;

                r = memory_region_tell(element, &regions[i]);
                if (r < 0)
                        return r;
        }

        memory_element_cut_records(element);
        return 0;
}
