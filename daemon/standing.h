/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Standing
 *
 * How a server or chip stands: what was found of it and what no later look has cleared. It is read from the log and verified; and where a newer scan
 * of it is not recorded yet, what passed before says nothing, and what failed stands (unrecorded.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"
#include "daemon/record/record.h"
#include "daemon/target.h"

typedef struct Manager Manager;

#define STANDING_PARTS (TARGET_CHIPS + 1)

/*
 * Of a chip. PLAN NULL: of any plan. What is known to be broken is not passed by asking differently, nor unknown to a PLAN that never ran: a FAILED record of any plan counts until its own
 * plan has passed, or one whose stage looks at as much; and what a scan did not look at, it does not clear. Nor does it take a pass away that it did
 * not look at: a record that was asked for a part of its plan alone counts only where there is none of the whole. A PLAN that looks at a part says
 * what it saw there, unless a failure is newer. MAX_AGE_USEC 0: any age; else a record from the future has none that one could believe. In a log that
 * has failed no pass counts. Whatever goes wrong is INCONCLUSIVE with a reason.
 *
 * Of a server: the worst of its parts, see standing_parts(), with their line.
 *
 * Returns whether there is a record of it, which *ret names unless it says nothing any more.
 */
bool standing_read(const Manager *manager, const Location *subject, const char *plan, uint64_t max_age_usec, RecordPart *ret);

/*
 * Of a server what lies in none of its chips, then its chips. The first is known by the newest scan of all chips, and fails as long as a failure
 * stands there; what scans of single chips found there counts, and what they did not find does not. Returns whether any record tells of any of them.
 */
bool standing_parts(const Manager *manager, const Location *server, const char *plan, uint64_t max_age_usec, RecordPart ret[static STANDING_PARTS]);

/* The result of TARGET, or of a chip of it, under no plan; read once and then kept with TARGET until a record changes it. _RESULT_INVALID: there is none. */
Result standing_result(const Manager *manager, Target *target, const Location *subject);

/* Whether the newest scan of TARGET, by its records, tested no chip for the reason that nobody answered there; kept likewise. */
bool standing_is_unreachable(const Manager *manager, Target *target);
