/* SPDX-License-Identifier: Apache-2.0 */

/* Never comes back from chip 3. */

#include <unistd.h>

#include "checks/step/step.h"

static int hang_run(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        while (step_chip(step) == 3)
                (void) pause();
        return 0;
}

const Check check_hang = {
        .name         = "hang",
        .summary      = "a check that hangs",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 6,
        .run          = hang_run,
};
