/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/signature.h"

#include <limits.h>
#include <string.h>

#include "checks/systolic/exact.h"
#include "checks/systolic/seat.h"

#define PROBES_MAX  16u
#define VECTORS     512u

void signature_of(const Observation *observation, Column *column, Signature *ret) {
        *ret = (Signature){ .column = column, .n_patterns = patterns_count() };

        for (unsigned i = 0; i < ret->n_patterns; i++) {
                ret->ran[i] = observation->ran[i] > 0 && column_has(column, pattern_at(i));
                if (ret->ran[i])
                        ret->answers[i] = observation_column(observation, i, column->index);
        }
}

bool signature_is_golden(const Signature *signature) {
        for (unsigned i = 0; i < signature->n_patterns; i++)
                if (signature->answers[i])
                        return false;

        return true;
}

bool answer_equal(unsigned index, uint32_t a, uint32_t b) {
        return a == b || (!(pattern_at(index)->matmul_flags & MATMUL_TRANSPOSE) && exact_equal(a, b));
}

static bool answers_equal(unsigned index, const uint32_t *a, const uint32_t *b) {
        unsigned moving = pattern_at(index)->moving;

        if (memcmp(a, b, moving * sizeof(uint32_t)) == 0)
                return true;
        for (unsigned n = 0; n < moving; n++)
                if (!answer_equal(index, a[n], b[n]))
                        return false;

        return true;
}

static bool pattern_counts(const Signature *signature, unsigned index, bool loaded) {
        return signature->ran[index] && (!loaded || pattern_at(index)->kind == PATTERN_FULL);
}

/* ENOUGH: silent patterns beyond which it is not worth going on. */
static int explain(const Signature *signature, const Suspects *suspects, const Suspects *base, bool loaded, unsigned enough) {
        Column *column = signature->column;
        uint32_t predicted[VECTORS];
        int silent = 0;

        for (unsigned i = 0; i < signature->n_patterns; i++) {
                const uint32_t *answer = signature->answers[i];

                if (!pattern_counts(signature, i, loaded))
                        continue;

                column_predict_all(column, suspects, i, predicted);
                if (answers_equal(i, answer ? answer : column_golden(column, pattern_at(i)), predicted))
                        continue;
                if (answer) {
                        if (base->n == 0 && base->dead == 0)
                                return EXPLAINED_NOT;
                        column_predict_all(column, base, i, predicted);
                        if (!answers_equal(i, answer, predicted))
                                return EXPLAINED_NOT;
                }
                if ((unsigned) ++silent > enough)
                        break;
        }

        return silent;
}

int signature_explain(const Signature *signature, const Suspects *suspects, const Suspects *base, bool loaded) {
        return explain(signature, suspects, base, loaded, UINT_MAX);
}

/* ---- what to look at first ---- */

typedef struct Probe {
        uint16_t index, n;
        uint32_t answer;
} Probe;

typedef struct Probes {
        unsigned n;
        bool loaded; /* nothing but full load differs */
        Probe all[PROBES_MAX];
        bool rows[PE_ROWS]; /* in which something may be broken */
} Probes;

static void probes_add(Probes *probes, unsigned index, unsigned n, uint32_t answer) {
        if (probes->n < PROBES_MAX)
                probes->all[probes->n++] = (Probe){ (uint16_t) index, (uint16_t) n, answer };
}

static void rows_add(Probes *probes, unsigned hot) {
        for (unsigned row = hot > 2 ? hot - 2 : 0; row <= hot && row < PE_ROWS; row++)
                probes->rows[row] = true;
}

/* Rows at which the answers of a one-hot pattern begin to differ in another way. Returns whether there is one. */
static bool find_rows(Probes *probes, unsigned index, const uint32_t *answer, const uint32_t *expected) {
        const Pattern *pattern = pattern_at(index);
        unsigned n_x = pattern->n_x > 0 ? pattern->n_x : 1;
        bool any = false;

        for (unsigned n = 0; n < pattern->moving; n++) {
                unsigned hot = pattern_hot_row(index, n);
                bool differs = !answer_equal(index, answer[n], expected[n]), changes;

                if (hot == PE_ROWS)
                        return any;

                if (n < n_x || pattern->kind == PATTERN_PAIRS)
                        changes = differs;
                else if (pattern->kind == PATTERN_ONE_HOT)
                        changes = (answer[n] ^ expected[n]) != (answer[n - n_x] ^ expected[n - n_x]);
                else
                        changes = differs != !answer_equal(index, answer[n - 1], expected[n - 1]);
                if (!changes)
                        continue;

                rows_add(probes, hot);
                any = any || n >= n_x || pattern->kind == PATTERN_PAIRS;
        }

        return any;
}

