/* SPDX-License-Identifier: Apache-2.0 */

/* Cannot judge chip 3. */

#include <errno.h>

#include "checks/step/step.h"

static int error_run(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        return step_chip(step) == 3 ? step_error(step, -EIO, "no way to tell") : 0;
}

const Check check_error = {
        .name         = "error",
        .summary      = "an error on one chip",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = error_run,
};
