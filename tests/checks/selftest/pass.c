/* SPDX-License-Identifier: Apache-2.0 */

/* Judges well: the device answers, and what it says is within its limit. */

#include <string.h>

#include "checks/step/step.h"

static int pass_run(Step *step, Verdict *ret) {
        char text[ATTRIBUTE_TEXT_MAX];
        int r;

        r = device_attribute(step_device(step), step_chip(step), "info/serial_number", text);
        if (r < 0)
                return r;

        r = step_measure(step, "pass_length", (double) strlen(text), "By", LIMIT_LESS_THAN_OR_EQUAL,
                         ATTRIBUTE_TEXT_MAX, NULL);
        if (r < 0)
                return r;

        *ret = VERDICT_PASSED;
        return 0;
}

const Check check_pass = {
        .name         = "pass",
        .summary      = "the device answers",
        .reads        = "info/serial_number",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = pass_run,
};
