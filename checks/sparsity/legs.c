/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/legs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/sparsity/bank.h"
#include "checks/sparsity/line.h"
#include "checks/text/cleanup.h"

#define ROUNDS_MAX 12u /* of all tags and both patterns; what is there half of the time is missed once in 4,000 */
#define ROUNDS_MIN 6u  /* to tell what is always there */
#define ROUNDS_WHOLE 2u /* for what is not */
#define PATTERNS   2u

static const uint16_t patterns[PATTERNS] = { 0x5555, 0xaaaa };

/* One bit of one input of one element. */
typedef struct Leg {
        uint8_t row, column, input, bit, value;
        uint16_t acted, silent;
} Leg;

#define LEGS_MAX 2048u

typedef struct Legs {
        Engine *engine;
        unsigned core, bank;
        uint16_t weights[PE_ROWS * PE_COLUMNS], values[MOVING_MAX * MOVING_MAX];
        const uint32_t *out;
        bool *columns, *line;
        bool found[PE_COLUMNS];
        Leg legs[LEGS_MAX];
        size_t n;
} Legs;

/* A moving column for each input of each group. */
static int run(Legs *legs, const SparseLoad *load, uint16_t value) {
        const EngineJob job = {
                .load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16, .flags = LOAD_SPARSE,
                          .keep = (uint8_t) load->mode->keep, .group = (uint8_t) load->mode->group },
                .matmul = { .moving = MOVING_MAX, .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16,
                            .bank = (uint8_t) bank_of(legs->bank, NULL) },
                .moving_rows = MOVING_MAX,
                .weights = legs->weights, .tags = load->tags, .values = legs->values,
                .weights_bytes = sizeof(legs->weights), .values_bytes = sizeof(legs->values),
        };
        unsigned unsupported = 0;
        int r;

        if (legs->values[0] != value) {
                for (size_t i = 0; i < MOVING_MAX; i++)
                        legs->values[i * MOVING_MAX + i] = value;
                engine_forget(legs->engine);
        }

        r = engine_run(legs->engine, &job, 1u << legs->core, &unsupported);
        if (r < 0)
                return r;
        legs->out = legs->engine->out[legs->core];
        return unsupported ? -EAGAIN : 0;
}

static float number_of(uint16_t image) {
        uint32_t bits = (uint32_t) image << 16;
        float number;

        memcpy(&number, &bits, sizeof(number));
        return number;
}

static uint16_t force(uint16_t image, const Leg *leg) {
        return leg->value ? (uint16_t) (image | 1u << leg->bit) : (uint16_t) (image & ~(1u << leg->bit));
}

/* Whether the column is what comes of all of LEGS together, with the elements that select in it. Adding zeros changes nothing. */
static bool column_is_explained(const Legs *legs, const SparseLoad *load, unsigned column, const Leg *leg, size_t n_legs,
                                uint16_t value) {
        const uint32_t *out = legs->out + (size_t) column * MOVING_MAX;

        for (unsigned n = 0; n < MOVING_MAX; n++) {
                float sum = 0;
                uint32_t bits;

                for (unsigned row = 0; row < PE_ROWS; row++) {
                        unsigned tag = sparse_load_tag(load, row, column);
                        uint16_t image = row / 4 * SPARSE_GROUP_MAX + tag == n ? value : 0;

                        for (size_t i = 0; i < n_legs; i++)
                                if (leg[i].row == row && leg[i].input == tag)
                                        image = force(image, &leg[i]);
                        sum += number_of(image);
                }
                memcpy(&bits, &sum, sizeof(bits));
                if (bits != out[n] && !((bits & 0x7f800000) == 0 && out[n] == 0)) /* it may flush to zero */
                        return false;
        }

        return true;
}

static void legs_add(Legs *legs, const Leg *leg, bool acted) {
        size_t i;

        for (i = 0; i < legs->n; i++) {
                const Leg *old = &legs->legs[i];

                if (old->row == leg->row && old->column == leg->column && old->input == leg->input && old->bit == leg->bit)
                        break;
        }
        if (i == LEGS_MAX)
                return;
        if (i == legs->n)
                legs->legs[legs->n++] = *leg;
        legs->legs[i].acted = (uint16_t) (legs->legs[i].acted + acted);
        legs->found[leg->column] = true;
}

/* Whether an element let an image through that is one bit from what it should be. */
static bool leg_at(const Legs *legs, const SparseLoad *load, unsigned row, unsigned column, uint16_t value, Leg *ret) {
        unsigned tag = sparse_load_tag(load, row, column);
        uint32_t image = legs->out[(size_t) column * MOVING_MAX + row / 4 * SPARSE_GROUP_MAX + tag], wrong = image >> 16 ^ value;

        if (image & 0xffff || __builtin_popcount(wrong) != 1)
                return false;

        *ret = (Leg){ .row = (uint8_t) row, .column = (uint8_t) column, .input = (uint8_t) tag, .bit = (uint8_t) __builtin_ctz(wrong),
                      .value = (image >> 16 & wrong) != 0 };
        return true;
}

/* From the last column back: the same bit of a row, of one input after the other. */
static void look_for_line(Legs *legs, const SparseLoad *load, unsigned row, uint16_t value) {
        Leg last = {}, leg;
        unsigned n = 0;

        for (unsigned column = PE_COLUMNS; column-- > 0 && (legs->columns[column] || legs->line[column]); n++) {
                if (!leg_at(legs, load, row, column, value, &leg) || (n > 0 && (leg.bit != last.bit || leg.value != last.value)))
                        break;
                last = leg;
        }
        for (unsigned column = last.column; n >= LINE_COLUMNS_MIN && column < PE_COLUMNS; column++) {
                legs->line[column] = true;
                legs->columns[column] = false;
        }
}

