/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every bit of every register of every element of one column, stuck at 0 and at 1. The column runs through the model, its signature
 * through the search of the check. What no pattern shows must be redundant: a program over all pairs of operands proves that the bit
 * never has another value. Beside it, what a random GEMM of 512 vectors finds of the same faults, bit by bit and with a tolerance.
 *
 * usage: exhaustive-systolic [STRIDE [GEMM-STRIDE [SET…]]]   every STRIDE-th fault (default 1: all) of some sets (default: of all)
 *
 * Prints NAME VALUE UNIT, as a test behind a #.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/systolic/diagnose/search.h"
#include "checks/systolic/patterns/exact.h"
#include "checks/text/cleanup.h"
#include "sim/tensor/memo.h"
#include "sim/tensor/spoil.h"

#ifdef BENCH
#define PREFIX ""
#else
#define PREFIX "# "
#endif

#define TOLERANCE   1.6e-2 /* relative, of a bf16 comparison as frameworks do it */
#define GEMM_MOVING 512u
#define GEMM_TILES  10u
#define COLUMN      5u /* of the array, any */
#define N_REGISTERS (PE_SECOND + 1u)

/* A part of the patterns on cores of one kind, and what of the registers it is about. */
typedef struct Set {
        const char *name;
        bool ftz;
        bool bf16, fp8_double; /* nothing else; neither: all */
        uint32_t operands;     /* bits of weight and activation */
        bool registers[N_REGISTERS];
} Set;

static const Set sets[] = {
        { "bf16", false, true, false, 0xffff, { [PE_WEIGHT] = true, [PE_ACTIVATION] = true, [PE_PRODUCT] = true, [PE_PSUM] = true } },
        { "bf16_ftz", true, true, false, 0xffff, { [PE_WEIGHT] = true, [PE_ACTIVATION] = true, [PE_PRODUCT] = true, [PE_PSUM] = true } },
        { "fp8", false, false, true, 0xffff, { [PE_WEIGHT] = true, [PE_ACTIVATION] = true, [PE_PRODUCT] = true, [PE_SECOND] = true } },
        { "all", false, false, false, UINT32_MAX, { true, true, true, true, true } },
        { "all_ftz", true, false, false, UINT32_MAX, { true, true, true, true, true } },
};

typedef struct Tally {
        unsigned total, redundant, detected, placed, named;
        unsigned gemm_total, gemm_exact[2], gemm_tolerant[2]; /* one tile, all tiles */
} Tally;

static void must(bool held, const char *what) {
        if (held)
                return;

        fprintf(stderr, "exhaustive-systolic: %s\n", what);
        exit(EXIT_FAILURE);
}

/* ---- one column in the model ---- */

typedef struct Model {
        Stationary *stationary;
        Moving *moving;
        Product *healthy;
        Spoil spoil;
} Model;

static Stationary *stationary_of(unsigned rows, WireFormat format, bool double_row, const uint32_t *images) {
        unsigned lanes = double_row ? 2 : 1, bytes = wire_format_bytes(format);
        uint8_t weights[2 * PE_ROWS * sizeof(uint32_t)];
        Stationary shape = { .rows = (uint16_t) rows, .columns = 1, .format = (uint8_t) format, .double_row = double_row,
                             .n_weights = lanes * rows * bytes };
        Stationary *stationary;

        for (unsigned lane = 0; lane < lanes; lane++)
                for (unsigned row = 0; row < rows; row++) {
                        uint32_t image = images[row] >> 8 * lane;

                        memcpy(weights + (lane * rows + row) * bytes, &image, bytes); /* little-endian, as all of the port */
                }
        must(memo_stationary(&shape, weights, weights, &stationary) >= 0, "no memory");
        return stationary;
}

static Moving *moving_of(unsigned rows, unsigned columns, WireFormat format, bool double_row, const void *values) {
        Moving shape = { .rows = (uint16_t) rows, .columns = (uint16_t) columns, .format = (uint8_t) format, .double_row = double_row,
                         .n_bytes = (size_t) rows * columns * wire_format_bytes(format) * (double_row ? 2 : 1) };
        Moving *moving;

        must(memo_moving(&shape, values, &moving) >= 0, "no memory");
        return moving;
}

