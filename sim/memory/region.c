/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/region.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/memory/grow.h"

/* Counts are exact up to here, see COMMAND_HBM_MARCH; what is hashed beyond makes up for accesses that agree. */
#define COUNT_EXACT (UINT64_C(1) << 20)
#define COUNT_SPARE (UINT64_C(1) << 17)

/* So many stuck lanes leave so few bits to a hash that one access no longer stands for all. */
#define LANES_MANY 24

/* Of so many bits of a hash not one in 2^64 accesses agrees in all. */
#define BITS_MANY 64

/* What one access, named by its place, gives: a bit for each operation that mismatches. SINK is told each of them. */
typedef int (*Sink)(MemoryElement *element, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned op,
                    const MemoryBits *actual);

static int run_access(MemoryElement *element, const MemoryRegion *region, const uint16_t at[static _MEMORY_AXIS_MAX],
                      MemoryEccTally *tally, Sink sink, uint32_t *ret_differs) {
        const WireMarch *march = element->march;
        uint32_t linear = memory_shape_linear(&element->memory->shape, at);
        MemoryBits stored = memory_pattern_bits(&region->pattern, linear, at[HBM_ROW]), background, past = {};
        bool stale = region->effects.stale;
        uint16_t address[_MEMORY_AXIS_MAX];
        int r;

        memcpy(address, at, sizeof(address));
        if (region->detour)
                memory_detour_turn(region->detour, address);
        background = memory_element_bits(element, linear + region->shift, address[HBM_ROW]);
        if (stale)
                past = memory_pattern_bits(&region->past, linear, at[HBM_ROW]);

        *ret_differs = 0;
        for (unsigned i = 0; i < march->n_ops; i++) {
                uint64_t invert = march->ops[i] & MARCH_DATA ? UINT64_MAX : 0, differs = 0;
                MemoryBits wanted = background, actual;

                for (unsigned word = 0; word < 4; word++)
                        wanted.w[word] ^= invert;
                if (march->ops[i] & MARCH_WRITE) {
                        past = stored;
                        stored = wanted;
                        continue;
                }

                actual = stale ? past : stored;
                actual = memory_read(element->memory, &region->effects, actual, stale ? &past : &stored, march->ecc, tally);
                for (unsigned word = 0; word < 4; word++)
                        differs |= actual.w[word] ^ wanted.w[word];
                if (!differs || element->blind >> i & 1)
                        continue;

                *ret_differs |= UINT32_C(1) << i;
                if (sink) {
                        r = sink(element, address, i, &actual);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

/* Whether an access of the box belongs to the region: to no unit within its own, and to no spot. */
static bool region_owns(const MemoryElement *element, const MemoryRegion *region,
                        const uint16_t at[static _MEMORY_AXIS_MAX]) {
        const MemorySpots *spots = &element->memory->spots;
        const MemoryUnits *units = &element->memory->units;
        uint32_t linear = memory_shape_linear(&element->memory->shape, at);

        return (units->n_units == 0 || memory_units_at(units, &element->memory->shape, at) == region->unit) &&
                        (spots->n_spots == 0 || !memory_spots_find(spots, linear));
}

static bool region_is_whole(const MemoryRegion *region) {
        return region->own[0] + region->own[1] == memory_slice_volume(&region->places);
}

/* What a stuck lane has by chance in common with the hashes. */
typedef struct Agreement {
        uint64_t seen;        /* accesses of the region that were looked at, or fewer */
        uint64_t agreeing[2]; /* of these, with the hash of data 0 and of data 1 in all stuck lanes */
} Agreement;

/* One access: sets *ret_data to the data that its stuck lanes agree with. */
static bool lanes_agree(const MemoryElement *element, uint64_t index, uint64_t lanes, uint64_t values,
                        unsigned *ret_data) {
        uint64_t x = (memory_splitmix64(element->pattern.seed ^ index) ^ values) & lanes, same = x ? lanes : 0;

        /* Most differ in the first word already. */
        for (unsigned word = 1; word < 4 && x == same; word++)
                x = (memory_splitmix64(element->pattern.seed ^ (index + word)) ^ values) & lanes;

        *ret_data = same != 0;
        return x == same;
}

/* Looks at the region row by row, until it is through or has seen ENOUGH. */
static void look_at_lanes(const MemoryElement *element, const MemoryRegion *region, uint64_t enough, Agreement *ret) {
        uint64_t lanes = region->effects.lanes | (uint64_t) region->effects.lanes << 32;
        uint64_t values = region->effects.values | (uint64_t) region->effects.values << 32;
        const WireBox *box = &region->places.box;
        unsigned n_columns = box->last[HBM_COLUMN] - box->first[HBM_COLUMN] + 1u, data;
        bool whole = region_is_whole(region);
        uint16_t at[_MEMORY_AXIS_MAX];

        *ret = (Agreement) {};
        memory_walk_first(&region->places.box, false, at);
        do {
                uint64_t index = 4 * (uint64_t) (uint32_t) (memory_shape_linear(&element->memory->shape, at) + region->shift);

                for (unsigned column = 0; column < n_columns; column++, index += 4) {
                        if (!lanes_agree(element, index, lanes, values & lanes, &data))
                                continue;
                        at[HBM_COLUMN] = (uint16_t) (box->first[HBM_COLUMN] + column);
                        if (whole || region_owns(element, region, at))
                                ret->agreeing[data]++;
                }

                ret->seen += n_columns;
                at[HBM_COLUMN] = box->last[HBM_COLUMN]; /* on with the next row */
        } while (ret->seen < enough && memory_slice_next(&region->places, MEMORY_ORDER_COLUMN_FAST, false, at));
}

/* A lane runs through millions of accesses: once there is more than must be exact, a lower bound will do. */
static void count_agreeing(const MemoryElement *element, const MemoryRegion *region, Agreement *ret) {
        uint64_t n = region->own[0] + region->own[1], others = memory_slice_volume(&region->places) - n;

        look_at_lanes(element, region, COUNT_EXACT + COUNT_SPARE + others, ret);
        ret->seen = ret->seen == memory_slice_volume(&region->places) ? n : ret->seen - others;
        if (ret->seen == n || ret->seen >= COUNT_EXACT + ret->agreeing[0] + ret->agreeing[1])
                return;

        look_at_lanes(element, region, UINT64_MAX, ret);
        ret->seen = n;
}

static unsigned count_bits(const MemoryBits *bits) {
        unsigned n = 0;

        for (unsigned word = 0; word < ELEMENTS(bits->w); word++)
                n += (unsigned) __builtin_popcountll(bits->w[word]);
        return n;
}

static bool same_hash(const MemoryPattern *a, const MemoryPattern *b) {
        return a->background == b->background && a->seed == b->seed;
}

/*
 * Stuck lanes against the address background. Outside the lanes a cell that holds this hash agrees or differs in every
 * bit; only where it agrees do the lanes decide.
 */
static uint64_t count_lanes(MemoryElement *element, const MemoryRegion *region) {
        const WireMarch *march = element->march;
        uint64_t n = region->own[0] + region->own[1], mismatches = 0;
        Agreement agreement;
        bool hash = same_hash(&region->pattern, &element->pattern) && region->pattern.shift == region->shift, known = false;
        unsigned stored = region->pattern.data;

        for (unsigned i = 0; i < march->n_ops; i++) {
                unsigned data = march->ops[i] & MARCH_DATA;
                bool outside = stored != data;

                if (march->ops[i] & MARCH_WRITE) {
                        stored = data;
                        hash = true;
                        continue;
                }

                if (element->blind >> i & 1)
                        continue;
                if (count_bits(&region->effects.flip) > 0)
                        outside = !outside;

                /* Where a hash meets something that is not, both representatives know: they always differ. */
                if (!hash || count_bits(&region->effects.drop) > 0 || outside) {
                        mismatches += n;
                        continue;
                }

                if (!known)
                        count_agreeing(element, region, &agreement);
                known = true;
                mismatches += agreement.seen - agreement.agreeing[data];
        }

        return mismatches;
}

static bool is_all_or_none(unsigned n) {
        return n == 0 || n == 8 * MEMORY_ACCESS_BYTES;
}

/*
 * Whether all accesses of a region behave as one of their row parity does. Where a hash is read, what becomes of it is
 * certain only if so many of its bits stay in play that none agrees by chance, and ECC depends on all of them.
 */
static bool one_stands_for_all(const MemoryElement *element, const MemoryRegion *region) {
        const MemoryEffects *effects = &region->effects;
        unsigned n = count_bits(&effects->drop);

        if (!element->hash && !memory_pattern_is_hash(&region->pattern) &&
            !(effects->stale && memory_pattern_is_hash(&region->past)))
                return true;
        if (element->march->ecc && n > 0)
                return false;
        return effects->lanes ? false : is_all_or_none(n) || (n >= BITS_MANY && n <= 8 * MEMORY_ACCESS_BYTES - BITS_MANY);
}

/* Stuck lanes and nothing else that would leave bits to chance: count_lanes() knows. */
static bool only_lanes(const MemoryElement *element, const MemoryRegion *region) {
        const MemoryEffects *effects = &region->effects;

        /* Looked at row by row: whole rows. */
        return element->hash && effects->lanes && !effects->stale && !region->places.mask[HBM_COLUMN] && __builtin_popcount(effects->lanes) < LANES_MANY &&
                        is_all_or_none(count_bits(&effects->drop)) && is_all_or_none(count_bits(&effects->flip)) &&
                        !(element->march->ecc && (count_bits(&effects->drop) > 0 || count_bits(&effects->flip) > 0));
}

/* Every access by itself: where bits are left to chance and no form is closed. Up to where counts must be exact. */
static int count_each(MemoryElement *element, const MemoryRegion *region, uint64_t *ret) {
        uint16_t at[_MEMORY_AXIS_MAX];
        uint64_t mismatches = 0, seen = 0;
        bool whole = region_is_whole(region);
        uint32_t differs;
        int r;

        memory_walk_first(&region->places.box, false, at);
        do {
                if (!whole && !region_owns(element, region, at))
                        continue;
                r = run_access(element, region, at, &element->tally, NULL, &differs);
                if (r < 0)
                        return r;
                mismatches += (unsigned) __builtin_popcount(differs);
                seen++;
        } while (mismatches < COUNT_EXACT + COUNT_SPARE && (mismatches > 0 || seen < COUNT_EXACT + COUNT_SPARE) &&
                 memory_slice_next(&region->places, MEMORY_ORDER_COLUMN_FAST, false, at));

        *ret = mismatches;
        return 0;
}

/* One access of each row parity, multiplied. */
static int count_parities(MemoryElement *element, const MemoryRegion *region, uint64_t *ret) {
        uint64_t mismatches = 0;
        int r;

        for (unsigned parity = 0; parity < 2; parity++) {
                uint16_t at[_MEMORY_AXIS_MAX];
                MemoryEccTally tally = {};
                uint32_t differs;

                if (region->own[parity] == 0)
                        continue;

                memory_walk_first(&region->places.box, false, at);
                if ((at[HBM_ROW] & 1) != parity)
                        at[HBM_ROW]++;

                r = run_access(element, region, at, &tally, NULL, &differs);
                if (r < 0)
                        return r;
                mismatches += region->own[parity] * (unsigned) __builtin_popcount(differs);
                element->tally.corrected += region->own[parity] * tally.corrected;
                element->tally.uncorrected += region->own[parity] * tally.uncorrected;
                element->tally.repairable += region->own[parity] * tally.repairable;
        }

        *ret = mismatches;
        return 0;
}

/* Returns whether there are any. */
static int count_region(MemoryElement *element, const MemoryRegion *region) {
        uint64_t mismatches;
        int r;

        if (one_stands_for_all(element, region) || only_lanes(element, region)) {
                r = count_parities(element, region, &mismatches);
                if (r >= 0 && only_lanes(element, region))
                        mismatches = count_lanes(element, region);
        } else
                r = count_each(element, region, &mismatches);
        if (r < 0)
                return r;

        element->mismatches += mismatches;
        return mismatches > 0;
}

/* Walks a region until it has told as many as are wanted. */
static int tell_region(MemoryElement *element, const MemoryRegion *region) {
        const WireMarch *march = element->march;
        MemoryRecords *records = &element->memory->records;
        bool whole = region_is_whole(region);
        size_t enough = records->n + march->mismatches_max;
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryEccTally unused = {};
        uint32_t differs;
        int r;

        memory_walk_first(&region->places.box, march->descending, at);
        do {
                if (!whole && !region_owns(element, region, at))
                        continue;
                r = run_access(element, region, at, &unused, memory_element_record, &differs);
                if (r < 0)
                        return r;
        } while (records->n < enough &&
                 memory_slice_next(&region->places, (MemoryOrder) march->order, march->descending, at));

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

                r = tell_region(element, &regions[i]);
                if (r < 0)
                        return r;
        }

        memory_element_cut_records(element);
        return 0;
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
                MemorySlice common = memory_slice_of(&unit->box);
                uint64_t *within = own[units->touched[i]], n[2] = {};

                if (memory_slice_intersect(&common, places, &common))
                        memory_slice_split(&common, n);

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
                MemorySlice box = memory_slice_of(&units->units[unit].box);

                region.effects = units->units[unit].effects;
                (void) memory_slice_intersect(&box, &fragment->slice, &region.places);
        }

        r = count_region(element, &region);
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
        MemoryEccTally unused = {};

        if (content->n_fragments != 1 || element->memory->units.n_touched > 0)
                return false;

        region = region_of(element, part, &(Fragment) { content->fragments[0].slice, content->fragments[0].pattern, {} });
        for (unsigned parity = 0; parity < 2; parity++) {
                uint16_t at[_MEMORY_AXIS_MAX];
                uint32_t differs;

                memcpy(at, region.places.box.first, sizeof(at));
                at[HBM_ROW] = parity;
                (void) run_access(element, &region, at, &unused, NULL, &differs);
                if (differs)
                        return false;
        }

        return true;
}

static int count_part(MemoryElement *element, const MemoryReach *part) {
        MemoryContent *content = &element->memory->content;
        MemoryUnits *units = &element->memory->units;
        _cleanup_free_ uint64_t (*own)[2] = NULL;
        int r;

        r = memory_content_cut(content, &part->places);
        if (r < 0)
                return r;
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
