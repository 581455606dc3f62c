/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Patterns that keep every element busy: no operand is zero, so the array draws what it can. Sums are exact in
 * every order, either as integers below 2^24 or because neighbours cancel each other.
 */

#include <assert.h>
#include <string.h>

#include "checks/systolic/exact.h"
#include "checks/systolic/matrix.h"
#include "checks/systolic/recipe.h"

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

static int integer_at(WireFormat format, uint32_t at, uint32_t salt) {
        uint32_t mixed = scatter(at, salt);
        int value = 1 + (int) ((mixed >> 1) % (uint32_t) integers[format].limit), drop = 0;

        while (value >> drop >= 1 << integers[format].bits)
                drop++;
        value = value >> drop << drop;
        return mixed & 1 ? -value : value;
}

static uint32_t integer_image(WireFormat format, int value) {
        return exact_image(format, value < 0, (uint32_t) (value < 0 ? -value : value), integers[format].exponent);
}

/* Both lanes of both matrices, one behind the other, as plain integers. */
static int w[2 * PE_ROWS * PE_COLUMNS], x[2 * PE_ROWS * FULL_MOVING_MAX];

static void multiply_integers(const Pattern *pattern, uint32_t *golden) {
        unsigned rows = pattern->rows * (pattern_is_double(pattern) ? 2 : 1), moving = pattern->moving;
        int exponent = integers[pattern->w_format].exponent + integers[pattern->x_format].exponent;

        for (unsigned column = 0; column < pattern->columns; column++) {
                int sums[FULL_MOVING_MAX] = {};

                for (unsigned row = 0; row < rows; row++)
                        for (unsigned n = 0; n < moving; n++)
                                sums[n] += w[row * pattern->columns + column] * x[row * moving + n];
                for (unsigned n = 0; n < moving; n++)
                        *golden++ = exact_round(sums[n] < 0, (uint64_t) (sums[n] < 0 ? -sums[n] : sums[n]), exponent);
        }
}

void build_integers(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        size_t n_w = (size_t) lanes * pattern->rows * pattern->columns, n_x = (size_t) lanes * pattern->rows * pattern->moving;

        assert(pattern->moving <= FULL_MOVING_MAX);

        for (size_t i = 0; i < n_w; i++) {
                w[i] = integer_at(pattern->w_format, (uint32_t) i, recipe->w + 1);
                matrix_set(pattern->w_format, (void *) pattern->weights, i, integer_image(pattern->w_format, w[i]));
        }
        for (size_t i = 0; i < n_x; i++) {
                x[i] = integer_at(pattern->x_format, (uint32_t) i, recipe->w + (1u << 20));
                matrix_set(pattern->x_format, (void *) pattern->values, i, integer_image(pattern->x_format, x[i]));
        }
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

/*
 * The sign of a term. Rows 2k and 2k + 1 cancel each other, with a code over the vectors for each k, so the
 * sum is a term or nothing; the last two rows agree, so that something is left. In the last four vectors it
 * is one term or two instead, with sums that are never zero.
 */
static bool term_is_negative(const Pattern *pattern, unsigned row, unsigned n, unsigned lane) {
        bool odd = row % 2;

        if (n + 4 >= pattern->moving)
                return (row > 0 && !odd) != n % 2;
        return (scatter(row / 2 * FULL_MOVING_MAX + n, 5 + lane) & 1) != (odd && row + 1 < pattern->rows);
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

                        for (unsigned lane = 0; lane < lanes; lane++) {
                                uint32_t sign = 1u << (x_top + 8 * lane);

                                image &= ~sign;
                                if ((w_image >> (w_top + 8 * lane) & 1) != term_is_negative(pattern, row, n, lane))
                                        image |= sign;
                        }
                        pattern_set_activation(pattern, row, n, image);
                }
        }

        for (unsigned n = 0; n < pattern->moving; n++)
                golden[n] = pattern_chain(pattern, 0, n);
        for (unsigned m = 1; m < pattern->columns; m++)
                memcpy(golden + m * pattern->moving, golden, pattern->moving * sizeof(*golden));
}
