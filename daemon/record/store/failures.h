/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Failures
 *
 * Failures that no later record has looked at, as rows of `newest` beside the plans: "PLAN/failed/STAGE/REACH/LOCATION". They are
 * written with the record that changes them, in its transaction, and say which record to read and what a later one must have reached to clear it
 * (reach.h). That stands in the row, so that nothing has to be read to compare.
 */

#include "daemon/record/statement/places.h"
#include "daemon/record/store/store.h"

/*
 * Forgets the failures of SUBJECT that ENTRY, a health record or roll-up, has looked at: under their own plan, or passed by a plan whose stage looks at as
 * much, where the step of that name reached no less. Then keeps its own.
 */
int failures_update(Store *store, const RecordEntry *entry, const char *subject, const Places *places);