static void model_free(Model *model) {
        (void) stationary_unref(model->stationary);
        (void) moving_unref(model->moving);
        (void) product_unref(model->healthy);
}

/* What the column gives with CANDIDATE in place. */
static void model_spoil(Model *model, Candidate candidate, uint32_t *ret) {
        static const struct {
                DefectSite site;
                uint8_t lane;
        } sites[N_REGISTERS] = {
                [PE_WEIGHT] = { SITE_WEIGHT, 0 }, [PE_ACTIVATION] = { SITE_ACTIVATION, 0 }, [PE_PRODUCT] = { SITE_PRODUCT, 0 },
                [PE_PSUM] = { SITE_PSUM, 0 },     [PE_SECOND] = { SITE_PRODUCT, 1 },
        };
        uint32_t bit = UINT32_C(1) << candidate.bit;
        Defect defect = {
                .site = sites[candidate.at].site,
                .lane = sites[candidate.at].lane,
                .first_row = candidate.row,
                .last_row = candidate.row,
                .last_column = PE_COLUMNS - 1,
                .clear = candidate.form == FORM_STUCK_0 ? bit : 0,
                .set = candidate.form == FORM_STUCK_1 ? bit : 0,
        };
        unsigned moving = model->moving->columns;
        Product *product;

        model->spoil.defects = &defect;
        model->spoil.n_defects = 1;
        must(product_new(1, moving, &product) >= 0, "no memory");
        memcpy(product->bits, model->healthy->bits, moving * sizeof(uint32_t));
        must(array_spoil(model->stationary, model->moving, &model->spoil, product) >= 0, "no memory");
        memcpy(ret, product->bits, moving * sizeof(uint32_t));
        (void) product_unref(product);
}

/* ---- the patterns ---- */

static Model models[PATTERNS_MAX];
static bool used[PATTERNS_MAX];

static bool set_has(const Set *set, const Pattern *pattern) {
        bool plain = !pattern_is_double(pattern) && !(pattern->matmul_flags & MATMUL_TRANSPOSE);

        if (COLUMN < pattern->first_column || COLUMN >= pattern->first_column + pattern->columns)
                return false;
        if (!(set->ftz ? pattern->flushing : pattern->gradual))
                return false;
        if (set->bf16)
                return plain && pattern->w_format == FORMAT_BF16 && pattern->x_format == FORMAT_BF16;
        return !set->fp8_double || pattern_is_double(pattern);
}

static void prepare_set(const Set *set, const Selectors *selectors) {
        for (unsigned i = 0; i < patterns_count(); i++) {
                const Pattern *pattern = pattern_at(i);
                uint32_t images[PE_ROWS];

                used[i] = set_has(set, pattern);
                if (!used[i])
                        continue;

                for (unsigned row = 0; row < pattern->rows; row++)
                        images[row] = pattern_weight(pattern, row, COLUMN - pattern->first_column);
                models[i] = (Model){
                        .stationary = stationary_of(pattern->rows, pattern->w_format, pattern_is_double(pattern), images),
                        .moving = moving_of(pattern->rows, pattern->moving, pattern->x_format, pattern_is_double(pattern),
                                            pattern->values),
                        .spoil = { .ftz = set->ftz,
                                   .transposed = pattern->matmul_flags & MATMUL_TRANSPOSE,
                                   .first_row = pattern->first_row,
                                   .selectors = selectors },
                };
                must(product_new(1, pattern->moving, &models[i].healthy) >= 0, "no memory");
                memcpy(models[i].healthy->bits, pattern->golden + (COLUMN - pattern->first_column) * pattern->moving,
                       pattern->moving * sizeof(uint32_t));
        }
}

static void forget_set(void) {
        for (unsigned i = 0; i < patterns_count(); i++)
                if (used[i])
                        model_free(&models[i]);
}

/* ---- what can be seen at all ---- */

