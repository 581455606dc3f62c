/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same bits read in another way have other products, and these are known: every answer that is wrong is held against what the core
 * would say if it took the weights, the activations or both for numbers of the other format. Some columns and vectors of each pattern
 * are enough, for a broken element never looks like this in all of them.
 */

#include "checks/systolic/diagnose/mistake.h"

#include "checks/systolic/diagnose/signature.h"
#include "checks/systolic/model/element.h"

#define COLUMN_STRIDE 8u /* columns that are looked at: four of the smallest tile */
#define COLUMN_FIRST  3u
#define VECTORS       8u /* that are looked at, beside the first that differs */
#define MATCHED_MIN   3u

/* Three quarters: elements may be broken as well, and a pattern of two formats that are both taken for others fits neither. */
static bool is_enough(unsigned matched, unsigned tried) {
        return matched >= MATCHED_MIN && matched * 4 >= tried * 3;
}

static bool has_format(const Pattern *pattern, WireFormat format) {
        return pattern->w_format == format || pattern->x_format == format;
}

/* What the column M of the tile gives for vector N as PATTERN's formats are. */
static uint32_t answer_of(const Pattern *pattern, bool ftz, unsigned m, unsigned n) {
        ElementMode mode = pattern_mode(pattern, ftz);
        uint32_t psum = 0;

        for (unsigned row = 0; row < pattern->rows; row++) {
                ElementPast past = {};

                psum = element_step(mode, NULL, NULL, pattern_weight(pattern, row, m), pattern_activation(pattern, row, n), psum, &past);
        }

        return psum;
}

static bool is_answer(const Pattern *mistaken, bool ftz, unsigned index, unsigned m, const uint32_t *answer, unsigned first) {
        unsigned stride = mistaken->moving / VECTORS;

        if (!answer_equal(index, answer_of(mistaken, ftz, m, first), answer[first]))
                return false;
        for (unsigned n = m % stride; n < mistaken->moving; n += stride)
                if (!answer_equal(index, answer_of(mistaken, ftz, m, n), answer[n]))
                        return false;

        return true;
}

/* PART: 1 the weights are taken for the other format, 2 the activations, 3 both: a load and a matmul may differ in that. */
static bool take(const Pattern *pattern, const Mistake *mistake, unsigned part, Pattern *ret) {
        *ret = *pattern;
        if (part & 1)
                ret->w_format = mistake->taken_for;
        if (part & 2)
                ret->x_format = mistake->taken_for;
        return (!(part & 1) || pattern->w_format == mistake->format) && (!(part & 2) || pattern->x_format == mistake->format);
}

static bool explains(const Mistake *mistake, bool ftz, unsigned index, unsigned m, const uint32_t *answer, unsigned first) {
        for (unsigned part = 3; part > 0; part--) {
                Pattern mistaken;

                if (take(pattern_at(index), mistake, part, &mistaken) && is_answer(&mistaken, ftz, index, m, answer, first))
                        return true;
        }

        return false;
}

static unsigned first_difference(const uint32_t *a, const uint32_t *b, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                if (a[i] != b[i])
                        return i;

        return 0;
}

/* Where MISTAKE would be seen, whether it is. A golden column says nothing where the mistake changes nothing, or no room was left. */
static void try_pattern(const Observation *observation, unsigned index, Mistake *mistake, unsigned *tried, unsigned *matched) {
        const Pattern *pattern = pattern_at(index);

        for (unsigned m = COLUMN_FIRST; m < pattern->columns; m += COLUMN_STRIDE) {
                const uint32_t *golden = pattern->golden + (size_t) m * pattern->moving;
                const uint32_t *answer = observation_column(observation, index, pattern->first_column + m);
                bool explained;

                if (!answer && observation->n_dropped > 0)
                        continue;

                explained = explains(mistake, observation->ftz, index, m, answer ? answer : golden,
                                     answer ? first_difference(answer, golden, pattern->moving) : 0);
                if (!answer && explained)
                        continue;
                if (observation->failed[index] == 0) {
                        mistake->intermittent = true;
                        return;
                }
                (*tried)++;
                *matched += explained;
        }

        if (observation->failed[index] < observation->ran[index] && observation->failed[index] > 0)
                mistake->intermittent = true;
}

static bool is_mistake(const Observation *observation, Mistake *mistake) {
        unsigned tried = 0, matched = 0;

        for (unsigned i = 0; i < patterns_count(); i++)
                if (observation->failed[i] > 0 && has_format(pattern_at(i), mistake->format))
                        try_pattern(observation, i, mistake, &tried, &matched);
        if (!is_enough(matched, tried))
                return false;

        for (unsigned i = 0; i < patterns_count() && !mistake->intermittent; i++)
                if (observation->ran[i] > 0 && observation->failed[i] == 0 && has_format(pattern_at(i), mistake->format))
                        try_pattern(observation, i, mistake, &tried, &matched);
        return true;
}

unsigned observation_mistakes(const Observation *observation, Mistake ret[static _FORMAT_MAX]) {
        unsigned n = 0;

        for (unsigned format = 0; format < _FORMAT_MAX; format++)
                for (unsigned other = 0; other < _FORMAT_MAX; other++) {
                        Mistake mistake = { .format = format, .taken_for = other };

                        if (other == format || wire_format_bytes(other) != wire_format_bytes(format))
                                continue;
                        if (is_mistake(observation, &mistake)) {
                                ret[n++] = mistake;
                                break;
                        }
                }

        return n;
}
