/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rules within a bank. Each takes out what it explains; of an access of which it explains some bits, the others stay.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/classify.h"

#define BITS         (8u * MEMORY_ACCESS_BYTES)
#define SYMBOL_BITS  16u
#define ROW_COLUMNS  8u  /* a row fails where at least 1 column of so many does */
#define LINE_ALONE   8u  /* and of what fails in one phase alone, in 1 of so many of a subarray, and in at least so many */
#define LIST_BANK    64u /* failures that make a bank plausible where a list cut short is all there is */
#define LIST_ROWS    8u  /* and neighbouring rows, all failing, of it */

static uint32_t row_of(const HbmCase *c, const MarchFailure *failure) {
        return failure->linear / c->geometry->size[HBM_COLUMN];
}

static unsigned column_of(const HbmCase *c, const MarchFailure *failure) {
        return failure->linear % c->geometry->size[HBM_COLUMN];
}

static bool has_bit(const MarchFailure *failure, unsigned bit) {
        return failure->bits.bytes[bit / 8] >> bit % 8 & 1;
}

void hbm_bank_take_out(HbmBank *bank) {
        size_t n = 0;

        for (size_t i = 0; i < bank->n; i++)
                if (bank->failures[i])
                        bank->failures[n++] = bank->failures[i];
        bank->n = n;
}

static unsigned tested_columns(const HbmCase *c) {
        return (unsigned) (c->box->last[HBM_COLUMN] - c->box->first[HBM_COLUMN] + 1);
}

static unsigned tested_rows(const HbmCase *c) {
        return (unsigned) (c->box->last[HBM_ROW] - c->box->first[HBM_ROW] + 1);
}

/*
 * Rows beside rows that fail in most columns: all that a list cut short may show of a dead bank that was well when it was
 * probed. Lists of both directions show both ends of it.
 */
static bool list_is_a_bank(const HbmCase *c, const HbmBank *bank) {
        uint32_t wanted = MIN(LIST_ROWS, MAX(tested_rows(c) / 2u, 2u)), n_rows = 0, previous = 0;
        uint32_t columns = MAX(tested_columns(c) / 2u, 1u);

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

        return n_rows >= wanted && bank->n >= LIST_BANK;
}

/* ---- what fails in one phase alone ---- */

static bool only_in(const MarchFailure *failure, MarchPhase phase) {
        return (failure->phases & ~(UINT32_C(1) << MARCH_PHASE_PROBE)) == UINT32_C(1) << phase;
}

/* The phase each failure is alone in, and is no part of anything that came and went: _MARCH_PHASE_MAX: none. */
typedef struct Alone {
        uint8_t *phases; /* MarchPhase, by failure */
        uint16_t (*rows)[BITS]; /* by column and bit: failures of one phase alone */
} Alone;

static void alone_done(Alone *alone) {
        free(alone->phases);
        free(alone->rows);
}

/* One bit of one column in many rows: a bit line, weak cells lie anywhere. */
static bool is_in_line(const HbmCase *c, const Alone *alone, const MarchFailure *failure) {
        unsigned wanted = MAX(MIN(c->subarray, tested_rows(c)) / LINE_ALONE, LINE_ALONE);

        for (unsigned bit = 0; bit < BITS; bit++)
                if (has_bit(failure, bit) && alone->rows[column_of(c, failure)][bit] >= wanted)
                        return true;
        return false;
}

static int alone_init(Alone *alone, const HbmCase *c, const HbmBank *bank) {
        alone->phases = malloc(bank->n + 1);
        alone->rows = calloc(c->geometry->size[HBM_COLUMN], sizeof(*alone->rows));
        if (!alone->phases || !alone->rows)
                return -ENOMEM;

        for (size_t i = 0; i < bank->n; i++) {
                const MarchFailure *failure = bank->failures[i];

                alone->phases[i] = only_in(failure, MARCH_PHASE_HAMMER)      ? MARCH_PHASE_HAMMER :
                                   only_in(failure, MARCH_PHASE_RETENTION) ? MARCH_PHASE_RETENTION : _MARCH_PHASE_MAX;
                for (unsigned bit = 0; alone->phases[i] < _MARCH_PHASE_MAX && bit < BITS; bit++)
                        alone->rows[column_of(c, failure)][bit] += has_bit(failure, bit);
        }
        for (size_t i = 0; i < bank->n; i++)
                if (alone->phases[i] < _MARCH_PHASE_MAX && is_in_line(c, alone, bank->failures[i]))
                        alone->phases[i] = _MARCH_PHASE_MAX;
        return 0;
}

/* Failures from FIRST on that are of its row. */
static size_t end_of_row(const HbmCase *c, const HbmBank *bank, size_t first) {
        size_t end = first;

        while (end < bank->n && row_of(c, bank->failures[end]) == row_of(c, bank->failures[first]))
                end++;
        return end;
}

static size_t count_alone(const Alone *alone, size_t first, size_t end, MarchPhase phase, size_t *ret_first) {
        size_t n = 0;

        for (size_t i = first; i < end; i++)
                if (alone->phases[i] == phase && n++ == 0)
                        *ret_first = i;
        return n;
}

