/* SPDX-License-Identifier: Apache-2.0 */

/* Writes what is no line of ours: on chip 3 no JSON, on chip 5 a line without end, on chip 7 one of another
 * chip. */

#include <string.h>

#include "checks/step/step.h"
#include "tests/checks/selftest/raw.h"

static int garbage_run(Step *step, Verdict *ret) {
        static const char foreign[] =
                        "{\"testStepArtifact\":{\"testStepId\":\"us0-1/chip2:pass\",\"testStepStart\":{"
                        "\"name\":\"pass\"}}}\n";
        static char endless[2 * STREAM_LINE_MAX];

        *ret = VERDICT_PASSED;
        if (step_chip(step) == 3)
                write_raw("no JSON\n", 8);
        if (step_chip(step) == 5)
                write_raw(memset(endless, 'x', sizeof(endless)), sizeof(endless));
        if (step_chip(step) == 7)
                write_raw(foreign, sizeof(foreign) - 1);
        return 0;
}

const Check check_garbage = {
        .name         = "garbage",
        .summary      = "a check that writes garbage",
        .reads        = "nothing",
        .codes        = (const char *const[]) { NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = garbage_run,
};
