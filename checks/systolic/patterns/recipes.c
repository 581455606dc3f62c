/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The patterns, one by one where each is for something of its own, else by families. What is of the structure
 * reaches every bit of every register, at 0 and at 1, in both directions, every gate of both multipliers, every
 * carry of the adder, and loads the array fully in every format; fp32 reaches all 32 bits of them with half as many vectors as any other format.
 */

#include <assert.h>
#include <stdio.h>

#include "checks/systolic/patterns/exact.h"
#include "checks/systolic/patterns/recipe.h"
#include "checks/text/cleanup.h"

#define ALL_55   0x55555555u
#define ALL_AA   0xaaaaaaaau
#define UPPER_12 0x3ffff000u /* 4095 / 2048 */
#define BF16     FORMAT_BF16, FORMAT_BF16
#define FP32     FORMAT_FP32, FORMAT_FP32
#define E3M4     FORMAT_FP8_E3M4, FORMAT_FP8_E3M4

static const Recipe base[] = {
        /* bf16: half of the weight bits, product and sum bits of the upper half, zeros; then the other half, the sign */
        { "P1", PATTERN_ONE_HOT, build_one_hot, BF16, .moving = 128, .n_x = 1, .w = 0x5555, .x = { 0x3f80 }, .structure = true },
        { "P2", PATTERN_ONE_HOT, build_one_hot, BF16, .moving = 128, .n_x = 1, .w = 0xaaaa, .x = { 0x3f80 }, .structure = true },
        /* activation bits */
        { "P3", PATTERN_ONE_HOT, build_one_hot, BF16, .moving = 128, .n_x = 1, .w = 0x3f80, .x = { 0x5555 }, .structure = true },
        { "P4", PATTERN_ONE_HOT, build_one_hot, BF16, .moving = 128, .n_x = 1, .w = 0x3f80, .x = { 0xaaaa }, .structure = true },
        /* 239 × 241 = 57599 = 0xe0ff: significand bits 8 … 15 */
        { "P5", PATTERN_ONE_HOT, build_one_hot, BF16, .moving = 128, .n_x = 1, .w = 0x436f, .x = { 0x4371 }, .structure = true },
        /* 17 × 2^-79 × 15 × 2^-70 = 255 × 2^-149: significand bits 0 … 7 */
        { "P6", PATTERN_ONE_HOT, build_one_hot, BF16, .moving = 128, .n_x = 1, .w = 0x1a08, .x = { 0x1e70 }, .when = WHEN_GRADUAL,
          .structure = true },
        { "P7", PATTERN_WIRING, build_weights_in_order, BF16, .moving = 128, .structure = true },
        { "P8", PATTERN_WIRING, build_activations_in_order, BF16, .moving = 128, .structure = true },
        { "P10", PATTERN_FULL, build_integers, BF16, .moving = 32, .structure = true },
        /* 2^44 - 2^20 = (2^24 - 1) × 2^20: significand bits 0 … 7 of sums where P6 would be flushed */
        { "P6 by two", PATTERN_TWO_HOT, build_two_hot, BF16, .moving = 128, .n_x = 1, .w = 0x3f80, .x = { 0x5580, 0xc980 },
          .when = WHEN_FLUSHING, .structure = true },

        /* fp32: all bits of weights, each against the upper twelve bits of a significand: all gates of the multiplier are open in one
         * or the other, and what one of them fails to add is a unit of the rounded product or more */
        { "fp32 P1", PATTERN_ONE_HOT, build_one_hot, FP32, .moving = 128, .n_x = 1, .w = ALL_55, .x = { UPPER_12 }, .structure = true },
        { "fp32 P2", PATTERN_ONE_HOT, build_one_hot, FP32, .moving = 128, .n_x = 1, .w = ALL_AA, .x = { UPPER_12 }, .structure = true },
        /* of activations, products and sums, in both directions */
        { "fp32 P9", PATTERN_ONE_HOT, build_one_hot, FP32, .moving = 384, .n_x = 3, .w = 0x3f800000, .x = { ALL_55, ALL_AA, ALL_55 },
          .structure = true },
        /* A row group alone: its sums leave the array elsewhere, through the output lanes of the columns. */
        { "fp32 P9 in 32 rows", PATTERN_ONE_HOT, build_one_hot, FP32, .rows = 32, .moving = 64, .n_x = 2, .w = 0x3f800000,
          .x = { ALL_55, ALL_AA }, .structure = true },
        /* The second multiplier: products with all bits that it can have, one after the other up and down. */
        { "fp8_e3m4 lane 1 P9", PATTERN_ONE_HOT, build_one_hot, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 384, .n_x = 3, .w = 0x1100,
          .x = { 0xce00, 0x6f00, 0x0200 }, .structure = true },
        /* 31 × 31: all of its gates are open. */
        { "fp8_e3m4 lane 1 gates", PATTERN_ONE_HOT, build_one_hot, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 128, .n_x = 1, .w = 0x1f00,
          .x = { 0x1f00 }, .structure = true },
        /* Carries into the bits below guard decide a tie on an even number, and what is left of two numbers that are almost the same. */
        { "fp32 tie by two", PATTERN_TWO_HOT, build_two_hot, FP32, .moving = 128, .n_x = 1, .w = 0x3f800000, .x = { 0x3f800002, 0x33800000 },
          .structure = true },
        { "fp32 rest by two", PATTERN_TWO_HOT, build_two_hot, FP32, .moving = 128, .n_x = 1, .w = 0x3f800000, .x = { 0x3f800001, 0xbf800000 },
          .structure = true },
        /* Bits of weights, products and sums while all elements work, and all gates as above. */
        { "fp32 full P1", PATTERN_FULL, build_balanced, FP32, .moving = 32, .n_x = 1, .w = ALL_55, .x = { UPPER_12 }, .structure = true },
        { "fp32 full P2", PATTERN_FULL, build_balanced, FP32, .moving = 32, .n_x = 1, .w = ALL_AA, .x = { UPPER_12 }, .structure = true },
        { "fp32 full P9", PATTERN_FULL, build_balanced, FP32, .moving = 64, .n_x = 2, .w = 0x3f800000, .x = { ALL_55, ALL_AA },
          .structure = true },
        { "fp8_e4m3 full double", PATTERN_FULL, build_integers, FORMAT_FP8_E4M3, FORMAT_FP8_E4M3, .load_flags = LOAD_DOUBLE_ROW, .moving = 32,
          .w = 1, .structure = true },
        /* The second multiplier under load: significands 18 × 17, 18 × 30 and 29 × 31 open and close all of its gates and make all bits of
         * its products, exponents of 126 and 129 those above, and no NaN where one is stuck. What the first one adds is so small that no sum
         * of the two has another unit in the last place. */
        { "fp8_e3m4 lane 1 full P9", PATTERN_FULL, build_balanced, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 64, .n_x = 2, .w = 0x3201,
          .x = { 0x2101, 0x4e01 }, .structure = true },
        { "fp8_e3m4 lane 1 full gates", PATTERN_FULL, build_balanced, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 32, .n_x = 1, .w = 0x3d01,
          .x = { 0x3f01 }, .structure = true },
        { "fp32 transposed", PATTERN_TRANSPOSE, build_transposition, FP32, .matmul_flags = MATMUL_TRANSPOSE, .first_row = 64,
          .first_column = 32, .rows = 32, .columns = 32, .moving = 64, .structure = true },

        /* ---- not of the structure ---- */

        /* All significands against all; products that round, up, down and at ties; carries all along a sum. */
        { "bf16 significands", PATTERN_FULL, build_significands, BF16, .moving = 128 },
        { "fp32 P5 of ones", PATTERN_ONE_HOT, build_one_hot, FP32, .moving = 128, .n_x = 1, .w = 0x3fffffff, .x = { 0x3fffffff } },
        { "fp32 P9 of ones", PATTERN_ONE_HOT, build_one_hot, FP32, .moving = 384, .n_x = 3, .w = 0x3fffffff,
          .x = { 0x3f800000, 0x3fffffff, 0x3f800000 } },
        { "fp32 ties", PATTERN_ONE_HOT, build_one_hot, FP32, .moving = 512, .n_x = 4, .w = 0x3fc00000,
          .x = { 0x3f800001, 0x3f800003, 0x3f800002, 0x3fffffff } },
        { "fp32 carries", PATTERN_TWO_HOT, build_two_hot, FP32, .moving = 128, .n_x = 1, .w = 0x3f800000, .x = { 0x3fffffff, 0x34000000 } },
        { "fp32 borrows", PATTERN_TWO_HOT, build_two_hot, FP32, .moving = 128, .n_x = 1, .w = 0x3f800000, .x = { 0x40000000, 0xb4000000 } },
        { "bf16 P6 by two", PATTERN_TWO_HOT, build_two_hot, BF16, .moving = 128, .n_x = 1, .w = 0x3f80, .x = { 0x5580, 0xc980 },
          .when = WHEN_GRADUAL },
        { "bf16 P9", PATTERN_ONE_HOT, build_one_hot, BF16, .moving = 384, .n_x = 3, .w = 0x3f80, .x = { 0x5555, 0xaaaa, 0x5555 } },
        { "bf16 full P1", PATTERN_FULL, build_balanced, BF16, .moving = 32, .n_x = 1, .w = 0x5555, .x = { 0x3f80 } },
        { "bf16 full P2", PATTERN_FULL, build_balanced, BF16, .moving = 32, .n_x = 1, .w = 0xaaaa, .x = { 0x3f80 } },
        { "bf16 full P9", PATTERN_FULL, build_balanced, BF16, .moving = 64, .n_x = 2, .w = 0x3f80, .x = { 0x5555, 0xaaaa } },
        { "bf16 full P5", PATTERN_FULL, build_balanced, BF16, .moving = 32, .n_x = 1, .w = 0x436f, .x = { 0x4371 } },
        { "fp8_e3m4 double P1", PATTERN_ONE_HOT, build_one_hot, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 128, .n_x = 1, .w = 0x5555,
          .x = { 0x3030 } },
        { "fp8_e3m4 double full P1", PATTERN_FULL, build_balanced, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 32, .n_x = 1, .w = 0x5555,
          .x = { 0x3030 } },
        { "fp8_e3m4 double full P2", PATTERN_FULL, build_balanced, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 32, .n_x = 1, .w = 0xaaaa,
          .x = { 0x3030 } },
        { "fp8_e3m4 double full P9", PATTERN_FULL, build_balanced, E3M4, .load_flags = LOAD_DOUBLE_ROW, .moving = 64, .n_x = 2, .w = 0x3030,
          .x = { 0x5555, 0xaaaa } },
};

