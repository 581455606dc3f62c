/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A region: accesses of one pattern under the same faults. All of one row parity behave as one of them does, which is run and
 * multiplied; where a hash meets bits that are stuck, chance decides, and the hashes are looked at (sim/memory/structures/agreement.h).
 */

#include "sim/memory/march/region.h"

#include <string.h>

#include "checks/text/cleanup.h"

/* Counts are exact up to here, see COMMAND_HBM_MARCH; what is hashed beyond makes up for accesses that agree. */
#define COUNT_EXACT (UINT64_C(1) << 20)
#define COUNT_SPARE (UINT64_C(1) << 17)

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

bool memory_region_runs_clean(MemoryElement *element, const MemoryRegion *region) {
        for (unsigned parity = 0; parity < 2; parity++) {
                MemoryEccTally unused = {};
                uint16_t at[_MEMORY_AXIS_MAX];
                uint32_t differs;

                memcpy(at, region->places.box.first, sizeof(at));
                at[HBM_ROW] = (uint16_t) parity;
                (void) run_access(element, region, at, &unused, NULL, &differs);
                if (differs)
                        return false;
        }

        return true;
}

static unsigned count_bits(const MemoryBits *bits) {
        unsigned n = 0;

        for (unsigned word = 0; word < ELEMENTS(bits->w); word++)
                n += (unsigned) __builtin_popcountll(bits->w[word]);
        return n;
}

static bool is_all_or_none(unsigned n) {
        return n == 0 || n == 8 * MEMORY_ACCESS_BYTES;
}

/* Whether a read sees a hash, or should. */
static bool sees_hash(const MemoryElement *element, const MemoryRegion *region) {
        const MemoryPattern *first = region->effects.stale ? &region->past : &region->pattern;

        return element->hash || (element->reads[0] && memory_pattern_is_hash(first)) ||
               (element->reads[1] && region->effects.stale && memory_pattern_is_hash(&region->pattern));
}

/*
 * Whether all accesses of a region behave as one of their row parity does. Where a hash is read, what becomes of it is
 * certain only if so many of its bits stay in play that none agrees by chance, and ECC depends on all of them.
 */
static bool one_stands_for_all(const MemoryElement *element, const MemoryRegion *region) {
        const MemoryEffects *effects = &region->effects;
        unsigned n;

        if (!sees_hash(element, region))
                return true;
        n = count_bits(&effects->drop);
        if (element->march->ecc && n > 0)
                return false;
        return effects->lanes ? false : is_all_or_none(n) || (n >= BITS_MANY && n <= 8 * MEMORY_ACCESS_BYTES - BITS_MANY);
}

/* ---- bits that are stuck, against a hash ---- */

/* What a read gives: the stuck bits, and of the others those that are turned over. */
typedef struct Outcome {
        MemoryStuckBits stuck;
        unsigned n_others, n_turned;
} Outcome;

static Outcome outcome_of(const MemoryEffects *effects) {
        uint64_t lanes = effects->lanes | (uint64_t) effects->lanes << 32;
        uint64_t values = effects->values | (uint64_t) effects->values << 32;
        Outcome outcome = {};

        for (unsigned word = 0; word < ELEMENTS(effects->drop.w); word++) {
                uint64_t mask = effects->drop.w[word] | lanes;

                outcome.stuck.mask.w[word] = mask;
                outcome.stuck.values.w[word] = (values & lanes) | (effects->flip.w[word] & effects->drop.w[word] & ~lanes);
                outcome.n_others += (unsigned) __builtin_popcountll(~mask);
                outcome.n_turned += (unsigned) __builtin_popcountll(effects->flip.w[word] & ~mask);
        }
        return outcome;
}

/* Whether what lies there is the hash that the element reads and writes. */
static bool same_hash(const MemoryElement *element, const MemoryRegion *region) {
        const MemoryPattern *a = &region->pattern, *b = &element->pattern;

        return a->background == b->background && a->seed == b->seed && a->shift == region->shift;
}

/*
 * Whether count_stuck() knows: bits are stuck whatever else is there, no read is stale, and ECC has nothing to do. Looked at row
 * by row: whole rows.
 */
