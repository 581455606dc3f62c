/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/classify/classify.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/march/list.h"
#include "checks/statistics/chance.h"

#define LIST_PLAUSIBLE 64u /* failures that make a lane plausible where a list cut short is all there is */
#define LIST_BEATS     4   /* and beats of it */
#define EVEN_COUNT     5u  /* the least mean count that a chi-square test can judge */

void hbm_defects_done(HbmDefects *defects) {
        free(defects->defects);
        *defects = (HbmDefects) {};
}

/* Where a kind stands: what explains most comes first, and what a row mends last. */
static unsigned rank_of(HbmDefectKind kind) {
        static const HbmDefectKind order[] = {
                HBM_DEFECT_STACK, HBM_DEFECT_CHANNEL, HBM_DEFECT_DIE, HBM_DEFECT_PSEUDO_CHANNEL, HBM_DEFECT_LANE, HBM_DEFECT_DATA_TSV,
                HBM_DEFECT_ADDRESS_TSV, HBM_DEFECT_BANK, HBM_DEFECT_COLUMN, HBM_DEFECT_BIT_LINE, HBM_DEFECT_DECODER, HBM_DEFECT_SCATTERED,
                HBM_DEFECT_WORDLINE_SHORT, HBM_DEFECT_ROW, HBM_DEFECT_SUB_WORDLINE, HBM_DEFECT_HAMMER, HBM_DEFECT_WORD, HBM_DEFECT_CELL,
                HBM_DEFECT_RETENTION, HBM_DEFECT_INTERMITTENT, HBM_DEFECT_SOFT_ERROR,
        };
        unsigned rank = 0;

        static_assert(ELEMENTS(order) == _HBM_DEFECT_KIND_MAX, "a place for each kind");
        while (rank < ELEMENTS(order) && order[rank] != kind)
                rank++;
        return rank;
}

static int compare_defects(const void *a, const void *b) {
        const HbmDefect *x = a, *y = b;

        if (x->kind != y->kind)
                return rank_of(x->kind) < rank_of(y->kind) ? -1 : 1;
        if (x->stack != y->stack)
                return x->stack < y->stack ? -1 : 1;
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (x->at[axis] != y->at[axis])
                        return x->at[axis] < y->at[axis] ? -1 : 1;
        return (x->bit > y->bit) - (x->bit < y->bit);
}

void hbm_defects_sort(HbmDefects *defects) {
        if (defects->n > 1)
                qsort(defects->defects, defects->n, sizeof(HbmDefect), compare_defects);
}

int hbm_case_add(HbmCase *c, HbmDefectKind kind, const MarchFailure *failure, uint32_t linear, MemoryAxis last, int bit) {
        HbmDefects *defects = c->defects;
        HbmDefect *defect;
        int r;

        r = LIST_MAKE_ROOM(defects->defects, defects->n, defects->allocated);
        if (r < 0)
                return r;

        defect = &defects->defects[defects->n++];
        *defect = (HbmDefect) { .kind = kind, .stack = c->stack, .last = last, .bit = bit, .partner_bit = -1 };
        memory_geometry_at(c->geometry, linear, defect->at);
        memcpy(defect->first, defect->at, sizeof(defect->at));
        if (failure) {
                memory_geometry_at(c->geometry, failure->linear, defect->first);
                defect->expected = failure->expected;
                defect->actual = failure->actual;
                defect->sighting = failure->first;
                defect->phases = failure->phases;
                defect->passes = failure->passes;
                defect->elements = failure->elements;
                defect->n_accesses = 1;
                defect->n_reads = failure->count;
        }
        return 0;
}

HbmDefect *hbm_case_newest(HbmCase *c) {
        return &c->defects->defects[c->defects->n - 1];
}

int hbm_case_init(HbmCase *c, const MemoryGeometry *geometry, const WireBox *box, unsigned stack, HbmDefects *defects) {
        uint32_t n_banks = hbm_bank_count(geometry);

        *c = (HbmCase) { .geometry = geometry, .box = box, .stack = stack, .defects = defects };
        c->tallies = calloc(n_banks, sizeof(*c->tallies));
        c->lanes = calloc(n_banks / hbm_case_banks_of_part(c), sizeof(*c->lanes));
        c->still = calloc(n_banks / hbm_case_banks_of_part(c), sizeof(*c->still));
        c->values = calloc(n_banks / hbm_case_banks_of_part(c), sizeof(*c->values));
        c->dead = calloc(n_banks, sizeof(*c->dead));
        c->gone = calloc(n_banks, sizeof(*c->gone));
        if (c->tallies && c->lanes && c->still && c->values && c->dead && c->gone)
                return 0;

        hbm_case_done(c);
        return -ENOMEM;
}

