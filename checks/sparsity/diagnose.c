/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"

#define UNEXPLAINED_COST 6.0 /* of one wrong selection that a guess leaves over, as logarithm of its chance */
#define WRONGS_MAX       4096u /* that are looked into */

typedef struct Search {
        Explainer *explainer;
        Wrong wrong; /* the selection that is to be explained */
        uint32_t selected;
        const SparseLoad *load; /* NULL: dense */
        bool found;
        Guess best;
        Fit fit;
        double value;
} Search;

/* The and of two inputs that hold the same is what they hold; an input that is dead holds nothing, whatever the other does. */
static bool is_told_by_uniform(const Search *search, const Guess *guess) {
        const RecordStep *step = &search->explainer->read->record->steps[search->wrong.step];
        bool whole;

        if (!step->load || (guess->fault != SPARSE_AND && guess->fault != SPARSE_DEAD))
                return true;

        whole = sparse_load_is_whole(step->load, step->out, search->wrong.column);
        if (guess->fault == SPARSE_DEAD)
                return !whole;
        return whole || guess->a >= step->load->mode->group || guess->b >= step->load->mode->group;
}

static void try(Search *search, Guess guess) {
        double value;
        Fit fit;

        if (!is_told_by_uniform(search, &guess))
                return;
        if (!guess_has_past(&guess) && !guess_says(search->explainer, &guess, &search->wrong))
                return;
        if (!guess_fits(search->explainer, &guess, false, &fit))
                return;

        value = fit.score + UNEXPLAINED_COST * (double) fit.n_explained;
        if (search->found && value <= search->value)
                return;

        search->found = true;
        search->best = guess;
        search->fit = fit;
        search->value = value;
}

static void try_stale(Search *search, uint16_t row, uint16_t column) {
        try(search, (Guess){ SPARSE_STALE_DENSE, row, column, 0, 0 });
        for (unsigned tag = 0; search->load && tag < SPARSE_GROUP_MAX; tag++) {
                try(search, (Guess){ SPARSE_STALE_LOADS, row, column, (uint8_t) tag, 0 });
                try(search, (Guess){ SPARSE_STALE_SWITCHES, row, column, (uint8_t) tag, 0 });
        }
}

/* Decoders and inputs, of an element or of a row. */
static void try_inputs(Search *search, uint16_t row, uint16_t column) {
        unsigned tag = sparse_load_tag(search->load, search->wrong.row, search->wrong.column);

        try(search, (Guess){ SPARSE_DEAD, row, column, (uint8_t) tag, 0 });
        for (unsigned other = 0; other < SPARSE_GROUP_MAX; other++) {
                Guess guess = { SPARSE_OPEN, row, column, (uint8_t) other, 0 };

                try(search, guess);
                if (other == tag)
                        continue;
                try(search, (Guess){ SPARSE_DECODER, row, column, (uint8_t) tag, (uint8_t) other });
                try(search, (Guess){ SPARSE_OR, row, column, (uint8_t) MIN(tag, other), (uint8_t) MAX(tag, other) });
                try(search, (Guess){ SPARSE_AND, row, column, (uint8_t) MIN(tag, other), (uint8_t) MAX(tag, other) });
        }
}

static void try_order(Search *search, uint16_t column) {
        unsigned row = search->wrong.row;

        for (unsigned other = row / 4 * 4; other < row / 4 * 4 + 4; other++)
                if (other != row)
                        try(search, (Guess){ SPARSE_ORDER, (uint16_t) MIN(row, other), column, (uint8_t) MIN(row, other),
                                             (uint8_t) MAX(row, other) });
}

static void try_row(Search *search) {
        uint16_t row = (uint16_t) search->wrong.row;

        try_stale(search, row, SPARSE_ALL);
        if (!search->load)
                return;
        try_inputs(search, row, SPARSE_ALL);
        try_order(search, SPARSE_ALL);
        for (unsigned i = 0; i < 8; i++)
                try(search, (Guess){ SPARSE_LANE, row, SPARSE_ALL, (uint8_t) (search->wrong.column % 4 * 4 + i / 2),
                                     (uint8_t) (i % 2) });
}

static void try_element(Search *search) {
        uint16_t row = (uint16_t) search->wrong.row, column = (uint16_t) search->wrong.column;

        try_stale(search, row, column);
        if (!search->load)
                return;
        try_inputs(search, row, column);
        try_order(search, column);
        for (unsigned bits = 1; bits < 16; bits++)
                for (unsigned levels = 0; __builtin_popcount(bits) <= 2 && levels < 16; levels++)
                        if ((levels & ~bits) == 0)
                                try(search, (Guess){ SPARSE_TAG, row, column, (uint8_t) bits, (uint8_t) levels });
}