/* Bits that were ever 1, ever 0, over all pairs of operands. */
typedef struct Reach {
        uint32_t ones, zeros;
} Reach;

static void reach_add(Reach *reach, uint32_t value) {
        reach->ones |= value;
        reach->zeros |= ~value;
}

/* All pairs of two formats of 8 bits. */
static void reach_fp8(Reach *reach, PeMode mode) {
        for (uint32_t w = 0; w < 256; w++)
                for (uint32_t x = 0; x < 256; x++)
                        reach_add(reach, pe_multiply(mode, w, x, 0));
}

/* A product of bf16 depends on both significands and the sum of the exponents: all of these, and every kind of operand that has
 * none. Subnormal ones are left out, so this holds where they are flushed. */
static void reach_bf16(Reach *reach, PeMode mode) {
        static const uint32_t special[] = { 0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x3f80 };

        for (uint32_t sum = 2; sum <= 2 * 254; sum++) {
                uint32_t e = sum / 2, f = sum - e;

                for (uint32_t w = 0; w < 128; w++)
                        for (uint32_t x = 0; x < 128; x++)
                                reach_add(reach, pe_multiply(mode, e << 7 | w, f << 7 | x, 0));
        }
        for (unsigned i = 0; i < ELEMENTS(special); i++)
                for (unsigned k = 0; k < ELEMENTS(special); k++)
                        reach_add(reach, pe_multiply(mode, special[i], special[k], 0));
}

/* Of the products of SET; other sets have fp32, whose products have any bits. */
static Reach reach_of(const Set *set, PeRegister at) {
        static const uint8_t fp8[] = { FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };
        Reach reach = {};

        if (set->bf16 && set->ftz)
                reach_bf16(&reach, (PeMode){ .weights = FORMAT_BF16, .activations = FORMAT_BF16, .ftz = true });
        else if (set->fp8_double || (at == PE_SECOND && !set->bf16)) {
                for (unsigned i = 0; i < ELEMENTS(fp8); i++)
                        for (unsigned k = 0; k < ELEMENTS(fp8); k++)
                                reach_fp8(&reach, (PeMode){ .weights = fp8[i], .activations = fp8[k], .ftz = set->ftz });
        } else
                reach = (Reach){ UINT32_MAX, UINT32_MAX };

        return reach;
}

/* Whether the register has the value of CANDIDATE whatever is multiplied: the sum that leaves row 0 is a product, one that leaves
 * another row has any bits. */
static bool is_redundant(const Set *set, const Reach reaches[N_REGISTERS], Candidate candidate) {
        const Reach *reach = &reaches[candidate.at];

        if (candidate.at == PE_PSUM && candidate.row == 0)
                reach = &reaches[PE_PRODUCT];
        else if (candidate.at != PE_PRODUCT && candidate.at != PE_SECOND)
                return false;

        return !((candidate.form == FORM_STUCK_0 ? reach->ones : reach->zeros) >> candidate.bit & 1);
}

/* ---- one fault ---- */

static bool same(Candidate a, Candidate b) {
        return a.at == b.at && a.row == b.row && a.bit == b.bit && a.form == b.form;
}

static void tell(const Set *set, Candidate candidate, const char *what) {
        fprintf(stderr, "%s: %s: row %u %s bit %u stuck at %u\n", set->name, what, candidate.row, pe_register_to_string(candidate.at),
                candidate.bit, candidate.form);
}

