/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/predict.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "checks/systolic/exact.h"

#define NEGATIVE  0x80000000u
#define INFINITE  0x7f800000u
#define EXACT_MAX (1 << 24) /* below it every integer is a binary32 */
#define VECTORS   512u
#define NO_ROW    0xffffu

/* What of a pattern is the same for all columns, worked out once. */
typedef struct Layout {
        bool dense;              /* in some vector more than two rows are fed: `rows` says nothing */
        bool integers;           /* the matrices are small integers of 2^w_unit and 2^x_unit */
        int w_unit, x_unit;
        int32_t *x;              /* [lanes][rows][moving] */
        uint16_t rows[VECTORS][2]; /* of the tile, that are fed; NO_ROW: none */
        bool by_columns;           /* dense, but in each column one weight alone is no zero: */
        uint8_t weighty[PE_COLUMNS]; /* its row */
} Layout;

/* The healthy sums of one column under full load, in units, before each row and at the end: [rows + 1][moving]. */
struct Chain {
        unsigned column;
        int32_t largest[VECTORS]; /* of the sums on the way of a vector */
        int32_t sums[];
};

static Layout *layouts[PATTERNS_MAX];

bool suspects_add(Suspects *suspects, Candidate candidate) {
        unsigned at;

        if (suspects->n >= SUSPECTS_MAX)
                return false;

        for (at = suspects->n; at > 0 && suspects->all[at - 1].row > candidate.row; at--)
                suspects->all[at] = suspects->all[at - 1];
        suspects->all[at] = candidate;
        suspects->n++;
        return true;
}

ElementMode pattern_mode(const Pattern *pattern, bool ftz) {
        return (ElementMode){ .weights = (uint8_t) pattern->w_format,
                              .values = (uint8_t) pattern->x_format,
                              .ftz = ftz,
                              .double_row = pattern_is_double(pattern),
                              .transpose = pattern->matmul_flags & MATMUL_TRANSPOSE };
}

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

/* ---- what a pattern feeds ---- */

static bool image_is_zero(ElementMode mode, uint32_t x) {
        return element_is_zero(mode.values, x) && (!mode.double_row || element_is_zero(mode.values, x >> 8));
}

static void find_rows(Layout *layout, const Pattern *pattern) {
        ElementMode mode = pattern_mode(pattern, false);

        for (unsigned n = 0; n < pattern->moving; n++) {
                unsigned count = 0;

                layout->rows[n][0] = layout->rows[n][1] = NO_ROW;
                for (unsigned row = 0; row < pattern->rows; row++) {
                        if (image_is_zero(mode, pattern_activation(pattern, row, n)))
                                continue;
                        if (count == 2) {
                                layout->dense = true;
                                return;
                        }
                        layout->rows[n][count++] = (uint16_t) row;
                }
        }
}

/* Whether each column has one weight that is no zero. */
static void find_weights(Layout *layout, const Pattern *pattern) {
        layout->by_columns = pattern->kind == PATTERN_WIRING && !pattern_is_double(pattern);

        for (unsigned m = 0; m < pattern->columns && layout->by_columns; m++) {
                unsigned count = 0;

                for (unsigned row = 0; row < pattern->rows; row++)
                        if (!element_is_zero(pattern->w_format, pattern_weight(pattern, row, m))) {
                                layout->weighty[m] = (uint8_t) row;
                                count++;
                        }
                layout->by_columns = count == 1;
        }
}

/* The number as an integer of 2^UNIT. False where it is none, or too large. */
static bool to_integer(uint32_t bits, int unit, int32_t *ret) {
        uint32_t field = bits >> 23 & 0xff;
        int64_t magnitude = (bits & 0x7fffff) | (field > 0 ? 1u << 23 : 0);
        int shift = (int) (field > 0 ? field : 1) - 150 - unit;

        if ((bits & ~NEGATIVE) == 0) {
                *ret = 0;
                return true;
        }
        if (field == 0xff || shift > 6 || shift < -23 || (shift < 0 && (magnitude & ((1 << -shift) - 1))))
                return false;

        magnitude = shift < 0 ? magnitude >> -shift : magnitude << shift;
        *ret = (int32_t) (bits & NEGATIVE ? -magnitude : magnitude);
        return true;
}

static uint32_t from_integer(int32_t value, int unit) {
        return exact_round(value < 0, (uint64_t) (value < 0 ? -(int64_t) value : value), unit);
}

/* The lower of LOWEST and the exponent of the last bit set in a number. */
static int lower_unit(uint32_t bits, int lowest) {
        uint32_t field = bits >> 23 & 0xff, magnitude = (bits & 0x7fffff) | (field > 0 ? 1u << 23 : 0);
        int exponent;

        if (magnitude == 0)
                return lowest;
        exponent = (int) (field > 0 ? field : 1) - 150 + __builtin_ctz(magnitude);
        return exponent < lowest ? exponent : lowest;
}

