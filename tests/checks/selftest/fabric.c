/* SPDX-License-Identifier: Apache-2.0 */

/* A step on a server: done with chips 0 to 5, it dies; it found something on chip 1. Occupied chips it must
 * not touch. */

#include "checks/step/step.h"

static int fabric_run(Step *step, Verdict *ret) {
        const char *server = step_unit(step)->server;
        int r;

        *ret = VERDICT_PASSED;
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = *step_unit(step);

                if (!step_includes(step, server, chip))
                        continue;
                if (chip == 6)
                        __builtin_trap();

                r = device_execute(step_device(step), &(WireCommand) { .type = COMMAND_HBM_PAUSE, .chip = (uint8_t) chip, .pause = { .nsec = 1 } }, 1, NULL);
                if (r < 0)
                        return r;
                (void) location_append(&where, LOCATION_CHIP, chip);
                if (chip == 1)
                        (void) step_finding(step, ret, "link-errors", &where, NULL, "on its way");
                r = step_part_done(step, &where, chip == 1 ? VERDICT_FAILED : VERDICT_PASSED, REASON_NONE);
                if (r < 0)
                        return r;
        }
        return 0;
}

const Check check_fabric = {
        .name         = "fabric",
        .summary      = "a crash between chips",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "link-errors", NULL },
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 400,
        .run          = fabric_run,
};