/* Victims of one row: a bit where it is one, an access where it is one. */
static int add_hammered(HbmCase *c, HbmBank *bank, const Alone *alone, size_t first, size_t end) {
        size_t at = first, n = count_alone(alone, first, end, MARCH_PHASE_HAMMER, &at);
        const MarchFailure *failure = bank->failures[at];
        int r;

        if (n == 0)
                return 0;
        r = hbm_case_add(c, HBM_DEFECT_HAMMER, failure, failure->linear, n == 1 ? HBM_COLUMN : HBM_ROW,
                         n == 1 && memory_data_count(&failure->bits) == 1 ? memory_data_first(&failure->bits) : -1);
        if (r < 0)
                return r;
        hbm_case_newest(c)->n_accesses = n;
        for (size_t i = at; i < end; i++)
                if (alone->phases[i] == MARCH_PHASE_HAMMER)
                        bank->failures[i] = NULL;
        return 0;
}

/* Cells of one row, one by one; where many of its columns fail it is the row. */
static int add_leaking(HbmCase *c, HbmBank *bank, const Alone *alone, size_t first, size_t end) {
        size_t at = first;

        if (count_alone(alone, first, end, MARCH_PHASE_RETENTION, &at) >= MAX(tested_columns(c) / ROW_COLUMNS, 2u))
                return 0;
        for (size_t i = at; i < end; i++) {
                const MarchFailure *failure = bank->failures[i];
                int r;

                if (alone->phases[i] != MARCH_PHASE_RETENTION)
                        continue;
                r = hbm_case_add(c, HBM_DEFECT_RETENTION, failure, failure->linear, HBM_COLUMN,
                                 memory_data_count(&failure->bits) == 1 ? memory_data_first(&failure->bits) : -1);
                if (r < 0)
                        return r;
                bank->failures[i] = NULL;
        }
        return 0;
}

static int find_of_one_phase(HbmCase *c, HbmBank *bank) {
        Alone alone = {};
        int r;

        r = alone_init(&alone, c, bank);
        for (size_t i = 0, end; r >= 0 && i < bank->n; i = end) {
                end = end_of_row(c, bank, i);
                r = add_hammered(c, bank, &alone, i, end);
                if (r >= 0)
                        r = add_leaking(c, bank, &alone, i, end);
        }

        alone_done(&alone);
        hbm_bank_take_out(bank);
        return r;
}

/* ---- rows ---- */

/* The one symbol that all failing bits lie in, or -1. */
static int symbol_of(const HbmBank *bank, size_t first, size_t end) {
        int symbol = -1;

        for (size_t i = first; i < end; i++)
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++) {
                        int at = (int) (8 * k / SYMBOL_BITS);

                        if (bank->failures[i]->bits.bytes[k] == 0)
                                continue;
                        if (symbol >= 0 && symbol != at)
                                return -1;
                        symbol = at;
                }

        return symbol;
}

static int find_rows(HbmCase *c, HbmBank *bank) {
        size_t wanted = MAX(tested_columns(c) / ROW_COLUMNS, 2u);
        int r;

        for (size_t i = 0, end; i < bank->n; i = end) {
                const MarchFailure *failure = bank->failures[i];
                uint64_t n_reads = 0;
                int symbol;

                for (end = i; end < bank->n && row_of(c, bank->failures[end]) == row_of(c, failure); end++)
                        n_reads += bank->failures[end]->count;
                if (end - i < wanted)
                        continue;

                symbol = symbol_of(bank, i, end);
                r = hbm_case_add(c, symbol >= 0 ? HBM_DEFECT_SUB_WORDLINE : HBM_DEFECT_ROW, failure, failure->linear, HBM_ROW,
                                 symbol);
                if (r < 0)
                        return r;
                hbm_case_newest(c)->n_accesses = end - i;
                hbm_case_newest(c)->n_reads = n_reads;
                memset(&bank->failures[i], 0, (end - i) * sizeof(bank->failures[0]));
        }

        hbm_bank_take_out(bank);
        return 0;
}

/* ---- what is left ---- */

static int find_words(HbmCase *c, const HbmBank *bank) {
        int r;

        for (size_t i = 0; i < bank->n; i++) {
                const MarchFailure *failure = bank->failures[i];
                bool cell = memory_data_count(&failure->bits) == 1;

                r = hbm_case_add(c, cell ? HBM_DEFECT_CELL : HBM_DEFECT_WORD, failure, failure->linear, HBM_COLUMN,
                                 cell ? memory_data_first(&failure->bits) : -1);
                if (r < 0)
                        return r;
        }

        return 0;
}

int hbm_bank_judge(HbmCase *c, HbmBank *bank) {
        uint32_t index = bank->linear / hbm_bank_accesses(c->geometry);
        int r;

        if (list_is_a_bank(c, bank)) {
                c->gone[index] = true;
                r = hbm_case_add(c, HBM_DEFECT_BANK, bank->failures[0], bank->linear, HBM_BANK, -1);
                if (r >= 0)
                        hbm_case_newest(c)->n_accesses = MAX(c->tallies[index].count, bank->n);
                return r;
        }

        r = find_of_one_phase(c, bank);
        /* Before rows, which many columns would make up. */
        if (r >= 0)
                r = hbm_bank_find_columns(c, bank);
        if (r >= 0)
                r = hbm_bank_find_aliases(c, bank);
        if (r >= 0)
                r = find_rows(c, bank);
        return r < 0 ? r : find_words(c, bank);
}
