/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Primitive
 *
 * A fault primitive as the literature writes it, <S/F/R> for one cell and <Sa;Sv/F/R> for two: S sensitises (a state of
 * the cell, then at most two operations on it: "0", "0w1", "1r1", "0w1r1"), F is what the victim then holds, R what a read of
 * the victim gives when it ends S, else '-' (van de Goor and Al-Ars, VTS 2000; Hamdioui and van de Goor, ATS 2000).
 *
 * What it means, for every machine here:
 *
 *  1. Conditions look at the cells as they are before the operation, faults and all, never at what they should hold.
 *  2. An operation first does what it does in a good cell; then every primitive whose operation, initial state and other
 *     cell match fires: the victim holds F, and if the operation is a read of the victim, R is read.
 *  3. Primitives without an operation are conditions: after power-up and after every operation they act until nothing
 *     changes.
 *  4. One with two operations fires on the second, and only if the first was the operation before it of the whole memory, on
 *     the same cell, began in the required state and left what a good cell holds.
 *
 * Notation here: the victim comes last. In a class of pairs exactly one of the two cells has operations.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRIMITIVE_TEXT_MAX 24u
#define PRIMITIVE_INVERT   2u /* F of an inversion: "inv" */
#define PRIMITIVE_NO_READ  2u /* R is '-' */

typedef struct PrimitiveCell {
        uint8_t state;  /* 0 or 1 before the first operation */
        uint8_t n_ops;  /* 0 … 2 */
        uint8_t ops[2]; /* MARCH_WRITE, MARCH_DATA of checks/wire.h; a read's data is what a good cell would give */
} PrimitiveCell;

typedef struct Primitive {
        bool pair;               /* has an aggressor */
        PrimitiveCell aggressor;
        PrimitiveCell victim;
        bool any_victim;         /* CFin, <0w1;any/inv/->: whatever the victim holds */
        uint8_t fault;           /* F: 0, 1 or PRIMITIVE_INVERT */
        uint8_t read;            /* R: 0, 1 or PRIMITIVE_NO_READ */
} Primitive;

/* A functional fault model: the primitives that belong together. */
typedef struct PrimitiveClass {
        const char *name;    /* as tables of coverage have it: "CFds_wt" */
        const char *kind;    /* as faults are called here: "coupling-disturb"; several classes may share one */
        unsigned cells;      /* 1 or 2 */
        unsigned operations; /* 0 … 2: the longest S */
        bool is_static;      /* one of the 84 cases of the static space */
        const char *const *primitives; /* texts, ends with NULL; an FP of SAF is two: "<0/1/->" alone has no write */
} PrimitiveClass;

/* All classes: SF TF WDF RDF DRDF IRF, CFst CFds_wt CFds_wn CFds_r CFtr CFwd CFrd CFdrd CFir, CFin, CFid, dRDF dDRDF dIRF,
 * drrRDF drrDRDF drrIRF, dWW, dRW, dCFds dCFrd dCFdrd dCFir. NULL past the end. */
const PrimitiveClass *primitive_class_at(size_t index);

/* Returns 0, or -EINVAL and, where wanted, what is wrong (a static sentence) and its byte offset in TEXT. */
int primitive_parse(const char *text, Primitive *ret, const char **ret_wrong, size_t *ret_offset);
char *primitive_format(const Primitive *primitive, char text[static PRIMITIVE_TEXT_MAX]);
