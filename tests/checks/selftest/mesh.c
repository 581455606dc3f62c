/* SPDX-License-Identifier: Apache-2.0 */

/* A step on a server that works on all chips and finds what leads to chip 4, on its neighbour too, and chip 7 broken. */

#include "checks/step/step.h"

static int find(Step *step, Verdict *ret, const Location *where, unsigned chip) {
        const char *server = step_unit(step)->server;

        if (chip != 7 && (!step_includes(step, server, 4) || (chip != 4 && chip != 5)))
                return 0;
        return step_finding(step, ret, "link-errors", where, NULL, "what differs");
}

static int mesh_run(Step *step, Verdict *ret) {
        const char *server = step_unit(step)->server;
        int r = 0;

        *ret = VERDICT_PASSED;
        for (unsigned chip = 0; chip < CHIPS && r >= 0; chip++) {
                WireCommand command = { .type = COMMAND_HBM_PAUSE, .chip = (uint8_t) chip, .pause = { .nsec = 1000 } };
                Location where = *step_unit(step);
                Verdict verdict = VERDICT_PASSED;

                if (!step_includes(step, server, chip))
                        continue;
                (void) location_append(&where, LOCATION_CHIP, chip);
                r = device_execute(step_device(step), &command, 1, NULL);
                if (r >= 0)
                        r = step_note(step, "mesh_chips", 1, "1", &where);
                if (r >= 0)
                        r = find(step, &verdict, &where, chip);
                if (r >= 0)
                        r = step_part_done(step, &where, verdict, REASON_NONE);
                if (verdict == VERDICT_FAILED)
                        *ret = VERDICT_FAILED;
        }
        return r < 0 ? r : 0;
}

const Check check_mesh = {
        .name         = "mesh",
        .summary      = "links of which a job may write into one end",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "link-errors", NULL },
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 400,
        .run          = mesh_run,
};
