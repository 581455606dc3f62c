/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every bit of every register of every element of one column, stuck at 0 and at 1: 24 576 faults. The column
 * runs through the model, its signature under P1 … P6 through the search of the check. Beside it, what a
 * random GEMM of 512 vectors finds of the same faults, bit by bit and with a tolerance.
 *
 * usage: exhaustive-systolic [STRIDE [GEMM-STRIDE]]   every STRIDE-th fault (default 1: all)
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "checks/systolic/diagnose.h"
#include "checks/systolic/exact.h"
#include "sim/tensor-memo.h"
#include "sim/tensor-spoil.h"

#define TOLERANCE   1.6e-2 /* relative, of a bf16 comparison as frameworks do it */
#define GEMM_MOVING 512u

typedef struct Tally {
        unsigned total, detectable, detected, placed, named;
        unsigned gemm_total, gemm_exact, gemm_tolerant;
} Tally;

typedef struct Column {
        Stationary *stationary;
        Moving *moving;
        Product *healthy;
} Column;

static const DefectSite sites[_PE_REGISTER_MAX] = {
        [PE_WEIGHT] = SITE_WEIGHT,
        [PE_ACTIVATION] = SITE_ACTIVATION,
        [PE_PRODUCT] = SITE_PRODUCT,
        [PE_PSUM] = SITE_PSUM,
};

static void must(bool held, const char *what) {
        if (held)
                return;

        fprintf(stderr, "exhaustive-systolic: %s\n", what);
        exit(EXIT_FAILURE);
}

static Column column_new(const uint16_t *weights, const uint16_t *values, unsigned moving) {
        Stationary shape = { .rows = PE_ROWS, .columns = 1, .format = FORMAT_BF16, .n_weights = PE_ROWS * sizeof(uint16_t) };
        Moving moved = { .rows = PE_ROWS, .columns = (uint16_t) moving, .format = FORMAT_BF16,
                         .n_bytes = PE_ROWS * moving * sizeof(uint16_t) };
        Column column;

        must(memo_stationary(&shape, weights, weights, &column.stationary) >= 0, "no memory");
        must(memo_moving(&moved, values, &column.moving) >= 0, "no memory");
        must(memo_product(column.stationary, column.moving, (MatmulMode){}, &column.healthy) >= 0, "no memory");
        return column;
}

static void column_free(Column *column) {
        (void) stationary_unref(column->stationary);
        (void) moving_unref(column->moving);
        (void) product_unref(column->healthy);
}

/* What COLUMN gives with CANDIDATE in place. */
static void column_spoil(const Column *column, Candidate candidate, uint32_t *ret) {
        Defect defect = { .site = sites[candidate.at], .first_row = candidate.row, .last_row = candidate.row };
        Spoil spoil = { .defects = &defect, .n_defects = 1, .selectors = &(Selectors){} };
        Product *product;

        *(candidate.value ? &defect.set : &defect.clear) = 1u << candidate.bit;
        must(product_new(1, column->moving->columns, &product) >= 0, "no memory");
        memcpy(product->bits, column->healthy->bits, column->moving->columns * sizeof(uint32_t));
        must(array_spoil(column->stationary, column->moving, &spoil, product) >= 0, "no memory");
        memcpy(ret, product->bits, column->moving->columns * sizeof(uint32_t));
        (void) product_unref(product);
}

/* ---- P1 … P6 ---- */

static Column patterns[ONE_HOT];

static void prepare_patterns(void) {
        for (unsigned i = 0; i < ONE_HOT; i++) {
                uint16_t weights[PE_ROWS];

                for (unsigned row = 0; row < PE_ROWS; row++)
                        weights[row] = pattern_at(i)->w;
                patterns[i] = column_new(weights, pattern_at(i)->values, PE_ROWS);
                must(memcmp(patterns[i].healthy->bits, pattern_at(i)->golden, PE_ROWS * sizeof(uint32_t)) ==
                                     0,
                     "the healthy column is not golden");
        }
}

static bool same(Candidate a, Candidate b) {
        return a.at == b.at && a.row == b.row && a.bit == b.bit && a.value == b.value;
}

static void try_patterns(Candidate candidate, Tally *tally) {
        static uint32_t answers[ONE_HOT][PE_ROWS];
        static const Suspects nothing;
        Signature signature = {};
        bool detected = false, placed = true, named = false;
        Matches matches;

        for (unsigned i = 0; i < ONE_HOT; i++) {
                column_spoil(&patterns[i], candidate, answers[i]);
                if (memcmp(answers[i], pattern_at(i)->golden, sizeof(answers[i])) == 0)
                        continue;
                signature.answers[i] = answers[i];
                detected = true;
        }

        /* With gradual underflow P6 reaches the last bit: no stuck bit of the four registers is out of
         * reach. */
        tally->total++;
        tally->detectable++;
        if (!detected)
                return;

        signature_search(&signature, &nothing, &matches);
        for (unsigned i = 0; i < matches.n; i++) {
                placed = placed && matches.all[i].row == candidate.row;
                named = named || same(matches.all[i], candidate);
        }
        tally->detected++;
        tally->placed += placed && matches.n > 0 && matches.silent == 0;
        tally->named += named;
}