static void try_patterns(const Set *set, Column *column, bool redundant, Candidate candidate, Tally *tally) {
        static uint32_t answers[PATTERNS_MAX][MOVING_MAX];
        static const Suspects nothing;
        Signature signature = { .column = column, .n_patterns = patterns_count() };
        bool placed = true, named = false;
        Matches matches;

        for (unsigned i = 0; i < signature.n_patterns; i++) {
                signature.ran[i] = used[i];
                if (!used[i])
                        continue;
                model_spoil(&models[i], candidate, answers[i]);
                if (memcmp(answers[i], models[i].healthy->bits, pattern_at(i)->moving * sizeof(uint32_t)) != 0)
                        signature.answers[i] = answers[i];
        }

        tally->total++;
        tally->redundant += redundant;
        if (signature_is_golden(&signature)) {
                if (!redundant)
                        tell(set, candidate, "not detected");
                return;
        }

        must(!redundant, "a fault that was proven redundant was seen");
        signature_search(&signature, &nothing, &matches);
        for (unsigned i = 0; i < matches.n; i++) {
                placed = placed && (matches.all[i].row == candidate.row || matches.all[i].row >= PE_ROWS);
                named = named || same(matches.all[i], candidate);
        }
        placed = placed && matches.n > 0 && matches.silent == 0;
        tally->detected++;
        tally->placed += placed;
        tally->named += named;
        if (!placed || !named)
                tell(set, candidate, placed ? "not named" : "not placed");
}

/* ---- a random GEMM ---- */

static Model gemm[GEMM_TILES];

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

static void prepare_gemm(const Selectors *selectors) {
        static uint16_t values[PE_ROWS * GEMM_MOVING];

        srandom(271828);
        for (unsigned tile = 0; tile < GEMM_TILES; tile++) {
                uint32_t weights[PE_ROWS];

                for (unsigned i = 0; i < PE_ROWS; i++)
                        weights[i] = normal_bf16();
                for (unsigned i = 0; i < PE_ROWS * GEMM_MOVING; i++)
                        values[i] = normal_bf16();
                gemm[tile] = (Model){ .stationary = stationary_of(PE_ROWS, FORMAT_BF16, false, weights),
                                      .moving = moving_of(PE_ROWS, GEMM_MOVING, FORMAT_BF16, false, values),
                                      .spoil = { .selectors = selectors } };
                must(memo_product(gemm[tile].stationary, gemm[tile].moving, (MatmulMode) {}, &gemm[tile].healthy) >= 0, "no memory");
        }
}

