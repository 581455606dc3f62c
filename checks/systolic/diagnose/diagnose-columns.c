/* SPDX-License-Identifier: Apache-2.0 */

/* Elements, and what they pass on to the columns behind them. */

#include <limits.h>
#include <string.h>

#include "checks/systolic/diagnose/search.h"
#include "checks/systolic/diagnose/work.h"

#define REACH_COLUMNS 6u  /* that are asked whether an activation reaches them */
#define SEVERAL_TRIES 4u  /* columns of one core in which several elements are looked for, which costs most */
#define HOPELESS     16u  /* columns of one core that nothing explained: then no more of them is searched … */
#define HOPELESS_ALL 2u   /* … and where nearly all are wrong: one may have two things that spoil it */

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
        int silent = signature_explain(signature, suspects, &nothing, work->base_loaded, UINT_MAX);

        return silent == 0 || (silent > 0 && (work->base_intermittent || suspects->dead));
}

static bool is_passed_on(const Candidate *candidate) {
        return candidate->at == PE_ACTIVATION || candidate->at == PE_NO_INPUT;
}

/* CANDIDATE, which is one of N_ALIKE that MATCHES hold of the same element. */
static Diagnosis *add_candidate(Work *work, unsigned column, const Signature *signature, const Matches *matches, Candidate candidate,
                                unsigned n_alike, bool other_parts) {
        bool of_column = candidate.at == PE_OUTPUT || candidate.at == PE_NO_OUTPUT;
        bool of_row = candidate.at == PE_NO_INPUT && column == 0;
        Diagnosis *diagnosis = work_add(work, of_column ? ARRAY_COLUMN : of_row ? ARRAY_ROW : ARRAY_PE,
                                             of_column ? 0 : candidate.row, column);

        if (of_column)
                diagnosis->last_row = PE_ROWS - 1;
        diagnosis->known = true;
        diagnosis->intermittent = matches->at_times;
        diagnosis->loaded = matches->loaded;
        diagnosis->n_alike = n_alike;
        diagnosis->other_parts = other_parts;
        diagnosis->candidate = candidate;
        diagnosis_count(diagnosis, signature);
        return diagnosis;
}

/* Activation registers spoil their column and those behind it. The nearest are asked: further on others may hide them, and
 * other faults in some of these. */
static bool activations_reach_on(Work *work, unsigned column, const Candidate *candidates, unsigned n, const Matches *matches) {
        unsigned explained = 0, tried = 0;
        Suspects suspects = work->base;
        Signature signature;

        for (unsigned i = 0; i < n; i++)
                if (is_passed_on(&candidates[i]) && (suspects.n == SUSPECTS_MAX - 1 || !suspects_add(&suspects, candidates[i])))
                        return false;

        for (unsigned m = column + 1; m < PE_COLUMNS && tried < REACH_COLUMNS; m++, tried++) {
                static const Suspects nothing;
                int silent;

                work_turn(work, m, &signature);
                suspects.dead = work->base.dead;
                if (signature_is_golden(&signature))
                        continue;
                silent = signature_explain(&signature, &suspects, &nothing, matches->loaded, UINT_MAX);
                explained += silent == 0 || (silent > 0 && matches->at_times);
        }

        work_turn(work, column, &signature);
        return tried > 0 && explained * 2 >= tried;
}

/* What acts in all columns behind, too. */
static void add_activation(Work *work, unsigned column, const Signature *signature, const Matches *matches, Candidate candidate) {
        work->base_diagnosis[work->base.n] = work->n;
        work->base_intermittent = work->base_intermittent || matches->at_times;
        work->base_loaded = work->base_loaded || matches->loaded;
        (void) suspects_add(&work->base, candidate);
        (void) add_candidate(work, column, signature, matches, candidate, 1, false);
}

/* Returns false where registers of several rows would explain it as well, as where it was seen in the first vector alone. */
static bool take_activation(Work *work, unsigned column, const Signature *signature, const Matches *matches) {
        const Candidate *found = NULL;

        for (unsigned i = 0; i < matches->n; i++) {
                const Candidate *candidate = &matches->all[i];

                if (!is_passed_on(candidate) || (found && (candidate->row == found->row || !matches->at_times)) ||
                    !activations_reach_on(work, column, candidate, 1, matches))
                        continue;
                if (found)
                        return false;
                found = candidate;
        }
        if (!found)
                return false;

        add_activation(work, column, signature, matches, *found);
        return true;
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
                if (matches->silent_of[i] > matches->silent)
                        continue;
                other_parts = other_parts || candidate->at != found->at;
                n_alike++;
        }
        if (!found)
                return false;

        (void) add_candidate(work, column, signature, matches, *found, n_alike, other_parts);
        return true;
}

static Diagnosis *find_element(const Work *work, unsigned row, unsigned column) {
        for (size_t i = 0; i < work->n; i++)
                if (work->diagnoses[i].fault == ARRAY_PE && work->diagnoses[i].row == row && work->diagnoses[i].column == column)
                        return &work->diagnoses[i];

        return NULL;
}

