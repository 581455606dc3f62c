/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/patterns/patterns.h"

#include <assert.h>
#include <string.h>

#include "checks/systolic/patterns/exact.h"
#include "checks/systolic/patterns/matrix.h"
#include "checks/systolic/patterns/recipe.h"

static Recipe recipes[PATTERNS_MAX];
static Pattern patterns[PATTERNS_MAX]; /* without a name: not made yet */
static unsigned n_patterns;

uint32_t scatter(uint32_t at, uint32_t salt) {
        uint32_t mixed = (at + salt * 0x1000193u) * 0x9e3779b1u;

        mixed = (mixed ^ mixed >> 15) * 0x85ebca77u;
        mixed = (mixed ^ mixed >> 13) * 0xc2b2ae3du;
        return mixed ^ mixed >> 16;
}

uint32_t normal_at(WireFormat format, unsigned i) {
        unsigned width = 8 * wire_format_bytes(format), f_bits = exact_fraction_bits(format);
        uint32_t first = 1u << f_bits, sign = 1u << (width - 1), n = sign - 2 * first;

        assert(width == 8);

        i %= 128;
        return i < n ? first + i : sign | (first + i - n);
}

/* ---- numbers in place ---- */

uint32_t pattern_weight(const Pattern *pattern, unsigned row, unsigned column) {
        size_t at = (size_t) row * pattern->columns + column;
        uint32_t image = matrix_get(pattern->w_format, pattern->weights, at);

        if (pattern_is_double(pattern))
                image |= matrix_get(pattern->w_format, pattern->weights, at + (size_t) pattern->rows * pattern->columns) << 8;
        return image;
}

uint32_t pattern_activation(const Pattern *pattern, unsigned row, unsigned n) {
        size_t at = (size_t) row * pattern->moving + n;
        uint32_t image = matrix_get(pattern->x_format, pattern->values, at);

        if (pattern_is_double(pattern))
                image |= matrix_get(pattern->x_format, pattern->values, at + (size_t) pattern->rows * pattern->moving) << 8;
        return image;
}

void pattern_set_weight(const Pattern *pattern, unsigned row, unsigned column, uint32_t image) {
        size_t at = (size_t) row * pattern->columns + column;

        matrix_set(pattern->w_format, (void *) pattern->weights, at, image);
        if (pattern_is_double(pattern))
                matrix_set(pattern->w_format, (void *) pattern->weights, at + (size_t) pattern->rows * pattern->columns, image >> 8);
}

void pattern_fill_weights(const Pattern *pattern, uint32_t image) {
        size_t n_row = pattern->columns * wire_format_bytes(pattern->w_format);
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;

        for (unsigned lane = 0; lane < lanes; lane++) {
                uint8_t *first = (uint8_t *) pattern->weights + lane * pattern->rows * n_row;

                for (unsigned column = 0; column < pattern->columns; column++)
                        matrix_set(pattern->w_format, first, column, image >> 8 * lane);
                for (unsigned row = 1; row < pattern->rows; row++)
                        memcpy(first + row * n_row, first, n_row);
        }
}

void pattern_set_activation(const Pattern *pattern, unsigned row, unsigned n, uint32_t image) {
        size_t at = (size_t) row * pattern->moving + n;

        matrix_set(pattern->x_format, (void *) pattern->values, at, image);
        if (pattern_is_double(pattern))
                matrix_set(pattern->x_format, (void *) pattern->values, at + (size_t) pattern->rows * pattern->moving, image >> 8);
}

uint32_t pattern_chain(const Pattern *pattern, unsigned m, unsigned n) {
        const ExactMode mode = { .w = pattern->w_format, .x = pattern->x_format, .ftz = !pattern->gradual };
        uint32_t psum = 0;

        for (unsigned row = 0; row < pattern->rows; row++) {
                uint32_t w = pattern_weight(pattern, row, m), x = pattern_activation(pattern, row, n);
                uint32_t product = exact_product(&mode, w, x, 0);

                if (pattern_is_double(pattern))
                        product = exact_add(product, exact_product(&mode, w, x, 1), mode.ftz);
                psum = exact_add(psum, product, mode.ftz);
        }

        return psum;
}