/* In how many elements of that row, or column, any selection was wrong: a fault of all of it shows in more than one. */
static unsigned count_wrong(const Explainer *explainer, unsigned row, unsigned column) {
        const RecordRead *read = explainer->read;
        bool is_wrong[PE_ROWS + PE_COLUMNS] = {};
        unsigned n = 0;

        for (size_t i = 0; i < read->record->n_steps; i++)
                for (unsigned k = 0; read->selected[i] && k < (row == SPARSE_ALL ? PE_ROWS : PE_COLUMNS); k++) {
                        unsigned r = row == SPARSE_ALL ? k : row, c = row == SPARSE_ALL ? column : k;

                        is_wrong[k] |= !explainer->ignored[c] && !explainer->explained[i][r][c] &&
                                       read->selected[i][r][c] != record_expected(&read->record->steps[i], r, c);
                }
        for (unsigned k = 0; k < ELEMENTS(is_wrong); k++)
                n += is_wrong[k];

        return n;
}

/* The larger part first: what explains a whole row is one fault, not 128. */
static bool explain(Explainer *explainer, const Wrong *wrong, SparseDiagnosis *ret) {
        const RecordStep *step = &explainer->read->record->steps[wrong->step];
        Search search = {
                .explainer = explainer,
                .wrong = *wrong,
                .load = step->load,
                .selected = explainer->read->selected[wrong->step][wrong->row][wrong->column],
        };
        Fit fit;

        if (count_wrong(explainer, wrong->row, SPARSE_ALL) > 1)
                try_row(&search);
        if (!search.found && count_wrong(explainer, SPARSE_ALL, wrong->column) > 1)
                try_stale(&search, SPARSE_ALL, (uint16_t) wrong->column);
        if (!search.found)
                try_element(&search);
        if (!search.found)
                return false;

        (void) guess_fits(explainer, &search.best, true, &fit);
        *ret = (SparseDiagnosis){
                .fault = search.best.fault,
                .row = search.best.row,
                .slot = search.best.column,
                .a = search.best.a,
                .b = search.best.b,
                .n_acted = search.fit.n_acted,
                .n_silent = search.fit.n_silent,
                .n_selections = search.fit.n_explained,
                .has_selection = search.load != NULL,
                .tag = search.load ? sparse_load_tag(search.load, wrong->row, wrong->column) : 0,
                .selected = search.selected,
        };
        return true;
}

/* Adds a selection that nothing explains. */
static void rest_add(SparseDiagnosis *rest, const Explainer *explainer, const Wrong *wrong) {
        const SparseLoad *load = explainer->read->record->steps[wrong->step].load;

        if (rest->n_selections++ == 0) {
                *rest = (SparseDiagnosis){
                        .fault = SPARSE_UNEXPLAINED, .row = wrong->row, .slot = wrong->column, .n_selections = 1,
                        .has_selection = load != NULL, .tag = load ? sparse_load_tag(load, wrong->row, wrong->column) : 0,
                        .selected = explainer->read->selected[wrong->step][wrong->row][wrong->column],
                };
        }
        rest->row = MIN(rest->row, wrong->row);
        rest->slot = MIN(rest->slot, wrong->column);
        rest->last_row = MAX(rest->last_row, wrong->row);
        rest->last_slot = MAX(rest->last_slot, wrong->column);
        explainer->explained[wrong->step][wrong->row][wrong->column] = true;
}

int sparse_diagnose(const RecordRead *read, const bool ignored[static PE_COLUMNS],
                    SparseDiagnosis diagnoses[static SPARSE_DIAGNOSES_MAX]) {
        _cleanup_(explainer_donep) Explainer *explainer = &(Explainer){};
        SparseDiagnosis rest = {};
        Wrong wrong = {};
        unsigned n = 0;
        int r;

        r = explainer_init(explainer, read, ignored);
        if (r < 0)
                return r;

        for (unsigned i = 0; explainer_next(explainer, &wrong); i++)
                if (n < SPARSE_DIAGNOSES_MAX - 1 && i < WRONGS_MAX && rest.n_selections < 64 &&
                    explain(explainer, &wrong, &diagnoses[n]))
                        n++;
                else
                        rest_add(&rest, explainer, &wrong);

        if (rest.n_selections > 0)
                diagnoses[n++] = rest;
        return (int) n;
}

/* ---- modes ---- */

static float number_of(uint16_t image) {
        uint32_t bits = (uint32_t) image << 16;
        float number;

        memcpy(&number, &bits, sizeof(number));
        return number;
}

/* Whether COLUMN is what comes of LOAD where its mode is taken for AS: all numbers are whole and small, or one of two times
 * such, and so every sum is exact, in any order, or rounds as the array rounds. */
static bool column_is_taken_for(const SparseLoad *load, const uint32_t *out, unsigned column, const SparseMode *as) {
        const SparseMode *mode = load->mode;

        for (unsigned n = 0; n < mode->moving; n++) {
                float sum = 0;
                uint32_t bits;

                for (unsigned row = 0; row < PE_ROWS; row++) {
                        unsigned tag = sparse_load_tag(load, row, column), from = row / as->keep * as->group + tag;

                        if (tag < as->group && from < mode->rows)
                                sum += (float) (1u << row % mode->keep) * number_of(mode->values[from * mode->moving + n]);
                }
                memcpy(&bits, &sum, sizeof(bits));
                if (bits != out[column * mode->moving + n])
                        return false;
        }

        return true;
}

