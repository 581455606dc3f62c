/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor select
 *
 * The sparse path of a tensor engine: for each processing element a tag register of 4 bits, a decoder and a selector with a
 * leg for each input of the group. A leg that is let through is ored onto the selector's output, so a sound selector, which lets
 * one leg through or none, gives that input or zero. A load brings the tags by 16 wires a row, four columns at a time.
 *
 * In order: tags of a group as they come → wires → register, where a load may be missed → stuck bits of it → decoder → legs,
 * which may be bridged, stuck or never let through.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/tensor/array.h"

typedef struct Fault Fault; /* sim/chip/model.h */
typedef struct Execution Execution;

#define SELECT_EVERY 0xffu /* as row or column: all of them */
#define SELECT_LEGS  SPARSE_GROUP_MAX

typedef enum SelectFaultKind {
        SELECT_TAG_STUCK,      /* bit `a` of the register reads `value` */
        SELECT_TAG_LANE_STUCK, /* wire `a` of 16 that bring tags to a row: bit a % 4 of columns c with c % 4 = a / 4 */
        SELECT_TAG_SWAPPED,    /* rows `a` and `b`, stored in one group, take each other's tags */
        SELECT_STALE_LOAD,     /* the register takes no tag from a load */
        SELECT_STALE_SWITCH,   /* nor from the first load in another mode (or after a dense one) */
        SELECT_STALE_DENSE,    /* selects in dense loads too, where leg 0 is the row and the others carry nothing */
        SELECT_DECODER_STUCK,  /* tag `a` lets leg `b` through in place of its own */
        SELECT_LEG_DEAD,       /* leg `a` is never let through */
        SELECT_LEG_OPEN,       /* leg `a` is always let through */
        SELECT_LEG_STUCK,      /* bit `b` of the image on leg `a` is `value` */
        SELECT_BRIDGED,        /* legs `a` and `b` carry the or (value 1) or the and (0) of both */
        SELECT_RATIO_WRONG,    /* mode a:b is taken for as_keep:as_group */
} SelectFaultKind;

typedef struct SelectFault {
        SelectFaultKind kind;
        uint8_t row, column; /* of the PE, SELECT_EVERY */
        uint8_t a, b;
        bool value;
        uint8_t as_keep, as_group;
} SelectFault;

/* Of one core. Zeroed: sound, after a reset. */
typedef struct Selectors {
        uint8_t (*tags)[PE_COLUMNS]; /* [PE_ROWS] of the registers; NULL while no fault was there that could tell them from
                                      * those of the last load */
        bool differs[PE_ROWS / TILE_UNIT][PE_COLUMNS]; /* a register holds something else than the last sparse load */
        uint8_t keep, group;                           /* of the last load, 0 and 0: dense */
        const Fault **injected;
        size_t n_injected;
        SelectFault *faults; /* in force in the command at work */
        size_t n_faults;
        bool (*felt)[PE_COLUMNS]; /* elements that one of them sits at; NULL until there was a fault: thousands may be in a core */
} Selectors;

/* Returns 1 where the registers are new and hold what a reset leaves: then load what is loaded. -EEXIST, -ENOMEM. */
int selectors_inject(Selectors *selectors, const Fault *fault);
void selectors_heal(Selectors *selectors, const Fault *fault);
void selectors_reset(Selectors *selectors);
void selectors_done(Selectors *selectors);

/* Says which faults are in force from now on: those that are active in EXECUTION. */
void selectors_gather(Selectors *selectors, const Execution *execution);

/* The registers take what they take of a load whose row 0 is PE row FIRST_ROW. */
void selectors_load(Selectors *selectors, const Stationary *stationary, unsigned first_row);

/* Whether they may do anything in a matmul with STATIONARY but what is right: false is certain. */
bool selectors_may_err(const Selectors *selectors, const Stationary *stationary, unsigned first_row);

/* The same of one column of the tile. */
bool selectors_may_err_in(const Selectors *selectors, const Stationary *stationary, unsigned first_row, unsigned first_column,
                          unsigned column);

/* What the selector of one element does in a matmul. */
typedef struct Selection {
        const Selectors *selectors;
        const Moving *moving;
        uint8_t row, column; /* of the PE */
        bool plain;          /* one row of the moving matrix, or nothing, goes through unchanged: `enabled` has a bit or none */
        bool right;          /* it is plain and what it should be */
        uint8_t n_legs;      /* that carry something */
        uint16_t enabled;    /* legs that are let through */
        unsigned first;      /* row of the moving matrix on leg 0 */
} Selection;

/* ROW and COLUMN are those of the tile, which begins at PE (FIRST_ROW, FIRST_COLUMN). */
Selection selection_of(const Selectors *selectors, const Stationary *stationary, unsigned first_row, unsigned first_column,
                       const Moving *moving, unsigned row, unsigned column);

/* The row of the moving matrix of a plain selection; -1: nothing, zeros. */
int selection_row(const Selection *selection);

/* The image that leaves the selector for moving vector N, on its way to the activation register. */
uint32_t selection_image(const Selection *selection, unsigned n);
