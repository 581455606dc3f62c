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

#define FACTS_PROMISES_MAX 256 /* of a chip: each is looked for in all measurements; a plan has fewer */

/* Whether a step with such evidence (passed, warned, failed) may be called VERDICT. */
bool facts_verdict_stands(Verdict verdict, Verdict evidence);

/* How many chips a server of PRODUCT (N bytes) has, of which STATED (0: none) are said: no roll-up clears it with fewer. 0: not known. */
size_t facts_chips_of(const char *product, size_t n, size_t stated);

/* NULL, or a static sentence on what is wrong. */
const char *facts_wrong_with_run(const RecordRun *run);
const char *facts_wrong_with_scan(const RecordScan *scan);
