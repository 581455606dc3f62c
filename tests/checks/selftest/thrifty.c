/* SPDX-License-Identifier: Apache-2.0 */

/* A step on a server that cannot do with less than a quarter of a device second. */

#include "checks/step/step.h"

static double thrifty_least_sec(const void *parameters) {
        return 0.25;
}

static int thrifty_run(Step *step, Verdict *ret) {
        WireCommand command = { .type = COMMAND_HBM_PAUSE, .pause = { .nsec = 250000000 } };
        int r;

        if (step_budget_sec(step) < thrifty_least_sec(NULL))
                return step_skip(step, ret, REASON_BUDGET, "%g device seconds are too few", step_budget_sec(step));

        r = device_execute(step_device(step), &command, 1, NULL);
        if (r >= 0)
                *ret = VERDICT_PASSED;
        return r;
}

const Check check_thrifty = {
        .name         = "thrifty",
        .summary      = "a check that needs little, and not less",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .skips        = "budget: less than a quarter of a device second is left",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_CHIP,
        .deadline_sec = 400,
        .least_sec    = thrifty_least_sec,
        .run          = thrifty_run,
};
