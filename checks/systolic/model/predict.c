/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/model/predict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/systolic/patterns/exact.h"

#define NEGATIVE  0x80000000u
#define INFINITE  0x7f800000u

void column_turn(Column *column, unsigned index, bool ftz) {
        column->index = index;
        column->ftz = ftz;
}

Column *column_done(Column *column) {
        for (unsigned i = 0; i < PATTERNS_MAX; i++)
                free(column->chains[i]);
        return NULL;
}

bool column_has(const Column *column, const Pattern *pattern) {
        return column->index >= pattern->first_column && column->index < pattern->first_column + pattern->columns;
}

const uint32_t *column_golden(const Column *column, const Pattern *pattern) {
        return pattern->golden + (size_t) (column->index - pattern->first_column) * pattern->moving;
}

static uint32_t column_weight(const Column *column, const Pattern *pattern, unsigned row) {
        return pattern_weight(pattern, row, column->index - pattern->first_column);
}

/* A vector on its way down: rows are those of the tile. */
typedef struct Walk {
        Column *column;
        const Suspects *suspects;
        unsigned index, n;
        const Pattern *pattern;
        const Layout *layout;
        ElementMode mode;
        ElementPast past[SUSPECTS_MAX]; /* by the first suspect of a row */
} Walk;

static bool is_shift(const Candidate *candidate) {
        return candidate->at == PE_SHIFT;
}

/* The weight that came in on the shift path. */
static uint32_t walk_weight(const Walk *walk, unsigned row) {
        uint32_t w = column_weight(walk->column, walk->pattern, row);

        for (unsigned i = 0; i < walk->suspects->n; i++) {
                const Candidate *candidate = &walk->suspects->all[i];

                if (is_shift(candidate) && candidate->row <= walk->pattern->first_row + row)
                        w = element_force(candidate, candidate + 1, PE_SHIFT, 0, w);
        }

        return w;
}

/* Some weight between the rows FIRST and END may be another than the matrix has. */
static bool walk_is_shifted(const Walk *walk, unsigned end) {
        for (unsigned i = 0; i < walk->suspects->n; i++)
                if (is_shift(&walk->suspects->all[i]) && walk->suspects->all[i].row < walk->pattern->first_row + end)
                        return true;

        return false;
}

/* All weights are the same, and zeros stay zeros with it wherever it comes down the shift path. */
static bool walk_is_uniform_and_finite(const Walk *walk) {
        uint32_t w = walk_weight(walk, walk->pattern->rows - 1);

        return walk->pattern->kind == PATTERN_ONE_HOT && element_is_finite(walk->mode.weights, w) &&
               (!walk->mode.double_row || element_is_finite(walk->mode.weights, w >> 8));
}

static bool walk_is_dead(const Walk *walk, unsigned row) {
        return walk->suspects->dead >> (walk->pattern->first_row + row) / TILE_UNIT & 1;
}

/* One row in which nothing is broken but perhaps the way its weight came, or all products. */
static uint32_t walk_row(const Walk *walk, unsigned row, uint32_t psum) {
        ElementPast past = {};

        if (walk_is_dead(walk, row))
                return walk->mode.transpose ? psum : element_add(walk->mode, psum, 0, NULL, NULL);
        return element_step(walk->mode, NULL, NULL, walk_weight(walk, row), pattern_activation(walk->pattern, row, walk->n),
                            psum, &past);
}

/* Rows that are fed zeros: they matter to a −0, to what is flushed, and where a weight became infinite. */
static uint32_t walk_zeros(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        bool shifted = first < end && walk_is_shifted(walk, end) && !walk_is_uniform_and_finite(walk);

        if (walk->mode.transpose)
                return psum;
        if (exact_is_nan(psum) && first < end)
                return EXACT_NAN;

        for (unsigned row = first; row < end; row++) {
                bool fragile = psum == NEGATIVE || (walk->mode.ftz && (psum & INFINITE) == 0 && psum << 1 != 0);

                if (!fragile && !shifted)
                        break;
                psum = walk_row(walk, row, psum);
        }

        return psum;
}

/* One weight alone is no zero, or none. */
static uint32_t walk_weighty(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        unsigned weighty = walk->layout->weighty[walk->column->index - walk->pattern->first_column];

        if (weighty < first || weighty >= end)
                return walk_zeros(walk, first, end, psum);

        psum = walk_zeros(walk, first, weighty, psum);
        psum = walk_row(walk, weighty, psum);
        return walk_zeros(walk, weighty + 1, end, psum);
}

