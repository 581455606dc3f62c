/* SPDX-License-Identifier: Apache-2.0 */

/* Finds something on chip 3, each time it looks. */

#include "checks/step/step.h"

static int fail_run(Step *step, Verdict *ret) {
        Location where = *step_unit(step);

        *ret = VERDICT_PASSED;
        if (step_chip(step) != 3)
                return 0;

        (void) location_append(&where, LOCATION_HBM, 2);
        return step_finding(step, ret, "hbm-cell", &where, &(Evidence) { .expected = "1", .actual = "0" },
                            "a cell of chip 3");
}

const Check check_fail = {
        .name         = "fail",
        .summary      = "a failure of one chip",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "hbm-cell", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = fail_run,
};
