/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every pattern against a plain array on the host's floating point, which knows formats by ldexp() and rounds
 * by its own hardware; and what the patterns promise of themselves.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/systolic/patterns/patterns.h"
#include "checks/text/cleanup.h"
#include "sim/tensor/pe.h"

/* ---- the plain array ---- */

static float decode(WireFormat format, uint32_t image) {
        static const struct {
                int exponent, fraction;
        } shapes[_FORMAT_MAX] = {
                [FORMAT_FP32] = { 8, 23 },    [FORMAT_BF16] = { 8, 7 },     [FORMAT_FP16] = { 5, 10 },    [FORMAT_TF32] = { 8, 10 },
                [FORMAT_FP8_E4M3] = { 4, 3 }, [FORMAT_FP8_E5M2] = { 5, 2 }, [FORMAT_FP8_E3M4] = { 3, 4 },
        };
        int e_bits = shapes[format].exponent, f_bits = shapes[format].fraction, bias = (1 << (e_bits - 1)) - 1, field, fraction;
        double value;

        if (format == FORMAT_TF32)
                image >>= 13;
        fraction = (int) (image % (1u << f_bits));
        field = (int) (image >> f_bits) % (1 << e_bits);

        if (field == (1 << e_bits) - 1)
                value = fraction ? (double) NAN : (double) INFINITY;
        else if (field == 0)
                value = ldexp(fraction, 1 - bias - f_bits);
        else
                value = ldexp(fraction + (1 << f_bits), field - bias - f_bits);
        return (float) (image >> (e_bits + f_bits) & 1 ? -value : value);
}

