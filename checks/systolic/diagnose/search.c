/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose/search.h"

#include <limits.h>
#include <math.h>

#include "checks/systolic/diagnose/probes.h"
#include "checks/systolic/diagnose/seat.h"

#define TIMES_LESS_LIKELY 1000.0

typedef struct Search {
        const Signature *signature;
        const Suspects *base;
        const Probes *probes;
        Matches *matches;
        Seat seats[PROBES_MAX]; /* of the row at work */
        bool seated;
} Search;

/* Whether the candidate makes what each probe saw: at its seat where there is one. */
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

static void matches_add(Matches *matches, Candidate candidate, unsigned silent, bool at_times) {
        if (matches->n > 0 && silent < matches->silent && !at_times)
                matches->n = 0;
        if (matches->n == 0 || silent < matches->silent)
                matches->silent = silent;
        if (matches->n < MATCHES_MAX) {
                matches->silent_of[matches->n] = (uint16_t) silent;
                matches->all[matches->n++] = candidate;
        }
}

static void consider(void *userdata, Candidate candidate) {
        Search *search = userdata;
        Matches *matches = search->matches;
        Suspects suspects = *search->base;
        unsigned enough;
        int silent;

        if (search->seated && candidate.at != PE_SHIFT && candidate.row < PE_ROWS) {
                if (!explains_seats(search, candidate) || !suspects_add(&suspects, candidate))
                        return;
        } else if (!suspects_add(&suspects, candidate) || !explains_probes(search, &suspects))
                return;

        enough = matches->n > 0 && !search->signature->at_times ? matches->silent : UINT_MAX;
        silent = signature_explain(search->signature, &suspects, search->base, matches->loaded, enough);
        if (silent >= 0 && (unsigned) silent <= enough)
                matches_add(matches, candidate, (unsigned) silent, search->signature->at_times);
}

/* The logarithm of the largest likelihood that a part can have which shows itself in SHOWN patterns and not in SILENT others: each shows it with
 * the same probability, and the most likely one is their share (binomial). */
static double likelihood(unsigned shown, unsigned silent) {
        double n = shown + silent;

        return (shown > 0 ? shown * log(shown / n) : 0) + (silent > 0 ? silent * log(silent / n) : 0);
}

static unsigned count_shown(const Signature *signature) {
        unsigned n = 0;

        for (unsigned i = 0; i < signature->n_patterns; i++)
                n += signature->answers[i] != NULL;
        return n;
}

static void keep_likely(Matches *matches, unsigned shown) {
        double least = likelihood(shown, matches->silent) - log(TIMES_LESS_LIKELY);
        Matches all = *matches;

        matches->n = 0;
        for (unsigned more = 0; more < 2; more++)
                for (unsigned i = 0; i < all.n; i++)
                        if ((all.silent_of[i] > all.silent) == (more > 0) && likelihood(shown, all.silent_of[i]) >= least) {
                                matches->silent_of[matches->n] = all.silent_of[i];
                                matches->all[matches->n++] = all.all[i];
                        }
}

/* A bit that is slow in one row and shows in a single vector may look as one that is stuck in another: the simpler one is meant. */
static void prefer_stuck(Matches *matches) {
        bool stuck = false, rows = false;
        unsigned kept = 0;

        for (unsigned i = 0; i < matches->n; i++) {
                stuck = stuck || !candidate_is_slow(&matches->all[i]);
                rows = rows || matches->all[i].row != matches->all[0].row;
        }
        if (!stuck || !rows)
                return;

        for (unsigned i = 0; i < matches->n; i++)
                if (!candidate_is_slow(&matches->all[i])) {
                        matches->silent_of[kept] = matches->silent_of[i];
                        matches->all[kept++] = matches->all[i];
                }
        matches->n = kept;
}

void signature_search(const Signature *signature, const Suspects *base, Matches *ret) {
        Matches matches = {};
        Probes probes;
        Search search = { .signature = signature, .base = base, .probes = &probes, .matches = &matches };

        probes_find(signature, base, &probes);
        matches.loaded = probes.loaded;
        for (unsigned row = 0; probes.n > 0 && row < PE_ROWS; row++) {
                if (!probes.rows[row] || base->dead >> row / TILE_UNIT & 1)
                        continue;
                search.seated = seat_is_there(base, row);
                for (unsigned i = 0; search.seated && i < probes.n; i++)
                        seat_take(&search.seats[i], signature->column, base, probes.all[i].index, row, probes.all[i].n);
                candidates_visit(row, consider, &search);
        }
        if (probes.n > 0)
                outputs_visit(consider, &search);
        if (signature->at_times)
                keep_likely(&matches, count_shown(signature));
        else
                prefer_stuck(&matches);

        matches.at_times = signature->at_times || matches.silent > 0;
        *ret = matches;
}
