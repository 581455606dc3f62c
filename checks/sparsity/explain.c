/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/explain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_TAG 16u /* a register whose content is not known */

int explainer_init(Explainer *explainer, const RecordRead *read, const bool ignored[static PE_COLUMNS]) {
        size_t n = read->record->n_steps;

        *explainer = (Explainer){ .read = read };
        memcpy(explainer->ignored, ignored, sizeof(explainer->ignored));
        explainer->explained = calloc(n + 1, sizeof(*explainer->explained));
        explainer->acted = calloc(n + 1, sizeof(*explainer->acted));
        explainer->silent = calloc(n + 1, sizeof(*explainer->silent));
        if (!explainer->explained || !explainer->acted || !explainer->silent)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                if (!read->selected[i])
                        continue;
                explainer->explained[i] = calloc(PE_ROWS, sizeof(*explainer->explained[i]));
                if (!explainer->explained[i])
                        return -ENOMEM;
        }

        return 0;
}

Explainer *explainer_done(Explainer *explainer) {
        for (size_t i = 0; explainer->explained && i < explainer->read->record->n_steps; i++)
                free(explainer->explained[i]);
        free(explainer->explained);
        free(explainer->acted);
        free(explainer->silent);
        return NULL;
}

static uint32_t seen(const Explainer *explainer, size_t step, unsigned row, unsigned column) {
        const RecordRead *read = explainer->read;

        return read->selected[step] ? read->selected[step][row][column]
                                    : record_expected(&read->record->steps[step], row, column);
}

bool explainer_next(const Explainer *explainer, Wrong *wrong) {
        const RecordRead *read = explainer->read;

        for (; wrong->step < read->record->n_steps; wrong->step++, wrong->row = wrong->column = 0)
                for (; read->selected[wrong->step] && wrong->row < PE_ROWS; wrong->row++, wrong->column = 0)
                        for (; wrong->column < PE_COLUMNS; wrong->column++)
                                if (!explainer->ignored[wrong->column] &&
                                    !explainer->explained[wrong->step][wrong->row][wrong->column] &&
                                    read->selected[wrong->step][wrong->row][wrong->column] !=
                                                    record_expected(&read->record->steps[wrong->step], wrong->row, wrong->column))
                                        return true;

        return false;
}

/* ---- what a guess says ---- */

bool guess_has_past(const Guess *guess) {
        return guess->fault == SPARSE_STALE_LOADS || guess->fault == SPARSE_STALE_SWITCHES || guess->fault == SPARSE_STALE_DENSE;
}

static uint32_t inputs_of(const SparseLoad *load, unsigned tag) {
        return tag < load->mode->group ? 1u << tag : 0;
}

static unsigned force(unsigned tag, unsigned bits, unsigned levels) {
        return (tag & ~bits) | (levels & bits);
}

static unsigned swapped_row(const Guess *guess, const SparseLoad *load, unsigned row) {
        if (guess->a / load->mode->keep != guess->b / load->mode->keep)
                return row;
        return row == guess->a ? guess->b : row == guess->b ? guess->a : row;
}

/* The inputs that an element selects in a sparse load by GUESS, which has no past. */
static uint32_t predict(const Guess *guess, const SparseLoad *load, unsigned row, unsigned column) {
        unsigned tag = sparse_load_tag(load, row, column), group = load->mode->group;
        uint32_t right = inputs_of(load, tag), a = 1u << guess->a % 32u, b = 1u << guess->b % 32u; /* of rows they mean nothing */

        switch (guess->fault) {

        case SPARSE_TAG:
                return inputs_of(load, force(tag, guess->a, guess->b));

        case SPARSE_LANE:
                if (column % 4 != guess->a / 4u)
                        return right;
                return inputs_of(load, force(tag, 1u << guess->a % 4u, guess->b ? 15 : 0));

        case SPARSE_ORDER:
                return inputs_of(load, sparse_load_tag(load, swapped_row(guess, load, row), column));

        case SPARSE_DECODER:
                return tag == guess->a ? inputs_of(load, guess->b) : right;

        case SPARSE_DEAD:
                return right & ~a;

        case SPARSE_OPEN:
                return guess->a < group ? right | a : right;

        case SPARSE_OR:
                return right & (a | b) ? (a | b) & ((1u << group) - 1) : right;

        case SPARSE_AND:
                return right & ~(a | b);

        case SPARSE_STALE_LOADS:
        case SPARSE_STALE_SWITCHES:
        case SPARSE_STALE_DENSE:
        case SPARSE_DATA:
        case SPARSE_MODE:
        case SPARSE_UNEXPLAINED:
                break;
        }

        return right;
}

bool guess_says(const Explainer *explainer, const Guess *guess, const Wrong *wrong) {
        const RecordStep *step = &explainer->read->record->steps[wrong->step];

        return step->load && predict(guess, step->load, wrong->row, wrong->column) ==
                                             explainer->read->selected[wrong->step][wrong->row][wrong->column];
}

/* The tag register of an element, as far as the record tells what it holds. */
typedef struct Register {
        unsigned tag;
        unsigned keep, group; /* of the load before */
} Register;