/* ---- families ---- */

#define NAME_MAX_BYTES 40u

static char names[PATTERNS_MAX][NAME_MAX_BYTES];

static const WireFormat narrow[] = { FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };
static const WireFormat mixable[] = { FORMAT_BF16, FORMAT_FP16, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };

/* What a format's register has of an image of 32 bits. */
static uint32_t cut(WireFormat format, uint32_t image) {
        unsigned bytes = wire_format_bytes(format);

        return bytes < 4 ? image & ((1u << 8 * bytes) - 1) : format == FORMAT_TF32 ? image & ~0x1fffu : image;
}

static uint32_t one_of(WireFormat format) {
        return exact_image(format, false, 1, 0);
}

/* The largest odd significands whose product has ones down to its last place. */
static uint32_t dense_of(WireFormat format, bool second) {
        static const uint16_t factors[_FORMAT_MAX][2] = {
                [FORMAT_BF16] = { 239, 241 },   [FORMAT_FP16] = { 1535, 1537 }, [FORMAT_TF32] = { 1535, 1537 },
                [FORMAT_FP32] = { 1535, 1537 }, [FORMAT_FP8_E4M3] = { 15, 13 }, [FORMAT_FP8_E5M2] = { 7, 5 },
                [FORMAT_FP8_E3M4] = { 31, 29 },
        };

        return exact_image(format, false, factors[format][second], format == FORMAT_FP8_E3M4 ? -3 : 0);
}

