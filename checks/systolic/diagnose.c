/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose.h"

#include <string.h>
#include <sys/param.h>

#include "checks/systolic/exact.h"
#include "checks/systolic/mistake.h"
#include "checks/systolic/shape.h"

#define ELEMENTS_MAX 112u /* of one core that are believed to be broken one by one */
#define WIDE_MAX     16u  /* rows, columns and blocks */
#define REACH_COLUMNS 8u  /* that are asked whether an activation reaches them */
#define HOPELESS     16u  /* columns of one core that nothing explained: then no more of them is searched … */
#define HOPELESS_ALL 1u   /* … and where nearly all are wrong */

/* The work on one core. */
typedef struct Work {
        const Observation *observation;
        Column column;
        unsigned mistaken; /* formats that are taken for others, 1 << WireFormat: their patterns say nothing more */
        Suspects base; /* activation registers found so far: they act in all further columns */
        bool base_intermittent, base_loaded;
        size_t base_diagnosis[SUSPECTS_MAX];
        uint8_t dead[PE_COLUMNS / TILE_UNIT]; /* row groups of which products are zero, by column group */
        bool unexplained[PE_COLUMNS];
        unsigned n_unexplained, hopeless;
        bool affected[PE_COLUMNS]; /* by something found */
        Diagnosis *diagnoses;
        size_t n;
} Work;

/* What COLUMN answered, but to patterns of formats that are taken for others. */
static void work_signature(const Work *work, Column *column, Signature *ret) {
        signature_of(work->observation, column, ret);

        for (unsigned i = 0; i < ret->n_patterns && work->mistaken; i++)
                if ((work->mistaken >> pattern_at(i)->w_format | work->mistaken >> pattern_at(i)->x_format) & 1) {
                        ret->ran[i] = false;
                        ret->answers[i] = NULL;
                }
}

static void work_turn(Work *work, unsigned column, Signature *ret) {
        column_turn(&work->column, column, work->observation->ftz);
        work->base.dead = work->dead[column / TILE_UNIT];
        work_signature(work, &work->column, ret);
}

static bool signature_equal(const Signature *a, const Signature *b) {
        for (unsigned i = 0; i < a->n_patterns; i++) {
                if (!a->answers[i] != !b->answers[i])
                        return false;
                if (a->answers[i] &&
                    memcmp(a->answers[i], b->answers[i], pattern_at(i)->moving * sizeof(uint32_t)) != 0)
                        return false;
        }

        return true;
}

/* Whether SUSPECTS alone make what was seen; patterns may be golden where they come and go. */
static bool is_explained(const Work *work, const Signature *signature, const Suspects *suspects) {
        static const Suspects nothing;
        int silent = signature_explain(signature, suspects, &nothing, work->base_loaded);

        return silent == 0 || (silent > 0 && work->base_intermittent);
}

