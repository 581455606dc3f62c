/* SPDX-License-Identifier: Apache-2.0 */

/* A step on a server that uses all device seconds it is given. */

#include "checks/step/step.h"

static int greedy_run(Step *step, Verdict *ret) {
        WireCommand command = { .type = COMMAND_HBM_PAUSE, .pause = { .nsec = (uint64_t) (step_budget_sec(step) * 1e9) } };
        int r;

        r = device_execute(step_device(step), &command, 1, NULL);
        if (r >= 0)
                *ret = VERDICT_PASSED;
        return r;
}

const Check check_greedy = {
        .name         = "greedy",
        .summary      = "a check that takes all there is",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_CHIP,
        .deadline_sec = 400,
        .run          = greedy_run,
};