/* fp32 comes last, and what the structure has of it already. */
typedef enum Part { PART_P5, PART_P7, PART_P8, PART_P10, PART_P1, PART_P2, PART_P9, _PART_MAX } Part;

#define PARTS_OF_STRUCTURE 3u
#define FULL_IN_TABLE      (1u << FORMAT_FP32 | 1u << FORMAT_FP8_E4M3 | 1u << FORMAT_FP8_E3M4) /* the others of the structure load the array as P10 */

static const WireFormat others[] = { FORMAT_FP16, FORMAT_TF32, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4, FORMAT_FP32 };
static const char *const part_names[_PART_MAX] = { "P5", "P7", "P8", "P10", "P1", "P2", "P9" };

/* The same set for a format, in double rows for one lane of it. */
static Recipe part_of(Part part, WireFormat format, unsigned lane) {
        uint32_t one = one_of(format) << 8 * lane, low = cut(format, ALL_55) << 8 * lane, high = cut(format, ALL_AA) << 8 * lane;
        Recipe of[_PART_MAX] = {
                [PART_P5] = { .build = build_one_hot, .moving = 128, .n_x = 1, .w = dense_of(format, false) << 8 * lane,
                              .x = { dense_of(format, true) << 8 * lane } },
                [PART_P7] = { .kind = PATTERN_WIRING, .build = build_weights_in_order, .moving = 128 },
                [PART_P8] = { .kind = PATTERN_WIRING, .build = build_activations_in_order, .moving = 128 },
                [PART_P10] = { .kind = PATTERN_FULL, .build = build_integers, .moving = 32, .w = format },
                [PART_P1] = { .build = build_one_hot, .moving = 128, .n_x = 1, .w = low, .x = { one } },
                [PART_P2] = { .build = build_one_hot, .moving = 128, .n_x = 1, .w = high, .x = { one } },
                [PART_P9] = { .build = build_one_hot, .moving = 384, .n_x = 3, .w = one, .x = { low, high, low } },
        };

        of[part].w_format = of[part].x_format = (uint8_t) format;
        return of[part];
}

