/* SPDX-License-Identifier: Apache-2.0 */

/* Finds one thing at first, another the second time, and a third both times; on chip 5 nothing the second
 * time. */

#include "checks/step/step.h"

static int flaky_run(Step *step, Verdict *ret) {
        static unsigned runs; /* of this child */
        int r = 0;

        runs++;
        *ret = VERDICT_PASSED;
        if (step_chip(step) == 3) {
                r = step_finding(step, ret, "hbm-bank", NULL, NULL, "both times");
                if (r >= 0)
                        r = step_finding(step, ret, runs == 1 ? "hbm-cell" : "hbm-row", NULL, NULL, "once");
        }
        if (step_chip(step) == 5 && runs == 1)
                r = step_finding(step, ret, "hbm-cell", NULL, NULL, "only at first");
        return r;
}

const Check check_flaky = {
        .name         = "flaky",
        .summary      = "failures that do not all come again",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "hbm-bank", "hbm-cell", "hbm-row", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = flaky_run,
};