/* The first and the last difference of each pattern. */
static void probes_find(const Signature *signature, const Suspects *base, Probes *ret) {
        uint32_t expected[VECTORS];
        bool any_row = false;

        *ret = (Probes){ .loaded = true };
        for (unsigned i = 0; i < signature->n_patterns; i++) {
                const uint32_t *answer = signature->answers[i];
                unsigned moving, first, last;

                if (!answer)
                        continue;
                moving = pattern_at(i)->moving;
                column_predict_all(signature->column, base, i, expected);
                for (first = 0; first < moving && answer_equal(i, answer[first], expected[first]); first++)
                        ;
                if (first == moving)
                        continue;
                for (last = moving - 1; answer_equal(i, answer[last], expected[last]); last--)
                        ;

                probes_add(ret, i, first, answer[first]);
                if (last != first)
                        probes_add(ret, i, last, answer[last]);
                if (pattern_at(i)->kind == PATTERN_FULL)
                        continue;
                ret->loaded = false;
                any_row = find_rows(ret, i, answer, expected) || any_row;
        }

        ret->rows[0] = ret->rows[PE_ROWS - 1] = true;
        if (!any_row)
                memset(ret->rows, true, sizeof(ret->rows));
}

/* ---- candidates ---- */

/* Calls VISIT for all that may be broken in ROW. */
static void candidates_visit(unsigned row, void (*visit)(void *userdata, Candidate candidate), void *userdata) {
        for (PeRegister at = 0; at < PE_NO_INPUT; at++)
                for (unsigned bit = 0; bit < pe_register_bits(at); bit++)
                        for (unsigned other = 0; other < (pe_register_is_gate(at) ? pe_register_bits(at) : 1); other++)
                                for (unsigned form = 0; form < pe_register_forms(at); form++)
                                        visit(userdata, (Candidate){ .at = (uint8_t) at,
                                                                     .row = (uint8_t) row,
                                                                     .bit = (uint8_t) bit,
                                                                     .other = (uint8_t) other,
                                                                     .form = (uint8_t) form });

        visit(userdata, (Candidate){ .at = PE_NO_INPUT, .row = (uint8_t) row });
}

/* Of the whole column; their row is behind all others. */
static void outputs_visit(void (*visit)(void *userdata, Candidate candidate), void *userdata) {
        for (unsigned bit = 0; bit < pe_register_bits(PE_OUTPUT); bit++)
                for (unsigned form = 0; form < pe_register_forms(PE_OUTPUT); form++)
                        visit(userdata, (Candidate){ .at = PE_OUTPUT, .row = UINT8_MAX, .bit = (uint8_t) bit, .form = (uint8_t) form });

        visit(userdata, (Candidate){ .at = PE_NO_OUTPUT, .row = UINT8_MAX });
}

typedef struct Search {
        const Signature *signature;
        const Suspects *base;
        const Probes *probes;
        Matches *matches;
        Seat seats[PROBES_MAX]; /* of the row at work */
        bool seated;            /* nothing else is broken */
} Search;

/* Whether the candidate makes what each probe saw: at its seat where nothing else is broken. */
static bool explains_seats(const Search *search, Candidate candidate) {
        for (unsigned i = 0; i < search->probes->n; i++) {
                const Probe *probe = &search->probes->all[i];
                uint32_t answer;

                if (!seat_answer(&search->seats[i], candidate, &answer) || !answer_equal(probe->index, probe->answer, answer))
                        return false;
        }

        return true;
}

static bool explains_probes(const Search *search, const Suspects *suspects) {
        for (unsigned i = 0; i < search->probes->n; i++) {
                const Probe *probe = &search->probes->all[i];

                if (!answer_equal(probe->index, probe->answer,
                                  column_predict(search->signature->column, suspects, probe->index, probe->n)))
                        return false;
        }

        return true;
}

static void consider(void *userdata, Candidate candidate) {
        Search *search = userdata;
        Matches *matches = search->matches;
        Suspects suspects = *search->base;
        int silent;

        if (search->seated && candidate.at != PE_SHIFT && candidate.row < PE_ROWS) {
                if (!explains_seats(search, candidate) || !suspects_add(&suspects, candidate))
                        return;
        } else if (!suspects_add(&suspects, candidate) || !explains_probes(search, &suspects))
                return;

        silent = explain(search->signature, &suspects, search->base, matches->loaded, matches->n > 0 ? matches->silent : UINT_MAX);
        if (silent < 0 || (matches->n > 0 && (unsigned) silent > matches->silent))
                return;

        if (matches->n > 0 && (unsigned) silent < matches->silent)
                matches->n = 0;
        matches->silent = (unsigned) silent;
        if (matches->n < MATCHES_MAX)
                matches->all[matches->n++] = candidate;
}

static bool is_slow(const Candidate *candidate) {
        return candidate->form == FORM_SLOW_RISE || candidate->form == FORM_SLOW_FALL;
}

