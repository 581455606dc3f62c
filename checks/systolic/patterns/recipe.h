/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recipe
 *
 * How a pattern is made. The builders are given a pattern whose shape is filled in and whose matrices are
 * zero, and put in weights, values and goldens.
 */

#include "checks/systolic/patterns/patterns.h"

typedef struct Recipe Recipe;

struct Recipe {
        const char *name;
        PatternKind kind;
        void (*build)(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
        uint8_t w_format, x_format;          /* WireFormat */
        uint8_t load_flags, matmul_flags;
        uint8_t first_row, first_column;
        uint8_t rows, columns;               /* 0: all */
        uint16_t moving;
        uint8_t n_x;
        uint32_t w, x[IMAGES_MAX];           /* register images, where a builder wants some */
        uint8_t together;                    /* as of Pattern */
        enum { WHEN_ALWAYS, WHEN_GRADUAL, WHEN_FLUSHING } when;
        bool structure;                      /* of the small set */
};

/* How many there are, and one by its index. */
unsigned recipes_count(void);
Recipe recipe_at(unsigned index);

/* ---- builders ---- */

/* All weights are w; row after row is fed each of x. In double rows the images have both lanes. */
void build_one_hot(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* The weights are w; the vector v feeds x[0] to row v and x[1] to row v + 1. */
void build_two_hot(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* Another weight beside each one, seen one row at a time, in double rows one lane after the other. */
void build_weights_in_order(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* Another activation in each row and vector, column c seeing those of row c. */
void build_activations_in_order(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* Integers without a pattern and without zeros, whose sums stay below 2^24. */
void build_integers(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* Every significand of bf16 against every other. */
void build_significands(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* w and x of changing signs, so that no sum grows beyond twice a product: exact whatever their bits. */
void build_balanced(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* One row (in double rows, of the second lane): numbers from w on against numbers from x[0] on, counting up. */
void build_pairs(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* One row: what is special in both formats, each against each. */
void build_specials(Pattern *pattern, const Recipe *recipe, uint32_t *golden);
/* Bits that pass through: of one row, then of two neighbours. */
void build_transposition(Pattern *pattern, const Recipe *recipe, uint32_t *golden);

/* ---- for builders ---- */

void pattern_set_weight(const Pattern *pattern, unsigned row, unsigned column, uint32_t image);
void pattern_fill_weights(const Pattern *pattern, uint32_t image); /* with the same one */
void pattern_set_activation(const Pattern *pattern, unsigned row, unsigned n, uint32_t image);
/* A normal number of FORMAT, another one for each of 128 neighbouring I; the same again for larger ones. */
uint32_t normal_at(WireFormat format, unsigned i);
/* What the column M gives for the vector N, element by element. */
uint32_t pattern_chain(const Pattern *pattern, unsigned m, unsigned n);
/* No pattern to be seen in it. */
uint32_t scatter(uint32_t at, uint32_t salt);