/* What a register that may have missed this load selects; the register is moved on by what was seen. */
static uint32_t predict_stale(const Guess *guess, const RecordStep *step, Register *reg, unsigned row, unsigned column,
                              uint32_t selected) {
        unsigned keep = step->load ? step->load->mode->keep : 0, group = step->load ? step->load->mode->group : 0, tag;
        bool may_miss = guess->fault == SPARSE_STALE_LOADS ||
                        (guess->fault == SPARSE_STALE_SWITCHES && (keep != reg->keep || group != reg->group));
        uint32_t right, stale;

        reg->keep = keep;
        reg->group = group;
        if (!step->load)
                return guess->fault == SPARSE_STALE_DENSE && reg->tag != NO_TAG && reg->tag != 0 ? 0 : 1;

        tag = sparse_load_tag(step->load, row, column);
        right = inputs_of(step->load, tag);
        stale = reg->tag == NO_TAG ? right : inputs_of(step->load, reg->tag);
        if (may_miss && !step->known) /* it was wrong, and so the tag was missed */
                return right;
        if (!may_miss) {
                reg->tag = tag;
                return right;
        }

        if (reg->tag == NO_TAG || selected != stale)
                reg->tag = tag;
        return stale;
}

static void compare(Explainer *explainer, const Guess *guess, unsigned row, unsigned column, bool mark, Fit *fit, size_t *n_bad) {
        const Record *record = explainer->read->record;
        Register reg = { .tag = guess->fault == SPARSE_STALE_DENSE ? NO_TAG : guess->a };

        for (size_t i = 0; i < record->n_steps; i++) {
                const RecordStep *step = &record->steps[i];
                uint32_t right, says, was;

                if (step->refused || (!step->known && !guess_has_past(guess)) || (!step->load && !guess_has_past(guess)))
                        continue;

                right = record_expected(step, row, column);
                was = step->known ? seen(explainer, i, row, column) : right;
                says = guess_has_past(guess) ? predict_stale(guess, step, &reg, row, column, was)
                                             : predict(guess, step->load, row, column);
                if (!step->known || says == right)
                        continue;

                if (was == says) {
                        explainer->acted[i]++;
                        fit->n_explained += !explainer->explained[i][row][column];
                        if (mark)
                                explainer->explained[i][row][column] = true;
                } else if (was == right)
                        explainer->silent[i]++;
                else
                        *n_bad += 1;
        }
}

/* How many guesses of its kind there are at one place: the prior of each is one part of that. */
static double guess_prior(const Guess *guess) {
        static const double alike[] = {
                [SPARSE_TAG] = 8,   [SPARSE_LANE] = 32,   [SPARSE_STALE_LOADS] = 2, [SPARSE_STALE_SWITCHES] = 2,
                [SPARSE_STALE_DENSE] = 1, [SPARSE_ORDER] = 6, [SPARSE_DECODER] = 240, [SPARSE_DEAD] = 16,
                [SPARSE_OPEN] = 16, [SPARSE_OR] = 120,    [SPARSE_AND] = 120,       [SPARSE_DATA] = 512,
                [SPARSE_MODE] = 42, [SPARSE_UNEXPLAINED] = 1,
        };
        bool is_several = guess->fault == SPARSE_TAG && (guess->a & (guess->a - 1)) != 0;

        return -log(alike[guess->fault]) - (is_several ? log(1000) : 0);
}

static double chance(size_t n_acted, size_t n_silent) {
        double n = (double) (n_acted + n_silent), score = 0;

        if (n_acted > 0)
                score += (double) n_acted * log((double) n_acted / n);
        if (n_silent > 0)
                score += (double) n_silent * log((double) n_silent / n);
        return score;
}

bool guess_fits(Explainer *explainer, const Guess *guess, bool mark, Fit *ret) {
        size_t n_steps = explainer->read->record->n_steps, n_bad = 0, n_all = 0;
        Fit fit = {};

        memset(explainer->acted, 0, n_steps * sizeof(*explainer->acted));
        memset(explainer->silent, 0, n_steps * sizeof(*explainer->silent));

        for (unsigned row = 0; row < PE_ROWS; row++) {
                bool inside = guess->fault == SPARSE_ORDER ? row == guess->a || row == guess->b
                                                           : guess->row == SPARSE_ALL || guess->row == row;

                for (unsigned column = 0; inside && column < PE_COLUMNS; column++)
                        if ((guess->column == SPARSE_ALL || guess->column == column) && !explainer->ignored[column])
                                compare(explainer, guess, row, column, mark, &fit, &n_bad);
        }

        /* A fault of a whole row or column acts on all of it or not at all. */
        for (size_t i = 0; i < n_steps; i++) {
                uint32_t acted = explainer->acted[i], silent = explainer->silent[i];

                n_all += acted;
                n_bad += acted < silent ? acted : silent;
                if (acted + silent > 0)
                        *(acted >= silent ? &fit.n_acted : &fit.n_silent) += 1;
        }

        fit.score = guess_prior(guess) + chance(fit.n_acted, fit.n_silent);
        *ret = fit;
        return fit.n_explained > 0 && n_bad * 8 <= n_all;
}
