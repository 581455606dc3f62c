/* SPDX-License-Identifier: Apache-2.0 */

/* Says what its own words contradict: see the table in test-worker.c. */

#include <unistd.h>

#include "checks/step/step.h"

static volatile double zero;

static int lie_run(Step *step, Verdict *ret) {
        Verdict found = VERDICT_PASSED;

        if (step_chip(step) != 7)
                *ret = VERDICT_PASSED;
        if (step_chip(step) == 3)
                (void) step_finding(step, &found, "hbm-cell", NULL, NULL, "and yet it passes");
        if (step_chip(step) == 5)
                (void) step_measure(step, "lie_errors", 5, "{error}", LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (step_chip(step) == 9)
                *ret = VERDICT_FAILED;
        if (step_chip(step) == 11)
                _exit(0);
        if (step_chip(step) == 13)
                *ret = VERDICT_SKIPPED;
        if (step_chip(step) == 15)
                (void) step_measure(step, "lie_rate", 0.0 / zero, "1", LIMIT_LESS_THAN_OR_EQUAL, 1, NULL);
        return 0;
}

const Check check_lie = {
        .name         = "lie",
        .summary      = "a check that contradicts itself",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "hbm-cell", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = lie_run,
};
