/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose/work.h"

#include <sys/param.h>

#include "checks/systolic/diagnose/mistake.h"

#define WIDE_MAX     16u  /* rows, columns and blocks */

static void diagnose_formats(Work *work) {
        Mistake mistakes[_FORMAT_MAX];
        unsigned n = observation_mistakes(work->observation, mistakes);

        for (unsigned i = 0; i < n; i++) {
                Diagnosis *diagnosis = work_add(work, ARRAY_MODE, 0, 0);

                diagnosis->last_row = PE_ROWS - 1;
                diagnosis->known = true;
                diagnosis->intermittent = mistakes[i].intermittent;
                diagnosis->format = mistakes[i].format;
                diagnosis->taken_for = mistakes[i].taken_for;
                for (unsigned m = 0; m < PE_COLUMNS; m++) {
                        Signature signature;

                        work_turn(work, m, &signature);
                        diagnosis_count(diagnosis, &signature);
                }
        }

        for (unsigned i = 0; i < n; i++)
                work->mistaken |= 1u << mistakes[i].format;
}

/* So many at once have one cause: in place of all stands what holds them all. */
static void merge(Work *work) {
        Diagnosis merged = work->diagnoses[0];
        unsigned n_wide = 0;

        for (size_t i = 0; i < work->n; i++)
                n_wide += work->diagnoses[i].fault != ARRAY_PE;
        if (work->n <= ELEMENTS_MAX && n_wide <= WIDE_MAX)
                return;

        for (size_t i = 1; i < work->n; i++) {
                const Diagnosis *diagnosis = &work->diagnoses[i];

                merged.row = MIN(merged.row, diagnosis->row);
                merged.column = MIN(merged.column, diagnosis->column);
                merged.last_row = MAX(merged.last_row, diagnosis->last_row);
                merged.last_column = MAX(merged.last_column, diagnosis->last_column);
                merged.n_outputs += diagnosis->n_outputs;
        }

        merged.fault = ARRAY_UNEXPLAINED;
        merged.known = false;
        work->diagnoses[0] = merged;
        work->n = 1;
}

size_t array_diagnose(const Observation *observation, Diagnosis diagnoses[static DIAGNOSES_MAX]) {
        Work work = { .observation = observation, .diagnoses = diagnoses };

        diagnose_formats(&work);
        work_blocks(&work);
        work_columns(&work);
        work_shapes(&work);
        work_rest(&work);
        merge(&work);
        (void) column_done(&work.column);
        return work.n;
}