/* One of several of a column: of an element that is told already it is another part. */
static void add_several(Work *work, unsigned column, const Signature *signature, Candidate candidate, bool reaches) {
        static const Matches none;
        Diagnosis *element = find_element(work, candidate.row, column);

        if (element) {
                element->more = true;
                element->other = candidate;
        } else if (reaches)
                add_activation(work, column, signature, &none, candidate);
        else
                (void) add_candidate(work, column, signature, &none, candidate, 1, false);
}

/* Several elements of one column at once, or two parts of one of them. */
static bool take_several(Work *work, unsigned column, const Signature *signature) {
        static const Matches none;
        Candidate found[SEVERAL_MAX];
        bool reach;
        unsigned n;

        if (work->n_several++ >= SEVERAL_TRIES)
                return false;
        n = work->hopeless == HOPELESS ? signature_search_several(signature, &work->base, found) : 0;
        if (n == 0 && signature_search_couple(signature, &work->base, found))
                n = COUPLE;
        if (n == 0 || work->n + n > DIAGNOSES_MAX)
                return false;

        reach = activations_reach_on(work, column, found, n, &none);
        for (unsigned i = 0; i < n; i++)
                if (reach && is_passed_on(&found[i]))
                        add_several(work, column, signature, found[i], true);
        for (unsigned i = 0; i < n; i++)
                if (!reach || !is_passed_on(&found[i]))
                        add_several(work, column, signature, found[i], false);
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
        if (matches.n == 0 && take_several(work, column, signature))
                return;

        work->undecided[column] = matches.n > 0 && matches.at_times;
        work->unexplained[column] = true;
        work->n_unexplained++;
}

/* How many outputs of SIGNATURE are as SUSPECTS make them. */
static size_t count_explained(const Signature *signature, const Suspects *suspects) {
        uint32_t predicted[MOVING_MAX];
        size_t count = 0;

        for (unsigned i = 0; i < signature->n_patterns; i++) {
                if (!signature->answers[i])
                        continue;
                column_predict_all(signature->column, suspects, i, predicted);
                for (unsigned n = 0; n < pattern_at(i)->moving; n++)
                        count += answer_equal(i, signature->answers[i][n], predicted[n]);
        }
        return count;
}

/*
 * An activation was found in the column behind COLUMN, which nothing explained: with another element broken there, too, it shows itself first
 * where it acts alone. It is in COLUMN where it explains some of it, and the other one is what explains the rest. BEFORE: without it.
 */
static bool take_back(Work *work, unsigned column, const Suspects *before, Diagnosis *activation) {
        Suspects without = *before;
        Signature signature;
        Matches matches;

        work_turn(work, column, &signature);
        without.dead = work->base.dead;
        signature_search(&signature, &work->base, &matches);
        if (matches.n > 0 && take_element(work, column, &signature, &matches)) {
                work->unexplained[column] = work->undecided[column] = false;
                work->n_unexplained--;
        } else if (count_explained(&signature, &work->base) <= count_explained(&signature, &without))
                return false;

        activation->column = column;
        return true;
}

static void take_back_all(Work *work, unsigned column, const Suspects *before) {
        Diagnosis *activation = &work->diagnoses[work->base_diagnosis[before->n]];

        while (column > 0 && work->unexplained[column - 1] && work->n < DIAGNOSES_MAX && take_back(work, column - 1, before, activation))
                column--;
}

static unsigned count_wrong(Work *work) {
        unsigned n = 0;

        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                Signature signature;

                work_turn(work, m, &signature);
                n += !signature_is_golden(&signature);
        }

        return n;
}

void work_columns(Work *work) {
        work->hopeless = count_wrong(work) > ELEMENTS_MAX ? HOPELESS_ALL : HOPELESS;

        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                Signature signature, before;
                const Suspects base = work->base;
                size_t n_base = base.n;

                work_turn(work, m, &signature);
                if (signature_is_golden(&signature) && ((n_base == 0 && work->base.dead == 0) || work->base_intermittent))
                        continue;

                work->affected[m] = true;
                if ((n_base > 0 || work->base.dead) && is_explained(work, &signature, &work->base)) {
                        if (n_base > 0)
                                diagnosis_count(&work->diagnoses[work->base_diagnosis[n_base - 1]], &signature);
                        continue;
                }

                /* What could not be told in the column before cannot be told here. */
                if (m > 0 && work->unexplained[m - 1]) {
                        work_turn(work, m - 1, &before);
                        work_turn(work, m, &signature);
                        if (signature_equal(&signature, &before)) {
                                work->unexplained[m] = true;
                                work->undecided[m] = work->undecided[m - 1];
                                continue;
                        }
                }

                diagnose_column(work, m, &signature);
                if (work->base.n == n_base + 1)
                        take_back_all(work, m, &base);
        }
}
