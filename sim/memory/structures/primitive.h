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
 * Here: at most one of the two cells has operations. "x" is either state, so a stuck cell is <x/0/-> and <x/1/->, and an
 * inversion <0w1;x/!x/->.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRIMITIVE_TEXT_MAX 24u

/* Beside 0 and 1. */
#define PRIMITIVE_ANY     2u /* state: x */
#define PRIMITIVE_INVERT  2u /* F: !x */
#define PRIMITIVE_NO_READ 2u /* R: - */

typedef struct PrimitiveCell {
        uint8_t state;  /* 0, 1 or PRIMITIVE_ANY before the first operation */
        uint8_t n_ops;  /* 0 … 2 */
        uint8_t ops[2]; /* MARCH_WRITE, MARCH_DATA of checks/wire/wire.h; a read's data is what a good cell gives */
} PrimitiveCell;

typedef struct Primitive {
        bool pair;               /* has an aggressor */
        PrimitiveCell aggressor;
        PrimitiveCell victim;
        uint8_t fault;           /* F: 0, 1 or PRIMITIVE_INVERT */
        uint8_t read;            /* R: 0, 1 or PRIMITIVE_NO_READ */
} Primitive;

/* A functional fault model: primitives that belong together. */
typedef struct PrimitiveClass {
        const char *name; /* as tables of coverage have it: "CFds_wt" */
        const char *kind; /* as faults are called here: "coupling-disturb"; several classes may share one */
        bool is_static;   /* one of the static space of 84 cases: 12 of one cell, 36 of two in two orders */
        const char *const *primitives; /* their texts, ends with NULL */
} PrimitiveClass;

/*
 * All classes, in the order of tables of coverage: SAF SF TF WDF RDF DRDF IRF; CFst CFds_wt CFds_wn CFds_r CFtr CFwd CFrd
 * CFdrd CFir; CFid CFin; dRDF dDRDF dIRF; drrRDF drrDRDF drrIRF; dWW dRW; dCFds dCFrd dCFdrd dCFir. NULL past the end.
 */
const PrimitiveClass *primitive_class_at(size_t index);

/* Returns 0, or -EINVAL and, where wanted, what is wrong (a static sentence) and its byte offset in TEXT. */
int primitive_parse(const char *text, Primitive *ret, const char **ret_wrong, size_t *ret_offset);
char *primitive_format(const Primitive *primitive, char text[static PRIMITIVE_TEXT_MAX]);
