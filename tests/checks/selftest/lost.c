/* SPDX-License-Identifier: Apache-2.0 */

/* Works on every chip, finds chips 3 and 4 broken, and dies there. */

#include "checks/step/step.h"

static int lost_run(Step *step, Verdict *ret) {
        WireCommand command = { .type = COMMAND_HBM_PAUSE, .pause = { .nsec = 1000 } };
        bool broken = step_chip(step) == 3 || step_chip(step) == 4;
        int r;

        *ret = VERDICT_PASSED;
        r = device_execute(step_device(step), &command, 1, NULL);
        if (r >= 0 && broken)
                (void) step_finding(step, ret, "hbm-cell", NULL, NULL, "found before the end");
        if (broken)
                __builtin_trap();
        return r < 0 ? r : 0;
}

const Check check_lost = {
        .name         = "lost",
        .summary      = "a crash behind what a job may write over",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "hbm-cell", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CHIP,
        .deadline_sec = 400,
        .run          = lost_run,
};
