/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What four matmuls on one place leave, element by element, against what a flag that is stuck in some of them makes of it.
 */

#include <string.h>

#include "checks/systolic/psum/examination.h"

/* What the sequence leaves when the steps in ACTS do as STUCK says. */
static void flag_predict(unsigned acts, bool overwrite, uint32_t ret[static PSUM_FLAGS]) {
        int sum = 0;

        for (unsigned step = 0; step < PSUM_FLAGS; step++) {
                bool does = acts >> step & 1 ? overwrite : psum_flag_steps[step].overwrite;

                sum = (does ? 0 : sum) + psum_flag_steps[step].number;
                ret[step] = psum_small(sum);
        }
}

static size_t flag_count(const Examination *examination, const PsumNumbers *numbers, const uint32_t wanted[static PSUM_FLAGS]) {
        size_t words = (size_t) numbers->columns * numbers->moving, n = 0;

        for (size_t i = 0; i < words; i++) {
                bool same = true;

                for (unsigned step = 0; step < PSUM_FLAGS; step++)
                        same = same && (examination->seen >> step & 1 ? examination->sequence[step] :
                                                                        psum_golden_flag(numbers, step))[i] == wanted[step];
                n += same;
        }
        return n;
}

bool psum_flag_is_stuck(const Examination *examination, const PsumNumbers *numbers, int accumulates) {
        uint32_t wanted[PSUM_FLAGS];

        flag_predict((1u << PSUM_FLAGS) - 1, accumulates == 0, wanted);
        return flag_count(examination, numbers, wanted) >= MOST((size_t) numbers->columns * numbers->moving);
}

int psum_flag_explain(const Examination *examination, const PsumNumbers *numbers) {
        size_t words = (size_t) numbers->columns * numbers->moving;
        uint32_t golden[PSUM_FLAGS], wanted[PSUM_FLAGS];

        flag_predict(0, true, golden);
        for (unsigned acts = 1; acts < 1u << PSUM_FLAGS; acts++)
                for (int accumulate = 0; accumulate < 2; accumulate++) {
                        flag_predict(acts, accumulate == 0, wanted);
                        if (memcmp(wanted, golden, sizeof(golden)) != 0 && flag_count(examination, numbers, wanted) >= MOST(words))
                                return accumulate;
                }
        return -1;
}