static float number(uint32_t bits) {
        float value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

static void try_gemm(Candidate candidate, Tally *tally) {
        static uint32_t answer[GEMM_MOVING];
        bool exact = false, tolerant = false;

        for (unsigned tile = 0; tile < GEMM_TILES; tile++) {
                const uint32_t *healthy = gemm[tile].healthy->bits;

                model_spoil(&gemm[tile], candidate, answer);
                for (unsigned n = 0; n < GEMM_MOVING; n++) {
                        float expected = number(healthy[n]), actual = number(answer[n]);

                        exact = exact || answer[n] != healthy[n];
                        tolerant = tolerant || !(fabsf(actual - expected) <= 1e-5f + (float) TOLERANCE * fabsf(expected));
                }
                if (tile == 0) {
                        tally->gemm_exact[0] += exact;
                        tally->gemm_tolerant[0] += tolerant;
                }
        }

        tally->gemm_total++;
        tally->gemm_exact[1] += exact;
        tally->gemm_tolerant[1] += tolerant;
}

/* ---- all of them ---- */

static void print_tally(const Set *set, const char *name, const Tally *tally) {
        if (tally->total == 0)
                return;

        printf(PREFIX "%s_%s_detected %u faults RATIO %.4f to detectable (%u of %u; %u proven redundant)\n", set->name, name,
               tally->detected, (double) tally->detected / (tally->total - tally->redundant), tally->total - tally->redundant,
               tally->total, tally->redundant);
        printf(PREFIX "%s_%s_located %u faults RATIO %.4f to detected (bit among those named: %u)\n", set->name, name, tally->placed,
               (double) tally->placed / tally->detected, tally->named);
        for (unsigned i = 0; i < 2 && tally->gemm_total > 0; i++)
                printf(PREFIX "%s_%s_random_gemm_of_%u %.1f %% bit-exact, %.1f %% with tolerance (of %u faults)\n", set->name, name,
                       i == 0 ? 1 : GEMM_TILES, 100.0 * tally->gemm_exact[i] / tally->gemm_total,
                       100.0 * tally->gemm_tolerant[i] / tally->gemm_total, tally->gemm_total);
}

static void add_tally(Tally *sum, const Tally *tally) {
        sum->total += tally->total;
        sum->redundant += tally->redundant;
        sum->detected += tally->detected;
        sum->placed += tally->placed;
        sum->named += tally->named;
        sum->gemm_total += tally->gemm_total;
        for (unsigned i = 0; i < 2; i++) {
                sum->gemm_exact[i] += tally->gemm_exact[i];
                sum->gemm_tolerant[i] += tally->gemm_tolerant[i];
        }
}

/* The bits of weight and activation that SET does not use are no part of it. */
static bool set_has_bit(const Set *set, PeRegister at, unsigned bit) {
        return set->registers[at] && ((at != PE_WEIGHT && at != PE_ACTIVATION) || (set->operands >> bit & 1));
}

static bool try_set(const Set *set, const Selectors *selectors, unsigned stride, unsigned gemm_stride) {
        Tally sum = {}, tallies[N_REGISTERS] = {};
        Reach reaches[N_REGISTERS] = {};
        Column column = {};
        unsigned long number_of = 0;

        column_turn(&column, COLUMN, set->ftz);
        prepare_set(set, selectors);
        for (PeRegister at = 0; at < N_REGISTERS; at++)
                if (at == PE_PRODUCT || at == PE_SECOND)
                        reaches[at] = reach_of(set, at);

        for (unsigned row = 0; row < PE_ROWS; row++)
                for (PeRegister at = 0; at < N_REGISTERS; at++)
                        for (unsigned i = 0; i < 2 * pe_register_bits(at); i++) {
                                Candidate candidate = { .at = (uint8_t) at, .row = (uint8_t) row, .bit = (uint8_t) (i / 2),
                                                        .form = i % 2 ? FORM_STUCK_1 : FORM_STUCK_0 };

                                if (!set_has_bit(set, at, i / 2))
                                        continue;
                                if (number_of % stride == 0)
                                        try_patterns(set, &column, is_redundant(set, reaches, candidate), candidate, &tallies[at]);
                                if (set->bf16 && !set->ftz && number_of % gemm_stride == 0)
                                        try_gemm(candidate, &tallies[at]);
                                number_of++;
                        }

        for (PeRegister at = 0; at < N_REGISTERS; at++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "%s", at == PE_SECOND ? "second" : pe_register_to_string(at));
                print_tally(set, name, &tallies[at]);
                add_tally(&sum, &tallies[at]);
        }
        print_tally(set, "registers", &sum);
        (void) column_done(&column);
        forget_set();
        return sum.total > 0 && sum.detected == sum.total - sum.redundant && sum.placed == sum.detected && sum.named == sum.detected;
}

static bool is_wanted(int argc, char *argv[], const char *name) {
        for (int i = 3; i < argc; i++)
                if (strcmp(argv[i], name) == 0)
                        return true;

        return argc <= 3;
}

int main(int argc, char *argv[]) {
        unsigned stride = argc > 1 ? (unsigned) atoi(argv[1]) : 1, gemm_stride = argc > 2 ? (unsigned) atoi(argv[2]) : 101, failed = 0;
        static Selectors selectors;

        must(stride > 0 && gemm_stride > 0, "a stride is 1 or more");
        patterns_prepare();
        prepare_gemm(&selectors);

        printf(PREFIX "patterns %u\n", patterns_count());
        for (unsigned i = 0; i < ELEMENTS(sets); i++) {
                bool good = !is_wanted(argc, argv, sets[i].name) || try_set(&sets[i], &selectors, stride, gemm_stride);

                failed += !good;
#ifndef BENCH
                printf("%sok %u - every stuck bit of a column that %s can show is found and placed\n", good ? "" : "not ", i + 1,
                       sets[i].name);
#endif
        }
#ifndef BENCH
        printf("1..%zu\n", ELEMENTS(sets));
#endif

        for (unsigned tile = 0; tile < GEMM_TILES; tile++)
                model_free(&gemm[tile]);
        memo_forget();
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
