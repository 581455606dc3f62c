/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose/work.h"

#include <sys/param.h>

void work_turn(Work *work, unsigned column, Signature *ret) {
        column_turn(&work->column, column, work->observation->ftz);
        work->base.dead = work->dead[column / TILE_UNIT];
        signature_of(work->observation, &work->column, ret);

        for (unsigned i = 0; i < ret->n_patterns && work->mistaken; i++)
                if ((work->mistaken >> pattern_at(i)->w_format | work->mistaken >> pattern_at(i)->x_format) & 1) {
                        ret->ran[i] = false;
                        ret->answers[i] = NULL;
                }
}

Diagnosis *work_add(Work *work, ArrayFault fault, unsigned row, unsigned column) {
        Diagnosis *diagnosis = &work->diagnoses[work->n++];

        *diagnosis = (Diagnosis){
                .fault = fault,
                .row = row,
                .column = column,
                .last_row = row,
                .last_column = column,
                .only_double = true,
                .only_transposed = true,
        };
        return diagnosis;
}

void diagnosis_count(Diagnosis *diagnosis, const Signature *signature) {
        unsigned column = signature->column->index;

        for (unsigned i = 0; i < signature->n_patterns; i++) {
                const uint32_t *answer = signature->answers[i], *golden;
                const Pattern *pattern;

                if (!answer)
                        continue;
                pattern = pattern_at(i);
                golden = column_golden(signature->column, pattern);

                diagnosis->formats |= 1u << pattern->x_format;
                diagnosis->only_double = diagnosis->only_double && pattern_is_double(pattern);
                diagnosis->only_transposed = diagnosis->only_transposed && (pattern->matmul_flags & MATMUL_TRANSPOSE);
                for (unsigned n = 0; n < pattern->moving; n++) {
                        if (answer[n] == golden[n])
                                continue;
                        if (!diagnosis->first.pattern)
                                diagnosis->first = (Difference){ pattern->name, column, n, golden[n], answer[n] };
                        diagnosis->n_outputs++;
                }
        }

        diagnosis->last_column = MAX(column, diagnosis->last_column);
}
