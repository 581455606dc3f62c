/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/ecc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "checks/march/answers.h"

/* Public driver, fw_io: corrected in the upper half, then 4 bits of uncorrected and 12 of repairable ones. */
int hbm_ecc_read_counts(HbmRun *run, HbmEccCounts ret[static STACKS]) {
        for (unsigned stack = 0; stack < STACKS; stack++) {
                char path[ATTRIBUTE_PATH_MAX];
                uint64_t word;
                int r;

                (void) snprintf(path, sizeof(path), "mailbox/hbm%u_ecc", stack);
                r = device_attribute_u64(step_device(run->step), step_chip(run->step), path, &word);
                if (r >= 0 && word > UINT32_MAX)
                        r = -EPROTO;
                if (r < 0) {
                        run->told = true;
                        return step_error(run->step, r, "%s does not tell what ECC has counted", path);
                }
                ret[stack] = (HbmEccCounts) {
                        .corrected   = word >> 16,
                        .uncorrected = word >> 12 & 0xf,
                        .repairable  = word & 0xfff,
                };
        }

        return 0;
}

int hbm_ecc_clear_counts(HbmRun *run) {
        static const char *const paths[] = {
                "stats/hardware/mem_ecc_corrected",
                "stats/hardware/mem_ecc_uncorrected",
                "stats/hardware/mem_ecc_repairable_uncorrected",
        };

        for (size_t i = 0; i < ELEMENTS(paths); i++) {
                int r = device_attribute_write(step_device(run->step), step_chip(run->step), paths[i], "0");

                if (r < 0) {
                        run->told = true;
                        return step_error(run->step, r, "%s cannot be cleared of what was planted", paths[i]);
                }
        }

        return 0;
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
