/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/sram/classify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/march/list.h"

#define WIDE_BITS (8 * MEMORY_ACCESS_BYTES / 4) /* that fail in a row that fails as a whole: of random data half of them show it, give or take */
#define DEAD_ROWS 4u                            /* of a partition that is dead, at least */
#define LINE_SHARE 2u                           /* a bit line fails in at least 1 of so many rows */
#define DEAD_SHARE 10u                          /* nearly all partitions of a bank: but for 1 of so many */

void sram_defects_done(SramDefects *defects) {
        free(defects->defects);
        *defects = (SramDefects) {};
}

int sram_case_init(SramCase *c, const MemoryGeometry *geometry, unsigned number, unsigned scatter_max, SramDefects *defects) {
        *c = (SramCase) { .geometry = geometry, .number = number, .scatter_max = scatter_max, .defects = defects };
        c->counts = calloc(sram_blocks(geometry), sizeof(*c->counts));
        c->gone = calloc(sram_blocks(geometry), sizeof(*c->gone));
        if (c->counts && c->gone)
                return 0;

        sram_case_done(c);
        return -ENOMEM;
}

void sram_case_done(SramCase *c) {
        free(c->counts);
        free(c->gone);
        free(c->pairs);
        *c = (SramCase) {};
}

static uint32_t block_of(const SramCase *c, const MarchFailure *failure) {
        return failure->linear / sram_rows(c->geometry);
}

/* The end of the run of failures from FIRST on that lie in one block. */
static size_t block_end(const SramCase *c, size_t first) {
        size_t end = first;

        while (end < c->n_failures && block_of(c, &c->failures[end]) == block_of(c, &c->failures[first]))
                end++;
        return end;
}

void sram_case_take(SramCase *c, const MarchFailures *failures) {
        c->failures = march_failures_of(failures, c->number, &c->n_failures);

        for (size_t i = 0, end; i < c->n_failures; i = end) {
                uint32_t *count = &c->counts[block_of(c, &c->failures[i])];

                end = block_end(c, i);
                *count = MAX(*count, (uint32_t) (end - i));
        }
}

int sram_case_add_pair(SramCase *c, uint32_t a, uint32_t b) {
        SramPair pair = { MIN(a, b), MAX(a, b) };
        int r;

        for (size_t i = 0; i < c->n_pairs; i++)
                if (c->pairs[i].low == pair.low && c->pairs[i].high == pair.high)
                        return 0;

        r = LIST_MAKE_ROOM(c->pairs, c->n_pairs, c->pairs_allocated);
        if (r < 0)
                return r;
        c->pairs[c->n_pairs++] = pair;
        return 0;
}

/* ---- defects ---- */

/* FAILURE, or NULL where nothing was told: the evidence. LINEAR: where it is. */
static int add_defect(SramCase *c, SramDefectKind kind, const MarchFailure *failure, uint32_t linear, int bit,
                      uint64_t n_accesses, uint64_t n_reads) {
        SramDefects *defects = c->defects;
        SramDefect *defect;
        int r;

        r = LIST_MAKE_ROOM(defects->defects, defects->n, defects->allocated);
        if (r < 0)
                return r;

        defect = &defects->defects[defects->n++];
        *defect = (SramDefect) { .kind = kind, .number = c->number, .bit = bit, .n_accesses = n_accesses, .n_reads = n_reads };
        memory_geometry_at(c->geometry, linear, defect->at);
        memcpy(defect->first, defect->at, sizeof(defect->at));
        if (failure) {
                memory_geometry_at(c->geometry, failure->linear, defect->first);
                defect->expected = failure->expected;
                defect->actual = failure->actual;
        }
        return 0;
}

bool sram_is_wide(const MarchFailure *failure) {
        return memory_data_count(&failure->bits) >= WIDE_BITS;
}

/* The first failure of a block; NULL where none was told. */
static const MarchFailure *first_of_block(const SramCase *c, uint32_t block) {
        for (size_t i = 0; i < c->n_failures; i++)
                if (block_of(c, &c->failures[i]) >= block)
                        return block_of(c, &c->failures[i]) == block ? &c->failures[i] : NULL;
        return NULL;
}

/* ---- what is dead as a whole ---- */

static bool block_is_dead(const SramCase *c, uint32_t block) {
        size_t n = 0, n_wide = 0;

        if (c->counts[block] < DEAD_ROWS || 8 * (uint64_t) c->counts[block] <= sram_rows(c->geometry))
                return false;

        for (const MarchFailure *f = first_of_block(c, block); f && f < c->failures + c->n_failures && block_of(c, f) == block; f++) {
                n++;
                n_wide += sram_is_wide(f);
        }

        return n > 0 && 2 * n_wide > n;
}

