/* SPDX-License-Identifier: Apache-2.0 */

/* Has a reason to skip on chip 3. */

#include "checks/step/step.h"

static int skip_run(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        return step_chip(step) == 3 ? step_skip(step, ret, REASON_NOT_APPLICABLE, "chip %u has none", 3u)
                                    : 0;
}

const Check check_skip = {
        .name         = "skip",
        .summary      = "a part that is not there",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = skip_run,
};
