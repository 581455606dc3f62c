/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/diagnose.h"

#include <string.h>
#include <sys/param.h>

typedef struct Work {
        const Selections *selections;
        const bool *spoilt;
        bool wrong[PE_ROWS][PE_COLUMNS]; /* elements that are not explained yet */
        size_t n_wrong_of_mode[SPARSE_MODES];
        size_t n_elements; /* that were wrong in the beginning */
        SparseDiagnosis *diagnoses;
        size_t n;
        bool full; /* there were more */
} Work;

/* What an element did in one load. */
typedef struct Selection {
        unsigned tag;
        uint32_t selected; /* bit per input */
        bool legible;
} Selection;

static bool selection_is_right(const Selection *selection) {
        return selection->legible && selection->selected == 1u << selection->tag;
}

static Selection selection_at(const Work *work, unsigned index, unsigned row, unsigned column) {
        const SparseLoad *load = sparse_load_at(index);
        Selection selection = { .tag = sparse_load_tag(load, row, column), .legible = true };

        selection.selected = 1u << selection.tag;
        if (work->selections->out[index])
                selection.legible = sparse_load_selected(load, work->selections->out[index], row, column,
                                                         &selection.selected);
        return selection;
}

static void find_wrong(Work *work) {
        for (unsigned i = 0; i < SPARSE_LOADS; i++) {
                const SparseLoad *load;

                if (!work->selections->out[i])
                        continue;

                load = sparse_load_at(i);
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        size_t at = (size_t) column * load->mode->moving;

                        if (memcmp(work->selections->out[i] + at, load->golden + at,
                                   load->mode->moving * sizeof(uint32_t)) == 0)
                                continue;

                        for (unsigned row = 0; row < PE_ROWS; row++) {
                                Selection selection = selection_at(work, i, row, column);

                                if (selection_is_right(&selection))
                                        continue;
                                work->n_elements += !work->wrong[row][column];
                                work->wrong[row][column] = true;
                                work->n_wrong_of_mode[sparse_mode_index(load->mode)]++;
                        }
                }
        }
}

static SparseDiagnosis *add_diagnosis(Work *work, SparseFault fault, unsigned row, unsigned slot) {
        if (work->n == SPARSE_DIAGNOSES_MAX - 1) {
                work->full = true;
                return NULL;
        }

        work->diagnoses[work->n] = (SparseDiagnosis){
                .fault = fault,
                .row = row,
                .slot = slot,
                .last_row = row,
                .last_slot = slot,
        };
        return &work->diagnoses[work->n++];
}

/* ---- one tag bit ---- */

/* Whether tag bit BIT at VALUE explains all of an element's selections. Returns how many loads should have
 * shown it and did not, -1 where it does not explain them. */
static int match_tag(const Work *work, unsigned row, unsigned column, unsigned bit, unsigned value) {
        int silent = 0;

        for (unsigned i = 0; i < SPARSE_LOADS; i++) {
                Selection selection;
                unsigned tag;

                if (!work->selections->ran[i])
                        continue;

                selection = selection_at(work, i, row, column);
                tag = value ? selection.tag | 1u << bit : selection.tag & ~(1u << bit);
                if (selection.legible &&
                    selection.selected == (tag < sparse_load_at(i)->mode->group ? 1u << tag : 0))
                        continue;
                if (!selection_is_right(&selection))
                        return -1;
                silent++;
        }

        return silent;
}

/* The first wrong selection and how many there are. */
static void count_selections(const Work *work, unsigned row, unsigned column, SparseDiagnosis *diagnosis) {
        for (unsigned i = 0; i < SPARSE_LOADS; i++) {
                Selection selection;

                if (!work->selections->out[i])
                        continue;

                selection = selection_at(work, i, row, column);
                if (selection_is_right(&selection))
                        continue;
                if (diagnosis->n_selections++ == 0) {
                        diagnosis->tag = selection.tag;
                        diagnosis->selected = selection.legible ? selection.selected : 0;
                }
        }
}

/* SILENT_MAX: how many loads may have failed to show it. */
static void diagnose_tag(Work *work, unsigned row, unsigned column, int silent_max) {
        SparseDiagnosis *diagnosis;
        unsigned bits = 0, value = 0;
        int least = -1;

        for (unsigned i = 0; i < 8; i++) {
                int silent = match_tag(work, row, column, i / 2, i % 2);

                if (silent < 0 || silent > silent_max || (least >= 0 && silent > least))
                        continue;
                if (least < 0 || silent < least)
                        bits = 0;
                least = silent;
                bits |= 1u << i / 2;
                value = i % 2;
        }
        if (least < 0)
                return;

        diagnosis = add_diagnosis(work, SPARSE_TAG, row, column);
        if (!diagnosis)
                return;

        diagnosis->bits = bits;
        diagnosis->value = value;
        diagnosis->intermittent = least > 0;
        count_selections(work, row, column, diagnosis);
        work->wrong[row][column] = false;
}