SramDead sram_case_count_dead(const SramCase *c) {
        uint32_t n_banks = c->geometry->size[SRAM_BANK], n_partitions = c->geometry->size[SRAM_PARTITION];
        SramDead dead = { .complete = true };

        for (uint32_t bank = 0; bank < n_banks; bank++) {
                uint32_t n = 0;

                for (uint32_t i = 0; i < n_partitions; i++)
                        n += block_is_dead(c, i * n_banks + bank);
                dead.n_blocks += n;
                dead.complete = dead.complete && (n == 0 || DEAD_SHARE * (n_partitions - n) <= n_partitions);
        }
        for (size_t i = 0; i < c->n_failures; i++)
                dead.n_reads += sram_is_wide(&c->failures[i]) ? c->failures[i].count : 0;

        return dead;
}

static int add_bank(SramCase *c, uint32_t bank, const bool *dead) {
        uint32_t n_banks = c->geometry->size[SRAM_BANK];
        const MarchFailure *failure = NULL;
        uint64_t count = 0;

        for (uint32_t block = bank; block < sram_blocks(c->geometry); block += n_banks) {
                count += c->counts[block];
                if (dead[block] && !failure)
                        failure = first_of_block(c, block);
                c->gone[block] = true;
        }

        return add_defect(c, SRAM_DEFECT_ARRAY, failure, bank * sram_rows(c->geometry), -1, count, failure ? failure->count : 0);
}

static int add_partition(SramCase *c, uint32_t block) {
        const MarchFailure *failure = first_of_block(c, block);

        c->gone[block] = true;
        return add_defect(c, SRAM_DEFECT_PARTITION, failure, block * sram_rows(c->geometry), -1, c->counts[block],
                          failure ? failure->count : 0);
}