static void look_at_column(Legs *legs, const SparseLoad *load, unsigned column, uint16_t value) {
        Leg candidates[PE_ROWS];
        size_t n = 0;

        for (unsigned row = 0; row < PE_ROWS; row++)
                n += leg_at(legs, load, row, column, value, &candidates[n]);

        if (n > 0 && column_is_explained(legs, load, column, candidates, n, value))
                for (size_t i = 0; i < n; i++)
                        legs_add(legs, &candidates[i], true);
}

/* A bit that was found before and could have shown itself here. */
static void count_silent(Legs *legs, const SparseLoad *load, uint16_t value) {
        for (size_t i = 0; i < legs->n; i++) {
                Leg *leg = &legs->legs[i];

                if (sparse_load_tag(load, leg->row, leg->column) != leg->input || force(value, leg) == value)
                        continue;
                leg->silent = (uint16_t) (leg->silent + (legs->out[leg->column * MOVING_MAX + leg->row / 4 * SPARSE_GROUP_MAX +
                                                                   leg->input] == (uint32_t) value << 16));
        }
}

static int run_round(Legs *legs) {
        for (unsigned i = 0; i < PATTERNS; i++) {
                for (unsigned k = 0; k < SPARSE_LOADS; k++) {
                        const SparseLoad *load = sparse_load_at(k);
                        int r;

                        if (load->mode->group != SPARSE_GROUP_MAX || load->kind != SPARSE_STEP)
                                continue;
                        r = run(legs, load, patterns[i]);
                        if (r == -EAGAIN) /* it is refused now and then, which is told elsewhere */
                                continue;
                        if (r < 0)
                                return r;
                        for (unsigned row = 0; row < PE_ROWS; row++)
                                look_for_line(legs, load, row, patterns[i]);
                        for (unsigned column = 0; column < PE_COLUMNS; column++)
                                if (legs->columns[column])
                                        look_at_column(legs, load, column, patterns[i]);
                        count_silent(legs, load, patterns[i]);
                }
        }

        return 0;
}

/* It has shown that it comes and goes, or with its like in the row often enough that it is always there. */
static bool leg_is_settled(const Legs *legs, const Leg *leg) {
        unsigned n = 0;

        for (size_t i = 0; i < legs->n && leg->silent == 0 && n < ROUNDS_MIN; i++)
                if (legs->legs[i].row == leg->row && legs->legs[i].input == leg->input && legs->legs[i].bit == leg->bit)
                        n += legs->legs[i].acted;

        return leg->silent > 0 || n >= ROUNDS_MIN;
}

static bool all_settled(const Legs *legs) {
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                if (legs->columns[column] && !legs->found[column])
                        return false;
        for (size_t i = 0; i < legs->n; i++)
                if (!leg_is_settled(legs, &legs->legs[i]))
                        return false;

        return true;
}

/* Whether all columns of the row have the same bit stuck: then it is the row's. */
static bool leg_is_of_row(const Legs *legs, const Leg *leg) {
        unsigned n = 0, n_columns = 0;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                n_columns += legs->columns[column];
        for (size_t i = 0; i < legs->n; i++) {
                const Leg *other = &legs->legs[i];

                n += other->row == leg->row && other->input == leg->input && other->bit == leg->bit && other->value == leg->value;
        }

        return n_columns >= PE_COLUMNS / 2 && n * 4 >= n_columns * 3;
}

static void fold(const Legs *legs, SparseDiagnosis *diagnoses, unsigned n_max, unsigned *n) {
        for (size_t i = 0; i < legs->n && *n < n_max; i++) {
                const Leg *leg = &legs->legs[i];
                bool whole = leg_is_of_row(legs, leg), known = false;

                for (unsigned k = 0; k < *n; k++)
                        known = known || (whole && diagnoses[k].slot == SPARSE_ALL && diagnoses[k].row == leg->row &&
                                          diagnoses[k].a == leg->input && diagnoses[k].b == leg->bit);
                if (known || legs->line[leg->column])
                        continue;
                diagnoses[(*n)++] = (SparseDiagnosis){
                        .fault = SPARSE_DATA, .row = leg->row, .slot = whole ? SPARSE_ALL : leg->column, .a = leg->input,
                        .b = leg->bit, .value = leg->value, .n_acted = leg->acted, .n_silent = leg->silent, .n_selections = leg->acted,
                };
        }
}

int legs_measure(Engine *engine, unsigned core, unsigned bank, bool columns[static PE_COLUMNS], bool line[static PE_COLUMNS],
                 SparseDiagnosis *diagnoses, unsigned n_max) {
        _cleanup_free_ Legs *legs = calloc(1, sizeof(*legs));
        unsigned n = 0;
        int r = 0;

        if (!legs)
                return -ENOMEM;

        legs->engine = engine;
        legs->core = core;
        legs->bank = bank;
        legs->columns = columns;
        legs->line = line;
        for (size_t i = 0; i < PE_ROWS * PE_COLUMNS; i++)
                legs->weights[i] = 0x3f80; /* 1 */

        for (unsigned round = 0; round < ROUNDS_MAX && r >= 0 && (round < ROUNDS_WHOLE || !all_settled(legs)); round++)
                r = run_round(legs);
        engine_forget(engine);
        if (r < 0)
                return r;

        fold(legs, diagnoses, n_max, &n);
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                columns[column] = columns[column] && !legs->found[column];
        return (int) n;
}
