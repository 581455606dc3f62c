/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/array/control.h"

#include <string.h>

static void list_failed(const Observation *observation, PatternList *ret) {
        ret->n = 0;
        for (unsigned i = 0; i < patterns_count(); i++)
                if (observation->failed[i] > 0)
                        ret->all[ret->n++] = (uint8_t) i;
}

int neighbour_run(Array *array, unsigned core, Control *ret) {
        Control control = { .neighbour = core ^ 1, .neighbour_sound = true };
        Observation *own = &array->cores[core];
        const Observation *other = &array->cores[core ^ 1];
        PatternList list;

        list_failed(own, &list);

        for (unsigned run = 0; run < CONTROL_RUNS; run++) {
                size_t other_before = other->n_mismatched;
                int r;

                memset(own->wrong, 0, sizeof(own->wrong));
                r = array_run(array, 1u << core | 1u << control.neighbour, &list);
                if (r < 0)
                        return r;
                memcpy(control.wrong[run], own->wrong, sizeof(own->wrong));
                if (other->n_mismatched > other_before)
                        control.neighbour_sound = false;
        }

        /* What it refused it did not answer. */
        for (unsigned i = 0; i < list.n; i++)
                if (other->refused[list.all[i]])
                        control.neighbour_sound = false;

        *ret = control;
        return 0;
}

unsigned control_count(const Control *control, unsigned first, unsigned last) {
        unsigned count = 0;

        for (unsigned run = 0; run < CONTROL_RUNS; run++) {
                bool wrong = false;

                for (unsigned m = first; m <= last; m++)
                        wrong = wrong || control->wrong[run][m];
                count += wrong;
        }

        return count;
}

static bool columns_equal(const uint32_t *a, const uint32_t *b, unsigned n) {
        return a && b ? memcmp(a, b, n * sizeof(uint32_t)) == 0 : a == b;
}

static bool answers_equal(const Observation *a, const Observation *b) {
        for (unsigned i = 0; i < patterns_count(); i++) {
                if (!a->failed[i] != !b->failed[i])
                        return false;
                for (unsigned m = 0; m < PE_COLUMNS && a->failed[i] > 0; m++)
                        if (!columns_equal(observation_column(a, i, m), observation_column(b, i, m), pattern_at(i)->moving))
                                return false;
        }

        return true;
}

bool cores_all_alike(const Array *array) {
        if (observation_is_golden(&array->cores[0]))
                return false;

        for (unsigned core = 1; core < CORES; core++)
                if (!answers_equal(&array->cores[0], &array->cores[core]))
                        return false;

        return true;
}
