/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work
 *
 * The diagnosis of one core on its way.
 */

#include "checks/systolic/diagnose/diagnose.h"
#include "checks/systolic/diagnose/signature.h"

#define ELEMENTS_MAX 112u /* of one core that are believed to be broken one by one */

typedef struct Work {
        const Observation *observation;
        Column column;
        unsigned mistaken; /* formats that are taken for others, 1 << WireFormat: their patterns say nothing more */
        Suspects base; /* activation registers found so far: they act in all further columns */
        bool base_intermittent, base_loaded;
        size_t base_diagnosis[SUSPECTS_MAX];
        uint8_t dead[PE_COLUMNS / TILE_UNIT]; /* row groups of which products are zero, by column group */
        bool unexplained[PE_COLUMNS];
        bool undecided[PE_COLUMNS]; /* of these: elements of several rows explain what was seen of it, for it comes and goes */
        unsigned n_unexplained, hopeless;
        unsigned n_several; /* columns in which several elements were looked for */
        bool affected[PE_COLUMNS]; /* by something found */
        Diagnosis *diagnoses;
        size_t n;
} Work;

/* Turns to COLUMN and what it answered, but to patterns of formats that are taken for others. */
void work_turn(Work *work, unsigned column, Signature *ret);
/* Adds one, without a count of what shows it. */
Diagnosis *work_add(Work *work, ArrayFault fault, unsigned row, unsigned column);
/* Adds a column's differences to what DIAGNOSIS rests on. */
void diagnosis_count(Diagnosis *diagnosis, const Signature *signature);

/* ---- what is wrong, in this order ---- */

void work_blocks(Work *work);
void work_columns(Work *work);
void work_shapes(Work *work); /* what no single part explains */
void work_rest(Work *work);
