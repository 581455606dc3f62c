/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <sys/param.h>

#include "checks/memory/hbm/report/address.h"

static int tell(HbmRun *run, unsigned stack, const HbmAddresses *came) {
        const HbmAddress *first = &came->first;
        char address[MEMORY_ADDRESS_TEXT_MAX], expected[MEMORY_DATA_TEXT_MAX], actual[MEMORY_DATA_TEXT_MAX],
                        how[96] = "another place";
        Location where = *step_unit(run->step);
        Evidence evidence = {
                .address   = memory_map_format(&run->map, stack, first->at, address),
                .expected  = memory_data_hex(&first->expected, expected),
                .actual    = memory_data_hex(&first->actual, actual),
                .has_count = true,
                .count     = MAX(came->n_wrong, came->n_again_wrong),
                .decided   = { "hbm_addresses_astray", MAX(came->n_wrong, came->n_again_wrong), 0 },
        };
        int n = 0;

        (void) location_append(&where, LOCATION_HBM, stack);
        if (first->axis >= 0)
                n = snprintf(how, sizeof(how), "a place with another bit %u of its %s", first->bit,
                             first->axis == HBM_CHANNEL ? "channel" : "bank group");
        if (first->axis >= 0 && first->row_bit >= 0)
                (void) snprintf(how + n, sizeof(how) - (size_t) n, ", hashed wrongly with bit %d of the row", first->row_bit);
        if (came->n_wrong == 0)
                return step_finding(run->step, &run->verdict, "hbm-map", &where, &evidence,
                                    "%u of %u reads of one address led astray; 0x%" PRIx64 " then leads to %s", came->n_again_wrong,
                                    came->n_again, first->address, how);
        return step_finding(run->step, &run->verdict, "hbm-map", &where, &evidence,
                            "%u of %u addresses lead astray: 0x%" PRIx64 " to %s", came->n_wrong, came->n_compared,
                            first->address, how);
}

int hbm_addresses_judge(HbmRun *run) {
        HbmAddresses came[STACKS];
        unsigned n = 0, n_asked = 0;
        int r;

        r = hbm_addresses_run(&run->map, &run->box, step_seed(run->step), run->batch, came);
        if (r < 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                n += came[stack].n_compared;
                n_asked += came[stack].n_asked;
                if (came[stack].n_wrong == 0 && came[stack].n_again_wrong == 0)
                        continue;
                r = tell(run, stack, &came[stack]);
                if (r < 0)
                        return r;
        }

        /* Where memory does not hold its tags the marches find out; if they do not, this is no pass. */
        r = step_measure(run->step, "hbm_addresses_compared", n, "1", LIMIT_EQUAL, n_asked, NULL);
        return r < 0 ? r : 0;
}
