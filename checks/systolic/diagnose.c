/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose.h"

#include <string.h>
#include <sys/param.h>

#include "checks/systolic/exact.h"

#define SEPARATE_MAX 24u /* faults of one core that are believed to be separate */

/* The work on one core, column by column in the direction of the activations. */
typedef struct Work {
        const Observation *observation;
        Suspects base; /* activation registers found so far: they act in all further columns */
        bool base_intermittent;
        size_t base_diagnosis[SUSPECTS_MAX];
        bool unexplained[PE_COLUMNS];
        unsigned n_unexplained;
        bool affected[PE_COLUMNS]; /* by something found */
        Diagnosis *diagnoses;
        size_t n;
} Work;

static Signature signature_of(const Observation *observation, unsigned column) {
        Signature signature;

        for (unsigned i = 0; i < ONE_HOT; i++)
                signature.answers[i] = observation_column(observation, i, column);

        return signature;
}

static bool signature_is_golden(const Signature *signature) {
        for (unsigned i = 0; i < ONE_HOT; i++)
                if (signature->answers[i])
                        return false;

        return true;
}

static bool signature_equal(const Signature *a, const Signature *b) {
        for (unsigned i = 0; i < ONE_HOT; i++) {
                if (!a->answers[i] != !b->answers[i])
                        return false;
                if (a->answers[i] && memcmp(a->answers[i], b->answers[i], PE_ROWS * sizeof(uint32_t)) != 0)
                        return false;
        }

        return true;
}

/* Whether SUSPECTS alone make what was seen; patterns may be golden where they come and go. */
static bool signature_explained(const Signature *signature, const Suspects *suspects, bool intermittent) {
        for (unsigned i = 0; i < ONE_HOT; i++) {
                const Pattern *pattern = pattern_at(i);
                const uint32_t *answer = signature->answers[i] ? signature->answers[i] : pattern->golden;

                if (intermittent && !signature->answers[i])
                        continue;
                for (unsigned n = 0; n < PE_ROWS; n++)
                        if (!exact_equal(answer[n], column_predict(suspects, pattern, n)))
                                return false;
        }

        return true;
}

/* Adds COLUMN's differences to what DIAGNOSIS rests on. */
static void diagnosis_count(Diagnosis *diagnosis, const Signature *signature, unsigned column) {
        for (unsigned i = 0; i < ONE_HOT; i++)
                for (unsigned n = 0; signature->answers[i] && n < PE_ROWS; n++) {
                        uint32_t expected = pattern_at(i)->golden[n], actual = signature->answers[i][n];

                        if (actual == expected)
                                continue;
                        if (!diagnosis->first.pattern)
                                diagnosis->first = (Difference){ pattern_at(i)->name, column, n, expected,
                                                                 actual };
                        diagnosis->n_outputs++;
                }

        diagnosis->last_column = MAX(column, diagnosis->last_column);
}

static Diagnosis *add_diagnosis(Work *work, ArrayFault fault, unsigned row, unsigned column) {
        Diagnosis *diagnosis = &work->diagnoses[work->n++];

        *diagnosis = (Diagnosis){
                .fault = fault,
                .row = row,
                .column = column,
                .last_row = row,
                .last_column = column,
        };
        return diagnosis;
}

/* An activation register spoils its column and those behind it; other faults there may hide it in some of
 * them. */
static bool activation_reaches_end(const Work *work, unsigned column, Candidate candidate,
                                   bool intermittent) {
        unsigned explained = 0, behind = PE_COLUMNS - 1 - column;
        Suspects suspects = work->base;

        if (behind == 0 || !suspects_add(&suspects, candidate))
                return false;

        for (unsigned m = column + 1; m < PE_COLUMNS; m++) {
                Signature signature = signature_of(work->observation, m);

                if (!signature_is_golden(&signature))
                        explained += signature_explained(&signature, &suspects, intermittent);
        }

        return explained * 2 >= behind;
}

