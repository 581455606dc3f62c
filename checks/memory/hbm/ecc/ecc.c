/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/ecc/ecc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "checks/memory/march/answers.h"
#include "checks/port/device-errors.h"

int hbm_ecc_read_counts(HbmRun *run, HbmEccCounts ret[static STACKS + 1]) {
        ErrorCount counts[_ERROR_COUNTER_MAX];
        const char *path;
        int r;

        r = device_errors_read(step_device(run->step), step_chip(run->step), ERRORS_MEM, counts, &path);
        if (r < 0) {
                run->told = true;
                return step_error(run->step, r, "%s does not tell what ECC has counted", path ? path : "the chip");
        }

        for (unsigned stack = 0; stack < STACKS; stack++)
                ret[stack] = (HbmEccCounts) {
                        .corrected   = counts[ERRORS_MEM_CORRECTED].words[stack],
                        .uncorrected = counts[ERRORS_MEM_UNCORRECTED].words[stack],
                        .repairable  = counts[ERRORS_MEM_REPAIRABLE].words[stack],
                };
        ret[HBM_ECC_CHIP] = (HbmEccCounts) {
                .corrected   = counts[ERRORS_MEM_CORRECTED].sysfs,
                .uncorrected = counts[ERRORS_MEM_UNCORRECTED].sysfs,
                .repairable  = counts[ERRORS_MEM_REPAIRABLE].sysfs,
        };
        return 0;
}

int hbm_ecc_announce(HbmRun *run, uint64_t n) {
        const uint64_t most[_ERROR_COUNTER_MAX] = {
                [ERRORS_MEM_CORRECTED] = n, [ERRORS_MEM_UNCORRECTED] = n, [ERRORS_MEM_REPAIRABLE] = n,
        };
        int r;

        r = device_errors_announce(step_device(run->step), step_chip(run->step), ERRORS_MEM, most);
        if (r >= 0)
                return r;
        run->told = true;
        return step_error(run->step, r, "the device does not take note that errors will be planted");
}

void hbm_ecc_give_up(HbmRun *run) {
        (void) device_errors_end(step_device(run->step), step_chip(run->step), ERRORS_MEM, 0);
}

int hbm_ecc_end(HbmRun *run) {
        int r;

        r = device_errors_end(step_device(run->step), step_chip(run->step), ERRORS_MEM, ERRORS_MEM);
        if (r >= 0)
                return r;
        run->told = true;
        return step_error(run->step, r, "error counters cannot be cleared of what was planted");
}

int hbm_ecc_run_batch(HbmRun *run) {
        int r;

        r = memory_batch_run(run->batch);
        if (r >= 0)
                march_answers_check(run->batch, run->parts, STACKS, run->outcomes);
        return r;
}

void hbm_ecc_lie(HbmRun *run, unsigned stack, uint64_t n, const char *format, ...) {
        HbmEccLie *lie = &run->ecc_lies[stack];
        va_list arguments;

        if (lie->n > 0)
                return;

        lie->n = n;
        va_start(arguments, format);
        (void) vsnprintf(lie->text, sizeof(lie->text), format, arguments);
        va_end(arguments);
}