static int find_dead(SramCase *c, const bool *dead) {
        uint32_t n_banks = c->geometry->size[SRAM_BANK], n_partitions = c->geometry->size[SRAM_PARTITION];
        int r;

        for (uint32_t bank = 0; bank < n_banks; bank++) {
                uint32_t n = 0;

                for (uint32_t i = 0; i < n_partitions; i++)
                        n += dead[i * n_banks + bank];

                if (n >= 2 && 2 * n >= n_partitions) {
                        r = add_bank(c, bank, dead);
                        if (r < 0)
                                return r;
                        continue;
                }
                for (uint32_t i = 0; i < n_partitions && n > 0; i++) {
                        if (!dead[i * n_banks + bank])
                                continue;
                        r = add_partition(c, i * n_banks + bank);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

int sram_case_find_blocks(SramCase *c) {
        uint32_t n_blocks = sram_blocks(c->geometry);
        bool *dead = calloc(n_blocks, sizeof(*dead));
        int r;

        if (!dead)
                return -ENOMEM;

        for (uint32_t block = 0; block < n_blocks; block++)
                dead[block] = !c->gone[block] && block_is_dead(c, block);
        r = find_dead(c, dead);

        free(dead);
        return r;
}

/* ---- within a block ---- */

/* The failures of one block that nothing larger explains; those that something explains become NULL. */
typedef struct Block {
        MarchFailure **failures;
        size_t n;
} Block;

static MarchFailure **find_row(const Block *block, uint32_t linear) {
        for (size_t i = 0; i < block->n; i++)
                if (block->failures[i] && block->failures[i]->linear == linear)
                        return &block->failures[i];
        return NULL;
}

static int find_decoders(SramCase *c, Block *block, uint32_t index) {
        int r;

        for (size_t i = 0; i < c->n_pairs; i++) {
                const SramPair *pair = &c->pairs[i];
                MarchFailure **rows[2] = { find_row(block, pair->low), find_row(block, pair->high) };
                MarchFailure *evidence = rows[0] ? *rows[0] : rows[1] ? *rows[1] : NULL;

                if (pair->low / sram_rows(c->geometry) != index || !evidence)
                        continue;
                r = add_defect(c, SRAM_DEFECT_DECODER, evidence, pair->low, -1, !!rows[0] + !!rows[1],
                               (rows[0] ? (*rows[0])->count : 0) + (rows[1] ? (*rows[1])->count : 0));
                if (r < 0)
                        return r;
                c->defects->defects[c->defects->n - 1].other = (uint16_t) (pair->high % sram_rows(c->geometry));
                for (unsigned k = 0; k < 2; k++)
                        if (rows[k])
                                *rows[k] = NULL;
        }

        return 0;
}

static int find_rows(SramCase *c, Block *block) {
        int r;

        for (size_t i = 0; i < block->n; i++) {
                MarchFailure *failure = block->failures[i];

                if (!failure || !sram_is_wide(failure))
                        continue;
                r = add_defect(c, SRAM_DEFECT_ROW, failure, failure->linear, -1, 1, failure->count);
                if (r < 0)
                        return r;
                block->failures[i] = NULL;
        }

        return 0;
}

static bool has_bit(const MemoryData *bits, unsigned bit) {
        return bits->bytes[bit / 8] >> bit % 8 & 1;
}

/* Takes BIT out of all failures of the block, where it fails in most rows: cells of one bit position are no line. */
static int find_column(SramCase *c, Block *block, unsigned bit) {
        const MarchFailure *first = NULL;
        uint64_t n = 0, n_reads = 0;
        int r;

        for (size_t i = 0; i < block->n; i++) {
                const MarchFailure *failure = block->failures[i];

                if (!failure || !has_bit(&failure->bits, bit))
                        continue;
                if (n++ == 0)
                        first = failure;
                n_reads += failure->count;
        }
        if (n < 2 || LINE_SHARE * n < sram_rows(c->geometry))
                return 0;

        r = add_defect(c, SRAM_DEFECT_COLUMN, first, first->linear, (int) bit, n, n_reads);
        for (size_t i = 0; i < block->n; i++) {
                MarchFailure *failure = block->failures[i];

                if (!failure || !has_bit(&failure->bits, bit))
                        continue;
                failure->bits.bytes[bit / 8] &= (uint8_t) ~(1u << bit % 8);
                if (memory_data_first(&failure->bits) < 0)
                        block->failures[i] = NULL;
        }
        return r;
}

static int find_words(SramCase *c, const Block *block) {
        int r;

        for (size_t i = 0; i < block->n; i++) {
                const MarchFailure *failure = block->failures[i];
                bool cell;

                if (!failure)
                        continue;
                cell = memory_data_count(&failure->bits) == 1;
                r = add_defect(c, cell ? SRAM_DEFECT_CELL : SRAM_DEFECT_WORD, failure, failure->linear,
                               cell ? memory_data_first(&failure->bits) : -1, 1, failure->count);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int judge_block(SramCase *c, Block *block, uint32_t index) {
        int r;

        r = find_decoders(c, block, index);
        if (r >= 0)
                r = find_rows(c, block);
        for (unsigned bit = 0; r >= 0 && bit < 8 * MEMORY_ACCESS_BYTES; bit++)
                r = find_column(c, block, bit);
        return r < 0 ? r : find_words(c, block);
}

/* Too many to tell one by one: one defect in their place. */
static void scatter(SramCase *c, size_t first) {
        SramDefects *defects = c->defects;
        SramDefect small = { .kind = _SRAM_DEFECT_KIND_MAX };
        uint64_t n_reads = 0;
        size_t n = first, n_small = 0;

        for (size_t i = first; i < defects->n; i++)
                n_small += defects->defects[i].kind == SRAM_DEFECT_CELL || defects->defects[i].kind == SRAM_DEFECT_WORD;
        if (n_small <= c->scatter_max)
                return;

        for (size_t i = first; i < defects->n; i++) {
                const SramDefect *defect = &defects->defects[i];

                if (defect->kind != SRAM_DEFECT_CELL && defect->kind != SRAM_DEFECT_WORD) {
                        defects->defects[n++] = *defect;
                        continue;
                }
                if (small.kind == _SRAM_DEFECT_KIND_MAX)
                        small = *defect;
                n_reads += defect->n_reads;
        }

        small.kind = SRAM_DEFECT_SCATTERED;
        small.bit = -1;
        small.n_accesses = n_small;
        small.n_reads = n_reads;
        defects->defects[n++] = small; /* there is room: it replaces more than one */
        defects->n = n;
}

int sram_case_find_rest(SramCase *c) {
        size_t first_defect = c->defects->n;
        MarchFailure **pointers = calloc(c->n_failures + 1, sizeof(*pointers));
        int r = 0;

        if (!pointers)
                return -ENOMEM;

        for (size_t i = 0, end; r >= 0 && i < c->n_failures; i = end) {
                uint32_t index = block_of(c, &c->failures[i]);
                Block block = { .failures = pointers };

                end = block_end(c, i);
                if (c->gone[index])
                        continue;
                for (size_t k = i; k < end; k++)
                        pointers[block.n++] = &c->failures[k];
                r = judge_block(c, &block, index);
        }

        free(pointers);
        if (r >= 0)
                scatter(c, first_defect);
        return r;
}
