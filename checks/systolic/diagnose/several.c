/* SPDX-License-Identifier: Apache-2.0 */

/* Several elements of one column at once: what explains most comes first. */

#include "checks/systolic/diagnose/search.h"

#include <limits.h>
#include <string.h>

#include "checks/systolic/diagnose/probes.h"
#include "checks/systolic/diagnose/seat.h"

/* How many outputs SUSPECTS explain that BASE does not; EXPLAINED_NOT where a vector that feeds the candidate's own row is still wrong. */
static int count_gain(const Signature *signature, const Suspects *suspects, const Suspects *base, unsigned row) {
        uint32_t predicted[MOVING_MAX], before[MOVING_MAX];
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
        if (!any || candidate_is_slow(&candidate) || !suspects_add(&suspects, candidate))
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
                if (!probes.rows[row] || suspects->dead >> row / TILE_UNIT & 1)
                        continue;
                for (unsigned i = 0; i < probes.n; i++)
                        seat_take(&greed.seats[i], signature->column, suspects, probes.all[i].index, row, probes.all[i].n);
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
                if (signature_explain(signature, &suspects, base, false, UINT_MAX) == 0)
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
