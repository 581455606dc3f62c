/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the same on every chip. */

#include "checks/step/step.h"

static int alike_run(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        return step_finding(step, ret, "hbm-row", NULL, NULL, "as everywhere");
}

const Check check_alike = {
        .name         = "alike",
        .summary      = "a failure of all chips",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "hbm-row", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = alike_run,
};