/* Few rows are fed in this vector. */
static uint32_t walk_sparse(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        unsigned row = first;

        for (unsigned i = 0; i < 2; i++) {
                unsigned fed = walk->layout->rows[walk->n][i];

                if (fed < row || fed >= end)
                        continue;
                psum = walk_zeros(walk, row, fed, psum);
                psum = walk_row(walk, fed, psum);
                row = fed + 1;
        }

        return walk_zeros(walk, row, end, psum);
}

/*
 * What becomes of the sum PSUM above row FIRST, if the healthy sums tell: it is one of them; or the healthy ones are integers and it
 * is another, so that the difference stays the same; or so large that nothing moves it.
 */
static bool walk_along(const Walk *walk, const Chain *chain, unsigned first, unsigned end, uint32_t psum, uint32_t *ret) {
        unsigned moving = walk->pattern->moving, before = first * moving + walk->n, after = end * moving + walk->n;
        int32_t sum, error;
        int unit;

        if (!chain->integers) {
                *ret = chain->sums[after].bits;
                return psum == chain->sums[before].bits;
        }

        unit = walk->layout->w_unit + walk->layout->x_unit;
        if ((int) (psum >> 23 & 0xff) - 127 > unit + 50) {
                *ret = psum;
                return true;
        }
        if (!exact_to_integer(psum, unit, &sum))
                return false;

        error = sum - chain->sums[before].units;
        *ret = exact_from_integer(chain->sums[after].units + error, unit);
        return abs(error) + chain->largest[walk->n] < EXACT_INTEGER_MAX;
}

/* All rows are. */
static uint32_t walk_dense(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        unsigned column = walk->column->index - walk->pattern->first_column;
        const Chain *chain = chain_of(&walk->column->chains[walk->index], walk->index, column, walk->column->ftz);
        bool plain = chain && !walk_is_shifted(walk, end);

        for (unsigned row = first; row < end; row++) {
                uint32_t ahead;

                if (exact_is_nan(psum) && !walk->mode.transpose)
                        return EXACT_NAN;
                if (plain && walk_along(walk, chain, row, end, psum, &ahead))
                        return ahead;
                psum = walk_row(walk, row, psum);
        }

        return psum;
}

static uint32_t walk_alive(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        if (walk->layout && !walk->layout->dense && walk->pattern->kind != PATTERN_PAIRS) /* whose weights may be infinite */
                return walk_sparse(walk, first, end, psum);
        if (walk->layout && walk->layout->by_columns && !walk->mode.transpose)
                return walk_weighty(walk, first, end, psum);
        return walk_dense(walk, first, end, psum);
}

/* Row group by row group where some are dead. */
static uint32_t walk_healthy(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        while (first < end) {
                unsigned next = walk->suspects->dead ? MIN(first - first % TILE_UNIT + TILE_UNIT, end) : end;

                psum = walk_is_dead(walk, first) ? walk_row(walk, first, psum) : walk_alive(walk, first, next, psum);
                first = next;
        }

        return psum;
}

/* From ROW of the tile to before row ROWS of it. */
static uint32_t walk_rows(Walk *walk, unsigned row, unsigned rows, uint32_t psum) {
        const Candidate *first = walk->suspects->all, *last = first + walk->suspects->n;
        unsigned top = walk->pattern->first_row;

        while (first < last && first->at != PE_OUTPUT && first->at != PE_NO_OUTPUT) {
                const Candidate *end = first + 1;

                while (end < last && end->row == first->row && end->at != PE_OUTPUT && end->at != PE_NO_OUTPUT)
                        end++;

                if (first->row >= top + row && first->row < top + rows) {
                        unsigned at = first->row - top;

                        psum = walk_healthy(walk, row, at, psum);
                        if (walk_is_dead(walk, at))
                                psum = walk_row(walk, at, psum);
                        else
                                psum = element_step(walk->mode, first, end, walk_weight(walk, at),
                                                    pattern_activation(walk->pattern, at, walk->n), psum,
                                                    &walk->past[first - walk->suspects->all]);
                        row = at + 1;
                }
                first = end;
        }

        return walk_healthy(walk, row, rows, psum);
}

static uint32_t walk_down(Walk *walk) {
        const Candidate *first = walk->suspects->all, *last = first + walk->suspects->n;
        uint32_t psum = walk_rows(walk, 0, walk->pattern->rows, 0);

        while (first < last && first->at != PE_OUTPUT && first->at != PE_NO_OUTPUT)
                first++;
        if (first < last && first->at == PE_NO_OUTPUT)
                return 0;
        return element_force(first, last, PE_OUTPUT, 0, psum);
}

