/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Facts
 *
 * Whether what is handed over for signing agrees with itself. The rules are those by which a reader judges
 * the record again: evidence is a lower bound. A step, a chip or a server may be called worse than its
 * numbers, never better.
 */

#include "daemon/record/record.h"

/* NULL, or a static sentence on what is wrong. */
const char *facts_wrong_with_run(const RecordRun *run);
const char *facts_wrong_with_health(const RecordHealth *health);
const char *facts_wrong_with_scan(const RecordScan *scan);
