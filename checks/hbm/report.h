/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmReport
 *
 * From defects to findings: code, place, message and evidence.
 */

#include "checks/hbm/run.h"

int hbm_report_defect(HbmRun *run, const HbmDefect *defect);
/* Mismatches that leave no defect are none the less: no count of failures may end as a pass. */
int hbm_report_unexplained(HbmRun *run, unsigned stack, uint64_t n);
