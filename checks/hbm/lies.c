/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/lies.h"

int hbm_lies_tell(HbmRun *run, unsigned stack) {
        const MarchOutcome *came = &run->outcomes[stack];
        Location where = *step_unit(run->step);
        char address[MEMORY_ADDRESS_TEXT_MAX];
        Evidence evidence = { .has_count = true };
        int r;

        (void) location_append(&where, LOCATION_HBM, stack);

        if (came->n_blind > 0) {
                evidence.address = memory_map_format(&run->map, stack, came->blind_at, address);
                evidence.count = came->n_blind;
                r = step_finding(run->step, &run->verdict, "hbm-comparator", &where, &evidence,
                                 "memory holds %u planted mismatches that the march did not report", came->n_blind);
                if (r < 0)
                        return r;
        }

        if (came->n_lies > 0) {
                evidence.address = NULL;
                evidence.count = came->n_lies;
                r = step_finding(run->step, &run->verdict, "hbm-comparator", &where, &evidence,
                                 "the march answers what cannot be: %s", came->lie);
                if (r < 0)
                        return r;
        }

        return 0;
}
