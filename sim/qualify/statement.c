/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/statement.h"

#include <math.h>
#include <string.h>

#include "sim/chip/fault.h"

static const double ends[STATEMENT_CLASSES] = { 0, 0.05, 0.1, 0.2, 0.5, 1 };

const ObservedEscape *statement_find(const Qualification *qualification, const FaultKind *kind) {
        const ObservedEscape *family = NULL;

        for (size_t i = 0; i < qualification->n_escapes; i++) {
                const ObservedEscape *statement = &qualification->escapes[i];

                if (strcmp(statement->fault, kind->name) == 0)
                        return statement;
                if (strcmp(statement->fault, fault_family_words[kind->family]) == 0)
                        family = statement;
        }
        return family;
}

double statement_bound(const ObservedEscape *statement, double p) {
        return p < 1 ? statement->always + (1 - statement->always) * pow(1 - p, statement->commands) : statement->always;
}

/* It can be found, was judged, and is alone in its chip: a second fault may hide it or stand in for it. */
static bool is_counted(const Injected *injected) {
        return !injected->fault.undetectable && injected->outcome != OUTCOME_UNJUDGED && injected->partner == SIZE_MAX;
}

static size_t class_of(double p) {
        size_t i = 0;

        if (p >= 1)
                return 0;
        while (p >= ends[i + 1])
                i++;
        return i + 1;
}

void statement_measure(const ObservedEscape *statement, const Injected *faults, unsigned n, Measured ret[static STATEMENT_CLASSES]) {
        ret[0] = (Measured) { 1, 1, 0, 0, 0 };
        for (size_t i = 1; i < STATEMENT_CLASSES; i++)
                ret[i] = (Measured) { ends[i - 1], ends[i], 0, 0, 0 };

        for (unsigned i = 0; i < n; i++) {
                double p = faults[i].fault.comes_and_goes ? faults[i].fault.probability : 1;
                Measured *measured;

                if (!is_counted(&faults[i]))
                        continue;
                measured = &ret[class_of(p)];
                measured->n++;
                measured->escaped += faults[i].outcome <= OUTCOME_INCONCLUSIVE;
                measured->bound += statement ? statement_bound(statement, p) : 0;
        }
        for (size_t i = 0; i < STATEMENT_CLASSES; i++)
                if (ret[i].n > 0)
                        ret[i].bound /= ret[i].n;
}

double statement_confidence(const Qualification *qualification, unsigned *ret_n) {
        unsigned samples = qualification->order->samples, n = 0;

        for (size_t i = 0; samples > 0 && i < qualification->n_faults; i += samples) {
                const Injected *faults = &qualification->faults[i];
                const ObservedEscape *statement = statement_find(qualification, faults->fault.kind);
                Measured measured[STATEMENT_CLASSES];

                if (!statement)
                        continue;
                statement_measure(statement, faults, samples, measured);
                for (size_t k = 0; k < STATEMENT_CLASSES; k++)
                        n += measured[k].n > 0;
        }
        if (ret_n)
                *ret_n = n;
        return n > 0 ? 1 - (1 - QUALIFY_CONFIDENCE) / n : QUALIFY_CONFIDENCE;
}

bool statement_is_exceeded(const Measured *measured, double confidence, Interval *ret) {
        *ret = interval_exact(measured->escaped, measured->n, confidence);
        return measured->n > 0 && ret->low > measured->bound;
}

static bool has_missed(const Injected *faults, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                if (!faults[i].fault.undetectable && (faults[i].outcome == OUTCOME_MISSED || faults[i].outcome == OUTCOME_INCONCLUSIVE))
                        return true;
        return false;
}

bool statement_has_failed(const Qualification *qualification) {
        unsigned samples = qualification->order->samples;
        double confidence = statement_confidence(qualification, NULL);

        for (size_t i = 0; samples > 0 && i < qualification->n_faults; i += samples) {
                const Injected *faults = &qualification->faults[i];
                const ObservedEscape *statement = statement_find(qualification, faults->fault.kind);
                Measured measured[STATEMENT_CLASSES];
                Interval interval;

                if (!statement && has_missed(faults, samples))
                        return true;
                statement_measure(statement, faults, samples, measured);
                for (size_t k = 0; statement && k < STATEMENT_CLASSES; k++)
                        if (statement_is_exceeded(&measured[k], confidence, &interval))
                                return true;
        }
        return false;
}
