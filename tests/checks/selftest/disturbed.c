/* SPDX-License-Identifier: Apache-2.0 */

/* Works on every chip, and finds chips 3 and 4 broken each time: a cell, and a value beyond its limit. Of chip 6 it asks itself whether a job has
 * begun. */

#include "checks/port/occupancy.h"
#include "checks/step/step.h"

static int disturbed_run(Step *step, Verdict *ret) {
        WireCommand command = { .type = COMMAND_HBM_PAUSE, .pause = { .nsec = 1000 } };
        bool broken = step_chip(step) == 3 || step_chip(step) == 4;
        int r;

        *ret = VERDICT_PASSED;
        r = device_execute(step_device(step), &command, 1, NULL);
        if (r >= 0)
                r = step_measure(step, "disturbed_cells", broken, "1", LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r > 0)
                r = step_finding(step, ret, "hbm-cell", NULL, NULL, "what differs");
        if (r >= 0 && step_chip(step) == 6 && occupancy_ask(step_device(step), 6) > 0)
                return step_skip(step, ret, REASON_OCCUPIED, "a job took rows");
        return r < 0 ? r : 0;
}

const Check check_disturbed = {
        .name         = "disturbed",
        .summary      = "a check whose data a job may write over",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "hbm-cell", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CHIP,
        .deadline_sec = 400,
        .run          = disturbed_run,
};
