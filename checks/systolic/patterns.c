/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/patterns.h"

#include <assert.h>

#include "checks/systolic/exact.h"

#define ONE         0x3f80u
#define TAG_BASE    0x2000u /* with 14 bits of number added: all normal, all different */
#define FULL_MOVING 32u     /* of the full load */
#define P6          5u      /* of one_hots: its sums are subnormal */

typedef struct OneHot {
        const char *name;
        uint16_t w, x;
} OneHot;

static const OneHot one_hots[ONE_HOT] = {
        {"P1",  0x5555, ONE   }, /* half of the weight bits, product and sum bits of the upper half, zeros */
        { "P2", 0xaaaa, ONE   }, /* the other half, the sign */
        { "P3", ONE,    0x5555}, /* activation bits */
        { "P4", ONE,    0xaaaa},
        { "P5", 0x436f, 0x4371}, /* 239 × 241 = 57599 = 0xe0ff: significand bits 8 … 15 */
        { "P6", 0x1a08, 0x1e70}, /* 17 × 2^-79 × 15 × 2^-70 = 255 × 2^-149: significand bits 0 … 7 */
};

static Pattern patterns[PATTERNS];
static uint16_t weights[PATTERNS][PE_ROWS * PE_COLUMNS];
static uint16_t values[PATTERNS][PE_ROWS * PE_COLUMNS];
static uint32_t goldens[PATTERNS][PE_COLUMNS * PE_ROWS];
static bool prepared;

static Pattern *pattern_begin(unsigned index, const char *name, PatternKind kind, unsigned moving) {
        patterns[index] = (Pattern){
                .name = name,
                .kind = kind,
                .w_format = FORMAT_BF16,
                .x_format = FORMAT_BF16,
                .rows = PE_ROWS,
                .columns = PE_COLUMNS,
                .moving = moving,
                .gradual = true,
                .flushing = index != P6,
                .weights = weights[index],
                .values = values[index],
                .weights_bytes = PE_ROWS * PE_COLUMNS * sizeof(uint16_t),
                .values_bytes = PE_ROWS * moving * sizeof(uint16_t),
                .golden = goldens[index],
                .n_bytes = PE_COLUMNS * moving * sizeof(uint32_t),
        };
        return &patterns[index];
}

static void prepare_one_hot(unsigned index) {
        const OneHot *one_hot = &one_hots[index];
        Pattern *pattern = pattern_begin(index, one_hot->name, PATTERN_ONE_HOT, PE_ROWS);
        const ExactMode mode = { .w = FORMAT_BF16, .x = FORMAT_BF16 };

        pattern->w = one_hot->w;
        pattern->x[0] = one_hot->x;
        pattern->n_x = 1;
        pattern->golden_of[0] = exact_product(&mode, one_hot->w, one_hot->x, 0);

        for (unsigned i = 0; i < PE_ROWS * PE_COLUMNS; i++)
                weights[index][i] = one_hot->w;
        for (unsigned row = 0; row < PE_ROWS; row++)
                values[index][row * PE_ROWS + row] = one_hot->x;
        for (unsigned i = 0; i < PE_COLUMNS * PE_ROWS; i++)
                goldens[index][i] = pattern->golden_of[0];
}

/* Another weight in each element, seen one row at a time. */
static void prepare_weights_in_order(unsigned index) {
        (void) pattern_begin(index, "P7", PATTERN_WIRING, PE_ROWS);

        for (unsigned row = 0; row < PE_ROWS; row++) {
                values[index][row * PE_ROWS + row] = ONE;
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        uint16_t w = (uint16_t) (TAG_BASE + PE_COLUMNS * row + column);

                        weights[index][row * PE_COLUMNS + column] = w;
                        goldens[index][column * PE_ROWS + row] = (uint32_t) w << 16;
                }
        }
}

/* Another activation in each row and moving column, column c seeing those of row c. */
static void prepare_activations_in_order(unsigned index) {
        (void) pattern_begin(index, "P8", PATTERN_WIRING, PE_ROWS);

        for (unsigned row = 0; row < PE_ROWS; row++) {
                weights[index][row * PE_COLUMNS + row] = ONE;
                for (unsigned n = 0; n < PE_ROWS; n++) {
                        uint16_t x = (uint16_t) (TAG_BASE + PE_ROWS * row + (n ^ 0x55));

                        values[index][row * PE_ROWS + n] = x;
                        goldens[index][row * PE_ROWS + n] = (uint32_t) x << 16;
                }
        }
}