static float flushed(float value, bool ftz) {
        return ftz && fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

/* The product of two binary32 fits in binary64, so this rounds once. */
static float product_of(float a, float b, bool ftz) {
        return flushed((float) ((double) flushed(a, ftz) * (double) flushed(b, ftz)), ftz);
}

static float sum_of(float a, float b, bool ftz) {
        volatile float sum = a + b;

        return flushed(sum, ftz);
}

static uint32_t bits_of(float value) {
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        return isnan(value) ? 0x7fc00000 : bits;
}

/* Row by row, straight from the bytes that the device gets. */
static float operand(const void *matrix, WireFormat format, size_t i) {
        unsigned n = wire_format_bytes(format);
        uint32_t image = 0;

        memcpy(&image, (const char *) matrix + i * n, n);
        return decode(format, image);
}

static uint32_t plain_output(const Pattern *pattern, unsigned m, unsigned n, bool ftz) {
        unsigned lanes = pattern->load_flags & LOAD_DOUBLE_ROW ? 2 : 1;
        float psum = 0;

        for (unsigned k = 0; k < pattern->rows; k++) {
                float of_lane[2] = {}, p;

                for (unsigned lane = 0; lane < lanes; lane++)
                        of_lane[lane] = product_of(operand(pattern->weights, pattern->w_format, (lane * pattern->rows + k) * pattern->columns + m),
                                                   operand(pattern->values, pattern->x_format, (lane * pattern->rows + k) * pattern->moving + n), ftz);
                p = lanes == 2 ? sum_of(of_lane[0], of_lane[1], ftz) : of_lane[0];
                psum = sum_of(psum, p, ftz);
        }

        return bits_of(psum);
}

static uint32_t plain_transposed(const Pattern *pattern, unsigned m, unsigned n) {
        unsigned bytes = wire_format_bytes(pattern->w_format);
        uint32_t all = 0;

        for (unsigned k = 0; k < pattern->rows; k++) {
                uint32_t image = 0;

                memcpy(&image, (const char *) pattern->weights + (k * pattern->columns + m) * bytes, bytes);
                if (pattern->w_format == FORMAT_TF32)
                        image &= 0xffffe000;
                if (fpclassify(operand(pattern->values, pattern->x_format, k * pattern->moving + n)) != FP_ZERO)
                        all |= image;
        }

        return all;
}

/* ---- tests ---- */

static void test_goldens_are_those_of_a_plain_array(void **state) {
        for (unsigned i = 0; i < patterns_count(); i++) {
                const Pattern *pattern = pattern_at(i);

                assert_true(pattern->gradual || pattern->flushing);
                for (unsigned m = 0; m < pattern->columns; m += pattern->columns < 128 ? 3 : 23)
                        for (unsigned n = 0; n < pattern->moving; n++)
                                for (unsigned ftz = 0; ftz < 2; ftz++) {
                                        uint32_t expected;

                                        if (!(ftz ? pattern->flushing : pattern->gradual))
                                                continue;
                                        expected = pattern->matmul_flags & MATMUL_TRANSPOSE ? plain_transposed(pattern, m, n)
                                                                                            : plain_output(pattern, m, n, ftz);
                                        if (pattern->golden[m * pattern->moving + n] != expected)
                                                fail_msg("%s: column %u, vector %u, ftz %u: 0x%08x, expected 0x%08x", pattern->name, m, n, ftz,
                                                         pattern->golden[m * pattern->moving + n], expected);
                                }
        }
}

static void test_the_device_can_take_them(void **state) {
        for (unsigned i = 0; i < patterns_count(); i++) {
                const Pattern *pattern = pattern_at(i);
                unsigned size = pattern->rows <= 32 ? 32 : pattern->rows <= 64 ? 64 : 128;
                bool is_wide = pattern->w_format == FORMAT_FP32 || pattern->w_format == FORMAT_TF32;

                assert_true(pattern->moving >= 1 && pattern->moving <= MOVING_MAX);
                assert_true(pattern->rows >= 1 && pattern->first_row % size == 0 && pattern->first_row + size <= PE_ROWS);
                size = pattern->columns <= 32 ? 32 : pattern->columns <= 64 ? 64 : 128;
                assert_true(pattern->columns >= 1 && pattern->first_column % size == 0 && pattern->first_column + size <= PE_COLUMNS);
                assert_true(pattern->w_format == pattern->x_format ||
                            (!is_wide && pattern->x_format != FORMAT_FP32 && pattern->x_format != FORMAT_TF32));
                if (pattern->load_flags & LOAD_DOUBLE_ROW) {
                        assert_true(pattern->w_format >= FORMAT_FP8_E4M3 && pattern->x_format >= FORMAT_FP8_E4M3);
                        assert_true(pattern->rows == PE_ROWS && pattern->columns == PE_COLUMNS);
                }
                for (unsigned j = 0; j < i; j++)
                        assert_string_not_equal(pattern->name, pattern_at(j)->name);
        }
}

/* What healthy registers hold in one-hot patterns: bits that were ever 1 and ever 0 in a number that is seen, and that rose and
 * fell from one vector to the next while something is seen of it. */
typedef struct Reached {
        uint32_t ones, zeros, rose, fell;
} Reached;

static void reach(Reached *reached, uint32_t before, uint32_t now) {
        reached->ones |= now;
        reached->zeros |= ~now;
        reached->rose |= now & ~before;
        reached->fell |= ~now & before;
}

static void test_the_structure_reaches_every_bit(void **state) {
        for (unsigned ftz = 0; ftz < 2; ftz++) {
                Reached weight = {}, activation = {}, product = {}, second = {};
                PatternList list;

                patterns_select(&list, false, (1u << _FORMAT_MAX) - 1, ftz);
                for (unsigned i = 0; i < list.n; i++) {
                        const Pattern *pattern = pattern_at(list.all[i]);

                        if (pattern->kind != PATTERN_ONE_HOT)
                                continue;
                        reach(&weight, ~pattern->w, pattern->w);
                        for (unsigned v = 0; v < pattern->n_x; v++) {
                                bool first = v == 0;

                                if (!(pattern->load_flags & LOAD_DOUBLE_ROW)) {
                                        reach(&activation, first ? 0 : pattern->x[v - 1], pattern->x[v]);
                                        reach(&product, first ? 0 : pattern->golden_of[v - 1], pattern->golden_of[v]);
                                } else if ((pattern->x[v] & 0xff) == 0)
                                        reach(&second, first ? 0 : pattern->golden_of[v - 1], pattern->golden_of[v]);
                        }
                }
                assert_int_equal(weight.ones & weight.zeros, UINT32_MAX);
                assert_int_equal(activation.ones & activation.zeros & activation.rose & activation.fell, UINT32_MAX);
                assert_int_equal(product.ones & product.zeros & product.rose & product.fell, UINT32_MAX);
                assert_int_equal(second.zeros, UINT32_MAX);
                assert_int_equal(second.ones & second.rose & second.fell, 0xffffc000); /* no product of 8 bits has more */
        }
}

/* ---- gates and carries, in an element somewhere in the array ---- */

#define ROW    100u
#define COLUMN 7u

/* What may be broken inside the element, and whether any pattern showed it. */
typedef struct Inner {
        Defect defect;
        bool redundant, shown;
} Inner;

static size_t list_inner(Inner *ret) {
        size_t n = 0;

        for (unsigned lane = 0; lane < 2; lane++)
                for (unsigned i = 0, side = lane == 0 ? GATES : GATES_SECOND; i < 2 * side * side; i++) {
                        uint8_t a = (uint8_t) (i / 2 / side), b = (uint8_t) (i / 2 % side), top = GATES_SECOND - 1;

                        ret[n++] = (Inner){
                                .defect = { .site = SITE_GATE, .lane = (uint8_t) lane, .a = a, .b = b, .set = i % 2, .clear = !(i % 2) },
                                .redundant = lane == 1 && a == top && b == top && i % 2, /* leading bits of fp8 are 1 */
                        };
                }
        for (unsigned i = 0; i < 2 * CARRIES; i++)
                ret[n++].defect = (Defect){ .site = SITE_CARRY, .set = i % 2 << i / 2, .clear = !(i % 2) << i / 2 };
        return n;
}

/* Adds up rows [FIRST, END), DEFECT being in the first one. */
static void run_rows(const Pattern *pattern, bool ftz, unsigned first, unsigned end, const Defect *defect, uint32_t *sums) {
        Pe pe = { .mode = { .weights = pattern->w_format, .activations = pattern->x_format, .double_row = pattern_is_double(pattern), .ftz = ftz },
                  .transposed = pattern->kind == PATTERN_TRANSPOSE,
                  .defects = &defect,
                  .n_defects = defect ? 1 : 0 };

        for (unsigned row = first; row < end; row++) {
                uint32_t x[MOVING_MAX];

                for (unsigned v = 0; v < pattern->moving; v++)
                        x[v] = pattern_activation(pattern, row, v);
                pe_run(&pe, pattern_weight(pattern, row, COLUMN), x, pattern->moving, sums);
                pe.n_defects = 0;
        }
}

static void show(const Pattern *pattern, bool ftz, Inner *inner, size_t n_inner) {
        uint32_t before[MOVING_MAX] = {}, right[MOVING_MAX];

        run_rows(pattern, ftz, 0, ROW, NULL, before);
        memcpy(right, before, sizeof(right));
        run_rows(pattern, ftz, ROW, ROW + 1, NULL, right);

        for (size_t i = 0; i < n_inner; i++) {
                uint32_t sums[MOVING_MAX];

                if (inner[i].shown)
                        continue;
                memcpy(sums, before, sizeof(sums));
                run_rows(pattern, ftz, ROW, ROW + 1, &inner[i].defect, sums);
                if (memcmp(sums, right, sizeof(sums)) == 0)
                        continue;
                run_rows(pattern, ftz, ROW + 1, PE_ROWS, NULL, sums);
                inner[i].shown = memcmp(sums, pattern->golden + COLUMN * pattern->moving, pattern->moving * sizeof(*sums)) != 0;
        }
}

static void test_the_structure_shows_every_gate_and_carry(void **state) {
        for (unsigned ftz = 0; ftz < 2; ftz++) {
                Inner inner[2 * (GATES * GATES + GATES_SECOND * GATES_SECOND + CARRIES)] = {};
                size_t n_inner = list_inner(inner);
                PatternList list;

                patterns_select(&list, false, (1u << _FORMAT_MAX) - 1, ftz);
                for (unsigned i = 0; i < list.n; i++)
                        if (pattern_at(list.all[i])->rows == PE_ROWS)
                                show(pattern_at(list.all[i]), ftz, inner, n_inner);

                for (size_t i = 0; i < n_inner; i++) {
                        const Defect *defect = &inner[i].defect;

                        if (inner[i].shown == inner[i].redundant)
                                fail_msg("ftz %u: %s, lane %u, a %u, b %u, clear 0x%x, set 0x%x", ftz, defect->site == SITE_GATE ? "gate" : "carry",
                                         defect->lane, defect->a, defect->b, defect->clear, defect->set);
                }
        }
}

/* Fed alone, so that nothing is rounded away and every row shows it, each bit that a product of 8-bit numbers can have is there once
 * as 1 and once as 0, in both lanes of double rows. */
static void test_double_rows_show_every_bit_of_a_product_alone(void **state) {
        static const WireFormat narrow[] = { FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };
        uint32_t ones[2] = {}, zeros[2] = {}, possible = 0;

        for (unsigned a = 0; a < ELEMENTS(narrow); a++)
                for (unsigned b = 0; b < ELEMENTS(narrow); b++)
                        for (uint32_t i = 0; i < 0x10000; i++)
                                possible |= bits_of(product_of(decode(narrow[a], i >> 8), decode(narrow[b], i & 0xff), false));

        for (unsigned i = 0; i < patterns_count(); i++) {
                const Pattern *pattern = pattern_at(i);
                unsigned lane = pattern->w >> 8 ? 1 : 0;

                if (pattern->kind != PATTERN_ONE_HOT || !pattern_is_double(pattern) || (lane == 1 && pattern->w & 0xff))
                        continue;
                for (unsigned n = 0; n < pattern->n_x; n++) {
                        ones[lane] |= pattern->golden[n];
                        zeros[lane] |= ~pattern->golden[n];
                }
        }

        assert_int_not_equal(possible & 1u << 14, 0);
        for (unsigned lane = 0; lane < 2; lane++) {
                assert_int_equal(ones[lane] & possible, possible);
                assert_int_equal(zeros[lane], UINT32_MAX);
        }
}

static void test_a_full_load_has_no_zeros(void **state) {
        unsigned n_full = 0;

        for (unsigned i = 0; i < patterns_count(); i++) {
                const Pattern *pattern = pattern_at(i);
                unsigned lanes = pattern->load_flags & LOAD_DOUBLE_ROW ? 2 : 1;

                if (pattern->kind != PATTERN_FULL)
                        continue;
                n_full += pattern->rows == PE_ROWS;
                for (unsigned at = 0; at < lanes * pattern->rows * pattern->columns; at++)
                        assert_true(fabsf(operand(pattern->weights, pattern->w_format, at)) > 0);
                for (unsigned at = 0; at < lanes * pattern->rows * pattern->moving; at++)
                        assert_true(fabsf(operand(pattern->values, pattern->x_format, at)) > 0);
        }
        assert_true(n_full > 10);
}

static void test_all_pairs_of_significands_and_of_bytes_are_there(void **state) {
        static bool seen[_FORMAT_MAX][2][256][256], significands[128][128];
        unsigned n = 0;

        for (unsigned i = 0; i < patterns_count(); i++) {
                const Pattern *pattern = pattern_at(i);
                unsigned lane = pattern->load_flags & LOAD_DOUBLE_ROW ? 1 : 0;

                if (strcmp(pattern->name, "bf16 significands") == 0)
                        for (unsigned row = 0; row < PE_ROWS; row++)
                                for (unsigned v = 0; v < pattern->moving; v++)
                                        significands[pattern_weight(pattern, row, 5) % 128][pattern_activation(pattern, row, v) % 128] = true;
                if (pattern->kind != PATTERN_PAIRS || pattern->moving != 256 || pattern->w_format != pattern->x_format)
                        continue;
                for (unsigned m = 0; m < pattern->columns; m++)
                        for (unsigned v = 0; v < pattern->moving; v++)
                                seen[pattern->w_format][lane][pattern_weight(pattern, pattern->rows / 2, m) >> 8 * lane]
                                    [pattern_activation(pattern, pattern->rows / 2, v) >> 8 * lane] = true;
        }

        for (size_t i = 0; i < sizeof(seen); i++)
                n += ((bool *) seen)[i];
        assert_int_equal(n, 3 * 2 * 65536);
        for (size_t i = 0; i < sizeof(significands); i++)
                assert_true(((bool *) significands)[i]);
}

/* A device that repeats itself gives what the pattern before gave. */
static void test_no_two_neighbouring_patterns_share_an_answer(void **state) {
        PatternList list;

        patterns_select(&list, true, (1u << _FORMAT_MAX) - 1, false);
        for (unsigned i = 0; i < list.n; i++) {
                const Pattern *pattern = pattern_at(list.all[i]), *next = pattern_at(list.all[(i + 1) % list.n]);
                size_t n_bytes = pattern->n_bytes < next->n_bytes ? pattern->n_bytes : next->n_bytes;

                if (memcmp(pattern->golden, next->golden, n_bytes) == 0)
                        fail_msg("%s and %s", pattern->name, next->name);
        }
}

static void test_a_set_has_what_was_asked_for(void **state) {
        PatternList list;

        patterns_select(&list, true, 1u << FORMAT_BF16 | 1u << FORMAT_FP16, true);
        assert_true(list.n > 60);
        for (unsigned i = 0; i < list.n; i++) {
                const Pattern *pattern = pattern_at(list.all[i]);

                assert_true(pattern->w_format == FORMAT_BF16 || pattern->w_format == FORMAT_FP16);
                assert_true(pattern->x_format == FORMAT_BF16 || pattern->x_format == FORMAT_FP16);
                assert_true(pattern->flushing);
                assert_true(i == 0 || list.all[i] > list.all[i - 1]);
        }
        patterns_select(&list, false, 0, false);
        assert_int_equal(list.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_goldens_are_those_of_a_plain_array),
                cmocka_unit_test(test_the_device_can_take_them),
                cmocka_unit_test(test_the_structure_reaches_every_bit),
                cmocka_unit_test(test_the_structure_shows_every_gate_and_carry),
                cmocka_unit_test(test_double_rows_show_every_bit_of_a_product_alone),
                cmocka_unit_test(test_a_full_load_has_no_zeros),
                cmocka_unit_test(test_all_pairs_of_significands_and_of_bytes_are_there),
                cmocka_unit_test(test_no_two_neighbouring_patterns_share_an_answer),
                cmocka_unit_test(test_a_set_has_what_was_asked_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