/* A bit that is slow in one row and shows in a single vector may look as one that is stuck in another: the simpler one is meant. */
static void prefer_stuck(Matches *matches) {
        bool stuck = false, rows = false;
        unsigned kept = 0;

        for (unsigned i = 0; i < matches->n; i++) {
                stuck = stuck || !is_slow(&matches->all[i]);
                rows = rows || matches->all[i].row != matches->all[0].row;
        }
        if (!stuck || !rows)
                return;

        for (unsigned i = 0; i < matches->n; i++)
                if (!is_slow(&matches->all[i]))
                        matches->all[kept++] = matches->all[i];
        matches->n = kept;
}

void signature_search(const Signature *signature, const Suspects *base, Matches *ret) {
        Matches matches = {};
        Probes probes;
        Search search = { .signature = signature, .base = base, .probes = &probes, .matches = &matches,
                          .seated = base->n == 0 && base->dead == 0 };

        probes_find(signature, base, &probes);
        matches.loaded = probes.loaded;
        for (unsigned row = 0; probes.n > 0 && row < PE_ROWS; row++) {
                if (!probes.rows[row])
                        continue;
                for (unsigned i = 0; search.seated && i < probes.n; i++)
                        seat_take(&search.seats[i], signature->column, probes.all[i].index, row, probes.all[i].n);
                candidates_visit(row, consider, &search);
        }
        if (probes.n > 0)
                outputs_visit(consider, &search);
        prefer_stuck(&matches);

        *ret = matches;
}

/* ---- several elements of one column ---- */

/* How many outputs SUSPECTS explain that BASE does not; EXPLAINED_NOT where a vector that feeds the candidate's own row is still wrong. */
static int count_gain(const Signature *signature, const Suspects *suspects, const Suspects *base, unsigned row) {
        uint32_t predicted[VECTORS], before[VECTORS];
        int gain = 0;

        for (unsigned i = 0; i < signature->n_patterns; i++) {
                const uint32_t *answer = signature->answers[i];

                if (!answer)
                        continue;
                column_predict_all(signature->column, suspects, i, predicted);
                column_predict_all(signature->column, base, i, before);
                for (unsigned n = 0; n < pattern_at(i)->moving; n++) {
                        bool now = answer_equal(i, answer[n], predicted[n]);

                        if (!now && pattern_hot_row(i, n) == row)
                                return EXPLAINED_NOT;
                        gain += now - answer_equal(i, answer[n], before[n]);
                }
        }

        return gain;
}

typedef struct Greed {
        const Signature *signature;
        const Suspects *base;
        const Probes *probes;
        Seat seats[PROBES_MAX];
        Candidate best;
        int gain;
} Greed;

/* Only what explains a probe in which its own row is fed is worth a closer look. */
static void consider_gain(void *userdata, Candidate candidate) {
        Greed *greed = userdata;
        Suspects suspects = *greed->base;
        bool any = false;
        int gain;

        for (unsigned i = 0; i < greed->probes->n && !any; i++) {
                const Probe *probe = &greed->probes->all[i];
                uint32_t answer;

                any = pattern_hot_row(probe->index, probe->n) == candidate.row &&
                      (seat_answer(&greed->seats[i], candidate, &answer) && answer_equal(probe->index, probe->answer, answer));
        }
        if (!any || is_slow(&candidate) || !suspects_add(&suspects, candidate))
                return;

        gain = count_gain(greed->signature, &suspects, greed->base, candidate.row);
        if (gain > greed->gain) {
                greed->gain = gain;
                greed->best = candidate;
        }
}

static bool add_best(const Signature *signature, Suspects *suspects) {
        Probes probes;
        Greed greed = { .signature = signature, .base = suspects, .probes = &probes };

        probes_find(signature, suspects, &probes);
        if (probes.loaded)
                return false;

        for (unsigned row = 0; row < PE_ROWS; row++) {
                if (!probes.rows[row])
                        continue;
                for (unsigned i = 0; i < probes.n; i++)
                        seat_take(&greed.seats[i], signature->column, probes.all[i].index, row, probes.all[i].n);
                candidates_visit(row, consider_gain, &greed);
        }

        return greed.gain > 0 && suspects_add(suspects, greed.best);
}

unsigned signature_search_several(const Signature *signature, const Suspects *base, Candidate ret[static SEVERAL_MAX]) {
        Suspects suspects = *base;
        unsigned n = 0;

        while (n < SEVERAL_MAX) {
                Suspects before = suspects;
                Matches matches;

                if (!add_best(signature, &suspects))
                        return 0;
                for (unsigned i = 0; i < suspects.n; i++)
                        if (i == before.n || memcmp(&suspects.all[i], &before.all[i], sizeof(Candidate)) != 0) {
                                ret[n++] = suspects.all[i];
                                break;
                        }
                if (signature_explain(signature, &suspects, base, false) == 0)
                        return n;

                /* The last one may be anything. */
                signature_search(signature, &suspects, &matches);
                if (n < SEVERAL_MAX && matches.n > 0 && matches.silent == 0) {
                        ret[n++] = matches.all[0];
                        return n;
                }
        }

        return 0;
}