static bool take_activation(Work *work, unsigned column, const Signature *signature,
                            const Matches *matches) {
        for (unsigned i = 0; i < matches->n; i++) {
                Diagnosis *diagnosis;

                if (matches->all[i].at != PE_ACTIVATION ||
                    !activation_reaches_end(work, column, matches->all[i], matches->silent > 0))
                        continue;

                work->base_diagnosis[work->base.n] = work->n;
                work->base_intermittent = work->base_intermittent || matches->silent > 0;
                (void) suspects_add(&work->base, matches->all[i]);

                diagnosis = add_diagnosis(work, ARRAY_PE, matches->all[i].row, column);
                diagnosis->known = true;
                diagnosis->intermittent = matches->silent > 0;
                diagnosis->n_alike = 1;
                diagnosis->candidate = matches->all[i];
                diagnosis_count(diagnosis, signature, column);
                return true;
        }

        return false;
}

/* Returns false where elements of several rows would explain it as well. An activation that does not reach
 * the end is none, but in the last column. */
static bool take_element(Work *work, unsigned column, const Signature *signature, const Matches *matches) {
        const Candidate *found = NULL;
        Diagnosis *diagnosis;
        unsigned n_alike = 0;

        for (unsigned i = 0; i < matches->n; i++) {
                const Candidate *candidate = &matches->all[i];

                if (candidate->at == PE_ACTIVATION && column < PE_COLUMNS - 1)
                        continue;
                if (found && candidate->row != found->row)
                        return false;
                if (!found)
                        found = candidate;
                n_alike++;
        }
        if (!found)
                return false;

        diagnosis = add_diagnosis(work, ARRAY_PE, found->row, column);
        diagnosis->known = true;
        diagnosis->intermittent = matches->silent > 0;
        diagnosis->n_alike = n_alike;
        diagnosis->candidate = *found;
        diagnosis_count(diagnosis, signature, column);
        return true;
}

static void diagnose_column(Work *work, unsigned column, const Signature *signature) {
        Matches matches;

        if (work->n_unexplained >= SEPARATE_MAX) {
                work->unexplained[column] = true; /* hopeless, and a search costs a millisecond */
                return;
        }

        signature_search(signature, &work->base, &matches);
        if (matches.n > 0 && (take_activation(work, column, signature, &matches) ||
                              take_element(work, column, signature, &matches)))
                return;

        work->unexplained[column] = true;
        work->n_unexplained++;
}

static void diagnose_columns(Work *work) {
        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                Signature signature = signature_of(work->observation, m), before;
                size_t n_base = work->base.n;

                if (signature_is_golden(&signature) && (work->base.n == 0 || work->base_intermittent))
                        continue;

                work->affected[m] = true;
                if (work->base.n > 0 &&
                    signature_explained(&signature, &work->base, work->base_intermittent)) {
                        diagnosis_count(&work->diagnoses[work->base_diagnosis[n_base - 1]], &signature, m);
                        continue;
                }

                /* What could not be told in the column before cannot be told here. */
                if (m > 0 && work->unexplained[m - 1]) {
                        before = signature_of(work->observation, m - 1);
                        if (signature_equal(&signature, &before)) {
                                work->unexplained[m] = true;
                                continue;
                        }
                }

                diagnose_column(work, m, &signature);
        }
}

/* ---- what no single bit explains ---- */

/* Which vectors of a column differ, over all patterns. */
typedef struct Extent {
        unsigned n, first, last;
} Extent;

static Extent extent_of(const Signature *signature) {
        Extent extent = { .first = PE_ROWS };

        for (unsigned n = 0; n < PE_ROWS; n++) {
                bool differs = false;

                for (unsigned i = 0; i < ONE_HOT; i++)
                        differs = differs || (signature->answers[i] &&
                                              signature->answers[i][n] != pattern_at(i)->golden[n]);
                if (!differs)
                        continue;

                if (extent.n++ == 0)
                        extent.first = n;
                extent.last = n;
        }

        return extent;
}

/* From COLUMN on, how many unexplained columns in a row show ROW and nothing else. */
static unsigned count_alike(const Work *work, unsigned column, unsigned row) {
        unsigned n = 0;

        for (unsigned m = column; m < PE_COLUMNS && work->unexplained[m]; m++, n++) {
                Signature signature = signature_of(work->observation, m);
                Extent extent = extent_of(&signature);

                if (extent.n != 1 || extent.first != row)
                        break;
        }

        return n;
}

