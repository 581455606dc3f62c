/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/classify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define LANES_PLAUSIBLE 16  /* more stuck lanes in one pseudo-channel are dead banks */
#define LIST_PLAUSIBLE  64u /* failures that make a lane or a bank plausible where the list is all there is */
#define LIST_ROWS       8u  /* neighbouring rows, all failing, that make a bank plausible there */
#define LIST_BEATS      4   /* beats of a lane that make the lane plausible there */

void hbm_defects_done(HbmDefects *defects) {
        free(defects->defects);
        *defects = (HbmDefects) {};
}

static int add_defect(HbmCase *c, HbmDefectKind kind, const HbmFailure *failure, uint32_t linear, int bit,
                      uint64_t n_accesses, uint64_t n_reads) {
        HbmDefects *defects = c->defects;
        HbmDefect *defect;

        if (defects->n >= defects->allocated) {
                size_t n = defects->allocated > 0 ? 2 * defects->allocated : 32;
                HbmDefect *grown = reallocarray(defects->defects, n, sizeof(HbmDefect));

                if (!grown)
                        return -ENOMEM;
                defects->defects = grown;
                defects->allocated = n;
        }

        defect = &defects->defects[defects->n++];
        *defect = (HbmDefect) { .kind = kind, .stack = c->stack, .bit = bit, .n_accesses = n_accesses, .n_reads = n_reads };
        memory_geometry_at(c->geometry, linear, defect->at);
        memcpy(defect->first, defect->at, sizeof(defect->at));
        if (failure) {
                memory_geometry_at(c->geometry, failure->linear, defect->first);
                defect->expected = failure->expected;
                defect->actual = failure->actual;
        }
        return 0;
}

int hbm_case_init(HbmCase *c, const MemoryGeometry *geometry, unsigned stack, unsigned scatter_max,
                  HbmDefects *defects) {
        uint32_t n_banks = hbm_bank_count(geometry);

        *c = (HbmCase) { .geometry = geometry, .stack = stack, .scatter_max = scatter_max, .defects = defects };
        c->tallies = calloc(n_banks, sizeof(*c->tallies));
        c->lanes = calloc(n_banks / hbm_banks_of_pseudo_channel(geometry), sizeof(*c->lanes));
        c->gone = calloc(n_banks, sizeof(*c->gone));
        if (c->tallies && c->lanes && c->gone)
                return 0;

        hbm_case_done(c);
        return -ENOMEM;
}

void hbm_case_done(HbmCase *c) {
        free(c->tallies);
        free(c->lanes);
        free(c->gone);
        *c = (HbmCase) {};
}

void hbm_case_take(HbmCase *c, const HbmFailures *failures) {
        c->failures = hbm_failures_of(failures, c->stack, &c->n_failures);
}

static uint32_t bank_of(const HbmCase *c, const HbmFailure *failure) {
        return failure->linear / hbm_bank_accesses(c->geometry);
}

void hbm_case_tally(HbmCase *c) {
        memset(c->tallies, 0, hbm_bank_count(c->geometry) * sizeof(*c->tallies));

        for (size_t i = 0; i < c->n_failures; i++) {
                uint32_t bank = bank_of(c, &c->failures[i]);
                HbmBankTally *tally = &c->tallies[bank];
                MemoryData bits = hbm_data_without(c->failures[i].bits,
                                                c->lanes[bank / hbm_banks_of_pseudo_channel(c->geometry)]);
                uint32_t lanes = hbm_data_lanes(&bits);

                if (hbm_data_first(&bits) < 0)
                        continue;
                tally->lanes = tally->count > 0 ? tally->lanes & lanes : lanes;
                tally->count++;
        }
}

/* The first failure from access FIRST on, within N; NULL without. */
static const HbmFailure *first_failure(const HbmCase *c, uint32_t first, uint32_t n) {
        for (size_t i = 0; i < c->n_failures; i++)
                if (c->failures[i].linear >= first)
                        return c->failures[i].linear - first < n ? &c->failures[i] : NULL;
        return NULL;
}

/* ---- lanes ---- */