static uint32_t weight_number(const Pattern *pattern, unsigned row, unsigned column, unsigned lane) {
        return exact_widen(pattern->w_format, pattern_weight(pattern, row, column) >> 8 * lane);
}

static uint32_t value_number(const Pattern *pattern, unsigned row, unsigned n, unsigned lane) {
        return exact_widen(pattern->x_format, pattern_activation(pattern, row, n) >> 8 * lane);
}

static void find_integers(Layout *layout, const Pattern *pattern) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        size_t size = (size_t) pattern->rows * pattern->moving;

        layout->x = malloc(lanes * size * sizeof(int32_t));
        if (!layout->x)
                return;

        layout->w_unit = layout->x_unit = 128;
        for (unsigned lane = 0; lane < lanes; lane++)
                for (unsigned row = 0; row < pattern->rows; row++) {
                        for (unsigned m = 0; m < pattern->columns; m++)
                                layout->w_unit = lower_unit(weight_number(pattern, row, m, lane), layout->w_unit);
                        for (unsigned n = 0; n < pattern->moving; n++)
                                layout->x_unit = lower_unit(value_number(pattern, row, n, lane), layout->x_unit);
                }

        layout->integers = true;
        for (unsigned lane = 0; lane < lanes; lane++)
                for (unsigned row = 0; row < pattern->rows; row++)
                        for (unsigned n = 0; n < pattern->moving; n++)
                                layout->integers = to_integer(value_number(pattern, row, n, lane), layout->x_unit,
                                                              &layout->x[lane * size + row * pattern->moving + n]) &&
                                                   layout->integers;
}

/* NULL without memory: then every row is stepped. */
static const Layout *layout_of(unsigned index) {
        const Pattern *pattern = pattern_at(index);
        Layout *layout = layouts[index];

        if (layout)
                return layout;

        layout = layouts[index] = calloc(1, sizeof(Layout));
        if (!layout)
                return NULL;

        layout->dense = pattern->kind == PATTERN_FULL || pattern->moving > VECTORS;
        if (!layout->dense)
                find_rows(layout, pattern);
        if (layout->dense)
                find_weights(layout, pattern);
        if (pattern->kind == PATTERN_FULL && pattern->moving <= VECTORS)
                find_integers(layout, pattern);
        return layout;
}

unsigned pattern_hot_row(unsigned index, unsigned n) {
        const Layout *layout = layout_of(index);

        if (!layout || layout->dense || layout->rows[n][0] == NO_ROW || layout->rows[n][1] != NO_ROW)
                return PE_ROWS;
        return pattern_at(index)->first_row + layout->rows[n][0];
}

/* ---- full load ---- */

static bool chain_fill(Chain *chain, const Pattern *pattern, const Layout *layout, unsigned column) {
        unsigned lanes = pattern_is_double(pattern) ? 2 : 1;
        size_t moving = pattern->moving, size = pattern->rows * moving;

        memset(chain->sums, 0, moving * sizeof(int32_t));
        memset(chain->largest, 0, sizeof(chain->largest));

        for (unsigned row = 0; row < pattern->rows; row++) {
                const int32_t *before = chain->sums + row * moving;
                int32_t *sums = chain->sums + (row + 1) * moving, w[2] = {};

                for (unsigned lane = 0; lane < lanes; lane++)
                        if (!to_integer(weight_number(pattern, row, column, lane), layout->w_unit, &w[lane]))
                                return false;

                for (size_t n = 0; n < moving; n++) {
                        int64_t sum = before[n] + (int64_t) w[0] * layout->x[row * moving + n];

                        if (lanes > 1)
                                sum += (int64_t) w[1] * layout->x[size + row * moving + n];
                        if (sum >= EXACT_MAX || sum <= -EXACT_MAX)
                                return false;
                        sums[n] = (int32_t) sum;
                        if (labs((long) sum) > chain->largest[n])
                                chain->largest[n] = abs((int) sum);
                }
        }

        return true;
}

/* NULL where the sums are no integers, or there is no memory. */
static const Chain *chain_of(Column *column, unsigned index) {
        const Pattern *pattern = pattern_at(index);
        const Layout *layout = layout_of(index);
        Chain *chain = column->chains[index];

        if (!layout || !layout->integers)
                return NULL;
        if (chain && chain->column == column->index)
                return chain;

        if (!chain)
                chain = malloc(sizeof(Chain) + (pattern->rows + 1) * pattern->moving * sizeof(int32_t));
        column->chains[index] = chain;
        if (!chain)
                return NULL;

        chain->column = column->index;
        if (chain_fill(chain, pattern, layout, column->index - pattern->first_column))
                return chain;

        free(chain);
        column->chains[index] = NULL;
        return NULL;
}

