/* SPDX-License-Identifier: Apache-2.0 */

/* Dies on chip 3; on chip 5 after it found something, on chip 7 when it looks again. */

#include "checks/step/step.h"

static int crash_run(Step *step, Verdict *ret) {
        static unsigned runs;

        runs++;
        *ret = VERDICT_PASSED;
        if (step_chip(step) == 5 || step_chip(step) == 7)
                (void) step_finding(step, ret, "hbm-cell", NULL, NULL, "found before the end");
        if (step_chip(step) == 3 || step_chip(step) == 5 || (step_chip(step) == 7 && runs == 2))
                __builtin_trap();
        return 0;
}

const Check check_crash = {
        .name         = "crash",
        .summary      = "a crash on one chip",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "hbm-cell", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = crash_run,
};