/* Which lanes most failing banks of a pseudo-channel agree on. */
static uint32_t vote(const HbmCase *c, uint32_t first, uint32_t n_banks) {
        uint32_t votes[32] = {}, failing = 0, lanes = 0, sids[32] = {};
        uint32_t banks_of_sid = n_banks / c->geometry->size[HBM_SID];

        for (uint32_t i = 0; i < n_banks; i++) {
                const HbmBankTally *tally = &c->tallies[first + i];

                if (2 * tally->count < hbm_bank_accesses(c->geometry))
                        continue;
                failing++;
                for (unsigned lane = 0; lane < 32; lane++)
                        if (tally->lanes >> lane & 1) {
                                votes[lane]++;
                                sids[lane] |= UINT32_C(1) << (i / banks_of_sid % 32);
                        }
        }

        for (unsigned lane = 0; lane < 32; lane++)
                if (votes[lane] >= MAX(n_banks / 16, MIN(2u, n_banks)) && 10 * votes[lane] >= 9 * failing &&
                    __builtin_popcount(sids[lane]) >= MIN(2, (int) c->geometry->size[HBM_SID]))
                        lanes |= UINT32_C(1) << lane;

        return __builtin_popcount(lanes) <= LANES_PLAUSIBLE ? lanes : 0;
}

uint32_t hbm_case_lane_values(const HbmCase *c, uint32_t pseudo_channel, uint32_t lanes) {
        uint32_t accesses = hbm_banks_of_pseudo_channel(c->geometry) * hbm_bank_accesses(c->geometry);
        uint32_t known = 0, values = 0;

        for (size_t i = 0; i < c->n_failures && (known & lanes) != lanes; i++) {
                const HbmFailure *failure = &c->failures[i];

                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES && failure->linear / accesses == pseudo_channel;
                     k++) {
                        known |= (uint32_t) failure->bits.bytes[k] << (8 * (k % 4));
                        values |= (uint32_t) failure->ones.bytes[k] << (8 * (k % 4));
                }
        }

        return values & lanes;
}

static int add_lanes(HbmCase *c, uint32_t pseudo_channel, uint32_t lanes) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry),
                 accesses = hbm_bank_accesses(c->geometry);
        uint32_t linear = pseudo_channel * n_banks * accesses;
        const HbmFailure *failure = first_failure(c, linear, n_banks * accesses);
        uint32_t values = hbm_case_lane_values(c, pseudo_channel, lanes);
        uint64_t count = 0;
        int r;

        for (uint32_t i = 0; i < n_banks; i++)
                count += c->tallies[pseudo_channel * n_banks + i].count;

        c->lanes[pseudo_channel] |= lanes;
        for (int lane = 0; lane < 32; lane++) {
                if (!(lanes >> lane & 1))
                        continue;
                r = add_defect(c, HBM_DEFECT_LANE, failure, linear, lane, count,
                               failure ? failure->count : 0);
                if (r < 0)
                        return r;
                c->defects->defects[c->defects->n - 1].value = values >> lane & 1;
        }

        return 0;
}

