/* SPDX-License-Identifier: Apache-2.0 */

/* Uses a tenth of a device second. */

#include "checks/step/step.h"

static int spend_run(Step *step, Verdict *ret) {
        WireCommand command = { .type = COMMAND_HBM_PAUSE, .pause = { .nsec = 100000000 } };
        int r;

        r = device_execute(step_device(step), &command, 1, NULL);
        if (r >= 0)
                *ret = VERDICT_PASSED;
        return r;
}

const Check check_spend = {
        .name         = "spend",
        .summary      = "a check that takes its time",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CHIP,
        .deadline_sec = 20,
        .run          = spend_run,
};