/* ---- making them ---- */

static Pattern shape_of(const Recipe *recipe) {
        Pattern pattern = {
                .name = recipe->name,
                .kind = recipe->kind,
                .w_format = recipe->w_format,
                .x_format = recipe->x_format,
                .load_flags = recipe->load_flags,
                .matmul_flags = recipe->matmul_flags,
                .first_row = recipe->first_row,
                .first_column = recipe->first_column,
                .rows = recipe->rows ? recipe->rows : PE_ROWS,
                .columns = recipe->columns ? recipe->columns : PE_COLUMNS,
                .moving = recipe->moving,
                .gradual = recipe->when != WHEN_FLUSHING,
                .flushing = recipe->when != WHEN_GRADUAL,
                .structure = recipe->structure,
                .together = recipe->together,
                .w = recipe->w,
                .n_x = recipe->n_x,
        };
        size_t lanes = pattern_is_double(&pattern) ? 2 : 1;

        memcpy(pattern.x, recipe->x, sizeof(pattern.x));
        pattern.weights_bytes = lanes * pattern.rows * pattern.columns * wire_format_bytes(pattern.w_format);
        pattern.values_bytes = lanes * pattern.rows * pattern.moving * wire_format_bytes(pattern.x_format);
        pattern.n_bytes = pattern.columns * pattern.moving * sizeof(uint32_t);
        return pattern;
}

/* A matrix that one of the two patterns before has too is the same pointer: then it is sent once. */
static void share(Pattern *pattern, unsigned index) {
        for (unsigned i = index > 2 ? index - 2 : 0; i < index; i++) {
                const Pattern *before = &patterns[i];

                if (before->weights && before->weights_bytes == pattern->weights_bytes &&
                    memcmp(before->weights, pattern->weights, pattern->weights_bytes) == 0)
                        pattern->weights = before->weights;
                if (before->values && before->values_bytes == pattern->values_bytes &&
                    memcmp(before->values, pattern->values, pattern->values_bytes) == 0)
                        pattern->values = before->values;
        }
}

static void make(unsigned index) {
        const Recipe *recipe = &recipes[index];
        Pattern pattern = shape_of(recipe);
        uint32_t *golden = matrix_new(pattern.n_bytes);

        pattern.golden = golden;
        pattern.weights = matrix_new(pattern.weights_bytes);
        pattern.values = matrix_new(pattern.values_bytes);
        recipe->build(&pattern, recipe, golden);
        share(&pattern, index);
        patterns[index] = pattern;
}

static void list_recipes(void) {
        if (n_patterns > 0)
                return;

        n_patterns = recipes_count();
        assert(n_patterns <= PATTERNS_MAX);
        for (unsigned i = 0; i < n_patterns; i++)
                recipes[i] = recipe_at(i);
}

void patterns_prepare(void) {
        list_recipes();
        for (unsigned i = 0; i < n_patterns; i++)
                if (!patterns[i].name && recipes[i].structure)
                        make(i);
}

unsigned patterns_count(void) {
        list_recipes();
        return n_patterns;
}

const Pattern *pattern_at(unsigned index) {
        assert(index < PATTERNS_MAX);

        if (!patterns[index].name) {
                assert(index < patterns_count());
                make(index);
        }
        return &patterns[index];
}

void patterns_select(PatternList *list, bool all, unsigned formats, bool ftz) {
        list_recipes();
        list->n = 0;

        for (unsigned i = 0; i < n_patterns; i++) {
                const Recipe *recipe = &recipes[i];

                if ((all || recipe->structure) && (formats >> recipe->w_format & 1) && (formats >> recipe->x_format & 1) &&
                    recipe->when != (ftz ? WHEN_GRADUAL : WHEN_FLUSHING))
                        list->all[list->n++] = (uint8_t) i;
        }
}
