/* SPDX-License-Identifier: Apache-2.0 */

/* Patterns of one row alone: a product is seen as it is, also where it is infinite or not a number. Double rows take
 * the whole array, so all other rows are zeros there. */

#include "checks/systolic/patterns/exact.h"
#include "checks/systolic/patterns/recipe.h"

/* A zero of the sum is positive before anything is added. */
static uint32_t alone(uint32_t product) {
        return product == 0x80000000 ? 0 : product;
}

static void multiply_all(const Pattern *pattern, unsigned row, unsigned lane, uint32_t *golden) {
        uint32_t x[MOVING_MAX];
        bool ftz = !pattern->gradual;

        for (unsigned n = 0; n < pattern->moving; n++)
                x[n] = exact_widen(pattern->x_format, pattern_activation(pattern, row, n) >> 8 * lane);

        for (unsigned m = 0; m < pattern->columns; m++) {
                uint32_t w = exact_widen(pattern->w_format, pattern_weight(pattern, row, m) >> 8 * lane);

                for (unsigned n = 0; n < pattern->moving; n++)
                        *golden++ = alone(exact_multiply(w, x[n], ftz));
        }
}

void build_pairs(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        unsigned lane = pattern_is_double(pattern) ? 1 : 0, row = pattern->rows / 2;

        for (unsigned m = 0; m < pattern->columns; m++)
                pattern_set_weight(pattern, row, m, (recipe->w + m) << 8 * lane);
        for (unsigned n = 0; n < pattern->moving; n++)
                pattern_set_activation(pattern, row, n, (recipe->x[0] + n) << 8 * lane);
        multiply_all(pattern, row, lane, golden);
}

/* Where a special number lies: its exponent field from the lower or upper end, and its fraction. */
typedef enum Fraction {
        FRACTION_ZERO,
        FRACTION_ONE, /* in the last place */
        FRACTION_TOP, /* in the first place */
        FRACTION_ALL,
} Fraction;

static const struct {
        enum { FROM_ZERO, FROM_BIAS, FROM_TOP } from;
        int exponent;
        Fraction fraction;
} specials[] = {
        { FROM_BIAS, 0, FRACTION_ZERO },  { FROM_ZERO, 0, FRACTION_ZERO }, { FROM_ZERO, 0, FRACTION_ONE },  { FROM_ZERO, 0, FRACTION_TOP },
        { FROM_ZERO, 0, FRACTION_ALL },   { FROM_ZERO, 1, FRACTION_ZERO }, { FROM_ZERO, 1, FRACTION_ALL },  { FROM_BIAS, 0, FRACTION_ONE },
        { FROM_BIAS, -1, FRACTION_ALL },  { FROM_BIAS, 2, FRACTION_TOP },  { FROM_TOP, -1, FRACTION_ZERO }, { FROM_TOP, -1, FRACTION_ALL },
        { FROM_TOP, 0, FRACTION_ZERO },   { FROM_TOP, 0, FRACTION_ONE },   { FROM_TOP, 0, FRACTION_TOP },   { FROM_TOP, 0, FRACTION_ALL },
};

/* Those of FORMAT, then the same with a sign. */
static uint32_t special_at(WireFormat format, unsigned i) {
        unsigned n = sizeof(specials) / sizeof(specials[0]), of = i % n;
        unsigned f_bits = exact_fraction_bits(format), width = format == FORMAT_TF32 ? 19 : 8 * wire_format_bytes(format);
        uint32_t top = (1u << (width - 1 - f_bits)) - 1, bases[] = { 0, top / 2, top };
        uint32_t fractions[] = { 0, 1, 1u << (f_bits - 1), (1u << f_bits) - 1 };
        uint32_t image = (bases[specials[of].from] + (uint32_t) specials[of].exponent) << f_bits | fractions[specials[of].fraction];

        image |= (i / n % 2) << (width - 1);
        return format == FORMAT_TF32 ? image << 13 : image;
}

void build_specials(Pattern *pattern, const Recipe *recipe, uint32_t *golden) {
        for (unsigned m = 0; m < pattern->columns; m++)
                pattern_set_weight(pattern, 0, m, special_at(pattern->w_format, m));
        for (unsigned n = 0; n < pattern->moving; n++)
                pattern_set_activation(pattern, 0, n, special_at(pattern->x_format, n));
        multiply_all(pattern, 0, 0, golden);
}