static bool step_is_taken_for(const RecordStep *step, const bool ignored[static PE_COLUMNS], const SparseMode *as) {
        unsigned n = 0;

        for (unsigned column = 0; column < PE_COLUMNS; column += 17) {
                if (ignored[column])
                        continue;
                if (!column_is_taken_for(step->load, step->out, column, as))
                        return false;
                n++;
        }

        return n > 0;
}

/* In three quarters of the columns or more: what is wrong in so many lies before them. */
static bool step_is_wrong_all_over(const RecordStep *step, const bool ignored[static PE_COLUMNS]) {
        unsigned n_wrong = 0, n = 0;

        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                size_t at = (size_t) column * step->load->mode->moving;

                n += !ignored[column];
                n_wrong += !ignored[column] && memcmp(step->out + at, step->load->golden + at,
                                                      step->load->mode->moving * sizeof(uint32_t)) != 0;
        }

        return n > 0 && n_wrong * 4 >= n * 3;
}

/* Which mode all wrong steps of MODE are taken for, SPARSE_MODES where none fits; -1: MODE is not wrong all over. */
static int mode_taken_for(const Record *record, const SparseMode *mode, const bool ignored[static PE_COLUMNS], size_t *ret_wrong,
                          size_t *ret_right) {
        unsigned fits = (1u << SPARSE_MODES) - 1;
        size_t n_wrong = 0, n_right = 0;

        for (size_t i = 0; i < record->n_steps; i++) {
                const RecordStep *step = &record->steps[i];

                if (!step->load || step->load->mode != mode || !step->known || step->refused)
                        continue;
                n_right += !step->out;
                if (!step->out)
                        continue;
                if (!step_is_wrong_all_over(step, ignored))
                        return -1;
                n_wrong++;
                for (unsigned as = 0; as < SPARSE_MODES; as++)
                        if (fits >> as & 1 && !step_is_taken_for(step, ignored, sparse_mode_at(as)))
                                fits &= ~(1u << as);
        }

        *ret_wrong = n_wrong;
        *ret_right = n_right;
        return n_wrong == 0 ? -1 : fits == 0 ? (int) SPARSE_MODES : __builtin_ctz(fits);
}

static size_t mode_take_out(Record *record, const SparseMode *mode) {
        size_t n = 0;

        for (size_t i = 0; i < record->n_steps; i++) {
                RecordStep *step = &record->steps[i];

                if (!step->load || step->load->mode != mode || !step->out)
                        continue;
                n += PE_ROWS * PE_COLUMNS;
                free(step->out);
                step->out = NULL;
                step->known = false;
        }

        return n;
}

/* A quarter of the elements of a column, so that no row alone can be the cause. */
static bool column_is_wrong_in_many_rows(const RecordStep *step, unsigned column) {
        unsigned n = 0;

        for (unsigned row = 0; row < PE_ROWS; row++) {
                uint32_t selected;

                n += !sparse_load_selected(step->load, step->out, row, column, &selected) ||
                     selected != record_expected(step, row, column);
        }

        return n * 4 >= PE_ROWS;
}

static bool only_mode_that_is_wrong(const Record *record, const SparseMode *mode, const bool ignored[static PE_COLUMNS]) {
        for (size_t i = 0; i < record->n_steps; i++) {
                const RecordStep *step = &record->steps[i];

                if (!step->out)
                        continue;
                if (!step->load || step->load->mode != mode)
                        return false;
                for (unsigned column = 0; column < PE_COLUMNS; column += 17)
                        if (!ignored[column] && !column_is_wrong_in_many_rows(step, column))
                                return false;
        }

        return true;
}

size_t sparse_diagnose_modes(Record *record, const bool ignored[static PE_COLUMNS],
                             SparseDiagnosis diagnoses[static SPARSE_MODES]) {
        size_t n = 0;

        for (unsigned i = 0; i < SPARSE_MODES; i++) {
                const SparseMode *mode = sparse_mode_at(i);
                size_t n_wrong = 0, n_right = 0;
                int as;

                as = mode_taken_for(record, mode, ignored, &n_wrong, &n_right);
                if (as < 0 || (as == (int) SPARSE_MODES && !only_mode_that_is_wrong(record, mode, ignored)))
                        continue;

                diagnoses[n++] = (SparseDiagnosis){
                        .fault = SPARSE_MODE, .row = SPARSE_ALL, .slot = SPARSE_ALL, .mode = i, .as = (unsigned) as,
                        .n_acted = n_wrong, .n_silent = n_right, .n_selections = mode_take_out(record, mode),
                };
        }

        return n;
}
