/* SPDX-License-Identifier: Apache-2.0 */

/* The search of one column's signature among those of all candidates. */

#include "checks/systolic/diagnose.h"
#include "checks/systolic/exact.h"

/* The number that most candidates fail at: one that BASE does not explain. */
typedef struct Probe {
        unsigned index, n;
        bool found;
} Probe;

static Probe probe_find(const Signature *signature, const Suspects *base) {
        for (unsigned i = 0; i < ONE_HOT; i++)
                for (unsigned n = 0; signature->answers[i] && n < PE_ROWS; n++)
                        if (!exact_equal(signature->answers[i][n], column_predict(base, pattern_at(i), n)))
                                return (Probe){ i, n, true };

        return (Probe){};
}

static bool pattern_explained(const Signature *signature, unsigned index, const Suspects *suspects) {
        const Pattern *pattern = pattern_at(index);

        for (unsigned n = 0; n < PE_ROWS; n++) {
                uint32_t actual = signature->answers[index] ? signature->answers[index][n]
                                                            : pattern->golden[n];

                if (!exact_equal(actual, column_predict(suspects, pattern, n)))
                        return false;
        }

        return true;
}

/* How many patterns SUSPECTS would spoil although they came back as with BASE alone, or healthy; -1 where
 * they do not explain another one. A one-hot pattern has the same golden answer in all columns, that of
 * column 0. */
static int signature_match(const Signature *signature, const Suspects *suspects, const Suspects *base) {
        static const Suspects none;
        int silent = 0;

        for (unsigned i = 0; i < ONE_HOT; i++) {
                if (pattern_explained(signature, i, suspects))
                        continue;
                if (!pattern_explained(signature, i, &none) && !pattern_explained(signature, i, base))
                        return -1;
                silent++;
        }

        return silent;
}

static void consider(const Signature *signature, const Suspects *base, Probe probe, Candidate candidate,
                     Matches *matches) {
        Suspects suspects = *base;
        int silent;

        if (!suspects_add(&suspects, candidate))
                return;

        /* Nearly all of them end here. */
        if (!exact_equal(signature->answers[probe.index][probe.n],
                         column_predict(&suspects, pattern_at(probe.index), probe.n)))
                return;

        silent = signature_match(signature, &suspects, base);
        if (silent < 0 || (matches->n > 0 && (unsigned) silent > matches->silent))
                return;

        if (matches->n > 0 && (unsigned) silent < matches->silent)
                matches->n = 0;
        matches->silent = (unsigned) silent;
        if (matches->n < MATCHES_MAX)
                matches->all[matches->n++] = candidate;
}

void signature_search(const Signature *signature, const Suspects *base, Matches *ret) {
        Matches matches = {};
        Probe probe;

        probe = probe_find(signature, base);

        for (unsigned row = 0; probe.found && row < PE_ROWS; row++)
                for (PeRegister at = 0; at < _PE_REGISTER_MAX; at++)
                        for (unsigned bit = 0; bit < 2 * pe_register_bits(at); bit++)
                                consider(signature, base, probe,
                                         (Candidate){ at, (uint8_t) row, (uint8_t) (bit / 2), bit % 2 },
                                         &matches);

        *ret = matches;
}
