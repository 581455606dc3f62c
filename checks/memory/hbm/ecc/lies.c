/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/ecc/lies.h"

#include <stdio.h>
#include <string.h>

#include "checks/memory/hbm/ecc/ecc.h"

/* AT: where the first of N was, or NULL. */
static int tell(HbmRun *run, const char *code, unsigned stack, uint64_t n, const uint16_t *at, const char *message) {
        Location where = *step_unit(run->step);
        Evidence evidence = { .has_count = true, .count = (double) n,
                              .decided = { strcmp(code, "hbm-ecc") == 0 ? "hbm_ecc_lies" : "hbm_march_lies", (double) n, 0 } };
        char address[MEMORY_ADDRESS_TEXT_MAX];

        (void) location_append(&where, LOCATION_HBM, stack);
        if (at)
                evidence.address = memory_map_format(&run->map, stack, at, address);

        return step_finding(run->step, &run->verdict, code, &where, &evidence, "%s", message);
}

int hbm_lies_tell(HbmRun *run, unsigned stack) {
        const MarchOutcome *came = &run->outcomes[stack];
        char message[MARCH_LIE_MAX + 64];
        int r = 0;

        if (came->n_stale > 0) {
                (void) snprintf(message, sizeof(message), "%u accesses give back what they held before the last write",
                                came->n_stale);
                r = tell(run, "hbm-stale", stack, came->n_stale, came->stale_at, message);
        }
        /* Where reads are late nothing that compares can be right. */
        if (r >= 0 && came->n_stale == 0 && came->n_blind > 0) {
                (void) snprintf(message, sizeof(message), "memory holds %u planted mismatches that the march did not report",
                                came->n_blind);
                r = tell(run, "hbm-comparator", stack, came->n_blind, came->blind_at, message);
        }
        if (r >= 0 && came->n_stale == 0 && came->n_lies > 0) {
                (void) snprintf(message, sizeof(message), "the march answers what cannot be: %s", came->lie);
                r = tell(run, "hbm-comparator", stack, came->n_lies, NULL, message);
        }

        if (r >= 0 && run->ecc_lies[stack].n > 0)
                r = tell(run, "hbm-ecc", stack, run->ecc_lies[stack].n, NULL, run->ecc_lies[stack].text);

        return r;
}

int hbm_lies_tell_chip(HbmRun *run) {
        const HbmEccLie *lie = &run->ecc_lies[HBM_ECC_CHIP];
        Evidence evidence = { .has_count = true, .count = (double) lie->n, .decided = { "hbm_ecc_lies", (double) lie->n, 0 } };

        for (unsigned stack = 0; stack < STACKS; stack++)
                if (run->ecc_lies[stack].n > 0)
                        return 0;
        return lie->n == 0 ? 0 : step_finding(run->step, &run->verdict, "hbm-ecc", NULL, &evidence, "%s", lie->text);
}