/* ---- a random GEMM ---- */

static Column gemm;

/* A normal variable as bf16, by the sum of twelve uniform ones. */
static uint16_t normal_bf16(void) {
        double sum = -6;
        float value;
        uint32_t bits;

        for (unsigned i = 0; i < 12; i++)
                sum += (double) random() / 2147483648.0;
        value = (float) sum;
        memcpy(&bits, &value, sizeof(bits));
        return (uint16_t) (bits >> 16);
}

static void prepare_gemm(void) {
        static uint16_t values[PE_ROWS * GEMM_MOVING];
        uint16_t weights[PE_ROWS];

        srandom(271828);
        for (unsigned i = 0; i < PE_ROWS; i++)
                weights[i] = normal_bf16();
        for (unsigned i = 0; i < PE_ROWS * GEMM_MOVING; i++)
                values[i] = normal_bf16();
        gemm = column_new(weights, values, GEMM_MOVING);
}

static float number(uint32_t bits) {
        float value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

static void try_gemm(Candidate candidate, Tally *tally) {
        static uint32_t answer[GEMM_MOVING];
        bool exact = false, tolerant = false;

        column_spoil(&gemm, candidate, answer);
        for (unsigned n = 0; n < GEMM_MOVING; n++) {
                float expected = number(gemm.healthy->bits[n]), actual = number(answer[n]);

                exact = exact || answer[n] != gemm.healthy->bits[n];
                tolerant = tolerant ||
                           !(fabsf(actual - expected) <= 1e-5f + (float) TOLERANCE * fabsf(expected));
        }

        tally->gemm_total++;
        tally->gemm_exact += exact;
        tally->gemm_tolerant += tolerant;
}

static void print_tally(const char *name, const Tally *tally) {
        printf("# %-10s detected %u of %u detectable of %u; placed in one element %u, bit among those named %u; "
               "random GEMM: %.1f %% bit-exact, %.1f %% with tolerance (%u sampled)\n",
               name, tally->detected, tally->detectable, tally->total, tally->placed, tally->named,
               100.0 * tally->gemm_exact / tally->gemm_total,
               100.0 * tally->gemm_tolerant / tally->gemm_total, tally->gemm_total);
}

static void add_tally(Tally *sum, const Tally *tally) {
        sum->total += tally->total;
        sum->detectable += tally->detectable;
        sum->detected += tally->detected;
        sum->placed += tally->placed;
        sum->named += tally->named;
        sum->gemm_total += tally->gemm_total;
        sum->gemm_exact += tally->gemm_exact;
        sum->gemm_tolerant += tally->gemm_tolerant;
}

int main(int argc, char *argv[]) {
        unsigned stride = argc > 1 ? (unsigned) atoi(argv[1]) : 1,
                 gemm_stride = argc > 2 ? (unsigned) atoi(argv[2]) : 32;
        Tally sum = {}, tallies[_PE_REGISTER_MAX] = {};
        unsigned long number_of = 0;
        bool good;

        must(stride > 0 && gemm_stride > 0, "a stride is 1 or more");
        prepare_patterns();
        prepare_gemm();

        for (unsigned row = 0; row < PE_ROWS; row++)
                for (PeRegister at = 0; at < _PE_REGISTER_MAX; at++)
                        for (unsigned i = 0; i < 2 * pe_register_bits(at); i++, number_of++) {
                                Candidate candidate = { at, (uint8_t) row, (uint8_t) (i / 2), i % 2 };

                                if (number_of % stride == 0)
                                        try_patterns(candidate, &tallies[at]);
                                if (number_of % gemm_stride == 0)
                                        try_gemm(candidate, &tallies[at]);
                        }

        for (PeRegister at = 0; at < _PE_REGISTER_MAX; at++) {
                print_tally(pe_register_to_string(at), &tallies[at]);
                add_tally(&sum, &tallies[at]);
        }
        print_tally("all", &sum);

        good = sum.total > 0 && sum.detected == sum.detectable && sum.placed == sum.detected &&
               sum.named == sum.detected;
        printf("1..1\n%sok 1 - every stuck bit of a column is found and placed\n", good ? "" : "not ");

        for (unsigned i = 0; i < ONE_HOT; i++)
                column_free(&patterns[i]);
        column_free(&gemm);
        memo_forget();
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