/* Takes N columns from COLUMN on out of the unexplained ones. */
static void settle(Work *work, Diagnosis *diagnosis, unsigned column, unsigned n) {
        for (unsigned m = column; m < column + n; m++) {
                Signature signature = signature_of(work->observation, m);

                diagnosis_count(diagnosis, &signature, m);
                work->unexplained[m] = false;
        }
}

/*
 * One vector alone differs: it is the row's. Over all columns the row is dead, from one on to the end it is
 * that column's activation register with several bits, in a single column that element. All vectors of a
 * column: the column.
 */
static void diagnose_shape(Work *work, unsigned column) {
        Signature signature = signature_of(work->observation, column);
        Extent extent = extent_of(&signature);
        unsigned n;

        if (extent.n == PE_ROWS) {
                Diagnosis *diagnosis = add_diagnosis(work, ARRAY_COLUMN, 0, column);

                diagnosis->last_row = PE_ROWS - 1;
                settle(work, diagnosis, column, 1);
                return;
        }
        if (extent.n != 1)
                return;

        n = count_alike(work, column, extent.first);
        if (n == PE_COLUMNS)
                settle(work, add_diagnosis(work, ARRAY_ROW, extent.first, 0), column, n);
        else if (n == 1 || column + n == PE_COLUMNS)
                settle(work, add_diagnosis(work, ARRAY_PE, extent.first, column), column, n);
}

/* Whatever is left, in one. */
static void diagnose_rest(Work *work) {
        const Observation *observation = work->observation;
        Diagnosis rest = { .fault = ARRAY_UNEXPLAINED, .row = PE_ROWS, .column = PE_COLUMNS };
        bool any = false, wiring = false;

        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                bool miswired = observation->miswired[m] && !work->affected[m];
                Signature signature = signature_of(observation, m);
                Extent extent = extent_of(&signature);

                if (!work->unexplained[m] && !miswired)
                        continue;

                any = true;
                wiring = wiring || miswired;
                rest.column = MIN(m, rest.column);
                if (extent.n > 0) {
                        rest.row = MIN(extent.first, rest.row);
                        rest.last_row = MAX(extent.last, rest.last_row);
                }
                diagnosis_count(&rest, &signature, m);
                rest.last_column = m;
        }

        /* Nothing but an answer that changed while it was read. */
        if (!any && (work->n > 0 || observation_is_golden(observation)))
                return;

        if (wiring || !any)
                rest.n_outputs += any ? observation->n_mismatched_miswired : observation->n_mismatched;
        if (rest.row == PE_ROWS)
                rest = (Diagnosis){ .fault = ARRAY_UNEXPLAINED,
                                    .column = any ? rest.column : 0,
                                    .last_row = PE_ROWS - 1,
                                    .last_column = any ? rest.last_column : PE_COLUMNS - 1,
                                    .n_outputs = rest.n_outputs };

        if (work->n == DIAGNOSES_MAX)
                work->n--; /* the last of so many elements is worth less than that there is more */
        work->diagnoses[work->n++] = rest;
}

/* So many at once have one cause: in place of all stands what holds them all. */
static void merge(Work *work) {
        Diagnosis merged = work->diagnoses[0];

        for (size_t i = 1; i < work->n; i++) {
                const Diagnosis *diagnosis = &work->diagnoses[i];

                merged.row = MIN(merged.row, diagnosis->row);
                merged.column = MIN(merged.column, diagnosis->column);
                merged.last_row = MAX(merged.last_row, diagnosis->last_row);
                merged.last_column = MAX(merged.last_column, diagnosis->last_column);
                merged.n_outputs += diagnosis->n_outputs;
        }

        merged.fault = ARRAY_UNEXPLAINED;
        work->diagnoses[0] = merged;
        work->n = 1;
}

size_t array_diagnose(const Observation *observation, Diagnosis diagnoses[static DIAGNOSES_MAX]) {
        Work work = { .observation = observation, .diagnoses = diagnoses };

        diagnose_columns(&work);
        for (unsigned m = 0; m < PE_COLUMNS; m++)
                if (work.unexplained[m])
                        diagnose_shape(&work, m);
        diagnose_rest(&work);
        if (work.n > SEPARATE_MAX)
                merge(&work);
        return work.n;
}
