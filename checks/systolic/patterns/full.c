/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Patterns that keep every element busy: no operand is zero, so the array draws what it can. Sums are exact in
 * every order, either as integers below 2^24 or because neighbours cancel each other.
 */

#include <assert.h>
#include <string.h>

#include "checks/systolic/patterns/exact.h"
#include "checks/systolic/patterns/matrix.h"
#include "checks/systolic/patterns/recipe.h"

#define FULL_MOVING_MAX 128u

/* Integers that a format has, times 2^exponent: up to limit, with so many significant bits. Whatever goes together, 128 rows
 * (256 lanes of 8 bits) of such products stay below 2^24. */
static const struct {
        int limit;
        unsigned bits;
        int exponent;
} integers[_FORMAT_MAX] = {
        [FORMAT_FP32]     = { 361, 24, 0 },
        [FORMAT_BF16]     = { 255, 8, 0 },
        [FORMAT_FP16]     = { 361, 11, 0 },
        [FORMAT_TF32]     = { 361, 11, 0 },
        [FORMAT_FP8_E4M3] = { 240, 4, 0 },
        [FORMAT_FP8_E5M2] = { 224, 3, 0 },
        [FORMAT_FP8_E3M4] = { 31, 5, -1 },
};

#define INTEGERS_MAX 361

static int integer_at(WireFormat format, uint32_t at, uint32_t salt) {
        uint32_t mixed = scatter(at, salt);
        int value = 1 + (int) ((mixed >> 1) % (uint32_t) integers[format].limit), drop = 0;

        while (value >> drop >= 1 << integers[format].bits)
                drop++;
        value = value >> drop << drop;
        return mixed & 1 ? -value : value;
}

/* N integers into NUMBERS, and their images into MATRIX. */
static void put_integers(WireFormat format, uint32_t salt, size_t n, int *numbers, void *matrix) {
        uint32_t images[2 * INTEGERS_MAX + 1] = {};

        for (size_t i = 0; i < n; i++) {
                int value = numbers[i] = integer_at(format, (uint32_t) i, salt);
                uint32_t *image = &images[INTEGERS_MAX + value];

                if (*image == 0)
                        *image = exact_image(format, value < 0, (uint32_t) (value < 0 ? -value : value), integers[format].exponent);
                matrix_set(format, matrix, i, *image);
        }
}

/* Both lanes of both matrices, one behind the other, as plain integers. */
static int w[2 * PE_ROWS * PE_COLUMNS], x[2 * PE_ROWS * FULL_MOVING_MAX];

#define BLOCK 32u /* vectors that are summed up side by side */

static void multiply_block(const Pattern *pattern, unsigned column, unsigned rows, unsigned from, int *restrict sums) {
        for (unsigned row = 0; row < rows; row++) {
                const int *of = x + row * pattern->moving + from;
                int weight = w[row * pattern->columns + column];

                for (unsigned n = 0; n < BLOCK; n++)
                        sums[n] += weight * of[n];
        }
}

static void multiply_integers(const Pattern *pattern, uint32_t *golden) {
        unsigned rows = pattern->rows * (pattern_is_double(pattern) ? 2 : 1);
        int exponent = integers[pattern->w_format].exponent + integers[pattern->x_format].exponent;

        assert(pattern->moving % BLOCK == 0);

        for (unsigned column = 0; column < pattern->columns; column++)
                for (unsigned from = 0; from < pattern->moving; from += BLOCK) {
                        int sums[BLOCK] = {};

                        multiply_block(pattern, column, rows, from, sums);
                        for (unsigned n = 0; n < BLOCK; n++)
                                *golden++ = exact_round(sums[n] < 0, (uint64_t) (sums[n] < 0 ? -sums[n] : sums[n]), exponent);
                }
}

void build_integers(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        size_t n_w = (size_t) lanes * pattern->rows * pattern->columns, n_x = (size_t) lanes * pattern->rows * pattern->moving;

        assert(pattern->moving <= FULL_MOVING_MAX);

        put_integers(pattern->w_format, recipe->w + 1, n_w, w, (void *) pattern->weights);
        put_integers(pattern->x_format, recipe->w + (1u << 20), n_x, x, (void *) pattern->values);
        multiply_integers(pattern, golden);
}