static Recipe single_at(unsigned i, char *name) {
        WireFormat format = others[i / _PART_MAX];
        Part part = i % _PART_MAX;

        Recipe recipe = part_of(part, format, 0);

        recipe.structure = part == PART_P10 && !(FULL_IN_TABLE >> format & 1);
        (void) snprintf(name, NAME_MAX_BYTES, "%s %s", wire_format_words[format], part_names[part]);
        return recipe;
}

static const struct {
        Part part;
        int lane; /* -1: both */
} double_parts[] = {
        { PART_P1, 0 }, { PART_P2, 0 }, { PART_P9, 0 }, { PART_P5, 0 },  { PART_P1, 1 },
        { PART_P2, 1 }, { PART_P9, 1 }, { PART_P5, 1 }, { PART_P7, -1 }, { PART_P10, -1 },
};

static Recipe double_at(unsigned i, char *name) {
        WireFormat format = narrow[i / ELEMENTS(double_parts)];
        Part part = double_parts[i % ELEMENTS(double_parts)].part;
        int lane = double_parts[i % ELEMENTS(double_parts)].lane;
        Recipe recipe = part_of(part, format, lane > 0);

        recipe.load_flags = LOAD_DOUBLE_ROW;
        if (part == PART_P7)
                recipe.moving = 256;
        (void) snprintf(name, NAME_MAX_BYTES, "%s double %s%s", wire_format_words[format], part_names[part],
                        lane < 0 ? "" : lane > 0 ? " in lane 1" : " in lane 0");
        return recipe;
}

static Recipe mixed_at(unsigned i, char *name) {
        unsigned a = i / (ELEMENTS(mixable) - 1), b = i % (ELEMENTS(mixable) - 1);
        WireFormat w = mixable[a], x = mixable[b < a ? b : b + 1];

        (void) snprintf(name, NAME_MAX_BYTES, "%s by %s", wire_format_words[w], wire_format_words[x]);
        return (Recipe){ .kind = PATTERN_FULL, .build = build_integers, .w_format = (uint8_t) w, .x_format = (uint8_t) x,
                         .first_row = (uint8_t) (32 * (i % 4)), .first_column = (uint8_t) (32 * (i / 4 % 4)), .rows = 32, .columns = 32,
                         .moving = 32, .w = 100 + i, .structure = i % 5 == 0 };
}

static Recipe mixed_double_at(unsigned i, char *name) {
        WireFormat w = narrow[i / 2], x = narrow[(i / 2 + 1 + i % 2) % 3];

        (void) snprintf(name, NAME_MAX_BYTES, "%s by %s double", wire_format_words[w], wire_format_words[x]);
        return (Recipe){ .kind = PATTERN_FULL, .build = build_integers, .w_format = (uint8_t) w, .x_format = (uint8_t) x,
                         .load_flags = LOAD_DOUBLE_ROW, .moving = 32, .w = 200 + i };
}

/* Groups of rows or columns: the four of 32, the two of 64, all. */
static const struct {
        uint8_t first, size;
} groups[] = { { 0, 32 }, { 32, 32 }, { 64, 32 }, { 96, 32 }, { 0, 64 }, { 64, 64 }, { 0, 128 } };

/* The 16 small tiles are loaded together; all of them, but not the whole array. */
static Recipe tile_at(unsigned i, char *name) {
        unsigned rows = i < 16 ? i / 4 : (i - 16) < 12 ? (i - 16) / 3 : 4 + (i - 28) / 7;
        unsigned columns = i < 16 ? i % 4 : (i - 16) < 12 ? 4 + (i - 16) % 3 : (i - 28) % 7;

        (void) snprintf(name, NAME_MAX_BYTES, "tile %ux%u at %u,%u", groups[rows].size, groups[columns].size, groups[rows].first,
                        groups[columns].first);
        return (Recipe){ .kind = PATTERN_FULL, .build = build_integers, .w_format = FORMAT_BF16, .x_format = FORMAT_BF16,
                         .first_row = groups[rows].first, .first_column = groups[columns].first, .rows = groups[rows].size,
                         .columns = groups[columns].size, .moving = 32, .w = 300 + i, .together = i < 16 };
}

