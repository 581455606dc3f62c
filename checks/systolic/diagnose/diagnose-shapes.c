/* SPDX-License-Identifier: Apache-2.0 */

/* What the positions of errors say: blocks, rows, columns, elements with more than one thing broken, and what is left. */

#include <sys/param.h>

#include "checks/systolic/diagnose/probes.h"
#include "checks/systolic/diagnose/shape.h"
#include "checks/systolic/diagnose/work.h"

#define DEAD_COLUMNS 26u /* of 32: in the others something else is broken */

/* Row groups of which nearly all columns of a block show nothing: in some of them something else may be broken. */
static uint8_t dead_groups(Work *work, unsigned block) {
        unsigned n[PE_ROWS / TILE_UNIT] = {};
        uint8_t dead = 0;

        for (unsigned m = 0; m < TILE_UNIT; m++) {
                Signature signature;
                uint8_t groups;

                work_turn(work, block * TILE_UNIT + m, &signature);
                groups = signature_dead_groups(&signature);
                for (unsigned group = 0; group < ELEMENTS(n); group++)
                        n[group] += groups >> group & 1;
        }
        for (unsigned group = 0; group < ELEMENTS(n); group++)
                dead |= (uint8_t) ((n[group] >= DEAD_COLUMNS) << group);

        return dead;
}

void work_blocks(Work *work) {
        for (unsigned block = 0; block < PE_COLUMNS / TILE_UNIT; block++) {
                uint8_t dead = dead_groups(work, block);
                Signature signature;
                Diagnosis *diagnosis;

                if (dead == 0xf) /* then the columns are */
                        continue;

                work->dead[block] = dead;
                for (unsigned group = 0; group < PE_ROWS / TILE_UNIT; group++) {
                        if (!(dead >> group & 1))
                                continue;
                        diagnosis = work_add(work, ARRAY_BLOCK, group * TILE_UNIT, block * TILE_UNIT);
                        diagnosis->last_row = diagnosis->row + TILE_UNIT - 1;
                        diagnosis->known = true;
                        for (unsigned m = 0; m < TILE_UNIT; m++) {
                                work_turn(work, block * TILE_UNIT + m, &signature);
                                diagnosis_count(diagnosis, &signature);
                        }
                }
        }
}

/* How often the answers of a column turn from one row to the next: never where all of it is wrong in one way. */
static unsigned count_turns(const Probes *probes) {
        unsigned n = 0;

        for (unsigned row = 0; row < PE_ROWS; row++)
                n += probes->turns[row];
        return n;
}

/* From COLUMN on, how many unexplained columns in a row show ROW and nothing else. */
static unsigned count_alike(Work *work, unsigned column, unsigned row) {
        unsigned n = 0;

        for (unsigned m = column; m < PE_COLUMNS && work->unexplained[m]; m++, n++) {
                Signature signature;
                Extent extent;

                work_turn(work, m, &signature);
                extent = signature_extent(&signature, &work->base);
                if (extent.n != 1 || extent.first != row)
                        break;
        }

        return n;
}

/* Takes N columns from COLUMN on out of the unexplained ones. */
static void settle(Work *work, Diagnosis *diagnosis, unsigned column, unsigned n) {
        for (unsigned m = column; m < column + n; m++) {
                Signature signature;

                work_turn(work, m, &signature);
                diagnosis_count(diagnosis, &signature);
                work->unexplained[m] = false;
        }
}

/* All rows differ: one element at which they turn, else the column, where they do not. Several elements are neither. */
static void diagnose_all_rows(Work *work, const Signature *signature, unsigned column) {
        Diagnosis *diagnosis;
        Probes probes;
        unsigned turn;

        probes_find(signature, &work->base, &probes);
        turn = probes_turn(&probes);
        if (turn == PE_ROWS && count_turns(&probes) > 0)
                return;
        diagnosis = work_add(work, turn < PE_ROWS ? ARRAY_PE : ARRAY_COLUMN, turn < PE_ROWS ? turn : 0, column);
        if (turn == PE_ROWS)
                diagnosis->last_row = PE_ROWS - 1;
        settle(work, diagnosis, column, 1);
}

/*
 * One fed row alone differs: it is the row's. Over all columns the row is dead, from one on to the end it is that column's activation
 * register with several bits, in a single column that element. All rows above one alone, or below it: the sum that leaves it, or
 * the weights that come down from it.
 */
static void diagnose_shape(Work *work, unsigned column) {
        Signature signature;
        Extent extent;
        unsigned n;

        work_turn(work, column, &signature);
        extent = signature_extent(&signature, &work->base);
        if (work->n == DIAGNOSES_MAX)
                return;

        if (extent.n == PE_ROWS) {
                diagnose_all_rows(work, &signature, column);
                return;
        }
        if (extent.n > 1 && extent.last - extent.first + 1 == extent.n && (extent.first == 0 || extent.last == PE_ROWS - 1)) {
                settle(work, work_add(work, ARRAY_PE, extent.first == 0 ? extent.last : extent.first, column), column, 1);
                return;
        }
        if (extent.n != 1)
                return;

        n = count_alike(work, column, extent.first);
        if (n == PE_COLUMNS)
                settle(work, work_add(work, ARRAY_ROW, extent.first, 0), column, n);
        else if (n == 1 || column + n == PE_COLUMNS)
                settle(work, work_add(work, ARRAY_PE, extent.first, column), column, n);
}

void work_shapes(Work *work) {
        for (unsigned m = 0; m < PE_COLUMNS; m++)
                if (work->unexplained[m] && !work->undecided[m])
                        diagnose_shape(work, m);
}

/* Whatever is left, in one. */
void work_rest(Work *work) {
        const Observation *observation = work->observation;
        Diagnosis rest = { .fault = ARRAY_UNEXPLAINED, .row = PE_ROWS, .column = PE_COLUMNS, .undecided = true };
        bool any = false;

        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                bool lost = observation->miswired[m] && !work->affected[m] && work->mistaken == 0;
                Signature signature;
                Extent extent;

                if (!work->unexplained[m] && !lost)
                        continue;

                any = true;
                rest.undecided = rest.undecided && work->undecided[m];
                work_turn(work, m, &signature);
                extent = signature_extent(&signature, &work->base);
                rest.column = MIN(m, rest.column);
                if (extent.n > 0) {
                        rest.row = MIN(extent.first, rest.row);
                        rest.last_row = MAX(extent.last, rest.last_row);
                }
                diagnosis_count(&rest, &signature);
                rest.last_column = m;
        }

        /* Nothing but an answer that changed while it was read. */
        if (!any && (work->n > 0 || observation_is_golden(observation)))
                return;

        if (rest.n_outputs == 0)
                rest.n_outputs = observation->n_mismatched;
        if (rest.row == PE_ROWS) {
                rest.row = 0;
                rest.last_row = PE_ROWS - 1;
        }
        if (!any) {
                rest.undecided = false;
                rest.column = 0;
                rest.last_column = PE_COLUMNS - 1;
        }

        if (work->n == DIAGNOSES_MAX)
                work->n--; /* the last of so many elements is worth less than that there is more */
        work->diagnoses[work->n++] = rest;
}
