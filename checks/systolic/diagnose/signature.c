/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose/signature.h"

#include <string.h>

#include "checks/systolic/patterns/exact.h"

void signature_of(const Observation *observation, Column *column, Signature *ret) {
        *ret = (Signature){ .column = column, .n_patterns = patterns_count() };

        for (unsigned i = 0; i < ret->n_patterns; i++) {
                ret->ran[i] = observation->ran[i] > 0 && column_has(column, pattern_at(i));
                if (ret->ran[i])
                        ret->answers[i] = observation_column(observation, i, column->index);
                if (ret->answers[i] && observation->failed[i] < observation->ran[i])
                        ret->at_times = true;
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

int signature_explain(const Signature *signature, const Suspects *suspects, const Suspects *base, bool loaded, unsigned enough) {
        Column *column = signature->column;
        uint32_t predicted[MOVING_MAX];
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