/* Adds a column's differences to what DIAGNOSIS rests on. */
static void diagnosis_count(Diagnosis *diagnosis, const Signature *signature) {
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

static Diagnosis *add_diagnosis(Work *work, ArrayFault fault, unsigned row, unsigned column) {
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

static bool is_passed_on(const Candidate *candidate) {
        return candidate->at == PE_ACTIVATION || candidate->at == PE_NO_INPUT;
}

/* What MATCHES say of the same element as the first of them; NULL where they are of several rows. */
static Diagnosis *add_candidate(Work *work, unsigned column, const Signature *signature, const Matches *matches, Candidate candidate,
                                unsigned n_alike, bool other_parts) {
        bool of_column = candidate.at == PE_OUTPUT || candidate.at == PE_NO_OUTPUT;
        bool of_row = candidate.at == PE_NO_INPUT && column == 0;
        Diagnosis *diagnosis = add_diagnosis(work, of_column ? ARRAY_COLUMN : of_row ? ARRAY_ROW : ARRAY_PE,
                                             of_column ? 0 : candidate.row, column);

        if (of_column)
                diagnosis->last_row = PE_ROWS - 1;
        diagnosis->known = true;
        diagnosis->intermittent = matches->silent > 0;
        diagnosis->loaded = matches->loaded;
        diagnosis->n_alike = n_alike;
        diagnosis->other_parts = other_parts;
        diagnosis->candidate = candidate;
        diagnosis_count(diagnosis, signature);
        return diagnosis;
}

/* An activation register spoils its column and those behind it; other faults there may hide it in some of them. */
static bool activation_reaches_end(Work *work, unsigned column, Candidate candidate, const Matches *matches) {
        unsigned explained = 0, tried = 0, behind = PE_COLUMNS - 1 - column, stride = 1 + behind / REACH_COLUMNS;
        Suspects suspects = work->base;
        Signature signature;

        if (behind == 0 || !suspects_add(&suspects, candidate))
                return false;

        for (unsigned m = column + 1; m < PE_COLUMNS; m += stride, tried++) {
                static const Suspects nothing;
                int silent;

                work_turn(work, m, &signature);
                suspects.dead = work->base.dead;
                if (signature_is_golden(&signature))
                        continue;
                silent = signature_explain(&signature, &suspects, &nothing, matches->loaded);
                explained += silent == 0 || (silent > 0 && matches->silent > 0);
        }

        work_turn(work, column, &signature);
        return explained * 2 >= tried;
}

static bool take_activation(Work *work, unsigned column, const Signature *signature, const Matches *matches) {
        for (unsigned i = 0; i < matches->n; i++) {
                if (!is_passed_on(&matches->all[i]) || work->base.n == SUSPECTS_MAX - 1 ||
                    !activation_reaches_end(work, column, matches->all[i], matches))
                        continue;

                work->base_diagnosis[work->base.n] = work->n;
                work->base_intermittent = work->base_intermittent || matches->silent > 0;
                work->base_loaded = work->base_loaded || matches->loaded;
                (void) suspects_add(&work->base, matches->all[i]);
                (void) add_candidate(work, column, signature, matches, matches->all[i], 1, false);
                return true;
        }

        return false;
}

/* Returns false where elements of several rows would explain it as well. An activation that does not reach the end is none, but in
 * the last column. */
static bool take_element(Work *work, unsigned column, const Signature *signature, const Matches *matches) {
        const Candidate *found = NULL;
        unsigned n_alike = 0;
        bool other_parts = false;

        for (unsigned i = 0; i < matches->n; i++) {
                const Candidate *candidate = &matches->all[i];

                if (is_passed_on(candidate) && column < PE_COLUMNS - 1)
                        continue;
                if (found && candidate->row != found->row && candidate->at != PE_OUTPUT && candidate->at != PE_NO_OUTPUT)
                        return false;
                if (!found)
                        found = candidate;
                other_parts = other_parts || candidate->at != found->at;
                n_alike++;
        }
        if (!found)
                return false;

        (void) add_candidate(work, column, signature, matches, *found, n_alike, other_parts);
        return true;
}

/* Several elements of one column at once. */
static bool take_several(Work *work, unsigned column, const Signature *signature) {
        static const Matches none;
        Candidate found[SEVERAL_MAX];
        unsigned n;

        n = signature_search_several(signature, &work->base, found);
        if (n == 0 || work->n + n > DIAGNOSES_MAX)
                return false;

        for (unsigned i = 0; i < n; i++)
                (void) add_candidate(work, column, signature, &none, found[i], 1, false);
        return true;
}

static void diagnose_column(Work *work, unsigned column, const Signature *signature) {
        Matches matches;

        if (work->n_unexplained >= work->hopeless || work->n == DIAGNOSES_MAX) {
                work->unexplained[column] = true;
                return;
        }

        signature_search(signature, &work->base, &matches);
        if (matches.n > 0 && (take_activation(work, column, signature, &matches) ||
                              take_element(work, column, signature, &matches)))
                return;
        if (matches.n == 0 && work->hopeless == HOPELESS && take_several(work, column, signature))
                return;

        work->unexplained[column] = true;
        work->n_unexplained++;
}

static void diagnose_columns(Work *work) {
        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                Signature signature, before;
                size_t n_base = work->base.n;

                work_turn(work, m, &signature);
                if (signature_is_golden(&signature) && ((n_base == 0 && work->base.dead == 0) || work->base_intermittent))
                        continue;

                work->affected[m] = true;
                if (work->base.dead) /* what else may be broken there is told when the block works again */
                        continue;
                if (n_base > 0 && is_explained(work, &signature, &work->base)) {
                        diagnosis_count(&work->diagnoses[work->base_diagnosis[n_base - 1]], &signature);
                        continue;
                }

                /* What could not be told in the column before cannot be told here. */
                if (m > 0 && work->unexplained[m - 1]) {
                        Column other = { .index = m - 1 };

                        work_signature(work, &other, &before);
                        if (signature_equal(&signature, &before)) {
                                work->unexplained[m] = true;
                                continue;
                        }
                }

                diagnose_column(work, m, &signature);
        }
}

/* ---- blocks ---- */

static void diagnose_blocks(Work *work) {
        for (unsigned block = 0; block < PE_COLUMNS / TILE_UNIT; block++) {
                Signature signature;
                Diagnosis *diagnosis;
                uint8_t dead = 0xf;

                for (unsigned m = 0; m < TILE_UNIT && dead; m++) {
                        work_turn(work, block * TILE_UNIT + m, &signature);
                        dead &= signature_dead_groups(&signature);
                }
                if (dead == 0xf) /* then the columns are */
                        continue;

                work->dead[block] = dead;
                for (unsigned group = 0; group < PE_ROWS / TILE_UNIT; group++) {
                        if (!(dead >> group & 1))
                                continue;
                        diagnosis = add_diagnosis(work, ARRAY_BLOCK, group * TILE_UNIT, block * TILE_UNIT);
                        diagnosis->last_row = diagnosis->row + TILE_UNIT - 1;
                        diagnosis->known = true;
                        for (unsigned m = 0; m < TILE_UNIT; m++) {
                                work_turn(work, block * TILE_UNIT + m, &signature);
                                diagnosis_count(diagnosis, &signature);
                        }
                }
        }
}

/* ---- what no single part explains ---- */

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

/*
 * One fed row alone differs: it is the row's. Over all columns the row is dead, from one on to the end it is that column's activation
 * register with several bits, in a single column that element. All rows above one alone, or below it: the sum that leaves it, or
 * the weights that come down from it. All rows of a column: the column.
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
                Diagnosis *diagnosis = add_diagnosis(work, ARRAY_COLUMN, 0, column);

                diagnosis->last_row = PE_ROWS - 1;
                settle(work, diagnosis, column, 1);
                return;
        }
        if (extent.n > 1 && extent.last - extent.first + 1 == extent.n && (extent.first == 0 || extent.last == PE_ROWS - 1)) {
                settle(work, add_diagnosis(work, ARRAY_PE, extent.first == 0 ? extent.last : extent.first, column), column, 1);
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
        bool any = false;

        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                bool lost = observation->miswired[m] && !work->affected[m] && work->mistaken == 0;
                Signature signature;
                Extent extent;

                if (!work->unexplained[m] && !lost)
                        continue;

                any = true;
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
                rest.column = 0;
                rest.last_column = PE_COLUMNS - 1;
        }

        if (work->n == DIAGNOSES_MAX)
                work->n--; /* the last of so many elements is worth less than that there is more */
        work->diagnoses[work->n++] = rest;
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

/* ---- formats ---- */

static void diagnose_mistakes(Work *work) {
        Mistake mistakes[_FORMAT_MAX];
        unsigned n = observation_mistakes(work->observation, mistakes);

        for (unsigned i = 0; i < n; i++) {
                Diagnosis *diagnosis = add_diagnosis(work, ARRAY_MODE, 0, 0);

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

size_t array_diagnose(const Observation *observation, Diagnosis diagnoses[static DIAGNOSES_MAX]) {
        Work work = { .observation = observation, .diagnoses = diagnoses };
        unsigned n_wrong = 0;

        diagnose_mistakes(&work);
        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                Signature signature;

                work_turn(&work, m, &signature);
                n_wrong += !signature_is_golden(&signature);
        }
        work.hopeless = n_wrong > ELEMENTS_MAX ? HOPELESS_ALL : HOPELESS;

        diagnose_blocks(&work);
        diagnose_columns(&work);
        for (unsigned m = 0; m < PE_COLUMNS; m++)
                if (work.unexplained[m])
                        diagnose_shape(&work, m);
        diagnose_rest(&work);
        merge(&work);
        (void) column_done(&work.column);
        return work.n;
}
