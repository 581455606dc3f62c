/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Patterns
 *
 * What the array is given and what it must answer, the same for every core of every chip: computed once. The
 * order is such that what an earlier pattern left behind never passes for an answer.
 *
 * One-hot patterns feed one row at a time: out[column][vector] = w × x, without alignment loss and whatever
 * the order of accumulation, so every processing element is seen alone. P1 … P6 of bf16, the first six patterns, see every
 * stuck bit of the registers that bf16 uses; others do so for the other formats.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

#define PATTERNS_MAX 256u
#define IMAGES_MAX   4u

typedef enum PatternKind {
        PATTERN_ONE_HOT, /* all weights are w; the vector v feeds x[v % n_x] to row v / n_x, zeros to all others */
        PATTERN_TWO_HOT, /* P6': the vector v feeds x[0] to row v and x[1] to row v + 1 */
        PATTERN_WIRING,  /* another value in each place, one-hot by rows or by columns */
        PATTERN_FULL,    /* every element multiplies two numbers that are not zero, in all vectors; sums are exact */
        PATTERN_PAIRS,   /* one row alone: many operands against many, of any kind */
        PATTERN_TRANSPOSE, /* weights pass through */
        _PATTERN_KIND_MAX,
} PatternKind;

typedef struct Pattern {
        const char *name; /* "P1", "fp32 P9" */
        PatternKind kind;
        WireFormat w_format, x_format;
        uint8_t load_flags;                       /* LOAD_DOUBLE_ROW */
        uint8_t matmul_flags;                     /* MATMUL_TRANSPOSE; OVERWRITE always goes with it */
        uint8_t first_row, first_column;          /* of the tile; 0, 0 where rows and columns are all */
        unsigned rows, columns;                   /* of the tile */
        unsigned moving;                          /* vectors */
        bool gradual, flushing;                   /* good for cores with gradual underflow, for those that flush */
        bool structure;                           /* of the small set */
        uint8_t together;                         /* not 0: all patterns with this number are loaded before one of them is multiplied */
        uint32_t w, x[IMAGES_MAX];                /* one-hot: register images (wire.h) of every element, two-hot too */
        unsigned n_x;                             /* vectors in a row that feed the same row */
        uint32_t golden_of[IMAGES_MAX];           /* one-hot: what each of x must give */
        const void *weights, *values;             /* as the device takes them, in double rows two matrices each */
        size_t weights_bytes, values_bytes;
        const uint32_t *golden;                   /* [columns][moving] */
        size_t n_bytes;                           /* of it */
} Pattern;

/* Computes those that every plan needs, once; every other call is for nothing. */
void patterns_prepare(void);

/* How many there are, and one by its index. Prepares where that was not done. */
unsigned patterns_count(void);
const Pattern *pattern_at(unsigned index);

/* Which patterns to run, in ascending order. */
typedef struct PatternList {
        unsigned n;
        uint8_t all[PATTERNS_MAX];
} PatternList;

/* The small set, or ALL, as far as both formats are in FORMATS (a bit for each WireFormat), for cores that flush or not. */
void patterns_select(PatternList *list, bool all, unsigned formats, bool ftz);

/* What the registers of the PE in (ROW, COLUMN) of the tile hold when the vector N passes: images of wire.h. */
uint32_t pattern_weight(const Pattern *pattern, unsigned row, unsigned column);
uint32_t pattern_activation(const Pattern *pattern, unsigned row, unsigned n);

static inline bool pattern_is_double(const Pattern *pattern) {
        return pattern->load_flags & LOAD_DOUBLE_ROW;
}