/* All significands of bf16 against all: each column has all of them as weights, each element all as activations. */
void build_significands(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        for (unsigned row = 0; row < PE_ROWS; row++) {
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        w[row * PE_COLUMNS + column] = (int) (128 + (row + column) % 128);
                        pattern_set_weight(pattern, row, column, exact_image(FORMAT_BF16, false, 128 + (row + column) % 128, 0));
                }
                for (unsigned n = 0; n < pattern->moving; n++) {
                        x[row * pattern->moving + n] = (int) (128 + (n + 37 * row) % 128);
                        pattern_set_activation(pattern, row, n, exact_image(FORMAT_BF16, false, 128 + (n + 37 * row) % 128, 0));
                }
        }
        multiply_integers(pattern, golden);
}

#define SHIFTED 12u /* vectors, from the end on … */
#define NEVER_ZERO 4u /* … of which so many */

/*
 * The sign of a term. Rows 2k and 2k + 1 cancel each other, with a code over the vectors for each k, so the
 * sum is a term or nothing. Of two vectors with the same operands the last two rows agree in one, so that something is left, and cancel
 * in the other: behind a sum of two terms a difference of one unit in the last place of a term may be rounded away. In some of the last
 * vectors rows 2k - 1 and 2k cancel each other instead, or what is too much in one row would look as what is too little in the next; and
 * in the very last ones the sum is one term or two and never zero.
 */
static bool term_is_negative(const Pattern *pattern, unsigned row, unsigned n, unsigned lane) {
        bool odd = row % 2, agrees = row + 1 == pattern->rows && n / pattern->n_x % 2 == 0;

        if (n + NEVER_ZERO >= pattern->moving)
                return (row > 0 && !odd) != n % 2;
        if (n + SHIFTED >= pattern->moving)
                return (scatter((row + 1) / 2 * FULL_MOVING_MAX + n, 5 + lane) & 1) != odd;
        return (scatter(row / 2 * FULL_MOVING_MAX + n, 5 + lane) & 1) != (odd && !agrees);
}

/* The vector N, by adding up what is w × x with the signs of the terms. */
static uint32_t balanced_sum(const Pattern *pattern, const Recipe *recipe, unsigned n) {
        const ExactMode mode = { .w = pattern->w_format, .x = pattern->x_format };
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        uint32_t products[2] = {}, sum = 0;

        for (unsigned lane = 0; lane < lanes; lane++)
                products[lane] = exact_product(&mode, recipe->w, recipe->x[n % recipe->n_x], lane) & 0x7fffffff;

        for (unsigned row = 0; row < pattern->rows; row++) {
                uint32_t term = products[0] | (uint32_t) term_is_negative(pattern, row, n, 0) << 31;

                if (lanes == 2)
                        term = exact_add(term, products[1] | (uint32_t) term_is_negative(pattern, row, n, 1) << 31, false);
                sum = exact_add(sum, term, false);
        }

        return sum;
}

static uint32_t with_sign(uint32_t image, unsigned at, bool negative) {
        return (image & ~(1u << at)) | (uint32_t) negative << at;
}

void build_balanced(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        unsigned w_top = 8 * wire_format_bytes(pattern->w_format) - 1, x_top = 8 * wire_format_bytes(pattern->x_format) - 1;

        for (unsigned row = 0; row < pattern->rows; row++) {
                uint32_t flip = row % 2 ? lanes == 2 ? 0x8080 : 1u << w_top : 0, w_image = recipe->w ^ flip;

                for (unsigned column = 0; column < pattern->columns; column++)
                        pattern_set_weight(pattern, row, column, w_image);
                for (unsigned n = 0; n < pattern->moving; n++) {
                        uint32_t image = recipe->x[n % recipe->n_x];

                        for (unsigned lane = 0; lane < lanes; lane++)
                                image = with_sign(image, x_top + 8 * lane,
                                                  (w_image >> (w_top + 8 * lane) & 1) != term_is_negative(pattern, row, n, lane));
                        pattern_set_activation(pattern, row, n, image);
                }
        }

        for (unsigned n = 0; n < pattern->moving; n++)
                golden[n] = balanced_sum(pattern, recipe, n);
        for (unsigned m = 1; m < pattern->columns; m++)
                memcpy(golden + m * pattern->moving, golden, pattern->moving * sizeof(*golden));
}