/* What comes and goes explains so much that it is asked last, and not where the array is to blame. */
static void diagnose_tags(Work *work, int silent_max) {
        for (unsigned row = 0; row < PE_ROWS; row++)
                for (unsigned column = 0; column < PE_COLUMNS && !work->full; column++)
                        if (work->wrong[row][column] && (silent_max == 0 || !work->spoilt[column]))
                                diagnose_tag(work, row, column, silent_max);
}

/* ---- inputs of a row's selectors ---- */

/* The inputs that read zero in every column that selects them; 0 where that does not explain all that is
 * wrong in ROW. */
static uint32_t dead_inputs(const Work *work, unsigned row) {
        uint32_t dead = 0, alive = 0;

        for (unsigned i = 0; i < SPARSE_LOADS; i++)
                for (unsigned column = 0; work->selections->ran[i] && column < PE_COLUMNS; column++) {
                        Selection selection;

                        if (work->spoilt[column])
                                continue;

                        selection = selection_at(work, i, row, column);
                        if (selection_is_right(&selection))
                                alive |= 1u << selection.tag;
                        else if (work->wrong[row][column] && (!selection.legible || selection.selected != 0))
                                return 0;
                        else if (work->wrong[row][column])
                                dead |= 1u << selection.tag;
                }

        return dead & alive ? 0 : dead;
}

static void diagnose_inputs(Work *work, unsigned row) {
        SparseDiagnosis *diagnosis;
        uint32_t dead;

        if (!memchr(work->wrong[row], true, sizeof(work->wrong[row])))
                return;

        dead = dead_inputs(work, row);
        if (dead == 0)
                return;

        diagnosis = add_diagnosis(work, SPARSE_INPUTS, row, 0);
        if (!diagnosis)
                return;

        diagnosis->last_slot = PE_COLUMNS - 1;
        diagnosis->bits = dead;
        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                if (!work->wrong[row][column])
                        continue;
                count_selections(work, row, column, diagnosis);
                work->wrong[row][column] = false;
        }
}

/* ---- the rest ---- */

/* The only mode that is wrong, and in a quarter of all elements at least; -1 where that is not so. */
static int broken_mode(const Work *work) {
        int found = -1;

        for (unsigned i = 0; i < SPARSE_MODES; i++) {
                if (work->n_wrong_of_mode[i] == 0)
                        continue;
                if (found >= 0)
                        return -1;
                found = (int) i;
        }

        return work->n_elements * 4 >= PE_ROWS * PE_COLUMNS ? found : -1;
}

static void diagnose_rest(Work *work) {
        SparseDiagnosis rest = { .fault = SPARSE_UNEXPLAINED, .row = PE_ROWS, .slot = PE_COLUMNS };

        for (unsigned row = 0; row < PE_ROWS; row++)
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        if (!work->wrong[row][column] || work->spoilt[column])
                                continue;

                        rest.row = MIN(rest.row, row);
                        rest.slot = MIN(rest.slot, column);
                        rest.last_row = MAX(rest.last_row, row);
                        rest.last_slot = MAX(rest.last_slot, column);
                        count_selections(work, row, column, &rest);
                }

        if (rest.row < PE_ROWS)
                work->diagnoses[work->n++] = rest;
}

size_t sparse_diagnose(const Selections *selections, const bool spoilt[static PE_COLUMNS],
                       SparseDiagnosis diagnoses[static SPARSE_DIAGNOSES_MAX]) {
        Work work = { .selections = selections, .spoilt = spoilt, .diagnoses = diagnoses };
        int mode;

        find_wrong(&work);

        mode = broken_mode(&work);
        if (mode >= 0) {
                diagnoses[0] = (SparseDiagnosis){
                        .fault = SPARSE_MODE,
                        .mode = (unsigned) mode,
                        .n_selections = work.n_wrong_of_mode[mode],
                };
                return 1;
        }

        diagnose_tags(&work, 0);
        for (unsigned row = 0; row < PE_ROWS; row++)
                diagnose_inputs(&work, row);
        diagnose_tags(&work, SPARSE_LOADS);
        diagnose_rest(&work);
        return work.n;
}