void hbm_case_done(HbmCase *c) {
        free(c->tallies);
        free(c->lanes);
        free(c->still);
        free(c->values);
        free(c->dead);
        free(c->gone);
        *c = (HbmCase) {};
}

void hbm_case_take(HbmCase *c, const MarchFailures *failures) {
        c->failures = march_failures_of(failures, c->stack, &c->n_failures);
}

uint32_t hbm_case_bank_of(const HbmCase *c, const MarchFailure *failure) {
        return failure->linear / hbm_bank_accesses(c->geometry);
}

uint32_t hbm_case_banks_of_part(const HbmCase *c) {
        return (uint32_t) c->geometry->size[HBM_BANK_GROUP] * c->geometry->size[HBM_BANK];
}

uint32_t hbm_case_bank_accesses(const HbmCase *c) {
        return (uint32_t) (c->box->last[HBM_ROW] - c->box->first[HBM_ROW] + 1) *
               (uint32_t) (c->box->last[HBM_COLUMN] - c->box->first[HBM_COLUMN] + 1);
}

void hbm_case_tally(HbmCase *c) {
        memset(c->tallies, 0, hbm_bank_count(c->geometry) * sizeof(*c->tallies));

        for (size_t i = 0; i < c->n_failures; i++) {
                uint32_t bank = hbm_case_bank_of(c, &c->failures[i]);
                HbmBankTally *tally = &c->tallies[bank];
                MemoryData bits = memory_data_without(c->failures[i].bits, c->lanes[bank / hbm_case_banks_of_part(c)]);
                uint32_t lanes = memory_data_lanes(&bits);

                if (memory_data_first(&bits) < 0)
                        continue;
                tally->lanes = tally->count > 0 ? tally->lanes & lanes : lanes;
                tally->columns |= UINT64_C(1) << (c->failures[i].linear % c->geometry->size[HBM_COLUMN] % 64);
                tally->count++;
        }
}

const MarchFailure *hbm_case_first(const HbmCase *c, uint32_t first, uint32_t n) {
        size_t low = 0, high = c->n_failures;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (c->failures[middle].linear < first)
                        low = middle + 1;
                else
                        high = middle;
        }

        return low < c->n_failures && c->failures[low].linear - first < n ? &c->failures[low] : NULL;
}

/* ---- a lane as a list cut short shows it ---- */

/* Many failures of a pseudo-channel, all of them in one lane and nowhere else. */
static int find_listed_lane(HbmCase *c, size_t first, size_t end) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry), lanes = 0,
                 pseudo_channel = hbm_case_bank_of(c, &c->failures[first]) / n_banks;
        MemoryData all = {};
        int r;

        for (size_t i = first; i < end; i++)
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++) {
                        all.bytes[k] |= c->failures[i].bits.bytes[k];
                        lanes |= (uint32_t) c->failures[i].bits.bytes[k] << (8 * (k % 4));
                }

        if (end - first < LIST_PLAUSIBLE || __builtin_popcount(lanes) != 1 ||
            memory_data_count(&all) < LIST_BEATS)
                return 0;

        r = hbm_case_add(c, HBM_DEFECT_LANE, &c->failures[first], pseudo_channel * n_banks * hbm_bank_accesses(c->geometry),
                         HBM_PSEUDO_CHANNEL, __builtin_ctz(lanes));
        if (r < 0)
                return r;
        hbm_case_newest(c)->n_accesses = end - first;
        for (uint32_t sid = 0; sid < c->geometry->size[HBM_SID]; sid++) {
                uint32_t part = pseudo_channel * c->geometry->size[HBM_SID] + sid;

                hbm_case_newest(c)->value |= hbm_case_lane_values(c, part, lanes) != 0;
                c->lanes[part] |= lanes;
        }
        return 0;
}

