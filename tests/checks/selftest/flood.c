/* SPDX-License-Identifier: Apache-2.0 */

/* Talks without end on chip 3: lines that are valid, each for itself. On chip 5 more findings than anyone
 * reads. */

#include "checks/step/step.h"
#include "tests/checks/selftest/raw.h"

static int flood_run(Step *step, Verdict *ret) {
        static const char line[] =
                        "{\"testStepArtifact\":{\"testStepId\":\"us0-1/chip3:flood\",\"extension\":{\"name\":"
                        "\"assay-progress\",\"content\":{\"percent\":1}}}}\n";
        int r = 0;

        *ret = VERDICT_PASSED;
        while (step_chip(step) == 3)
                write_raw(line, sizeof(line) - 1);

        for (unsigned i = 0; step_chip(step) == 5 && i < 1000 && r >= 0; i++) {
                Location where = *step_unit(step);

                (void) location_append(&where, LOCATION_CORE, i % 8);
                (void) location_append_pe(&where, i / 8, 0);
                r = step_finding(step, ret, "systolic-pe", &where, NULL, "one of a thousand");
        }
        return r;
}

const Check check_flood = {
        .name         = "flood",
        .summary      = "a check that talks too much",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "systolic-pe", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 400,
        .run          = flood_run,
};