static Walk walk_begin(Column *column, const Suspects *suspects, unsigned index) {
        const Pattern *pattern = pattern_at(index);

        return (Walk){ .column = column,
                       .suspects = suspects,
                       .index = index,
                       .pattern = pattern,
                       .layout = layout_of(index),
                       .mode = pattern_mode(pattern, column->ftz) };
}

/* What is slow remembers one vector. */
static uint32_t walk_vector(Walk *walk, unsigned n) {
        if (suspects_are_slow(walk->suspects)) {
                memset(walk->past, 0, sizeof(walk->past));
                if (n > 0) {
                        walk->n = n - 1;
                        (void) walk_down(walk);
                }
        }

        walk->n = n;
        return walk_down(walk);
}

uint32_t column_predict(Column *column, const Suspects *suspects, unsigned index, unsigned n) {
        Walk walk = walk_begin(column, suspects, index);

        return walk_vector(&walk, n);
}

/* Which part of the column, cut by suspects, the row fed in vector N lies in, and whether it is dead. */
static unsigned hot_class(const Suspects *suspects, unsigned hot) {
        unsigned class = suspects->dead >> hot / TILE_UNIT & 1;

        for (unsigned i = 0; i < suspects->n; i++)
                class += 2 * ((hot >= suspects->all[i].row) + (hot > suspects->all[i].row));

        return class;
}

/* Whether CANDIDATE changes nothing of PATTERN by itself: it is none of the tile's, or the weight there has that bit. */
static bool candidate_is_idle(const Column *column, const Pattern *pattern, const Candidate *candidate) {
        uint32_t w;

        if (candidate->at == PE_OUTPUT || candidate->at == PE_NO_OUTPUT)
                return false;
        if (candidate->row >= pattern->first_row + pattern->rows)
                return true;
        if (is_shift(candidate))
                return false;
        if (candidate->row < pattern->first_row || (candidate->at == PE_SECOND && !pattern_is_double(pattern)))
                return true;
        if (candidate->at != PE_WEIGHT)
                return false;

        w = column_weight(column, pattern, candidate->row - pattern->first_row);
        return element_force(candidate, candidate + 1, PE_WEIGHT, 0, w) == w;
}

/* One that changes nothing may undo what another one did, unless that does nothing either. */
static bool suspects_are_idle(const Column *column, const Pattern *pattern, const Suspects *suspects) {
        for (unsigned i = 0; i < suspects->n; i++)
                if (!candidate_is_idle(column, pattern, &suspects->all[i]))
                        return false;

        return suspects->dead == 0;
}

/*
 * In a uniform pattern vectors are alike whose rows lie on the same side of all suspects; with slow ones the vector before has
 * to be alike too.
 */
void column_predict_all(Column *column, const Suspects *suspects, unsigned index, uint32_t *ret) {
        Walk walk = walk_begin(column, suspects, index);
        bool uniform = walk.pattern->kind == PATTERN_ONE_HOT, slow = suspects_are_slow(suspects);
        unsigned keys[IMAGES_MAX], lasts[IMAGES_MAX], class_before = 0;

        if (suspects_are_idle(column, walk.pattern, suspects)) {
                memcpy(ret, column_golden(column, walk.pattern), walk.pattern->moving * sizeof(uint32_t));
                return;
        }

        memset(keys, 0xff, sizeof(keys));
        for (unsigned n = 0; n < walk.pattern->moving; n++) {
                unsigned lane, class, key;

                if (!uniform) {
                        ret[n] = walk_vector(&walk, n);
                        continue;
                }

                lane = n % walk.pattern->n_x;
                class = hot_class(suspects, walk.pattern->first_row + n / walk.pattern->n_x);
                key = class + (slow ? 64 * (class_before + 1) : 0);
                if (n > 1 && keys[lane] == key)
                        ret[n] = ret[lasts[lane]];
                else
                        ret[n] = walk_vector(&walk, n);
                keys[lane] = n == 0 ? UINT32_MAX : key;
                lasts[lane] = n;
                class_before = class;
        }
}

uint32_t column_before(Column *column, const Suspects *suspects, unsigned index, unsigned row, unsigned n) {
        Walk walk = walk_begin(column, suspects, index);

        walk.n = n;
        return walk_rows(&walk, 0, row - walk.pattern->first_row, 0);
}

uint32_t column_finish(Column *column, const Suspects *suspects, unsigned index, unsigned row, unsigned n, uint32_t psum) {
        Walk walk = walk_begin(column, suspects, index);

        walk.n = n;
        return walk_rows(&walk, row - walk.pattern->first_row + 1, walk.pattern->rows, psum);
}
