/* SPDX-License-Identifier: Apache-2.0 */

/* A step on a server: chip 9 fails, and only the second time chips 1 and 2 have something of which either may be the one. */

#include <stdio.h>

#include "checks/step/step.h"

static int either_run(Step *step, Verdict *ret) {
        static const char *const far_ends[CHIPS] = { [1] = "/chip2", [2] = "/chip1" };
        static unsigned runs; /* of this child */
        int r = 0;

        runs++;
        *ret = VERDICT_PASSED;
        for (unsigned chip = 0; chip < CHIPS && r >= 0; chip++) {
                Location where = *step_unit(step);
                bool tied = far_ends[chip] && runs > 1;
                char far[LOCATION_STRING_MAX];

                (void) location_append(&where, LOCATION_CHIP, chip);
                (void) snprintf(far, sizeof(far), "%s%s", step_unit(step)->server, far_ends[chip] ?: "");
                if (chip == 9)
                        r = step_finding(step, ret, "link-errors", &where, NULL, "both times");
                if (r >= 0 && tied)
                        r = step_finding(step, ret, "collective-either-end", &where, &(Evidence) { .far_end = far }, "the second time");
                if (r >= 0)
                        r = step_part_done(step, &where, chip == 9 ? VERDICT_FAILED : tied ? VERDICT_ERROR : VERDICT_PASSED,
                                           tied ? REASON_AMBIGUOUS : REASON_NONE);
        }
        return r;
}

const Check check_either = {
        .name         = "either",
        .summary      = "what two chips have with each other, seen by the second run alone",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "link-errors", "collective-either-end", NULL },
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 400,
        .run          = either_run,
};
