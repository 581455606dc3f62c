/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bit lines and columns: what fails is most of the line. Cells of one bit position are no line, however near they lie; where a line comes
 * and goes, it was asked again until all of it had shown (suspects.h).
 *
 * A line is told from half of its rows on, for one that is broken fails beyond the break.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/classify.h"

#define BITS        (8u * MEMORY_ACCESS_BYTES)
#define LINE_SHARE  2u /* a line fails in at least 1 of so many of its rows */
#define LINE_ROWS   4u /* and in at least so many: a slice may hold no more of it */
#define LINES_APART 8u /* more bits of one column and subarray than that are told as one */

static unsigned column_of(const HbmCase *c, const MarchFailure *failure) {
        return failure->linear % c->geometry->size[HBM_COLUMN];
}

static unsigned row_of(const HbmCase *c, const MarchFailure *failure) {
        return failure->linear / c->geometry->size[HBM_COLUMN] % c->geometry->size[HBM_ROW];
}

static bool has_bit(const MarchFailure *failure, unsigned bit) {
        return failure->bits.bytes[bit / 8] >> bit % 8 & 1;
}

/* The failures of one column, by row. */
typedef struct Column {
        MarchFailure **failures;
        size_t n;
        uint32_t counts[BITS]; /* failures that have the bit */
        unsigned wanted;       /* for a bit line */
} Column;

static uint32_t subarray_of(const HbmCase *c, const MarchFailure *failure) {
        return (c->geometry->origin[HBM_ROW] + row_of(c, failure)) / c->subarray;
}

static unsigned tested_rows(const HbmCase *c) {
        return (unsigned) (c->box->last[HBM_ROW] - c->box->first[HBM_ROW] + 1);
}

/* Rows of SUBARRAY that were tested. */
static unsigned tested_rows_of(const HbmCase *c, uint32_t subarray) {
        unsigned origin = c->geometry->origin[HBM_ROW];
        unsigned first = MAX(subarray * c->subarray, origin + c->box->first[HBM_ROW]);
        unsigned last = MIN((subarray + 1) * c->subarray - 1, origin + c->box->last[HBM_ROW]);

        return last - first + 1;
}

static void count_bits(Column *column, size_t first, size_t end) {
        memset(column->counts, 0, sizeof(column->counts));
        for (size_t i = first; i < end; i++)
                for (unsigned bit = 0; bit < BITS; bit++)
                        column->counts[bit] += has_bit(column->failures[i], bit);
}

/* Adds the defect of BITS_OF_IT and clears these bits in failures FIRST … END - 1. */
static int add_line(HbmCase *c, Column *column, HbmDefectKind kind, size_t first, size_t end, const MemoryData *bits) {
        const MarchFailure *evidence = NULL;
        uint64_t n_reads = 0, n = 0;
        int r, bit = memory_data_count(bits) == 1 ? memory_data_first(bits) : -1;

        for (size_t i = first; i < end; i++) {
                MarchFailure *failure = column->failures[i];
                bool any = false;

                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                        any |= failure->bits.bytes[k] & bits->bytes[k];
                if (!any)
                        continue;
                evidence = evidence ? evidence : failure;
                n_reads += failure->count;
                n++;
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                        failure->bits.bytes[k] &= (uint8_t) ~bits->bytes[k];
        }
        if (!evidence)
                return 0;

        r = hbm_case_add(c, kind, evidence, evidence->linear, HBM_COLUMN, bit);
        if (r < 0)
                return r;
        hbm_case_newest(c)->n_accesses = n;
        hbm_case_newest(c)->n_reads = n_reads;
        return 0;
}

/* A bit that fails in most rows of the bank, in different subarrays. */
static int find_select(HbmCase *c, Column *column) {
        MemoryData bits = {};

        count_bits(column, 0, column->n);
        for (unsigned bit = 0; bit < BITS; bit++) {
                int64_t subarray = -1;

                if (column->counts[bit] < column->wanted)
                        continue;
                for (size_t i = 0; i < column->n; i++) {
                        if (!has_bit(column->failures[i], bit))
                                continue;
                        if (subarray >= 0 && subarray != subarray_of(c, column->failures[i]))
                                bits.bytes[bit / 8] |= (uint8_t) (1u << bit % 8);
                        subarray = subarray_of(c, column->failures[i]);
                }
        }

        return memory_data_first(&bits) < 0 ? 0 : add_line(c, column, HBM_DEFECT_COLUMN, 0, column->n, &bits);
}

static int find_lines_of(HbmCase *c, Column *column, size_t first, size_t end) {
        MemoryData bits = {};
        int r;

        count_bits(column, first, end);
        for (unsigned bit = 0; bit < BITS; bit++)
                if (column->counts[bit] >= column->wanted)
                        bits.bytes[bit / 8] |= (uint8_t) (1u << bit % 8);

        if (memory_data_count(&bits) > LINES_APART)
                return add_line(c, column, HBM_DEFECT_BIT_LINE, first, end, &bits);
        for (unsigned bit = 0; bit < BITS; bit++) {
                MemoryData one = {};

                one.bytes[bit / 8] = bits.bytes[bit / 8] & (uint8_t) (1u << bit % 8);
                r = one.bytes[bit / 8] ? add_line(c, column, HBM_DEFECT_BIT_LINE, first, end, &one) : 0;
                if (r < 0)
                        return r;
        }

        return 0;
}

static unsigned share_of(unsigned rows) {
        return MAX((rows + LINE_SHARE - 1) / LINE_SHARE, LINE_ROWS);
}

static int judge_column(HbmCase *c, Column *column) {
        int r;

        column->wanted = share_of(tested_rows(c));
        r = find_select(c, column);

        for (size_t i = 0, end; r >= 0 && i < column->n; i = end) {
                uint32_t subarray = subarray_of(c, column->failures[i]);

                for (end = i; end < column->n && subarray_of(c, column->failures[end]) == subarray; end++)
                        ;
                column->wanted = share_of(tested_rows_of(c, subarray));
                if (end - i >= column->wanted)
                        r = find_lines_of(c, column, i, end);
        }

        return r;
}

int hbm_bank_find_columns(HbmCase *c, HbmBank *bank) {
        unsigned columns = c->geometry->size[HBM_COLUMN];
        Column column = {};
        size_t *starts = calloc(columns + 1u, sizeof(size_t));
        int r = 0;

        column.failures = calloc(bank->n + 1, sizeof(MarchFailure *));
        if (!starts || !column.failures)
                r = -ENOMEM;

        if (r >= 0) {
                MarchFailure **sorted = column.failures;

                /* Counts, then ends, then, as they are filled from behind, starts: starts[columns] stays the end of all. */
                for (size_t i = 0; i < bank->n; i++)
                        starts[column_of(c, bank->failures[i])]++;
                for (unsigned i = 1; i <= columns; i++)
                        starts[i] += starts[i - 1];
                for (size_t i = bank->n; i-- > 0;)
                        sorted[--starts[column_of(c, bank->failures[i])]] = bank->failures[i];

                for (unsigned i = 0; r >= 0 && i < columns; i++) {
                        column.failures = sorted + starts[i];
                        column.n = starts[i + 1] - starts[i];
                        if (column.n >= LINE_ROWS)
                                r = judge_column(c, &column);
                }
                column.failures = sorted;
        }

        free(starts);
        free(column.failures);
        for (size_t i = 0; i < bank->n; i++)
                if (memory_data_first(&bank->failures[i]->bits) < 0)
                        bank->failures[i] = NULL;
        hbm_bank_take_out(bank);
        return r;
}
