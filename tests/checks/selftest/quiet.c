/* SPDX-License-Identifier: Apache-2.0 */

/* A step on a server that asks all chips twice, leaves a chip that does not answer to others, and takes the next one for broken. */

#include <errno.h>

#include "checks/step/step.h"

static int ask(Step *step, unsigned chip) {
        WireCommand command = { .type = COMMAND_HBM_PAUSE, .chip = (uint8_t) chip, .pause = { .nsec = 1000 } };
        int r = device_execute(step_device(step), &command, 1, NULL);

        return r == -EREMOTEIO && device_status(step_device(step)) == STATUS_NRT_TIMEOUT ? 0 : r < 0 ? r : 1;
}

static int end_part(Step *step, unsigned chip, Verdict verdict) {
        Location where = *step_unit(step);

        (void) location_append(&where, LOCATION_CHIP, chip);
        return step_part_done(step, &where, verdict, verdict == VERDICT_ERROR ? REASON_DEVICE_ERROR : REASON_NONE);
}

static int blame(Step *step, unsigned chip, Verdict *ret) {
        Location where = *step_unit(step);

        (void) location_append(&where, LOCATION_CHIP, chip);
        return step_finding(step, ret, "link-errors", &where, NULL, "nothing came from the chip before it");
}

static int quiet_run(Step *step, Verdict *ret) {
        bool silent[CHIPS] = {};
        int r = 0;

        *ret = VERDICT_PASSED;
        for (unsigned i = 0; i < 2 * CHIPS && r >= 0; i++) {
                if (!step_includes(step, step_unit(step)->server, i % CHIPS))
                        continue;
                r = ask(step, i % CHIPS);
                silent[i % CHIPS] |= r == 0;
        }
        for (unsigned chip = 0; chip < CHIPS && r >= 0; chip++) {
                if (!step_includes(step, step_unit(step)->server, chip))
                        continue;
                if (chip > 0 && silent[chip - 1])
                        r = blame(step, chip, ret);
                if (r >= 0)
                        r = end_part(step, chip, silent[chip] ? VERDICT_ERROR : chip > 0 && silent[chip - 1] ? VERDICT_FAILED : VERDICT_PASSED);
        }
        return r < 0 ? r : 0;
}

const Check check_quiet = {
        .name         = "quiet",
        .summary      = "all chips at once, of which one may fall silent",
        .reads        = "nothing",
        .codes        = (const char *const[]) { "link-errors", NULL },
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 400,
        .run          = quiet_run,
};
