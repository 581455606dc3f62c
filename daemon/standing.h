/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Standing
 *
 * How a server or chip stands: its newest record, read from the log and verified. Nothing is tested and
 * nothing is believed that does not verify.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/location.h"
#include "checks/verdict.h"
#include "daemon/record/record.h"

#define STANDING_REASON_MAX 512

typedef struct Standing {
        Result result;
        uint64_t index;    /* UINT64_MAX: no record */
        uint64_t age_usec; /* UINT64_MAX: no record */
        bool is_ahead;     /* made later than it is now: one of the two clocks was wrong */
        char reason[STANDING_REASON_MAX];
} Standing;

/*
 * PLAN NULL: of any plan. A FAILED record of another plan still counts, until a plan has passed that looks at as much (its
 * stage says so), unless PLAN looks at a part and did so later: what is known to be broken is not passed by asking differently. MAX_AGE_USEC 0: any age; else a record from the future has none that one
 * could believe. Whatever goes wrong is INCONCLUSIVE with a reason.
 */
void standing_read(RecordLog *log, const Location *subject, const char *plan, uint64_t max_age_usec,
                   Standing *ret);