static int find_listed_lanes(HbmCase *c) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry);
        int r;

        for (size_t i = 0, end; i < c->n_failures; i = end) {
                uint32_t bank = hbm_case_bank_of(c, &c->failures[i]);

                for (end = i; end < c->n_failures && hbm_case_bank_of(c, &c->failures[end]) / n_banks == bank / n_banks; end++)
                        ;
                if (c->lanes[bank / hbm_case_banks_of_part(c)] || c->gone[bank])
                        continue;
                r = find_listed_lane(c, i, end);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- what follows no structure ---- */

static bool is_small(const HbmDefect *defect) {
        return defect->kind == HBM_DEFECT_CELL || defect->kind == HBM_DEFECT_WORD ||
               defect->kind == HBM_DEFECT_RETENTION;
}

/* How even they are spread over banks, or over the larger places that have enough of them each. */
static int judge_spread(const HbmCase *c, const HbmDefect *small, size_t n, double *ret) {
        static const MemoryAxis axes[] = { HBM_BANK, HBM_SID, HBM_PSEUDO_CHANNEL, HBM_CHANNEL };
        uint32_t n_places = 0, accesses = 0;
        uint32_t *counts;

        for (unsigned i = 0; i < ELEMENTS(axes); i++) {
                accesses = 1;
                for (unsigned axis = axes[i] + 1u; axis < _MEMORY_AXIS_MAX; axis++)
                        accesses *= c->geometry->size[axis];
                n_places = c->geometry->accesses / accesses;
                if (n >= (size_t) EVEN_COUNT * n_places)
                        break;
        }

        counts = calloc(n_places, sizeof(uint32_t));
        if (!counts)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (is_small(&small[i]))
                        counts[memory_geometry_linear(c->geometry, small[i].at) / accesses]++;
        *ret = n >= (size_t) EVEN_COUNT * n_places ? chance_even(counts, n_places) : -1;
        free(counts);
        return 0;
}

/* Too many to tell one by one: one defect in their place. */
static int scatter(HbmCase *c, size_t first) {
        HbmDefects *defects = c->defects;
        size_t n = first, n_small = 0;
        HbmDefect small = {};
        int r;

        for (size_t i = first; i < defects->n; i++)
                n_small += is_small(&defects->defects[i]);
        if (n_small <= c->scatter_max)
                return 0;

        r = judge_spread(c, &defects->defects[first], defects->n - first, &small.evenness);
        if (r < 0)
                return r;

        for (size_t i = first; i < defects->n; i++) {
                const HbmDefect *defect = &defects->defects[i];
                double evenness = small.evenness;

                if (!is_small(defect)) {
                        defects->defects[n++] = *defect;
                        continue;
                }
                if (small.n_accesses++ == 0) {
                        small = *defect;
                        small.evenness = evenness;
                        small.n_accesses = 1;
                        continue;
                }
                small.n_reads += defect->n_reads;
                if (memcmp(small.at, defect->at, HBM_ROW * sizeof(small.at[0])) != 0)
                        small.last = HBM_CHANNEL;
        }

        small.kind = HBM_DEFECT_SCATTERED;
        small.last = small.last == HBM_CHANNEL ? HBM_CHANNEL : HBM_BANK;
        small.bit = -1;
        defects->defects[n++] = small; /* there is room: it replaces more than one */
        defects->n = n;
        return 0;
}

int hbm_case_find_rest(HbmCase *c) {
        size_t first_defect = c->defects->n;
        MarchFailure **pointers = NULL;
        int r;

        r = find_listed_lanes(c);
        if (r < 0)
                return r;

        pointers = calloc(c->n_failures + 1, sizeof(*pointers));
        if (!pointers)
                return -ENOMEM;

        for (size_t i = 0; r >= 0 && i < c->n_failures;) {
                uint32_t index = hbm_case_bank_of(c, &c->failures[i]);
                HbmBank bank = { .linear = index * hbm_bank_accesses(c->geometry), .failures = pointers };

                for (; i < c->n_failures && hbm_case_bank_of(c, &c->failures[i]) == index; i++) {
                        MarchFailure *failure = &c->failures[i];

                        failure->bits = memory_data_without(failure->bits, c->lanes[index / hbm_case_banks_of_part(c)]);
                        if (!c->gone[index] && memory_data_first(&failure->bits) >= 0)
                                pointers[bank.n++] = failure;
                }
                if (bank.n > 0)
                        r = hbm_bank_judge(c, &bank);
        }

        free(pointers);
        return r < 0 ? r : scatter(c, first_defect);
}
