/* SPDX-License-Identifier: Apache-2.0 */

/* Two parts of one element at once. */

#include <limits.h>
#include <string.h>

#include "checks/systolic/diagnose/probes.h"
#include "checks/systolic/diagnose/search.h"
#include "checks/systolic/diagnose/seat.h"

#define ALONE_MAX 256u /* parts that alone make what some probe saw: one of the two at least shows by itself somewhere */
#define ROWS_MAX  8u   /* in which the two may be: beyond, nothing tells where they are, and looking everywhere costs too much */

typedef struct Parts {
        const Signature *signature;
        const Suspects *base;
        const Probes *probes;
        Seat seats[PROBES_MAX];
        unsigned n_alone;
        Candidate alone[ALONE_MAX];
        Candidate one; /* of alone[], the one at work */
        bool found; /* in ret */
        Candidate *ret;
} Parts;

static bool is_part(const Candidate *candidate) {
        return !candidate_is_slow(candidate) && candidate->at != PE_SHIFT && candidate->at != PE_NO_INPUT;
}

static bool probe_is_explained(const Parts *parts, unsigned i, const Candidate *first, const Candidate *end) {
        uint32_t answer;

        return seat_answer_all(&parts->seats[i], first, end, &answer) &&
               answer_equal(parts->probes->all[i].index, parts->probes->all[i].answer, answer);
}

static void consider_alone(void *userdata, Candidate candidate) {
        Parts *parts = userdata;
        bool any = false;

        if (!is_part(&candidate))
                return;
        for (unsigned i = 0; i < parts->probes->n && !any; i++)
                any = probe_is_explained(parts, i, &candidate, &candidate + 1);
        if (any && parts->n_alone < ALONE_MAX)
                parts->alone[parts->n_alone++] = candidate;
}

static void consider_other(void *userdata, Candidate candidate) {
        Parts *parts = userdata;
        Candidate couple[COUPLE] = { parts->one, candidate };
        Suspects suspects = *parts->base;

        if (!is_part(&candidate) || parts->found)
                return;
        for (unsigned i = 0; i < parts->probes->n; i++)
                if (!probe_is_explained(parts, i, couple, couple + COUPLE))
                        return;
        if (!suspects_add(&suspects, couple[0]) || !suspects_add(&suspects, couple[1]) ||
            signature_explain(parts->signature, &suspects, parts->base, false, UINT_MAX) != 0)
                return;

        parts->found = true;
        memcpy(parts->ret, couple, sizeof(couple));
}

static void search_row(Parts *parts, unsigned row) {
        const Probes *probes = parts->probes;

        for (unsigned i = 0; i < probes->n; i++)
                seat_take(&parts->seats[i], parts->signature->column, parts->base, probes->all[i].index, row, probes->all[i].n);
        parts->n_alone = 0;
        candidates_visit(row, consider_alone, parts);
        for (unsigned i = 0; i < parts->n_alone && !parts->found; i++) {
                parts->one = parts->alone[i];
                candidates_visit(row, consider_other, parts);
        }
}

static unsigned count_rows(const Probes *probes) {
        unsigned n = 0;

        for (unsigned row = 0; row < PE_ROWS; row++)
                n += probes->rows[row];
        return n;
}

bool signature_search_couple(const Signature *signature, const Suspects *base, Candidate ret[static COUPLE]) {
        Probes probes;
        Parts parts = { .signature = signature, .base = base, .probes = &probes, .ret = ret };

        probes_find(signature, base, &probes);
        if (probes.loaded || count_rows(&probes) > ROWS_MAX)
                return false;

        for (unsigned row = 0; row < PE_ROWS && !parts.found; row++)
                if (probes.rows[row] && seat_is_there(base, row))
                        search_row(&parts, row);

        return parts.found;
}