/* An integer from -127 to 127 that is not 0, without a pattern. */
static int full_integer(uint32_t at, uint32_t salt) {
        uint32_t mixed = (at + salt) * 0x9e3779b1u;

        mixed = (mixed ^ mixed >> 15) * 0x85ebca77u;
        mixed = (mixed ^ mixed >> 13) % 254;
        return mixed < 127 ? (int) mixed - 127 : (int) mixed - 126;
}

static uint16_t integer_to_bf16(int value) {
        return (uint16_t) exact_image(FORMAT_BF16, value < 0, (uint32_t) (value < 0 ? -value : value), 0);
}

static void prepare_full(unsigned index) {
        static int w[PE_ROWS * PE_COLUMNS], x[PE_ROWS * FULL_MOVING];

        (void) pattern_begin(index, "P10", PATTERN_FULL, FULL_MOVING);

        for (unsigned i = 0; i < PE_ROWS * PE_COLUMNS; i++) {
                w[i] = full_integer(i, 1);
                weights[index][i] = integer_to_bf16(w[i]);
        }
        for (unsigned i = 0; i < PE_ROWS * FULL_MOVING; i++) {
                x[i] = full_integer(i, 1u << 20);
                values[index][i] = integer_to_bf16(x[i]);
        }

        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                int sums[FULL_MOVING] = {}; /* at most 128 × 127 × 127 < 2^24 on the way: exact at every step
                                             */

                for (unsigned row = 0; row < PE_ROWS; row++)
                        for (unsigned n = 0; n < FULL_MOVING; n++)
                                sums[n] += w[row * PE_COLUMNS + column] * x[row * FULL_MOVING + n];
                for (unsigned n = 0; n < FULL_MOVING; n++)
                        goldens[index][column * FULL_MOVING + n] = exact_round(
                                        sums[n] < 0, (uint64_t) (sums[n] < 0 ? -sums[n] : sums[n]), 0);
        }
}

void patterns_prepare(void) {
        if (prepared)
                return;

        for (unsigned i = 0; i < ONE_HOT; i++)
                prepare_one_hot(i);
        patterns[1].values = patterns[0].values; /* the same matrix is the same pointer: it is sent once */
        patterns[3].weights = patterns[2].weights;
        prepare_weights_in_order(6);
        prepare_activations_in_order(7);
        prepare_full(8);
        prepared = true;
}

unsigned patterns_count(void) {
        return PATTERNS;
}

const Pattern *pattern_at(unsigned index) {
        assert(index < PATTERNS);

        patterns_prepare();
        return &patterns[index];
}

/* Number I of MATRIX, as a register shows it. */
static uint32_t image_at(WireFormat format, const void *matrix, size_t i) {
        switch (wire_format_bytes(format)) {

        case 4:
                return ((const uint32_t *) matrix)[i] & (format == FORMAT_TF32 ? ~0x1fffu : ~0u);

        case 2:
                return ((const uint16_t *) matrix)[i];
        }

        return ((const uint8_t *) matrix)[i];
}

uint32_t pattern_weight(const Pattern *pattern, unsigned row, unsigned column) {
        size_t at = (size_t) row * pattern->columns + column;
        uint32_t image = image_at(pattern->w_format, pattern->weights, at);

        if (pattern_is_double(pattern))
                image |= image_at(pattern->w_format, pattern->weights, at + (size_t) pattern->rows * pattern->columns) << 8;
        return image;
}

uint32_t pattern_activation(const Pattern *pattern, unsigned row, unsigned n) {
        size_t at = (size_t) row * pattern->moving + n;
        uint32_t image = image_at(pattern->x_format, pattern->values, at);

        if (pattern_is_double(pattern))
                image |= image_at(pattern->x_format, pattern->values, at + (size_t) pattern->rows * pattern->moving) << 8;
        return image;
}
