/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmReport
 *
 * From defects to findings: code, place, message and evidence.
 */

#include "checks/memory/hbm/report/run.h"

/* The location of AT within its stack, as far as axis LAST; of the stack where the grammar has no such place. */
Location hbm_report_place(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], MemoryAxis last);

/* N_MORE: that are like it and are not told themselves. */
int hbm_report_defect(HbmRun *run, const HbmDefect *defect, unsigned n_more);
/* It gives back old data in N_STALE of N accesses that were asked. */
int hbm_report_stale(HbmRun *run, const HbmDefect *defect, unsigned n, unsigned n_stale);
/* Mismatches that leave no defect are none the less: no count of failures may end as a pass. */
int hbm_report_unexplained(HbmRun *run, unsigned stack, uint64_t n);