/* ---- one vector ---- */

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

/* All rows are fed, but one weight alone is no zero. */
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

/* All rows are. Where the sum is an integer that stays one, the difference to the healthy sum stays the same; one that is so
 * large that nothing moves it stays itself. */
static uint32_t walk_dense(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        const Chain *chain = chain_of(walk->column, walk->index);
        bool plain = chain && !walk_is_shifted(walk, end) && walk->suspects->dead == 0;

        for (unsigned row = first; row < end; row++) {
                int unit = plain ? walk->layout->w_unit + walk->layout->x_unit : 0;
                int32_t sum;

                if (exact_is_nan(psum) && !walk->mode.transpose)
                        return EXACT_NAN;
                if (plain && (int) (psum >> 23 & 0xff) - 127 > unit + 50)
                        return psum;
                if (plain && to_integer(psum, unit, &sum)) {
                        const int32_t *sums = chain->sums + walk->n;
                        int32_t error = sum - sums[row * walk->pattern->moving];

                        if (abs(error) + chain->largest[walk->n] < EXACT_MAX)
                                return from_integer(sums[end * walk->pattern->moving] + error, unit);
                }
                psum = walk_row(walk, row, psum);
        }

        return psum;
}

static uint32_t walk_healthy(const Walk *walk, unsigned first, unsigned end, uint32_t psum) {
        if (first >= end)
                return psum;
        if (walk->layout && !walk->layout->dense && walk->pattern->kind != PATTERN_PAIRS) /* whose weights may be infinite */
                return walk_sparse(walk, first, end, psum);
        if (walk->layout && walk->layout->by_columns && !walk->mode.transpose)
                return walk_weighty(walk, first, end, psum);
        return walk_dense(walk, first, end, psum);
}

static uint32_t walk_down(Walk *walk) {
        const Candidate *first = walk->suspects->all, *last = first + walk->suspects->n;
        unsigned row = 0, top = walk->pattern->first_row, rows = walk->pattern->rows;
        uint32_t psum = 0;

        while (first < last && first->at != PE_OUTPUT && first->at != PE_NO_OUTPUT) {
                const Candidate *end = first + 1;

                while (end < last && end->row == first->row && end->at != PE_OUTPUT && end->at != PE_NO_OUTPUT)
                        end++;

                if (first->row >= top && first->row < top + rows) {
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

        psum = walk_healthy(walk, row, rows, psum);
        if (first < last && first->at == PE_NO_OUTPUT)
                return 0;
        return element_force(first, last, PE_OUTPUT, 0, psum);
}

static bool suspects_remember(const Suspects *suspects) {
        for (unsigned i = 0; i < suspects->n; i++)
                if (suspects->all[i].form == FORM_SLOW_RISE || suspects->all[i].form == FORM_SLOW_FALL)
                        return true;

        return false;
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
        if (suspects_remember(walk->suspects)) {
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

/* Which part of the column, cut by suspects, the row fed in vector N lies in. */
static unsigned hot_class(const Suspects *suspects, unsigned hot) {
        unsigned class = 0;

        for (unsigned i = 0; i < suspects->n; i++)
                class += (hot >= suspects->all[i].row) + (hot > suspects->all[i].row);

        return class;
}

/*
 * In a uniform pattern vectors are alike whose rows lie on the same side of all suspects; with slow ones the vector before has
 * to be alike too.
 */
void column_predict_all(Column *column, const Suspects *suspects, unsigned index, uint32_t *ret) {
        Walk walk = walk_begin(column, suspects, index);
        bool uniform = walk.pattern->kind == PATTERN_ONE_HOT, slow = suspects_remember(suspects);
        unsigned keys[IMAGES_MAX], lasts[IMAGES_MAX], class_before = 0;

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

uint32_t column_before(Column *column, unsigned index, unsigned row, unsigned n) {
        static const Suspects nothing;
        Walk walk = walk_begin(column, &nothing, index);

        walk.n = n;
        return walk_healthy(&walk, 0, row - walk.pattern->first_row, 0);
}

uint32_t column_finish(Column *column, unsigned index, unsigned row, unsigned n, uint32_t psum) {
        static const Suspects nothing;
        Walk walk = walk_begin(column, &nothing, index);

        walk.n = n;
        return walk_healthy(&walk, row - walk.pattern->first_row + 1, walk.pattern->rows, psum);
}
