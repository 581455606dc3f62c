/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Standing
 *
 * How a server or chip stands: what was found of it and what no later look has cleared, read from the log and verified. Nothing is tested and
 * nothing is believed that does not verify.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/location.h"
#include "checks/verdict.h"
#include "daemon/record/record.h"
#include "daemon/target.h"

#define STANDING_REASON_MAX 512

typedef struct Standing {
        Result result;
        uint64_t index;    /* UINT64_MAX: no record */
        uint64_t age_usec; /* UINT64_MAX: no record */
        bool is_ahead;     /* made later than it is now: one of the two clocks was wrong */
        char reason[STANDING_REASON_MAX];
} Standing;

/*
 * Of a chip. PLAN NULL: of any plan. What is known to be broken is not passed by asking differently, nor unknown to a PLAN that never ran: a FAILED record of any plan counts until its own
 * plan has passed, or one whose stage looks at as much; and what a scan did not look at, it does not clear. Nor does it take a pass away that it did
 * not look at: a record that was asked for a part of its plan alone counts only where there is none of the whole. A PLAN that looks at a part says
 * what it saw there, unless a failure is newer. MAX_AGE_USEC 0: any age; else a record from the future has none that one could believe. In a log that
 * has failed no pass counts. Whatever goes wrong is INCONCLUSIVE with a reason.
 *
 * Of a server: the worst of its parts, see standing_parts(), with their line.
 */
void standing_read(RecordLog *log, const Location *subject, const char *plan, uint64_t max_age_usec,
                   Standing *ret);

/* Whether the newest scan of SERVER, by its records, tested no chip for the reason that nobody answered there. */
bool standing_is_unreachable(RecordLog *log, const Location *server);

#define STANDING_PARTS (TARGET_CHIPS + 1)

/*
 * Of a server what lies in none of its chips, then its chips. The first is known by the newest scan of all chips, and fails as long as a failure
 * stands there; what scans of single chips found there counts, and what they did not find does not.
 */
void standing_parts(RecordLog *log, const Location *server, const char *plan, uint64_t max_age_usec, RecordPart ret[static STANDING_PARTS]);