/* All operands of 8 bits against all: half of the weights, in the second lane alone where both formats are one. */
static Recipe pairs_at(unsigned i, char *name) {
        WireFormat w = narrow[i / 8], x = narrow[i % 8 < 4 ? i / 8 : (i / 8 + i % 8 / 2 - 1) % 3];
        bool lane = i % 8 / 2 == 1;

        (void) snprintf(name, NAME_MAX_BYTES, "%s by %s pairs%s %u", wire_format_words[w], wire_format_words[x], lane ? " in lane 1" : "",
                        i % 2 * 128);
        return (Recipe){ .kind = PATTERN_PAIRS, .build = build_pairs, .w_format = (uint8_t) w, .x_format = (uint8_t) x,
                         .load_flags = lane ? LOAD_DOUBLE_ROW : 0, .first_row = lane ? 0 : (uint8_t) (32 * (i % 4)), .rows = lane ? 128 : 1,
                         .moving = 256, .w = i % 2 * 128 };
}

static const struct {
        WireFormat w, x;
} special_pairs[] = {
        { FORMAT_BF16, FORMAT_BF16 },         { FORMAT_FP16, FORMAT_FP16 },         { FORMAT_TF32, FORMAT_TF32 },
        { FORMAT_FP32, FORMAT_FP32 },         { FORMAT_FP8_E4M3, FORMAT_FP8_E4M3 }, { FORMAT_FP8_E5M2, FORMAT_FP8_E5M2 },
        { FORMAT_FP8_E3M4, FORMAT_FP8_E3M4 }, { FORMAT_FP16, FORMAT_BF16 },         { FORMAT_BF16, FORMAT_FP8_E5M2 },
};

/* Where operands or products may be below 2^-126 there are two, for both ways to treat these. */
static Recipe specials_at(unsigned i, char *name) {
        WireFormat w = special_pairs[i / 2].w, x = special_pairs[i / 2].x;

        (void) snprintf(name, NAME_MAX_BYTES, "%s by %s specials%s", wire_format_words[w], wire_format_words[x], i % 2 ? " flushed" : "");
        return (Recipe){ .kind = PATTERN_PAIRS, .build = build_specials, .w_format = (uint8_t) w, .x_format = (uint8_t) x, .rows = 1,
                         .columns = 32, .first_row = (uint8_t) (32 * (i / 2 % 4)), .first_column = (uint8_t) (32 * (i / 8)), .moving = 32,
                         .when = i % 2 ? WHEN_FLUSHING : WHEN_GRADUAL, .structure = w == x };
}

static Recipe transposed_at(unsigned i, char *name) {
        WireFormat format = (WireFormat) i;
        bool whole = format == FORMAT_FP32;

        (void) snprintf(name, NAME_MAX_BYTES, "%s transposition", wire_format_words[format]);
        return (Recipe){ .kind = PATTERN_TRANSPOSE, .build = build_transposition, .w_format = (uint8_t) format, .x_format = (uint8_t) format,
                         .matmul_flags = MATMUL_TRANSPOSE, .rows = whole ? 128 : 32, .columns = whole ? 128 : 32, .moving = whole ? 256 : 64 };
}

static const struct {
        unsigned n;
        Recipe (*at)(unsigned i, char *name);
} families[] = {
        { ELEMENTS(others) * _PART_MAX - PARTS_OF_STRUCTURE, single_at },
        { ELEMENTS(narrow) * ELEMENTS(double_parts), double_at },
        { ELEMENTS(mixable) * (ELEMENTS(mixable) - 1), mixed_at },
        { 6, mixed_double_at },
        { 48, tile_at },
        { 24, pairs_at },
        { 2 * ELEMENTS(special_pairs), specials_at },
        { _FORMAT_MAX, transposed_at },
};

unsigned recipes_count(void) {
        unsigned n = ELEMENTS(base);

        for (unsigned f = 0; f < ELEMENTS(families); f++)
                n += families[f].n;

        return n;
}

Recipe recipe_at(unsigned index) {
        unsigned i = index - ELEMENTS(base);

        if (index < ELEMENTS(base))
                return base[index];

        for (unsigned f = 0; f < ELEMENTS(families); f++) {
                if (i < families[f].n) {
                        Recipe recipe = families[f].at(i, names[index]);

                        recipe.name = names[index];
                        return recipe;
                }
                i -= families[f].n;
        }

        assert(false);
        return (Recipe){};
}
