/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Explain
 *
 * A guess at what is wrong with the selectors of an element, a row or a column, and how well it explains a record.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/sparsity/record.h"

typedef enum SparseFault {
        SPARSE_TAG,            /* tag bits: those in `a` read as in `b` */
        SPARSE_LANE,           /* the same where column % 4 is that of wire `a`; `b`: its level */
        SPARSE_STALE_LOADS,    /* tags are not taken; `a` is what was there first */
        SPARSE_STALE_SWITCHES, /* not by the first load in another mode */
        SPARSE_STALE_DENSE,    /* the tag acts in dense products */
        SPARSE_ORDER,          /* rows `a` and `b` have each other's tags */
        SPARSE_DECODER,        /* tag `a` selects input `b` */
        SPARSE_DEAD,           /* input `a` is never selected */
        SPARSE_OPEN,           /* input `a` is always selected */
        SPARSE_OR,             /* inputs `a` and `b` are one, which is the or of both … */
        SPARSE_AND,            /* … or the and */
        SPARSE_DATA,           /* bit `b` of input `a` holds `value` */
        SPARSE_MODE,           /* `mode` is wrong all over; `as`: taken for that one, SPARSE_MODES if it is not told */
        SPARSE_UNEXPLAINED,
} SparseFault;

#define SPARSE_ALL UINT16_MAX /* rows, columns */

typedef struct Guess {
        SparseFault fault;
        uint16_t row, column; /* SPARSE_ALL */
        uint8_t a, b;
} Guess;

typedef struct Fit {
        size_t n_explained; /* selections that were wrong as the guess says, not explained before */
        size_t n_acted, n_silent; /* steps in which it showed, and in which it should have and did not */
        double score;       /* logarithm of how likely the record is with this fault at its most likely rate */
} Fit;

typedef struct Explainer {
        const RecordRead *read;
        bool ignored[PE_COLUMNS];
        bool (**explained)[PE_COLUMNS]; /* by step: [PE_ROWS], NULL where all is right */
        uint32_t *acted, *silent;       /* by step, of the guess at work */
} Explainer;

int explainer_init(Explainer *explainer, const RecordRead *read, const bool ignored[static PE_COLUMNS]);
Explainer *explainer_done(Explainer *explainer);
DEFINE_CLEANUP(Explainer *, explainer_done);

/* A selection that is wrong and not explained. */
typedef struct Wrong {
        size_t step;
        unsigned row, column;
} Wrong;

/* The next one at or after *WRONG in the order of steps, rows, columns. */
bool explainer_next(const Explainer *explainer, Wrong *wrong);

/* Whether GUESS says what it says of that selection: quick, of a fault that needs no past. */
bool guess_says(const Explainer *explainer, const Guess *guess, const Wrong *wrong);
bool guess_has_past(const Guess *guess);

/* Returns false where the record contradicts GUESS or it explains nothing. MARK: what it explains is explained from now on. */
bool guess_fits(Explainer *explainer, const Guess *guess, bool mark, Fit *ret);