int hbm_case_find_lanes(HbmCase *c) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry);
        uint32_t n_channels = hbm_bank_count(c->geometry) / n_banks;
        int r;

        for (uint32_t i = 0; i < n_channels; i++) {
                uint32_t lanes = vote(c, i * n_banks, n_banks);

                if (lanes == 0)
                        continue;
                r = add_lanes(c, i, lanes);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- banks ---- */

static int add_bank(HbmCase *c, HbmDefectKind kind, uint32_t first, uint32_t n) {
        uint32_t accesses = hbm_bank_accesses(c->geometry);
        const HbmFailure *failure = first_failure(c, first * accesses, n * accesses);
        uint64_t count = 0;

        for (uint32_t i = first; i < first + n; i++) {
                count += c->tallies[i].count;
                c->gone[i] = true;
        }

        return add_defect(c, kind, failure, first * accesses, -1, count, failure ? failure->count : 0);
}

static bool bank_is_dead(const HbmCase *c, uint32_t bank) {
        return 10 * c->tallies[bank].count > hbm_bank_accesses(c->geometry);
}

int hbm_case_find_banks(HbmCase *c) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry);
        int r;

        for (uint32_t first = 0; first < hbm_bank_count(c->geometry); first += n_banks) {
                uint32_t dead = 0;

                for (uint32_t i = 0; i < n_banks; i++)
                        dead += bank_is_dead(c, first + i);

                if (dead >= 2 && 2 * dead >= n_banks) {
                        r = add_bank(c, HBM_DEFECT_PSEUDO_CHANNEL, first, n_banks);
                        if (r < 0)
                                return r;
                        continue;
                }

                for (uint32_t i = 0; i < n_banks && dead > 0; i++) {
                        if (!bank_is_dead(c, first + i))
                                continue;
                        r = add_bank(c, HBM_DEFECT_BANK, first + i, 1);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

/* ---- within a bank ---- */

/* The failures of one bank that nothing larger explains: pointers into the case. */
typedef struct Bank {
        uint32_t linear; /* of its first access */
        HbmFailure **failures;
        size_t n;
} Bank;

static uint32_t row_of(const HbmCase *c, const HbmFailure *failure) {
        return failure->linear / c->geometry->size[HBM_COLUMN];
}

static unsigned column_of(const HbmCase *c, const HbmFailure *failure) {
        return failure->linear % c->geometry->size[HBM_COLUMN];
}

/*
 * Rows beside rows that fail in most columns: all that a list cut short may show of a dead bank that was well when it was
 * probed. Lists of both directions show both ends of it.
 */
static bool list_is_a_bank(const HbmCase *c, const Bank *bank) {
        uint32_t wanted = MIN(LIST_ROWS, MAX(c->geometry->size[HBM_ROW] / 2u, 2u)), n_rows = 0, previous = 0;
        uint32_t columns = MAX(c->geometry->size[HBM_COLUMN] / 2u, 1u);

        for (size_t i = 0, end; i < bank->n && n_rows < wanted; i = end) {
                uint32_t row = row_of(c, bank->failures[i]);

                for (end = i; end < bank->n && row_of(c, bank->failures[end]) == row; end++)
                        ;
                if (end - i < columns)
                        n_rows = 0;
                else
                        n_rows = n_rows > 0 && row == previous + 1 ? n_rows + 1 : 1;
                previous = row;
        }

        return n_rows >= wanted && bank->n >= LIST_PLAUSIBLE;
}

static void take_out(Bank *bank) {
        size_t n = 0;

        for (size_t i = 0; i < bank->n; i++)
                if (bank->failures[i])
                        bank->failures[n++] = bank->failures[i];
        bank->n = n;
}

static int find_rows(HbmCase *c, Bank *bank) {
        size_t wanted = MAX(c->geometry->size[HBM_COLUMN] / 8u, 2u);
        int r;

        for (size_t i = 0, end; i < bank->n; i = end) {
                const HbmFailure *failure = bank->failures[i];
                uint64_t n_reads = 0;

                for (end = i; end < bank->n && row_of(c, bank->failures[end]) == row_of(c, failure); end++)
                        n_reads += bank->failures[end]->count;
                if (end - i < wanted)
                        continue;

                r = add_defect(c, HBM_DEFECT_ROW, failure, failure->linear, -1, end - i, n_reads);
                if (r < 0)
                        return r;
                memset(&bank->failures[i], 0, (end - i) * sizeof(bank->failures[0]));
        }

        take_out(bank);
        return 0;
}

/* Bits that I shares with later failures of its column; how many these are. */
static size_t same_column(const HbmCase *c, const Bank *bank, size_t i, MemoryData *ret_shared) {
        size_t n = 1;

        *ret_shared = bank->failures[i]->bits;
        for (size_t k = i + 1; k < bank->n; k++) {
                MemoryData both = *ret_shared;

                if (!bank->failures[k] || column_of(c, bank->failures[k]) != column_of(c, bank->failures[i]))
                        continue;
                for (unsigned byte = 0; byte < MEMORY_ACCESS_BYTES; byte++)
                        both.bytes[byte] &= bank->failures[k]->bits.bytes[byte];
                if (hbm_data_first(&both) < 0)
                        continue;
                *ret_shared = both;
                n++;
        }

        return n;
}

static int find_columns(HbmCase *c, Bank *bank) {
        for (size_t i = 0; i < bank->n; i++) {
                MemoryData shared;
                uint64_t n_reads = 0;
                size_t n;
                int r;

                if (!bank->failures[i])
                        continue;
                n = same_column(c, bank, i, &shared);
                if (n < 2)
                        continue;

                r = add_defect(c, HBM_DEFECT_COLUMN, bank->failures[i], bank->failures[i]->linear,
                               hbm_data_count(&shared) == 1 ? hbm_data_first(&shared) : -1, n, 0);
                if (r < 0)
                        return r;

                /* All of that column that has any of these bits. */
                for (size_t k = bank->n; k-- > i;) {
                        bool any = false;

                        if (!bank->failures[k] ||
                            column_of(c, bank->failures[k]) != column_of(c, bank->failures[i]))
                                continue;
                        for (unsigned byte = 0; byte < MEMORY_ACCESS_BYTES; byte++)
                                any |= bank->failures[k]->bits.bytes[byte] & shared.bytes[byte];
                        if (!any)
                                continue;
                        n_reads += bank->failures[k]->count;
                        if (k > i)
                                bank->failures[k] = NULL;
                }
                bank->failures[i] = NULL;
                c->defects->defects[c->defects->n - 1].n_reads = n_reads;
        }

        take_out(bank);
        return 0;
}

static int find_words(HbmCase *c, const Bank *bank) {
        int r;

        for (size_t i = 0; i < bank->n; i++) {
                const HbmFailure *failure = bank->failures[i];
                bool cell = hbm_data_count(&failure->bits) == 1;

                r = add_defect(c, cell ? HBM_DEFECT_CELL : HBM_DEFECT_WORD, failure, failure->linear,
                               cell ? hbm_data_first(&failure->bits) : -1, 1, failure->count);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int judge_bank(HbmCase *c, Bank *bank) {
        uint32_t index = bank->linear / hbm_bank_accesses(c->geometry);
        int r;

        if (list_is_a_bank(c, bank)) {
                c->tallies[index].count = MAX(c->tallies[index].count, bank->n);
                return add_bank(c, HBM_DEFECT_BANK, index, 1);
        }

        r = find_rows(c, bank);
        if (r < 0)
                return r;
        r = find_columns(c, bank);
        if (r < 0)
                return r;
        return find_words(c, bank);
}

/* A lane as a list cut short shows it: many failures of a pseudo-channel, all of them in that lane and nowhere else. */
static int find_listed_lane(HbmCase *c, size_t first, size_t end) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry), lanes = 0;
        MemoryData all = {};

        for (size_t i = first; i < end; i++)
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++) {
                        all.bytes[k] |= c->failures[i].bits.bytes[k];
                        lanes |= (uint32_t) c->failures[i].bits.bytes[k] << (8 * (k % 4));
                }

        if (end - first < LIST_PLAUSIBLE || __builtin_popcount(lanes) != 1 ||
            hbm_data_count(&all) < LIST_BEATS)
                return 0;
        return add_lanes(c, bank_of(c, &c->failures[first]) / n_banks, lanes);
}

static int find_listed_lanes(HbmCase *c) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry);
        int r;

        for (size_t i = 0, end; i < c->n_failures; i = end) {
                uint32_t pseudo_channel = bank_of(c, &c->failures[i]) / n_banks;

                for (end = i;
                     end < c->n_failures && bank_of(c, &c->failures[end]) / n_banks == pseudo_channel; end++)
                        ;
                if (c->lanes[pseudo_channel] || c->gone[bank_of(c, &c->failures[i])])
                        continue;
                r = find_listed_lane(c, i, end);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Too many to tell one by one: one defect in their place. */
static int scatter(HbmCase *c, size_t first) {
        HbmDefects *defects = c->defects;
        uint64_t n_reads = 0;
        size_t n = first, n_small = 0;
        HbmDefect small = {};

        for (size_t i = first; i < defects->n; i++)
                n_small += defects->defects[i].kind == HBM_DEFECT_CELL ||
                           defects->defects[i].kind == HBM_DEFECT_WORD;
        if (n_small <= c->scatter_max)
                return 0;

        for (size_t i = first; i < defects->n; i++) {
                const HbmDefect *defect = &defects->defects[i];

                if (defect->kind != HBM_DEFECT_CELL && defect->kind != HBM_DEFECT_WORD) {
                        defects->defects[n++] = *defect;
                        continue;
                }
                if (n_reads == 0)
                        small = *defect;
                n_reads += defect->n_reads;
        }

        small.kind = HBM_DEFECT_SCATTERED;
        small.bit = -1;
        small.n_accesses = n_small;
        small.n_reads = n_reads;
        defects->defects[n++] = small; /* there is room: it replaces more than one */
        defects->n = n;
        return 0;
}

int hbm_case_find_rest(HbmCase *c) {
        uint32_t n_banks = hbm_banks_of_pseudo_channel(c->geometry);
        size_t first_defect = c->defects->n;
        HbmFailure **pointers = NULL;
        int r;

        r = find_listed_lanes(c);
        if (r < 0)
                return r;

        pointers = calloc(c->n_failures + 1, sizeof(*pointers));
        if (!pointers)
                return -ENOMEM;

        for (size_t i = 0; r >= 0 && i < c->n_failures;) {
                uint32_t index = bank_of(c, &c->failures[i]);
                Bank bank = { .linear = index * hbm_bank_accesses(c->geometry), .failures = pointers };

                for (; i < c->n_failures && bank_of(c, &c->failures[i]) == index; i++) {
                        HbmFailure *failure = &c->failures[i];

                        failure->bits = hbm_data_without(failure->bits, c->lanes[index / n_banks]);
                        if (!c->gone[index] && hbm_data_first(&failure->bits) >= 0)
                                pointers[bank.n++] = failure;
                }
                if (bank.n > 0)
                        r = judge_bank(c, &bank);
        }

        free(pointers);
        return r < 0 ? r : scatter(c, first_defect);
}