static bool only_stuck(const MemoryElement *element, const MemoryRegion *region, const Outcome *outcome) {
        const MemoryEffects *effects = &region->effects;

        return element->hash && !effects->stale && !region->places.mask[HBM_COLUMN] &&
               outcome->n_others < 8 * MEMORY_ACCESS_BYTES &&
               (outcome->n_others >= BITS_MANY || outcome->n_others == 0 || !element->reads[0] || same_hash(element, region)) &&
               !(element->march->ecc && (count_bits(&effects->drop) > 0 || count_bits(&effects->flip) > 0));
}

/* How many accesses of the region were looked at, or fewer, and of these how many agree with data 0 and with data 1. */
typedef struct Agreement {
        uint64_t seen, agreeing[2];
} Agreement;

static int ask(MemoryElement *element, const MemoryRegion *region, const Outcome *outcome, uint64_t enough, Agreement *ret) {
        Memory *memory = element->memory;
        uint64_t n = region->own[0] + region->own[1], volume = memory_slice_volume(&region->places);
        MemoryQuestion question = { .places = region->places, .stuck = outcome->stuck, .seed = element->pattern.seed,
                                    .shift = region->shift, .enough = enough };
        const MemoryAgreement *answer;
        int r;

        r = memory_agreements_ask(&memory->agreements, &memory->shape, &question, &answer);
        if (r < 0)
                return r;

        ret->seen = answer->seen == volume ? n : answer->seen - (volume - n);
        for (unsigned data = 0; data < 2; data++) {
                const MemoryAgreeing *list = &answer->agreeing[data];

                ret->agreeing[data] = n == volume ? list->n : 0;
                for (size_t i = 0; i < list->n && n < volume; i++) {
                        uint16_t at[_MEMORY_AXIS_MAX];

                        memory_shape_at(&memory->shape, list->places[i], at);
                        ret->agreeing[data] += region_owns(element, region, at);
                }
        }
        return 0;
}

/* A lane runs through millions of accesses: once there is more than must be exact, a lower bound will do. */
static int count_agreeing(MemoryElement *element, const MemoryRegion *region, const Outcome *outcome, Agreement *ret) {
        uint64_t n = region->own[0] + region->own[1], others = memory_slice_volume(&region->places) - n;
        int r;

        r = ask(element, region, outcome, COUNT_EXACT + COUNT_SPARE + others, ret);
        if (r < 0 || ret->seen == n || ret->seen >= COUNT_EXACT + ret->agreeing[0] + ret->agreeing[1])
                return r;
        return ask(element, region, outcome, UINT64_MAX, ret);
}

/*
 * A cell that holds the hash of its access agrees, or differs, in every bit that is not stuck, unless some are turned over and
 * some are not; only where it agrees do the stuck bits decide. Where it holds anything else they always differ.
 */
static int count_stuck(MemoryElement *element, const MemoryRegion *region, const Outcome *outcome, uint64_t *ret) {
        const WireMarch *march = element->march;
        uint64_t n = region->own[0] + region->own[1], mismatches = 0;
        bool hash = same_hash(element, region), known = false;
        unsigned stored = region->pattern.data;
        Agreement agreement;
        int r;

        for (unsigned i = 0; i < march->n_ops; i++) {
                unsigned data = march->ops[i] & MARCH_DATA, turned = stored != data ? outcome->n_others : 0;

                if (march->ops[i] & MARCH_WRITE) {
                        stored = data;
                        hash = true;
                        continue;
                }
                if (element->blind >> i & 1)
                        continue;
                if (outcome->n_others > 0 && (!hash || outcome->n_turned != turned)) {
                        mismatches += n;
                        continue;
                }

                r = known ? 0 : count_agreeing(element, region, outcome, &agreement);
                if (r < 0)
                        return r;
                known = true;
                mismatches += agreement.seen - agreement.agreeing[data];
        }

        *ret = mismatches;
        return 0;
}

/* ---- counting ---- */

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

int memory_region_count(MemoryElement *element, const MemoryRegion *region) {
        uint64_t mismatches = 0;
        Outcome outcome;
        int r;

        if (one_stands_for_all(element, region))
                r = count_parities(element, region, &mismatches);
        else {
                outcome = outcome_of(&region->effects);
                if (only_stuck(element, region, &outcome))
                        r = count_stuck(element, region, &outcome, &mismatches);
                else
                        r = count_each(element, region, &mismatches);
        }
        if (r < 0)
                return r;

        element->mismatches += mismatches;
        return mismatches > 0;
}

int memory_region_tell(MemoryElement *element, const MemoryRegion *region) {
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
